"""`vista-guard calibrate`: from a replayed log and people's labels to a guard that holds the rate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from vista_guard import Action, Guard, Label, LabelPolicy
from vista_guard.cli import app
from vista_guard.policy.label_policy import build_policy
from vista_guard.policy.risk import Alarm, Bin, Level, Reliability, RiskGroup, RiskTable, reliability
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation
from vista_guard.types import JudgeInfo

VER, OUT, CON, LACK = Label.VERIFIED, Label.OUT_OF_SCOPE, Label.CONTRADICTED, Label.LACKING_EVIDENCE
JUDGE = JudgeInfo(name="scripted", version="1")

VISITS: Mapping[str, list[Verdict]] = {
    "a": [Verdict("A one.", VER, 0.9), Verdict("A two.", CON, 0.97)],
    "b": [Verdict("B one.", LACK, 0.61239), Verdict("B two.", LACK, 0.4)],
    "c": [Verdict("C one.", CON, 0.8), Verdict("C two.", OUT, 0.7)],
    "d": [Verdict("D one.", CON, 0.99)],
}


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def reports() -> Path:
    """Four conversations of one turn each, judged by the scripted judge."""
    text = {name: " ".join(verdict.text for verdict in said) for name, said in VISITS.items()}
    guard = Guard(
        ScriptedJudge({text[name]: said for name, said in VISITS.items()}),
        "monitor",
        knowledge=MemoryKnowledge(WordEmbedder()),
    )
    judged = [guard.check(conversation(assistant(text[name]), id=name)) for name in VISITS]
    Path("reports.jsonl").write_text("\n".join(report.model_dump_json() for report in judged), encoding="utf-8")
    return Path("reports.jsonl")


def label(conversation_id: str, *, fine: bool, **claim: str) -> str:
    return json.dumps({"conversation_id": conversation_id, "turn_index": 0, "fine": fine, **claim})


def calibrate(*lines: str, arguments: tuple[str, ...] = (), reports: str = "reports.jsonl") -> Result:
    Path("labels.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["calibrate", reports, "--labels", "labels.jsonl", "--out", "risk.json", *arguments]
    return CliRunner().invoke(app, command)


def made(level: Level, group: RiskGroup) -> RiskTable:
    return RiskTable(judge=JUDGE, level=level, created=datetime.now(UTC).date(), groups=(group,))


def test_turns(reports: Path) -> None:
    result = calibrate(
        label("a", fine=True),
        label("b", fine=True),
        label("c", fine=True, claim="C one."),
        label("c", fine=True, claim_id="t0.c2"),
        label("d", fine=False),
        arguments=("--source", "guided tours"),
    )
    assert (result.exit_code, result.stderr) == (0, "")
    assert RiskTable.load(Path("risk.json")) == made(
        Level.TURN,
        RiskGroup(
            source="guided tours",
            n=3,
            alarms={
                CON: (Alarm(confidence=0.97, loss=1), Alarm(confidence=0.8, loss=1)),
                LACK: (Alarm(confidence=0.6123, loss=1),),
            },
        ),
    )
    assert "thresholds from 3 fine turns" in result.stdout
    assert "caught of 1" in result.stdout


def test_claims_count_as_shares_of_their_turn(reports: Path) -> None:
    result = calibrate(
        label("a", fine=False, claim="A one."),
        label("a", fine=True, claim="A two."),
        label("b", fine=True),
        label("c", fine=True, claim="C two."),
        arguments=("--level", "claim"),
    )
    assert (result.exit_code, result.stderr) == (
        0, "2 reported claims without a label and 0 labels without a report are not counted\n",
    )  # fmt: skip
    assert RiskTable.load(Path("risk.json")) == made(
        Level.CLAIM,
        RiskGroup(
            source="reports.jsonl",
            n=3,
            alarms={
                CON: (Alarm(confidence=0.97, loss=1),),
                LACK: (Alarm(confidence=0.6123, loss=0.5), Alarm(confidence=0.4, loss=0.5)),
            },
        ),
    )
    # Only claims that were labelled themselves: A one (0.9 wrong), A two (0.97, wrong), C two (0.7, right).
    assert "reliability, ECE 0.723" in result.stdout


def test_what_labels_leave_open_is_not_counted(reports: Path) -> None:
    result = calibrate(
        label("a", fine=True, claim="A one."),  # says nothing of the whole turn
        label("b", fine=True),
        label("c", fine=False, claim="C one."),  # the turn is not fine
        label("elsewhere", fine=True),
        label("d", fine=True, claim="D never said."),
    )
    assert (result.exit_code, result.stderr) == (
        0, "2 reported turns without a label and 2 labels without a report are not counted\n",
    )  # fmt: skip
    assert RiskTable.load(Path("risk.json")).groups == (
        RiskGroup(source="reports.jsonl", n=1, alarms={CON: (), LACK: (Alarm(confidence=0.6123, loss=1),)}),
    )


def test_the_table_rules_a_guard(reports: Path) -> None:
    assert calibrate(label("a", fine=True), label("b", fine=True), label("c", fine=True)).exit_code == 0
    policy = build_policy("balanced", {"max_false_alarm_rate": 0.5})
    said = {"D one.": VISITS["d"], "E.": [Verdict("E.", CON, 0.9)]}
    guard = Guard(ScriptedJudge(said), policy, knowledge=MemoryKnowledge(WordEmbedder()), risk_table="risk.json")
    assert isinstance(guard.parts.policy, LabelPolicy)
    # (n x rate + 1) / (n + 1): one of three may be withheld, so from just above the second alarm on.
    assert guard.parts.policy.rules[CON].min_confidence == 0.8001
    actions = [guard.check(conversation(assistant(text))).decision.action for text in said]
    assert actions == [Action.BLOCK, Action.BLOCK]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([label("z", fine=True)], r"no turn of reports.jsonl is labelled fine in labels.jsonl (level turn): 0 of 1 labels"),
        ([label("a", fine=True), label("a", fine=False)], "labels.jsonl, line 2 contradicts an earlier line"),
        ([label("a", fine=True), label("a", fine=False, claim_id="t0.c2")],
         "labels.jsonl: a, turn t0 is labelled fine, and its claim t0.c2 is not"),
        ([label("a", fine=True, claim="A one.", claim_id="t0.c1")], "name the claim by claim_id or by claim, not by both"),
        (['{"conversation_id": "a", "turn_index": 0}'], "labels.jsonl, line 1: fine: Field required"),
        (["fine"], "labels.jsonl, line 1: Invalid JSON"),
    ],
)  # fmt: skip
def test_labels_that_make_no_sense_are_refused(lines: list[str], message: str, reports: Path) -> None:
    result = calibrate(*lines)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("risk.json").exists()


def test_reports_that_do_not_belong_together_are_refused(reports: Path) -> None:
    first, second, *_ = reports.read_text(encoding="utf-8").splitlines()
    other = {**json.loads(second), "judge": {"name": "scripted", "version": "2"}}
    rewritten = {**json.loads(second), "attempts": [{"outcomes": [], "decision": json.loads(second)["decision"]}]}
    for line, message in (
        (json.dumps(other), "line 2 was judged by scripted 2, the first line by scripted 1"),
        (json.dumps(rewritten), "line 2 reports a rewritten turn. Replay the log with --policy monitor"),
        (first, "line 2 reports a, turn t0 again"),
        ("{}", "line 2: conversation_id: Field required"),
    ):
        Path("mixed.jsonl").write_text(f"{first}\n{line}\n", encoding="utf-8")
        result = calibrate(label("a", fine=True), reports="mixed.jsonl")
        assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
    missing = calibrate(label("a", fine=True), reports="nowhere.jsonl")
    assert (missing.exit_code, missing.stderr) == (
        2,
        "error: reports nowhere.jsonl cannot be read: No such file or directory\n",
    )


def test_reliability_is_the_diagram_as_a_table() -> None:
    assert reliability([], []) is None
    found = reliability([0.1, 0.875, 1.0, 0.3], [False, True, True, True], bins=4)
    assert found is not None
    assert found.bins == (Bin(1, 0.1, 0.0), Bin(1, 0.3, 1.0), Bin(2, 0.9375, 1.0))
    assert found.ece == pytest.approx((0.1 + 0.7 + 2 * 0.0625) / 4)
    assert reliability([0.25, 0.25], [True, False], bins=4) == Reliability(bins=(Bin(2, 0.25, 0.5),), ece=0.25)
