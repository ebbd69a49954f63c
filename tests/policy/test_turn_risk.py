"""The turn's risk: monotone by construction, and what policies make of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.policy.test_presets import finding, unchecked
from tests.raising import raises
from vista_guard import Action, ConfigError, Decision, Guard, Label, LabelPolicy, Rule
from vista_guard.policy.label_policy import PRESETS, build_policy
from vista_guard.policy.risk import Level, RiskGroup, RiskTable, TurnAlarm, TurnGroup
from vista_guard.policy.turn_risk import HELD_AGAINST, Signals, TurnRisk, signals, uncalibrated
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, assistant, conversation
from vista_guard.types import Document, Evidence, Finding, JudgeInfo, Outcome, SourceKind

VER, CON, LACK = Label.VERIFIED, Label.CONTRADICTED, Label.LACKING_EVIDENCE
RISK = TurnRisk(intercept=-2.0, mean=3.0, share=1.0, worst=2.0, total=1.0, refuted=1.0, flag=0.5, block=0.9, source="t")

found = st.builds(finding, st.sampled_from(list(Label)), st.floats(0, 1))
held = st.builds(finding, st.sampled_from(HELD_AGAINST), st.floats(0, 1))
turns = st.lists(found | st.builds(unchecked), max_size=8)
risks = st.builds(
    TurnRisk,
    intercept=st.floats(-3, 3),
    source=st.just("t"),
    **{name: st.floats(0, 4) for name in Signals._fields},
)


def at_most(first: float | None, second: float | None) -> bool:
    return first is None or (second is not None and first <= second + 1e-9)


@given(risk=risks, outcomes=turns, more=held, missing=st.booleans())
def test_one_more_claim_held_against_a_turn_never_lowers_its_risk(
    risk: TurnRisk, outcomes: list[Outcome], more: Finding, missing: bool
) -> None:
    longer = [*outcomes, more]
    assert at_most(risk(outcomes, evidence_missing=missing), risk(longer, evidence_missing=missing))
    assert at_most(uncalibrated(outcomes), uncalibrated(longer))


@given(risk=risks, before=turns, claim=found, against=held)
def test_nor_does_it_when_a_claim_that_was_fine_is_held_against_it(
    risk: TurnRisk, before: list[Outcome], claim: Finding, against: Finding
) -> None:
    if claim.label in HELD_AGAINST and (claim.confidence > against.confidence or claim.label is CON):
        return
    assert at_most(risk([*before, claim], evidence_missing=False), risk([*before, against], evidence_missing=False))


@given(risk=risks, outcomes=turns, more=found)
def test_a_claim_that_is_fine_never_raises_it(risk: TurnRisk, outcomes: list[Outcome], more: Finding) -> None:
    before = risk(outcomes, evidence_missing=False)
    if before is not None and more.label not in HELD_AGAINST:
        assert at_most(risk([*outcomes, more], evidence_missing=False), before)


def test_signals_by_hand() -> None:
    outcomes: list[Outcome] = [finding(LACK, 0.5), finding(CON, 0.9), finding(VER), unchecked()]
    by_hand = Signals(
        mean=0.729 / 3, share=2 / 4, unconfirmed=0, worst=0.729, total=math.log1p(0.854), refuted=0.9, no_evidence=0
    )
    assert signals(outcomes, evidence_missing=False) == pytest.approx(by_hand)
    assert signals([unchecked()], evidence_missing=True) is None


def test_a_remark_does_not_hide_that_nothing_was_verified() -> None:
    remark, lie = finding(Label.OUT_OF_SCOPE, 0.9), finding(LACK, 0.8)
    found = [
        signals(outcomes, evidence_missing=False) for outcomes in ([lie], [remark, lie], [remark], [lie, finding(VER)])
    ]
    assert [values and values.unconfirmed for values in found] == [1.0, 1.0, 0.0, 0.0]


def test_sources_that_disagree_refute_nothing() -> None:
    quote = Evidence(source=SourceKind.DOCUMENT, source_id="d", quote="No.", score=0.9)
    disputed = finding(LACK, 0.9).model_copy(update={"evidence": (quote,)})
    values = signals([disputed], evidence_missing=False)
    assert values is not None
    assert values.refuted == 0.0


def test_a_risk_takes_no_weight_below_zero() -> None:
    with raises(ValidationError, "0"):
        TurnRisk(intercept=0, mean=-0.1, source="t")


def test_the_risk_of_a_judge_without_a_fit_takes_confidences_at_their_word() -> None:
    assert uncalibrated([finding(LACK, 0.5), finding(CON, 0.8), finding(VER)]) == pytest.approx(0.9)
    assert (uncalibrated([finding(VER)]), uncalibrated([unchecked()])) == (0.0, None)


# -- policies ------------------------------------------------------------------------------------------------------


def weigh(policy: LabelPolicy, outcomes: Sequence[Outcome], risk: float | None, *, missing: bool = False) -> Decision:
    return policy.weigh(outcomes, evidence_missing=missing, risk=risk)


def fitted(name: str, overrides: dict[str, object] | None = None) -> LabelPolicy:
    return build_policy(name, overrides).fitted_to(RISK)


@pytest.mark.parametrize(
    ("outcome", "risk", "monitor", "balanced", "strict"),
    [
        (finding(LACK, 0.9), 0.3, Action.ALLOW, Action.ALLOW, Action.REPAIR),
        (finding(LACK, 0.9), 0.5, Action.FLAG, Action.FLAG, Action.REPAIR),
        (finding(LACK, 0.9), 0.9, Action.FLAG, Action.BLOCK, Action.REPAIR),
        (finding(CON, 0.95), 0.1, Action.FLAG, Action.BLOCK, Action.BLOCK),
        (finding(CON, 0.7), 0.1, Action.FLAG, Action.FLAG, Action.BLOCK),
        (finding(VER, 0.9), 0.99, Action.ALLOW, Action.ALLOW, Action.ALLOW),
        (unchecked(), 0.0, Action.FLAG, Action.FLAG, Action.BLOCK),
    ],
)
def test_presets_go_by_the_risk_and_a_contradiction_flags_or_blocks_alone(
    outcome: Outcome, risk: float, monitor: Action, balanced: Action, strict: Action
) -> None:
    actions = [weigh(fitted(name), [outcome], risk).action for name in ("monitor", "balanced", "strict")]
    assert actions == [monitor, balanced, strict]


def test_the_reason_says_from_which_risk_on() -> None:
    outcomes = [finding(VER, 1, "c1"), finding(LACK, 0.6, "c2")]
    assert weigh(fitted("balanced"), outcomes, 0.31) == Decision(
        action=Action.ALLOW, reason="1 of 2 claims is not supported; risk 0.31, flagged from 0.50 on"
    )
    assert weigh(fitted("balanced"), outcomes, 0.62) == Decision(
        action=Action.FLAG,
        reason="risk 0.62, flagged from 0.50 on; c2 lacking evidence (0.60): claim c2",
        claim_ids=("c2",),
    )
    assert weigh(fitted("balanced"), outcomes, 0.93).reason.startswith("risk 0.93, withheld from 0.90 on; c2 lacking")


def test_a_block_by_a_rule_names_no_risk_that_only_flags() -> None:
    decision = weigh(fitted("balanced"), [finding(CON, 0.9, "c1")], 0.62)
    assert (decision.action, decision.reason) == (Action.BLOCK, "c1 contradicted (0.90): claim c1")


def test_without_evidence_the_explicit_choice_decides() -> None:
    assert weigh(fitted("balanced"), [finding(LACK, 0.9)], 0.99, missing=True).action is Action.FLAG
    allowed = fitted("balanced", {"on_no_evidence": "ALLOW"})
    assert weigh(allowed, [finding(LACK, 0.9)], 0.99, missing=True).action is Action.FLAG  # by its rule, as ever


def test_rules_that_users_wrote_act_alone_as_they_did() -> None:
    own = fitted(
        "balanced", {"rules": {"LACKING_EVIDENCE": {"action": "FLAG", "min_confidence": 0.5, "otherwise": "ALLOW"}}}
    )
    assert weigh(own, [finding(LACK, 0.6)], 0.1).action is Action.FLAG
    assert weigh(own, [finding(LACK, 0.4)], 0.99).action is Action.ALLOW
    silent = fitted("balanced", {"rules": {"LACKING_EVIDENCE": {"action": "ALLOW"}}})
    assert weigh(silent, [finding(LACK, 1.0)], 0.99).action is Action.ALLOW
    made = LabelPolicy(
        name="mine", rules={LACK: Rule(action=Action.FLAG)}, on_unchecked=Action.FLAG, on_no_evidence=Action.FLAG
    ).fitted_to(RISK)
    assert [weigh(made, [finding(LACK, 0.2)], risk).action for risk in (0.0, 0.95)] == [Action.FLAG, Action.FLAG]


def test_what_a_rule_mends_is_not_blocked_for_its_risk_as_well() -> None:
    mending = fitted("balanced", {"rules": {"CONTRADICTED": {"action": "REPAIR"}}})
    assert weigh(mending, [finding(CON, 0.9, "c1"), finding(LACK, 0.9, "c2")], 0.99) == Decision(
        action=Action.REPAIR,
        reason="c1 contradicted (0.90): claim c1",
        claim_ids=("c1",),
    )
    assert weigh(mending, [finding(LACK, 0.9)], 0.99).action is Action.BLOCK


def test_a_judge_without_a_fit_flags_claim_by_claim() -> None:
    policy = build_policy("balanced").fitted_to(None)
    assert weigh(policy, [finding(LACK, 0.2), finding(VER)], 0.2).action is Action.FLAG


def test_the_monitor_policy_blocks_at_no_risk() -> None:
    with raises(ConfigError, "monitor", "policy", "block_at_risk"):
        build_policy("monitor", {"block_at_risk": 0.9})


# -- rates ---------------------------------------------------------------------------------------------------------


def group(few: int, many: int, alarms: Sequence[tuple[float, int]]) -> TurnGroup:
    return TurnGroup(source="visits", claims={2: few, 12: many}, alarms=tuple(TurnAlarm(*one) for one in alarms))


def test_strata_with_too_few_turns_go_with_their_neighbours() -> None:
    turns = TurnGroup(source="x", claims={0: 5, 2: 60, 5: 30, 8: 40, 12: 10})
    assert turns.strata(1) == [(0, 3), (4, 6), (7, 9), (10, 12)]
    assert turns.strata(49) == [(0, 3), (4, 12)]
    assert turns.strata(100) == [(0, 12)]


def test_a_rate_is_held_for_few_and_for_many_claims_by_themselves() -> None:
    alarms = [(0.6, 2), *((0.8, 12) for _ in range(9))]
    assert group(99, 99, alarms).threshold(0.05) == 0.8001
    assert group(99, 99, alarms).threshold(0.10) == 0.0
    assert group(99, 99, alarms).threshold(0.05, stratified=False) == 0.8001
    assert group(99, 99, alarms[:8]).threshold(0.05, stratified=False) == 0.0
    assert group(9, 9, []).threshold(0.01) is None
    assert group(99, 99, [(1.0, 12)] * 9).threshold(0.05) is None


def test_a_group_has_no_more_alarms_than_turns() -> None:
    with raises(ValidationError, "2", "12", "claims", "1"):
        group(3, 1, [(0.5, 12), (0.6, 12)])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    made = RiskTable(
        judge=JudgeInfo(name="scripted", version="1"),
        level=Level.TURN,
        created=date(2026, 11, 21),
        groups=(RiskGroup(source="visits", n=198, alarms={}),),
        turn_risk=RISK,
        turns=(group(99, 99, [(0.95, 2), *((0.7, 12) for _ in range(9))]),),
    )
    made.save(tmp_path / "risk.json")
    return tmp_path / "risk.json"


def guarded(table: Path | None, knowledge: MemoryKnowledge, overrides: dict[str, object] | None = None) -> Guard:
    said = "One. Two."
    judge = ScriptedJudge({said: [Verdict("One.", VER, 0.9), Verdict("Two.", LACK, 0.6)]})
    return Guard(judge, build_policy("balanced", overrides), knowledge=knowledge, risk_table=table)


def limits(guard: Guard) -> tuple[object, object]:
    policy = guard.parts.policy
    assert isinstance(policy, LabelPolicy)
    return policy.flag_at_risk, policy.block_at_risk


def test_a_guard_takes_the_risk_and_its_thresholds_from_the_judges_table(
    table: Path, knowledge: MemoryKnowledge
) -> None:
    assert limits(guarded(table, knowledge)) == (0.5, 0.9)
    assert limits(guarded(table, knowledge, {"flag_at_risk": 0.2, "block_at_risk": None})) == (0.2, None)
    assert limits(guarded(None, knowledge)) == (None, None)


def test_rates_choose_the_risks(table: Path, knowledge: MemoryKnowledge) -> None:
    assert limits(guarded(table, knowledge, {"max_flag_rate": 0.05})) == (0.7001, 0.9)
    # Two share the rate: contradictions that block alone, and the risk.
    assert limits(guarded(table, knowledge, {"max_false_alarm_rate": 0.1})) == (0.5, 0.7001)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"max_flag_rate": 0.001}, ("policy.max_flag_rate", "0.001", "999", "198")),
        ({"max_flag_rate": 0.1, "flag_at_risk": 0.4}, ("flag_at_risk", "0.4", "policy.max_flag_rate", "0.1")),
        ({"max_false_alarm_rate": 0.1, "block_at_risk": 0.4}, ("block_at_risk", "0.4", "policy.max_false_alarm_rate", "0.1")),
        ({"max_flag_rate": 0.1, "rules": {"LACKING_EVIDENCE": {"action": "FLAG"}}},
         ("max_flag_rate", "0.1", "policy.rules.LACKING_EVIDENCE", "flags_alone")),
    ],
)  # fmt: skip
def test_what_cannot_be_held_is_refused(
    overrides: dict[str, object], message: tuple[str, ...], table: Path, knowledge: MemoryKnowledge
) -> None:
    with raises(ConfigError, *message):
        guarded(table, knowledge, overrides)


def test_a_table_without_risks_holds_no_flag_rate(table: Path, knowledge: MemoryKnowledge) -> None:
    old = RiskTable.load(table).model_copy(update={"turn_risk": None, "turns": ()})
    old.save(table)
    assert limits(guarded(table, knowledge)) == (None, None)
    with raises(ConfigError, "max_flag_rate", "0.1", "scripted", "1"):
        guarded(table, knowledge, {"max_flag_rate": 0.1})


def test_another_judges_table_gives_no_risk_and_says_so(
    table: Path, knowledge: MemoryKnowledge, caplog: pytest.LogCaptureFixture
) -> None:
    other = RiskTable.load(table).model_copy(update={"judge": JudgeInfo(name="scripted", version="0")})
    other.save(table)
    assert limits(guarded(table, knowledge)) == (None, None)
    assert "was made for the judge scripted 0, but scripted 1 judges: turns have no calibrated risk" in caplog.text


def test_the_report_tells_the_risk_and_whether_it_was_fitted(table: Path, knowledge: MemoryKnowledge) -> None:
    document = Document(id="d", text="One.")
    asked = conversation(assistant("One. Two.", document))
    report = guarded(table, knowledge).check(asked)
    assert report.risk == RISK(report.outcomes, evidence_missing=False)
    assert report.risk_calibrated
    plain = guarded(None, knowledge).check(asked)
    assert plain.risk == pytest.approx(0.6)
    assert (plain.risk_calibrated, plain.decision.action) == (False, Action.FLAG)


def test_presets_leave_the_risk_to_the_judge() -> None:
    assert {name: (one.flag_at_risk, one.block_at_risk) for name, one in PRESETS.items()} == {
        "monitor": ("auto", None), "balanced": ("auto", "auto"), "strict": (None, None),
    }  # fmt: skip


def test_a_claim_that_surely_lacks_evidence_flags_its_turn_whatever_the_risk_is() -> None:
    """A figure that stands nowhere must not pass as ALLOW because the rest of a long answer is fine."""
    policy = PRESETS["balanced"].fitted_to(RISK)
    assert weigh(policy, [finding(LACK, 0.97, "c1"), finding(VER, 0.9, "c2")], 0.01).claim_ids == ("c1",)
    assert weigh(policy, [finding(LACK, 0.95, "c1"), finding(VER, 0.9, "c2")], 0.01).action is Action.ALLOW


def test_a_promised_flag_rate_leaves_all_flags_to_the_risk() -> None:
    table = RiskTable(
        judge=JudgeInfo(name="j", version="1"),
        level=Level.TURN,
        created=date(2026, 1, 1),
        groups=(RiskGroup(source="s", n=100, alarms={}),),
        turns=(TurnGroup(source="s", claims={1: 100}, alarms=()),),
    )
    rules = build_policy("balanced", {"max_flag_rate": 0.1}).calibrated(table).rules
    assert rules[LACK].flags_alone is False


@pytest.mark.parametrize(
    ("risk", "shown"), [(0.7831, "0.78, flagged from 0.7833 on"), (0.7833, "0.7833, flagged"), (0.2, "0.20, flagged")]
)
def test_a_reason_has_enough_digits_to_agree_with_the_decision(risk: float, shown: str) -> None:
    policy = PRESETS["balanced"].model_copy(update={"flag_at_risk": 0.7833, "block_at_risk": 0.9})
    decision = weigh(policy, [finding(LACK, 0.6, "c1")], risk)
    assert shown in decision.reason
