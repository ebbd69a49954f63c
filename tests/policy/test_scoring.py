"""The VISTA score."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.policy.test_presets import finding, unchecked
from vista_guard import Label, macro_score, micro_score, vista_score
from vista_guard.policy.turn_risk import label_counts
from vista_guard.types import Action, Decision, JudgeInfo, Outcome, Timings, TurnReport


def report(*outcomes: Outcome) -> TurnReport:
    return TurnReport(
        conversation_id="c", turn_index=0, response="", outcomes=outcomes, score=vista_score(outcomes),
        decision=Decision(action=Action.ALLOW, reason=""), evidence_missing=False,
        judge=JudgeInfo(name="j", version="1"), policy="monitor", timings=Timings(),
    )  # fmt: skip


def test_safe_claims_over_judged_claims() -> None:
    outcomes = [finding(label) for label in Label]
    assert vista_score(outcomes) == 3 / 5


def test_nothing_judged_is_no_score() -> None:
    assert vista_score([]) is None
    assert vista_score([unchecked()]) is None
    assert micro_score([report(), report(unchecked())]) is None
    assert macro_score([report(), report(unchecked())]) is None


def test_micro_counts_claims_and_macro_counts_turns() -> None:
    reports = [report(*[finding(Label.VERIFIED)] * 3), report(finding(Label.CONTRADICTED)), report()]
    assert micro_score(reports) == 3 / 4
    assert macro_score(reports) == (1 + 0) / 2
    assert label_counts(reports) == {
        Label.VERIFIED: 3, Label.OUT_OF_SCOPE: 0, Label.CONTRADICTED: 1, Label.LACKING_EVIDENCE: 0, Label.ABSTENTION: 0,
    }  # fmt: skip


@given(st.lists(st.sampled_from([*(finding(label) for label in Label), unchecked()])))
def test_unchecked_claims_change_no_score(outcomes: list[Outcome]) -> None:
    assert vista_score(outcomes) == vista_score([*outcomes, unchecked()])
