"""Stored turns, made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from vista_guard.types import (
    Action,
    Attempt,
    Claim,
    Decision,
    Evidence,
    Finding,
    JudgeInfo,
    Label,
    Outcome,
    SourceKind,
    Timings,
    TurnReport,
    Unchecked,
)

JUDGE = JudgeInfo(name="scripted", version="1")
START = datetime(2026, 11, 1, 9, tzinfo=UTC)


def finding(label: Label, confidence: float = 1.0, claim: str = "c1", *, leans_on: str | None = None) -> Finding:
    """A judged claim; `leans_on` is the turn key of knowledge that it rests on."""
    quoted = Evidence(source=SourceKind.KNOWLEDGE, source_id=f"{leans_on}:t0.c1", quote="It did.", score=0.9)
    evidence = () if leans_on is None else (quoted,)
    return Finding(
        claim=Claim(id=claim, text=f"The {claim} hall opened in 1931."),
        label=label,
        confidence=confidence,
        evidence=evidence,
        reason="so it says",
    )


def unchecked(claim: str = "c1") -> Unchecked:
    """A claim that nobody could judge."""
    return Unchecked(claim=Claim(id=claim, text="Nobody knows."), error="no answer")


def stored(*outcomes: Outcome, action: Action = Action.ALLOW, number: int = 1, **more: Any) -> TurnReport:
    """A report as a store has it. `number` orders them and gives ids."""
    given = {
        "id": f"{number:032x}",
        "conversation_id": "visit",
        "turn_index": number,
        "response": "It opened in 1931.",
        "decision": Decision(action=action, reason="so it was"),
        "score": None,
        "evidence_missing": False,
        "judge": JUDGE,
        "policy": "balanced",
        "timings": Timings(total=12.0),
        "turn_key": f"key{number}",
        "created_at": START + timedelta(minutes=number),
    }
    return TurnReport(outcomes=outcomes, **{**given, **more})


def attempt(*outcomes: Outcome, action: Action = Action.REPAIR) -> Attempt:
    """A draft that another one took the place of."""
    return Attempt(outcomes=outcomes, decision=Decision(action=action, reason="not good"))
