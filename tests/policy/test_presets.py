"""Policies: outcomes in, decision out."""

from __future__ import annotations

import pytest

from tests.raising import raises
from vista_guard import Action, Claim, ConfigError, Decision, Finding, Label, Unchecked
from vista_guard.policy.label_policy import PRESETS, build_policy
from vista_guard.types import Outcome


def finding(label: Label, confidence: float = 1.0, id: str = "c1") -> Finding:
    return Finding(claim=Claim(id=id, text=f"claim {id}"), label=label, confidence=confidence, reason="because")


def unchecked(id: str = "c1") -> Unchecked:
    return Unchecked(claim=Claim(id=id, text=f"claim {id}"), error="no answer")


ALLOW, FLAG, REPAIR, BLOCK = Action.ALLOW, Action.FLAG, Action.REPAIR, Action.BLOCK


@pytest.mark.parametrize(
    ("outcome", "monitor", "balanced", "strict"),
    [
        (finding(Label.VERIFIED), ALLOW, ALLOW, ALLOW),
        (finding(Label.OUT_OF_SCOPE), ALLOW, ALLOW, ALLOW),
        (finding(Label.ABSTENTION), ALLOW, ALLOW, ALLOW),
        (finding(Label.LACKING_EVIDENCE), FLAG, FLAG, REPAIR),
        (finding(Label.CONTRADICTED, 0.95), FLAG, BLOCK, BLOCK),
        (finding(Label.CONTRADICTED, 0.55), FLAG, FLAG, BLOCK),
        (unchecked(), FLAG, FLAG, BLOCK),
    ],
)
def test_presets(outcome: Outcome, monitor: Action, balanced: Action, strict: Action) -> None:
    actions = [PRESETS[name]([outcome], evidence_missing=False).action for name in ("monitor", "balanced", "strict")]
    assert actions == [monitor, balanced, strict]


@pytest.mark.parametrize(
    ("preset", "overrides", "withholds", "repairs"),
    [
        ("monitor", {}, False, False),
        ("balanced", {}, True, False),
        ("strict", {}, True, True),
        ("balanced", {"rules": {"CONTRADICTED": {"action": "FLAG"}}, "block_at_risk": None}, False, False),
        ("balanced", {"rules": {"CONTRADICTED": {"action": "FLAG"}}, "block_at_risk": 0.9}, True, False),
        ("balanced", {"on_code": "REPAIR"}, True, True),
        ("balanced", {"rules": {"ABSTENTION": {"action": "FLAG", "otherwise": "REPAIR"}}}, True, True),
    ],
)
def test_a_policy_knows_what_it_may_decide(
    preset: str, overrides: dict[str, object], withholds: bool, repairs: bool
) -> None:
    policy = build_policy(preset, overrides)
    assert (policy.withholds, policy.repairs) == (withholds, repairs)


def test_the_hardest_rule_wins_and_the_reason_names_the_claims_that_asked_for_it() -> None:
    outcomes = [
        finding(Label.VERIFIED, id="c1"), finding(Label.LACKING_EVIDENCE, 0.7, "c2"),
        finding(Label.CONTRADICTED, 0.91, "c3"),
    ]  # fmt: skip
    assert build_policy("balanced")(outcomes, evidence_missing=False) == Decision(
        action=BLOCK, reason="c3 contradicted (0.91): claim c3", claim_ids=("c3",)
    )


def test_a_repair_names_every_claim_that_must_be_mended() -> None:
    policy = build_policy("strict", {"rules": {"CONTRADICTED": {"action": "REPAIR"}}})
    outcomes = [
        finding(Label.LACKING_EVIDENCE, 0.7, "c1"),
        finding(Label.CONTRADICTED, 0.9, "c2"),
        finding(Label.VERIFIED, 1, "c3"),
    ]
    assert policy(outcomes, evidence_missing=False).claim_ids == ("c1", "c2")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_turn_without_claims_is_allowed(preset: str) -> None:
    decision = PRESETS[preset]([], evidence_missing=True)
    assert decision == Decision(action=ALLOW, reason="the turn makes no claim")


@pytest.mark.parametrize("action", [ALLOW, FLAG, REPAIR, BLOCK])
def test_what_could_not_be_judged_is_the_users_explicit_choice(action: Action) -> None:
    policy = build_policy("balanced", {"on_unchecked": action.value})
    assert policy([unchecked()], evidence_missing=False).action is action


def test_no_evidence_is_said_in_the_reason() -> None:
    decision = build_policy("balanced")([finding(Label.LACKING_EVIDENCE, 0.9)], evidence_missing=True)
    assert decision == Decision(
        action=FLAG,
        reason="there was no evidence to verify against; c1 lacking evidence (0.90): claim c1",
        claim_ids=("c1",),
    )


@pytest.mark.parametrize(
    ("base", "overrides", "message"),
    [
        ("strict", {"on_uncheked": "FLAG"}, ("policy.on_uncheked",)),
        ("strict", {"rules": {"CONTRADICTED": {"action": "FLAG", "mode": 1}}}, ("policy.rules.CONTRADICTED.mode",)),
        ("lenient", {}, ("policy", "lenient")),
        ("balanced", {"rules": {"CONTRADICTED": {"action": "BLOCK", "min_confidence": 1.4}}},
         ("policy.rules.CONTRADICTED.min_confidence", "1.4", "1")),
        ("balanced", {"rules": {"CONTRADICTED": {"min_confidence": 0.7}}}, ("policy.rules.CONTRADICTED.action is missing",)),
        ("balanced", {"rules": {"WRONG": {"action": "BLOCK"}}}, ("policy.rules.WRONG",)),
        ("balanced", {"rules": ["BLOCK"]}, ("policy.rules", "BLOCK")),
        ("balanced", {"on_unchekced": "BLOCK"}, ("policy.on_unchekced",)),
        ("monitor", {"on_unchecked": "BLOCK"},
         ("policy", "monitor", "on_unchecked", "BLOCK", "withholds")),
        ("strict", {"fallback": "regenerate"}, ()),
    ],
)  # fmt: skip
def test_a_policy_that_makes_no_sense_is_refused(
    base: str, overrides: dict[str, object], message: tuple[str, ...]
) -> None:
    with raises(ConfigError, *message):
        build_policy(base, overrides)


@pytest.mark.parametrize("given", [True, 75, "high"])
@pytest.mark.parametrize("field", ["flag_at_risk", "block_at_risk"])
def test_a_risk_is_a_number_auto_or_nothing(field: str, given: object) -> None:
    with raises(ConfigError, f"policy.{field}", repr(given), '"auto"'):
        build_policy("balanced", {field: given})
    assert [getattr(build_policy("balanced", {field: one}), field) for one in (0.5, "auto", None)] == [
        0.5,
        "auto",
        None,
    ]


def test_the_table_of_a_policy_is_named_beside_its_overrides() -> None:
    with raises(ConfigError, "policy.calibration", "mine.json", "risk_table"):
        build_policy("balanced", {"calibration": "mine.json"})
    with raises(ConfigError, "calibrations") as caught:
        build_policy("balanced", {"calibrations": "mine.json"})
    assert "calibration," not in str(caught.value)
