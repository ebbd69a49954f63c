"""Turns that are looked for: readings, figures, significance, sets of claims, raters, and what it took."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.lab.policies.turns import finding, stored, unchecked
from tests.raising import raises
from vista_guard import InputError
from vista_guard.testing import WordEmbedder
from vista_guard.types import Label, Span, Timings, Usage
from vista_lab.logs.source import Task
from vista_lab.metrics import claim_sets
from vista_lab.metrics.agreement import cohen_kappa, fleiss_kappa
from vista_lab.metrics.claim_sets import SetAgreement, partners, set_agreement
from vista_lab.metrics.detection import Detection, Reading, has_any_label, labels_of, target_labels
from vista_lab.metrics.intervals import Discordant, Share, mcnemar, stars
from vista_lab.metrics.labels import spending, turn_unverifiable

VERIFIED, SCOPE, CONTRADICTED, LACKING, ABSTENTION = Label


@pytest.mark.parametrize(
    ("reading", "task", "wanted"),
    [
        (Reading.STRICT, Task.ABSTAINS, {SCOPE, CONTRADICTED, LACKING, ABSTENTION}),
        (Reading.SAFE, Task.ABSTAINS, {CONTRADICTED, LACKING}),
        (Reading.ORIGINAL, Task.UNVERIFIABLE, {SCOPE, CONTRADICTED, LACKING, ABSTENTION}),
        (Reading.ORIGINAL, Task.UNSUPPORTED, {CONTRADICTED, LACKING}),
        (Reading.ORIGINAL, Task.CONTRADICTS, {CONTRADICTED}),
        (Reading.ORIGINAL, Task.ABSTAINS, {ABSTENTION}),
    ],
)
def test_what_a_reading_looks_for(reading: Reading, task: Task, wanted: set[Label]) -> None:
    assert target_labels(reading, task) == wanted


@pytest.mark.parametrize(
    ("labels", "strict", "safe"),
    [
        ([], False, False),
        ([VERIFIED], False, False),
        ([VERIFIED, SCOPE, ABSTENTION], True, False),
        ([VERIFIED, LACKING], True, True),
        ([CONTRADICTED, None], True, True),
        ([VERIFIED, None], None, None),
        ([SCOPE, None], True, None),
        ([None], None, None),
    ],
)
def test_a_turn_counts_once_one_claim_does(labels: list[Label | None], strict: bool | None, safe: bool | None) -> None:
    assert has_any_label(labels, target_labels(Reading.STRICT)) is strict
    assert has_any_label(labels, target_labels(Reading.SAFE)) is safe
    outcomes = tuple(unchecked() if label is None else finding(label) for label in labels)
    assert labels_of(outcomes) == labels
    assert turn_unverifiable(outcomes) is strict


def test_what_was_not_judged_is_neither_hit_nor_miss() -> None:
    hits = {(True, True): 5, (False, True): 3, (True, False): 2, (False, False): 7, (True, None): 1, (False, None): 4}
    found = Detection.of(pair for pair, n in hits.items() for _ in range(n))
    assert found == Detection(tp=5, fp=3, fn=2, tn=7, unchecked=5)
    assert (found.judged, found.turns) == (17, 22)
    assert found.accuracy == Share(12, 17)
    assert found.worst == Share(12, 22)
    assert found.coverage == Share(17, 22)
    assert (found.precision, found.recall) == (Share(5, 8), Share(5, 7))
    assert found.f1 == 10 / 15


def test_there_is_no_f1_of_nothing() -> None:
    assert Detection(0, 0, 0, 9).f1 is None
    assert Detection(0, 1, 0, 9).f1 == 0
    assert Detection.of([]) == Detection(0, 0, 0, 0)


@pytest.mark.parametrize("met", [(9, 4, 2, 7), (0, 3, 0, 8), (0, 0, 5, 2), (3, 0, 0, 0)])
def test_scikit_learn_finds_the_same(met: tuple[int, ...]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="needs the extra evaluation")
    kinds = ((True, True), (False, True), (True, False), (False, False))
    pairs = [pair for pair, n in zip(kinds, met, strict=True) for _ in range(n)]
    gold, said = zip(*pairs, strict=True)
    found = Detection.of(pairs)
    assert found.accuracy.value == metrics.accuracy_score(gold, said)
    for share, of in ((found.precision, metrics.precision_score), (found.recall, metrics.recall_score)):
        assert (share.value if share.n else 0) == pytest.approx(of(gold, said, zero_division=0))
    assert (found.f1 or 0) == pytest.approx(metrics.f1_score(gold, said, zero_division=0))


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(0, 0, 1.0), (1, 9, 0.021484375), (9, 1, 0.021484375), (5, 5, 1.0), (700, 800, 0.0106), (0, 3000, 0.0)],
)
def test_mcnemars_exact_test(better: int, worse: int, p: float) -> None:
    assert mcnemar(better, worse) == pytest.approx(p, abs=5e-5)


def test_mcnemars_test_is_scipys_binomial_one() -> None:
    scipy = pytest.importorskip("scipy.stats", reason="needs the extra evaluation")
    for better, worse in [*product((0, 1, 2, 7, 30), repeat=2), (499, 500), (499, 501), (500, 500), (900, 1100)]:
        if better + worse:
            p = scipy.binomtest(min(better, worse), better + worse, 0.5).pvalue
            assert mcnemar(better, worse) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(
    ("p", "marks"), [(0.0, "***"), (0.001, "**"), (0.00999, "**"), (0.01, "*"), (0.0499, "*"), (0.05, "ns"), (1, "ns")]
)
def test_stars(p: float, marks: str) -> None:
    assert stars(p) == marks


def test_pairs_are_counted_where_one_alone_is_right() -> None:
    found = Discordant.of([(True, False)] * 9 + [(False, True)] + [(True, True)] * 30 + [(False, False)] * 10)
    assert found == Discordant(9, 1, 50)
    assert (found.difference, found.p, found.stars) == (0.16, 0.021484375, "*")
    assert Discordant(0, 0, 0).difference is None


def test_claims_pair_by_their_words_or_their_sense_as_many_as_can() -> None:
    one = ["The pier opened in 1911.", "It is long", "Ann likes it."]
    assert partners(one, ["it is  LONG.", "The pier opened in 1911"]) == {0: 1, 1: 0}
    near = WordEmbedder()
    # Ten words of eleven in common: a cosine of 10 / sqrt(110) = 0.953. Nine of ten and eleven: 0.858.
    said = "the old hall by the harbour opened its doors in 1911"
    assert partners([said], [said.replace(" old", "")], near) == {0: 0}
    assert partners([said], [said.replace("old hall by the harbour", "new gate")], near) == {}
    # The first could have either and comes first; the second can have one alone: the first moves on.
    without = [said.replace(" old", ""), said.replace(" 1911", "")]
    assert partners([said, without[0].replace(" doors", "")], without, near) == {0: 1, 1: 0}
    # Of several the same words come first, then the nearest.
    assert partners([said], [without[0], said], near) == {0: 1}
    assert partners([said], [without[0].replace(" 1911", ""), without[0]], near) == {0: 1}
    assert partners([], ["a"], near) == {}


def test_a_cosine_of_nine_tenths_is_not_enough() -> None:
    class Fixed:
        # Double precision, so that 0.9 is 0.9.
        def embed(self, texts: object) -> np.ndarray:
            return np.array([[1.0, 0.0], [0.9, np.sqrt(1 - 0.81)]])

    assert partners(["a"], ["b"], Fixed()) == {}


def test_sets_are_pooled_over_turns() -> None:
    found = set_agreement([(["a", "b", "c"], ["a", "b"]), (["d"], ["e", "f"]), ([], [])])
    assert found == SetAgreement(4, 4, 2)
    assert (found.jaccard, found.f1) == (2 / 6, 4 / 8)
    assert found.f1 == pytest.approx(2 * (2 / 6) / (1 + 2 / 6))
    nothing = set_agreement([])
    assert (nothing.jaccard, nothing.f1) == (None, None)
    assert list(claim_sets.jaccard([1, 2], [1, 0], [1, 0])) == [1, 0]


FLEISS = (
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
)  # fmt: skip
"""The textbook's ten cases of fourteen raters and five values."""


def test_fleiss_by_the_textbook() -> None:
    cases = [[value for value, n in enumerate(row) for _ in range(n)] for row in FLEISS]
    assert fleiss_kappa(cases) == pytest.approx(0.210, abs=5e-4)
    assert fleiss_kappa([["a", "a"], ["b", "b"]]) == 1
    assert fleiss_kappa([["a", "a"]]) is None
    assert fleiss_kappa([]) is None
    with raises(InputError, "3", "2"):
        fleiss_kappa([["a", "b"], ["a", "a", "b"]])
    with raises(InputError, "1"):
        fleiss_kappa([["a"]])


def test_cohen_by_the_textbook() -> None:
    pytest.importorskip("sklearn", reason="needs the extra evaluation")
    # Fifty proposals: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no. Agreement 0.7, by chance 0.5.
    met = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
    first, second = zip(*(pair for pair, n in met.items() for _ in range(n)), strict=True)
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    assert cohen_kappa(["a"], ["a"]) is None
    assert cohen_kappa([], []) is None
    assert cohen_kappa([Label.VERIFIED, None], [Label.VERIFIED, None]) == 1
    with raises(InputError, "1", "2"):
        cohen_kappa(["a"], ["a", "b"])


def test_what_a_run_took() -> None:
    used = Usage(calls=2, input_tokens=100, output_tokens=10, cost=0.5)
    reports = [stored(number=n, timings=Timings(total=1000 * n), usage=used) for n in range(1, 5)]
    found = spending(reports)
    assert found is not None
    assert (found.turns, found.mean, found.median) == (4, 2.5, 2.5)
    assert found.p95 == pytest.approx(3.85)
    assert (found.usage.calls, found.usage.input_tokens, found.cost) == (8, 400, 0.5)
    assert spending([]) is None
    unpriced = spending([stored(usage=Usage(calls=2, unpriced_calls=1, cost=0.1))])
    assert unpriced is not None
    assert unpriced.cost is None


def test_places_overlap_by_what_they_share() -> None:
    assert Span(start=0, end=10).overlap(Span(start=5, end=15)) == pytest.approx(1 / 3)
    assert Span(start=0, end=3).overlap(Span(start=3, end=6)) == 0
    assert Span(start=0, end=2).overlap(Span(start=5, end=6)) == 0
    assert Span(start=3, end=3).overlap(Span(start=3, end=3)) == 0
