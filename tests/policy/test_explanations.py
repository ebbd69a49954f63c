"""One sentence on a decision: which claim it names, and that it quotes none."""

from __future__ import annotations

from typing import Any

import pytest

from vista_guard.policy.explanations import answer_number, explain, worst
from vista_guard.types import (
    Action,
    Attempt,
    Claim,
    Decision,
    Evidence,
    Finding,
    JudgeInfo,
    Label,
    RepairMode,
    SourceKind,
    Timings,
    TurnReport,
    Unchecked,
)

HOURS = Evidence(source=SourceKind.DOCUMENT, source_id="d1", title="Opening hours", quote="from nine", score=0.9)
EARLIER = Evidence(source=SourceKind.KNOWLEDGE, source_id="k:t1.c1", quote="from nine", score=0.9)


def finding(name: str, label: Label, confidence: float = 0.9, *evidence: Evidence) -> Finding:
    claim = Claim(id=name, text=f"secret {name}")
    return Finding(claim=claim, label=label, confidence=confidence, evidence=evidence, reason="r")


def unchecked(what: Any) -> Unchecked:
    return Unchecked(claim=Claim(id="u", text="secret u"), error="secret error", what=what)


def report(action: Action, *outcomes: Any, claim_ids: tuple[str, ...] = (), **more: Any) -> TurnReport:
    given: dict[str, Any] = {"evidence_missing": False, **more}
    return TurnReport(
        conversation_id=None,
        turn_index=1,
        response="secret answer",
        outcomes=outcomes,
        decision=Decision(action=action, reason="secret reason", claim_ids=claim_ids),
        score=None,
        judge=JudgeInfo(name="j", version="1"),
        policy="p",
        timings=Timings(),
        **given,
    )


FALSE = finding("a", Label.CONTRADICTED, 0.9, HOURS)
LOOSE = finding("b", Label.LACKING_EVIDENCE, 0.8)
TRUE = finding("c", Label.VERIFIED)
REFUSED = Attempt(outcomes=(FALSE,), decision=Decision(action=Action.REPAIR, reason="r"), repair=RepairMode.REGENERATE)


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (report(Action.BLOCK, TRUE, FALSE, claim_ids=("a",)), "Blocked: contradicts Opening hours: “from nine”, 90 %"),
        (report(Action.BLOCK, LOOSE, FALSE), "Blocked: contradicts Opening hours: “from nine”, 90 %, and 1 more claim"),
        (report(Action.FLAG, LOOSE, FALSE, claim_ids=("b",)), "Flagged: no evidence supports a claim, 80 %"),
        (
            report(Action.BLOCK, finding("a", Label.CONTRADICTED, 0.7, EARLIER)),
            "Blocked: contradicts an earlier turn: “from nine”, 70 %",
        ),
        (report(Action.BLOCK, finding("a", Label.CONTRADICTED)), "Blocked: contradicts the evidence, 90 %"),
        (report(Action.FLAG, LOOSE, evidence_missing=True), "Flagged: no evidence was given"),
        (report(Action.FLAG, unchecked("code")), "Flagged: code is not judged"),
        (report(Action.BLOCK, unchecked("claim"), TRUE), "Blocked: a claim could not be judged"),
        (report(Action.REPAIR, TRUE, attempts=(REFUSED,)), "Repaired: contradicts Opening hours: “from nine”, 90 %"),
        (report(Action.ALLOW, TRUE, LOOSE, finding("d", Label.OUT_OF_SCOPE)), "Allowed: 1 of 3 claims verified"),
        (report(Action.ALLOW), "Allowed: no claim to verify"),
        (report(Action.FLAG, finding("e", Label.ABSTENTION, 0.6)), "Flagged: abstention, 60 %"),
    ],
)
def test_the_sentence(told: TurnReport, sentence: str) -> None:
    assert explain(told).text == sentence
    assert "secret" not in sentence


def test_the_worst_claim_is_the_most_serious_and_then_the_surest() -> None:
    surer = finding("z", Label.CONTRADICTED, 0.95)
    assert worst(report(Action.BLOCK, TRUE, LOOSE, FALSE, surer)) == surer
    assert worst(report(Action.ALLOW)) is None


def test_a_long_quote_is_cut_and_stands_on_one_line() -> None:
    long = HOURS.model_copy(update={"quote": "from nine\n" * 30})
    text = explain(report(Action.BLOCK, finding("a", Label.CONTRADICTED, 0.9, long))).text
    assert text.startswith("Blocked: contradicts Opening hours: “from nine from nine")
    assert text.endswith("…”, 90 %")
    assert len(text) < 150


@pytest.mark.parametrize(("index", "number"), [(0, 1), (1, 1), (2, 1), (3, 2), (5, 3), (6, 3)])
def test_answers_are_counted_from_one(index: int, number: int) -> None:
    assert answer_number(index) == number
