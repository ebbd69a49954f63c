"""Sentences by AND, responses by the harmonic mean: hand values, units without claims, and the figures beside scikit-learn's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vista_guard.types import Claim, Finding, Label, Outcome, Unchecked
from vista_lab.decompose.units import JudgedUnit, Level, UnitFigures, support_of
from vista_lab.metrics.detection import Detection

YES, NO, DENIED = Label.VERIFIED, Label.LACKING_EVIDENCE, Label.CONTRADICTED
OPINION = Label.OUT_OF_SCOPE


def finding(label: Label, confidence: float = 0.9, support: float | None = None) -> Finding:
    claim = Claim(id="c", text="It is old.")
    return Finding(claim=claim, label=label, confidence=confidence, reason="", support=support)


UNCHECKED = Unchecked(claim=Claim(id="u", text="It is new."), error="no answer")


def unit(level: Level, *outcomes: Outcome, supported: bool = True, facts: int = 0, group: str = "g") -> JudgedUnit:
    return JudgedUnit(group, level, supported, outcomes, facts)


@pytest.mark.parametrize(
    ("labels", "supported"),
    [
        ([YES, YES], True),
        ([YES, NO], False),
        ([DENIED], False),
        ([YES, OPINION], True),
        ([YES, Label.ABSTENTION], True),
    ],
)
def test_a_sentence_is_supported_where_all_of_its_claims_are(labels: Sequence[Label], supported: bool) -> None:
    assert unit("sentence", *map(finding, labels)).predicted() is supported


@pytest.mark.parametrize(
    ("supports", "supported"), [([0.9, 0.3], False), ([0.9, 0.4], True), ([0.5, 0.5], False), ([1.0, 0.0], False)]
)
def test_a_response_is_supported_where_the_harmonic_mean_is_above_one_half(
    supports: Sequence[float], supported: bool
) -> None:
    """DAD's [.9, .3] is .45, [.9, .4] is .5538: supported, which AND denies."""
    found = [finding(YES if one >= 0.5 else NO, support=one) for one in supports]
    assert unit("response", *found).predicted() is supported


def test_support_is_the_evidences_and_else_what_the_confidence_says() -> None:
    assert support_of(finding(NO, 0.97, support=0.98)) == 0.98
    assert support_of(finding(YES, 0.75)) == 0.75
    assert support_of(finding(DENIED, 0.75)) == 0.25


def test_what_was_not_judged_decides_nothing_unless_another_claim_does() -> None:
    assert unit("sentence", finding(YES), UNCHECKED).predicted() is None
    assert unit("sentence", finding(NO), UNCHECKED).predicted() is False
    assert unit("response", finding(NO), UNCHECKED).predicted() is None
    lost = JudgedUnit("g", "sentence", True, (), unplaced=True)
    assert (lost.predicted(), lost.is_empty) == (None, False)


def test_units_without_claims_are_counted_and_told_both_ways() -> None:
    units = [unit("sentence", supported=True), unit("sentence", finding(OPINION), supported=False)]
    units += [unit("sentence", finding(NO), supported=False), unit("sentence", finding(YES))]
    both = [UnitFigures(units), UnitFigures(units, empty=False)]
    assert [one.without_claims for one in both] == [2, 2]
    assert [one.detection for one in both] == [Detection(tp=1, fp=0, fn=1, tn=2), Detection(tp=2, fp=1, fn=0, tn=1)]


def test_claims_and_atomicity_are_means_over_units() -> None:
    units = [unit("sentence", finding(YES), facts=4), unit("sentence", finding(YES), finding(NO), facts=2)]
    found = UnitFigures([*units, unit("sentence", finding(YES))])
    assert found.claims == pytest.approx(4 / 3)
    assert found.atomicity == 1.0  # log2 of 4 facts a claim, and of one
    assert UnitFigures([unit("sentence", finding(YES))]).atomicity is None


def test_figures_are_scikit_learns_and_their_intervals_draw_responses() -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="needs the extra evaluation")
    kinds = [(True, YES)] * 11 + [(True, NO)] * 4 + [(False, YES)] * 6 + [(False, NO)] * 9
    units = [
        unit("sentence", finding(label), supported=gold, group=str(place % 10))
        for place, (gold, label) in enumerate(kinds)
    ]
    found = UnitFigures(units)
    gold, said = [one for one, _ in kinds], [label is YES for _, label in kinds]
    assert found.detection.balanced_accuracy == pytest.approx(sklearn.balanced_accuracy_score(gold, said))
    assert found.detection.macro_f1 == pytest.approx(sklearn.f1_score(gold, said, average="macro"))
    assert found.detection.other.f1 == pytest.approx(sklearn.f1_score(gold, said))
    for low_high, value in (
        (found.balanced_interval(), found.detection.balanced_accuracy),
        (found.macro_f1_interval(), found.detection.macro_f1),
        (found.f1_supported_interval(), found.detection.other.f1),
    ):
        assert low_high is not None
        assert low_high[0] < (value or 0) < low_high[1]
    alone = UnitFigures([unit("sentence", finding(YES))])
    assert (alone.balanced_interval(), alone.macro_f1_interval()) == (None, None)
