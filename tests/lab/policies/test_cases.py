"""What of a stored report a policy is asked about."""

from __future__ import annotations

import pytest

from tests.lab.policies.turns import attempt, finding, stored, unchecked
from vista_guard.policy.label_policy import PRESETS
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import Action, Label
from vista_lab.policies.comparison import by_policy, case_of, decision, without_texts

FIT = TurnRisk(intercept=-4.0, worst=6.0, share=2.0, flag=0.5, block=0.95, source="made up")


def test_a_turn_that_was_written_anew_is_decided_on_by_its_first_draft() -> None:
    bad, good = finding(Label.CONTRADICTED, 0.9), finding(Label.VERIFIED)
    case = case_of(stored(good, action=Action.REPAIR, attempts=(attempt(bad), attempt(unchecked()))))
    assert (case.outcomes, case.done, case.delivered, case.rewritten) == ((bad,), Action.REPAIR, Action.REPAIR, True)


def test_the_first_drafts_risk_is_worked_out_anew_and_never_that_of_the_last() -> None:
    bad = finding(Label.CONTRADICTED, 0.9)
    report = stored(finding(Label.VERIFIED), attempts=(attempt(bad),), risk=0.01, risk_calibrated=True)
    assert case_of(report).risk is None
    assert case_of(report, FIT).risk == FIT((bad,), evidence_missing=False)
    assert case_of(stored(bad, risk=0.7, risk_calibrated=True)).risk == 0.7
    assert case_of(stored(bad, risk=0.7, risk_calibrated=False)).risk is None


@pytest.mark.parametrize(
    ("gate", "action", "attempts", "cut"),
    [
        ("sentence", Action.BLOCK, 0, True),
        ("sentence", Action.REPAIR, 1, True),
        ("sentence", Action.REPAIR, 0, False),  # a sentence was left out, the rest was judged
        ("sentence", Action.FLAG, 0, False),
        ("turn", Action.BLOCK, 0, False),
        ("none", Action.BLOCK, 0, False),
    ],
)
def test_only_a_stream_that_ended_early_is_cut_short(gate: str, action: Action, attempts: int, cut: bool) -> None:
    tried = tuple(attempt(unchecked()) for _ in range(attempts))
    assert case_of(stored(unchecked(), action=action, gate=gate, attempts=tried)).cut_short is cut


def test_a_case_without_texts_is_decided_on_alike_and_says_nothing() -> None:
    report = stored(
        finding(Label.CONTRADICTED, 0.9, leans_on="key1"), unchecked("c2"), finding(Label.VERIFIED, claim="c3")
    )
    whole = case_of(report, FIT)
    bare = without_texts(whole)
    for policy in PRESETS.values():
        policies = {report.judge: policy.fitted_to(FIT)}
        assert by_policy(policies)(bare) is by_policy(policies)(whole)
    assert "1931" in decision(whole, policies).reason
    assert "1931" not in repr(bare)
    assert bare.leans_on == {"key1"}
