"""Sums and agreement."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raising import raises
from vista_guard.policy.risk import reliability
from vista_guard.policy.turn_risk import vista_score
from vista_guard.types import (
    Action,
    Claim,
    Decision,
    Finding,
    JudgeInfo,
    Label,
    Outcome,
    Timings,
    TurnReport,
    Unchecked,
)
from vista_lab.metrics.labels import (
    LabelAgreement,
    ReplaySummary,
    Tally,
    accuracy,
    f1,
    macro_f1,
    supported_accuracy,
    turn_unverifiable,
)

VER, OUT, CON, LAC, ABS = Label


def outcome(number: int, label: Label | None) -> Outcome:
    claim = Claim(id=f"t1.c{number}", text=f"Claim {number}.")
    if label is None:
        return Unchecked(claim=claim, error="no answer")
    return Finding(claim=claim, label=label, confidence=0.9, reason="because")


def report(*labels: Label | None, action: Action = Action.ALLOW, evidence_missing: bool = False) -> TurnReport:
    outcomes = tuple(outcome(number, label) for number, label in enumerate(labels, 1))
    return TurnReport(
        conversation_id="c",
        turn_index=1,
        response="…",
        outcomes=outcomes,
        decision=Decision(action=action, reason="because"),
        score=vista_score(outcomes),
        evidence_missing=evidence_missing,
        judge=JudgeInfo(name="rules", version="1"),
        policy="monitor",
        timings=Timings(),
    )


def test_worked_example() -> None:
    # human \ judged  VER OUT CON LAC ABS none
    # VERIFIED          2   .   .   1   .   .
    # OUT_OF_SCOPE      .   1   .   1   .   .
    # LACKING_EVIDENCE  1   .   .   2   .   1
    confusion = Counter(
        {(VER, VER): 2, (VER, LAC): 1, (OUT, OUT): 1, (OUT, LAC): 1, (LAC, VER): 1, (LAC, LAC): 2, (LAC, None): 1}
    )
    assert [f1(confusion, label) for label in Label] == pytest.approx([4 / 6, 2 / 3, 0, 4 / 8, 0])
    assert macro_f1(confusion) == pytest.approx((4 / 6 + 2 / 3 + 4 / 8) / 5)
    assert accuracy(confusion) == pytest.approx(5 / 9)
    # Agreed: VERIFIED twice, OUT_OF_SCOPE as such and as lacking, LACKING_EVIDENCE twice. Unchecked is an error here too.
    assert supported_accuracy(confusion) == pytest.approx(6 / 9)


def test_nothing_is_no_number() -> None:
    empty: Counter[tuple[Label, Label | None]] = Counter()
    assert (accuracy(empty), supported_accuracy(empty), macro_f1(empty)) == (None, None, None)
    assert Tally().summary(seconds=0.0) == ReplaySummary(
        conversations=0,
        turns=0,
        resumed=0,
        broken=0,
        claims=0,
        labels=dict.fromkeys(Label, 0),
        unchecked=0,
        actions=dict.fromkeys(Action, 0),
        micro=None,
        macro=None,
        evidence_missing=0,
        seconds=0.0,
        interrupted=False,
        agreement=None,
    )


@pytest.mark.parametrize(
    ("labels", "unverifiable"),
    [((VER, VER), False), ((VER, OUT), True), ((), False), ((VER, None), None), ((LAC, None), True), ((None,), None)],
)
def test_a_turn_is_unverifiable_when_any_claim_is_not_verified(
    labels: tuple[Label | None, ...], unverifiable: bool | None
) -> None:
    assert turn_unverifiable(report(*labels).outcomes) is unverifiable


def test_tally() -> None:
    tally = Tally(conversations=2, broken=1)
    tally.add(report(VER, OUT, LAC, CON), {"t1.c1": VER, "t1.c2": OUT, "t1.c3": VER, "t1.c4": LAC}, resumed=True)
    tally.add(report(VER, VER, action=Action.FLAG, evidence_missing=True), {"t1.c1": VER})
    tally.add(report(VER, None, action=Action.FLAG), {"t1.c1": VER, "t1.c2": ABS})
    tally.add(report(), {})
    summary = tally.summary(seconds=2.0, interrupted=True)
    assert summary == ReplaySummary(
        conversations=2,
        turns=4,
        resumed=1,
        broken=1,
        claims=8,
        labels={VER: 4, OUT: 1, CON: 1, LAC: 1, ABS: 0},
        unchecked=1,
        actions={Action.ALLOW: 2, Action.FLAG: 2, Action.REPAIR: 0, Action.BLOCK: 0},
        micro=5 / 7,
        macro=(0.5 + 1 + 1) / 3,
        evidence_missing=1,
        seconds=2.0,
        interrupted=True,
        agreement=LabelAgreement(
            claims=7,
            turns=2,
            supported=5 / 7,
            labels=4 / 7,
            macro_f1=(2 * 3 / (4 + 3) + 1) / 5,
            # The first turn is unverifiable for both. The second's human labels are not complete. In the third, the claim that
            # decides was not judged: an error. The last has no claims.
            turn=1 / 2,
        ),
        reasons={next(one for one in report(None).unchecked).error: 1},
    )
    assert summary.turns_per_second == 1.5
    assert not summary.judged_nothing


@given(st.lists(st.tuples(st.sampled_from(Label), st.sampled_from([*Label, None])), min_size=1))
def test_shares_lie_between_0_and_1(pairs: list[tuple[Label, Label | None]]) -> None:
    confusion = Counter(pairs)
    shares = [accuracy(confusion), supported_accuracy(confusion), macro_f1(confusion)]
    assert all(share is not None and 0 <= share <= 1 for share in shares)
    assert (shares[0] == 1) == all(human is judged for human, judged in pairs)


def test_reliability_by_hand() -> None:
    found = reliability([0.05, 0.3, 0.39, 0.85, 0.95, 1.0], [False, True, False, True, True, True])
    assert found is not None
    assert [(one.n, one.accuracy) for one in found.bins] == [(1, 0), (2, 0.5), (1, 1), (2, 1)]
    assert [one.confidence for one in found.bins] == pytest.approx([0.05, 0.345, 0.85, 0.975])
    # The mean gap over judgements: 0.05, twice 0.155, 0.15, twice 0.025.
    assert found.ece == pytest.approx((0.05 + 2 * 0.155 + 0.15 + 2 * 0.025) / 6)
    assert reliability([], []) is None
    with raises(ValueError, "shorter"):
        reliability([0.5, 0.5], [True])


def test_a_label_that_nobody_gave_counts_as_zero() -> None:
    met: Counter[tuple[Label, Label | None]] = Counter({(VER, VER): 3, (OUT, None): 1})
    assert [f1(met, label) for label in Label] == [1, 0, 0, 0, 0]
    assert macro_f1(met) == 0.2
