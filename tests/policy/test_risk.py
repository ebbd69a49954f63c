"""Thresholds with a promise: the rule, the promise itself over many draws, and what a guard makes of it."""

from __future__ import annotations

import json
import random
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raising import raises
from vista_guard import Action, ConfigError, Guard, Label, LabelPolicy, Rule
from vista_guard.inference.weights import WEIGHTS
from vista_guard.policy.label_policy import PRESETS, build_policy
from vista_guard.policy.risk import STEP, Alarm, Level, RiskGroup, RiskTable, alarms, needed_turns
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation
from vista_guard.types import JudgeInfo

CON, LACK = Label.CONTRADICTED, Label.LACKING_EVIDENCE
SCRIPTED = JudgeInfo(name="scripted", version="1")


def group(confidences: list[float], n: int, label: Label = CON, source: str = "visits") -> RiskGroup:
    return RiskGroup(source=source, n=n, alarms={label: alarms((one, 1.0) for one in confidences)})


def table(*groups: RiskGroup, judge: JudgeInfo = SCRIPTED) -> RiskTable:
    return RiskTable(judge=judge, level=Level.TURN, created=date(2026, 11, 21), groups=groups)


def by_definition(confidences: list[float], n: int, rate: Fraction) -> float | None:
    """The smallest step that `(losses + 1) / (n + 1) <= rate` allows, in exact numbers: losses change only after a confidence."""
    steps = [round(one * STEP) for one in confidences]
    for tried in sorted({0, *(step + 1 for step in steps)}):
        losses = sum(step >= tried for step in steps)
        if tried <= STEP and Fraction(losses + 1, n + 1) <= rate:
            return tried / STEP
    return None


@given(
    steps=st.lists(st.sampled_from([0, 1, 4000, 4001, 9000, 9998, 9999, 10_000]), max_size=12),
    more=st.integers(0, 40),
    rate=st.fractions(0, 1, max_denominator=60),
)
def test_the_threshold_is_the_smallest_that_the_bound_allows(steps: list[int], more: int, rate: Fraction) -> None:
    confidences, n = [step / STEP for step in steps], max(1, len(steps) + more)
    assert group(confidences, n).threshold(CON, float(rate)) == by_definition(confidences, n, rate)


def test_losses_that_are_shares_are_added_up() -> None:
    held = RiskGroup(source="x", n=9, alarms={CON: alarms([(0.9, 0.5), (0.8, 0.25), (0.8, 0.25), (0.7, 1.0)])})
    assert held.alarms[CON] == (
        Alarm(confidence=0.9, loss=0.5), Alarm(confidence=0.8, loss=0.5), Alarm(confidence=0.7, loss=1.0)
    )  # fmt: skip
    # rate x 10 - 1 may be suffered: 0.4, 0.5, 1, 2
    assert [held.threshold(CON, rate) for rate in (0.14, 0.15, 0.2, 0.3)] == [0.9001, 0.8001, 0.7001, 0.0]
    assert held.threshold(LACK, 0.1) == 0.0
    assert (held.loss(CON, 0.8), held.loss(CON, 0.8001)) == (1 / 9, 0.5 / 9)


def test_confidences_are_rounded_to_the_step_below() -> None:
    assert alarms([(0.12349, 1.0), (0.1234, 1.0), (1.0, 1.0), (0.29, 1.0)]) == (
        Alarm(confidence=1.0, loss=1.0), Alarm(confidence=0.29, loss=1.0), Alarm(confidence=0.1234, loss=2.0)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "turns"), [(0.01, 99), (0.02, 49), (0.05, 19), (0.1, 9), (1 / 3, 2), (1.0, 0), (0.0, None)]
)
def test_how_many_fine_turns_a_rate_needs(rate: float, turns: int | None) -> None:
    assert needed_turns(rate) == turns
    if turns:
        assert group([], turns).threshold(CON, rate) == 0.0
    if turns and turns > 1:
        assert group([], turns - 1).threshold(CON, rate) is None


def beta_turn(draw: random.Random, hard: float) -> list[float]:
    """Confidences of the alarms on a fine turn, piled up near 1 as a judge's are: P(confidence >= t) is 1 - t ** hard."""
    return [draw.random() ** (1 / hard)] if draw.random() < 0.5 else []


@pytest.mark.parametrize(("rate", "n"), [(0.02, 60), (0.05, 99), (0.1, 37), (0.1, 150)])
def test_the_promise_is_kept_over_many_draws_and_is_not_empty(rate: float, n: int) -> None:
    """The false alarm rate on all future turns, which is known here, in the mean over calibrations drawn anew."""
    draw, draws, rates = random.Random(7), 300, []
    for _ in range(draws):
        threshold = group([score for _ in range(n) for score in beta_turn(draw, 6)], n).threshold(CON, rate)
        assert threshold is not None
        rates.append(0.5 * (1 - threshold**6))
    margin = 4 * (rate / n / draws) ** 0.5  # four standard errors of the mean
    assert rate - 1 / (n + 1) - margin <= sum(rates) / draws <= rate + margin


def test_two_rules_and_two_kinds_of_turns_hold_the_rate_together() -> None:
    draw, rate, n, draws = random.Random(3), 0.1, 80, 150
    suffered = {2.0: 0.0, 9.0: 0.0}
    for _ in range(draws):
        groups = [
            RiskGroup(
                source=str(hard),
                n=n,
                alarms={
                    label: alarms((x, 1.0) for _ in range(n) for x in beta_turn(draw, hard)) for label in (CON, LACK)
                },
            )
            for hard in suffered
        ]
        limits = table(*groups).thresholds([CON, LACK], rate)
        for hard in suffered:
            delivered = [1 - 0.5 * (1 - limits[label] ** hard) for label in (CON, LACK)]
            suffered[hard] += (1 - delivered[0] * delivered[1]) / draws
    # The easy group pays for the hard one; a turn that both rules withhold is counted twice, so a little is given away.
    assert suffered[2.0] < suffered[9.0] < rate
    assert suffered[9.0] > rate - 2 / (n + 1) - rate**2


def test_rules_share_the_rate_and_the_hardest_group_decides() -> None:
    easy = group([0.5] * 2, 199, source="easy")
    hard = group([0.99, 0.95, 0.9, 0.8], 199, source="hard")
    assert table(easy, hard).thresholds([CON], 0.02) == {CON: 0.8001}
    assert table(easy, hard).thresholds([CON, LACK], 0.02) == {CON: 0.9501, LACK: 0.0}
    assert table(easy).thresholds([CON], 0.02) == {CON: 0.0}


@pytest.mark.parametrize(
    ("confidences", "n", "rate", "labels", "message"),
    [
        ([], 48, 0.02, [CON],
         ("max_false_alarm_rate", "0.02", "49", "visits", "48", "0.0205")),
        ([], 60, 0.02, [CON, LACK],
         ("0.02", "2", "rules", "99", "visits", "60", "0.0328")),
        ([], 60, 0.0, [CON], ("0",)),
        ([1.0] * 5, 99, 0.02, [CON],
         ("5.1", "CONTRADICTED", "threshold", "0.06")),
    ],
)  # fmt: skip
def test_a_rate_that_cannot_be_held_is_refused_with_the_next_step(
    confidences: list[float], n: int, rate: float, labels: list[Label], message: tuple[str, ...]
) -> None:
    held = table(group(confidences, n))
    with raises(ConfigError, *message) as refused:
        held.thresholds(labels, rate)
    least = float(str(refused.value).rsplit(" ", 1)[1])
    assert set(held.thresholds(labels, least)) == set(labels)


def test_a_table_survives_the_file(tmp_path: Path) -> None:
    held = table(group([0.9, 0.9, 0.25], 120), group([0.5], 7, LACK, "more"))
    held.save(tmp_path / "risk.json")
    assert RiskTable.load(tmp_path / "risk.json") == held
    assert held.name == "scripted 1, turn level, 2026-11-21: visits (n = 120), more (n = 7)"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, ("risk", "risk.json", "REPORTS", "--labels", "LABELS", "--out")),
        ("{", ("risk", "risk.json", "JSON")),
        ('{"version": 3}', ("risk", "risk.json", "version", "1", "2")),
        ('{"judge": {"name": "a", "version": "1"}, "level": "turn", "created": "2026-11-21", "groups": '
         '[{"source": "x", "n": 1, "alarms": {"CONTRADICTED": [[0.5, 2]]}}]}',
         ("groups.0", "CONTRADICTED", "2", "1")),
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_is_refused(content: str | None, message: tuple[str, ...], tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "risk.json").write_text(content)
    with raises(ConfigError, *message):
        RiskTable.load(tmp_path / "risk.json")


# -- the policy and the guard --------------------------------------------------------------------------------------

SURE, UNSURE = "The hall is made of glass.", "The hall is made of wood."


def judge(version: str = "1") -> ScriptedJudge:
    said = {SURE: [Verdict(SURE, CON, 0.95)], UNSURE: [Verdict(UNSURE, CON, 0.85)]}
    return ScriptedJudge(said, info=JudgeInfo(name="scripted", version=version))


@pytest.fixture
def risk(tmp_path: Path) -> Path:
    """Of 99 fine turns the scripted judge held something against three."""
    table(group([0.99, 0.9, 0.8], 99)).save(tmp_path / "risk.json")
    return tmp_path / "risk.json"


def said(guard: Guard, text: str) -> tuple[Action, str]:
    decision = guard.check(conversation(assistant(text))).decision
    return decision.action, decision.reason.removeprefix("there was no evidence to verify against; ")


def test_a_guard_takes_thresholds_from_the_table_and_says_so(risk: Path) -> None:
    overrides = {"max_false_alarm_rate": 0.02}
    with Guard.from_settings(
        judge=judge(), policy="balanced", policy_overrides=overrides, risk_table=risk, store="memory"
    ) as guard:
        assert said(guard, SURE) == (
            Action.BLOCK, f"t0.c1 contradicted (0.95, withheld from 0.9001 on): {SURE}",
        )  # fmt: skip
        assert said(guard, UNSURE) == (
            Action.FLAG, f"t0.c1 contradicted (0.85, withheld from 0.9001 on): {UNSURE}",
        )  # fmt: skip
        policy = guard.parts.policy
    rules = {**PRESETS["balanced"].rules, CON: Rule(action=Action.BLOCK, min_confidence=0.9001, flags_alone=0.5)}
    # The table knows nothing of turns' risks: none decides.
    chosen = {
        "max_false_alarm_rate": 0.02,
        "calibration": RiskTable.load(risk).name,
        "flag_at_risk": None,
        "block_at_risk": None,
    }
    assert policy == PRESETS["balanced"].model_copy(update={"rules": rules, **chosen})


def test_the_environment_and_a_policy_object_do_the_same(
    risk: Path, monkeypatch: pytest.MonkeyPatch, knowledge: MemoryKnowledge
) -> None:
    monkeypatch.setenv("VISTA_GUARD_POLICY_OVERRIDES__MAX_FALSE_ALARM_RATE", "0.02")
    monkeypatch.setenv("VISTA_GUARD_RISK_TABLE", str(risk))
    by_environment = Guard.from_settings(judge=judge(), store="memory")
    by_object = Guard(
        judge(), build_policy("balanced", {"max_false_alarm_rate": 0.02}), knowledge=knowledge, risk_table=risk
    )
    assert by_environment.parts.policy == by_object.parts.policy
    assert (
        Guard(judge(), by_object.parts.policy, knowledge=knowledge, risk_table=risk).parts.policy
        == by_object.parts.policy
    )


def test_another_rate_chooses_another_threshold(risk: Path, knowledge: MemoryKnowledge) -> None:
    found = {}
    for rate in (0.01, 0.02, 0.03, 0.04):
        policy = build_policy("balanced", {"max_false_alarm_rate": rate})
        guard = Guard(judge(), policy, knowledge=knowledge, risk_table=risk)
        assert isinstance(guard.parts.policy, LabelPolicy)
        found[rate] = guard.parts.policy.rules[CON].min_confidence
    assert found == {0.01: 0.9901, 0.02: 0.9001, 0.03: 0.8001, 0.04: 0.0}


def test_a_policy_that_withholds_nothing_needs_no_table(knowledge: MemoryKnowledge) -> None:
    policy = build_policy("monitor", {"max_false_alarm_rate": 0.02})
    assert Guard(judge(), policy, knowledge=knowledge).parts.policy == policy.model_copy(update={"flag_at_risk": None})


@pytest.mark.parametrize(
    ("base", "overrides", "version", "message"),
    [
        ("balanced", {}, "2", ("risk", "risk.json", "judge", "scripted", "1", "2")),
        ("strict", {}, "1", ("policy.max_false_alarm_rate", "0.02", "2", "rules", "99", "LACKING_EVIDENCE")),
        ("balanced", {"rules": {"CONTRADICTED": {"action": "BLOCK", "otherwise": "REPAIR"}}}, "1",
         ("policy.rules.CONTRADICTED.otherwise", "REPAIR", "threshold")),
        ("balanced", {"rules": {"OUT_OF_SCOPE": {"action": "BLOCK"}}}, "1",
         ("policy.rules.OUT_OF_SCOPE", "policy.max_false_alarm_rate", "rules", "CONTRADICTED", "LACKING_EVIDENCE")),
        ("balanced", {"rules": {"CONTRADICTED": {"action": "BLOCK", "min_confidence": 0.9}}}, "1",
         ("policy.rules.CONTRADICTED.min_confidence", "0.9", "policy.max_false_alarm_rate", "0.02")),
        ("balanced", {"max_false_alarm_rate": 2}, "1", ("policy.max_false_alarm_rate", "2")),
    ],
)  # fmt: skip
def test_what_cannot_be_promised_is_refused(
    base: str,
    overrides: dict[str, object],
    version: str,
    message: tuple[str, ...],
    tmp_path: Path,
    knowledge: MemoryKnowledge,
) -> None:
    held = RiskGroup(source="visits", n=99, alarms={CON: alarms([(0.9, 1.0)]), LACK: alarms([(1.0, 1.0)] * 9)})
    table(held).save(tmp_path / "risk.json")
    with raises(ConfigError, *message):
        Guard(
            judge(version),
            build_policy(base, {"max_false_alarm_rate": 0.02, **overrides}),
            knowledge=knowledge,
            risk_table=tmp_path / "risk.json",
        )


def test_without_a_table_nothing_is_promised(knowledge: MemoryKnowledge) -> None:
    policy = build_policy("balanced", {"max_false_alarm_rate": 0.02})
    with raises(ConfigError, "judge", "scripted", "1"):
        Guard(judge(), policy, knowledge=knowledge)
    with raises(ConfigError, "policy", "Guard"):
        policy([], evidence_missing=False)


def test_a_flag_rule_may_keep_its_own_threshold_beside_the_rate(risk: Path, knowledge: MemoryKnowledge) -> None:
    rules = {"LACKING_EVIDENCE": {"action": "FLAG", "min_confidence": 0.5, "otherwise": "ALLOW"}}
    policy = build_policy("balanced", {"max_false_alarm_rate": 0.02, "rules": rules})
    guard = Guard(judge(), policy, knowledge=knowledge, risk_table=risk)
    assert isinstance(guard.parts.policy, LabelPolicy)
    assert guard.parts.policy.rules[LACK] == Rule(action=Action.FLAG, min_confidence=0.5, otherwise=Action.ALLOW)


# -- the shipped table ---------------------------------------------------------------------------------------------


def test_the_shipped_table_is_the_shipped_judges() -> None:
    held, shipped = RiskTable.load(WEIGHTS / "risk.json"), json.loads((WEIGHTS / "judge.json").read_text())
    assert held.judge == JudgeInfo(name="embedded", version=shipped["version"])
    assert (WEIGHTS / "risk.json").stat().st_size < 20_000


def test_the_shipped_table_holds_a_fitted_risk_with_thresholds_for_the_presets() -> None:
    risk = RiskTable.load(WEIGHTS / "risk.json").turn_risk
    assert risk is not None
    assert risk.flag is not None
    assert risk.block is not None
    assert 0.5 < risk.flag < risk.block < 1.0


@pytest.mark.parametrize("preset", ["balanced", "strict"])
def test_the_shipped_table_holds_the_usual_rates(preset: str) -> None:
    from vista_guard.judges.embedded import EmbeddedJudge

    embedder = WordEmbedder()
    shipped, knowledge = EmbeddedJudge.load(embedder), MemoryKnowledge(embedder)
    found = []
    # Two rules of strict share the rate, and two of 232 fine turns are held with full confidence: 2 % cannot be promised.
    for rate in (0.03 if preset == "strict" else 0.02, 0.05, 0.1):
        policy = Guard(shipped, build_policy(preset, {"max_false_alarm_rate": rate}), knowledge=knowledge).parts.policy
        assert isinstance(policy, LabelPolicy)
        found.append([rule.min_confidence for rule in policy.rules.values() if rule.withholds])
    assert all(0.0 <= limit <= 1.0 for limits in found for limit in limits)
    assert found == sorted(found, reverse=True)
