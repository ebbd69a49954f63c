"""What a caller is told about a judged turn: headers and the `vista_guard` field. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vista_guard.openai_api.requests import Json
from vista_guard.types import Action, Finding, Outcome, TurnReport

OFF = (("x-vista-guard-decision", "OFF"), ("x-vista-guard-unjudged", "everything"))
"""Told in place of a decision where the proxy is switched off. No report ever has it."""
_DELIVERED = (Action.ALLOW, Action.FLAG)


def headers(report: TurnReport) -> list[tuple[str, str]]:
    """The decision, and the score when there is one."""
    told = [("x-vista-guard-decision", report.decision.action.value)]
    return told if report.score is None else [*told, ("x-vista-guard-score", f"{report.score:.4f}")]


def unjudged_headers(unjudged: Sequence[str]) -> list[tuple[str, str]]:
    """What passes unjudged by design, when something does."""
    return [("x-vista-guard-unjudged", ",".join(unjudged))] if unjudged else []


def unjudged_field(told: Json | None, unjudged: Sequence[str]) -> Json | None:
    """The verdict with what passed unjudged by design; None when there is neither."""
    if not unjudged:
        return told
    return {**(told or {}), "unjudged": list(unjudged)}


def conversation_header(name: str | None) -> list[tuple[str, str]]:
    """The conversation's name, when it has one that a header can hold."""
    return [("x-vista-guard-conversation", name)] if name is not None and name.isascii() else []


def field(report: TurnReport, name: str | None) -> Json:
    """The verdict as JSON. Claims are named only when the whole turn was delivered: those of a withheld one say what it said,
    and so does the decision's reason."""
    counts = Counter(
        outcome.label.value if isinstance(outcome, Finding) else "UNCHECKED" for outcome in report.outcomes
    )
    told: Json = {
        "decision": report.decision.action.value,
        "score": report.score,
        "risk": report.risk,
        "risk_calibrated": report.risk_calibrated,
        "conversation_id": name,
        "turn_index": report.turn_index,
        "evidence_missing": report.evidence_missing,
        "labels": dict(counts),
        "judge": report.judge.model_dump(),
        "policy": report.policy,
    }
    if report.decision.action not in _DELIVERED:
        return told
    return {**told, "reason": report.decision.reason, "claims": [_claim(outcome) for outcome in report.outcomes]}


def _claim(outcome: Outcome) -> Json:
    claim: Json = outcome.claim.model_dump(mode="json")
    if not isinstance(outcome, Finding):
        return {**claim, "label": None, "confidence": None, "evidence": []}
    evidence = [
        {"source": piece.source.value, "title": piece.title, "quote": piece.quote, "score": piece.score}
        for piece in outcome.evidence
    ]
    return {**claim, "label": outcome.label.value, "confidence": outcome.confidence, "evidence": evidence}
