"""The figures of one turn, computed once: OpenTelemetry's metrics and the proxy's `/metrics` read the same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from vista_guard.types import Action, TurnReport, Unchecked, Usage


@dataclass(frozen=True)
class TurnFigures:
    """No text, conversation or tenant is in them.

    `seconds` is the time that the guard took: its stages, without the agent. `confidences` are (label, confidence) pairs,
    `unchecked` counts claims by `error_type`.
    """

    action: Action
    gate: str
    policy: str
    judge: str
    repair: str
    seconds: float
    stages: Mapping[str, float]
    labels: Mapping[str, int]
    confidences: tuple[tuple[str, float], ...]
    unchecked: Mapping[str, int]
    evidence_missing: bool
    usage: Usage


def figures_of(report: TurnReport, repair: str | None) -> TurnFigures:
    """What is counted of a turn; `repair` says how it was mended, where it was."""
    timings = report.timings.model_dump(exclude={"agent", "total"})
    found = [(finding.label.value, finding.confidence) for finding in report.findings]
    return TurnFigures(
        action=report.decision.action,
        gate=report.gate or "turn",
        policy=report.policy,
        judge=report.judge.name,
        repair=repair or "none",
        seconds=sum(timings.values()) / 1000,
        stages={stage: milliseconds / 1000 for stage, milliseconds in timings.items() if milliseconds},
        labels=Counter(label for label, _ in found),
        confidences=tuple(found),
        unchecked=Counter(map(error_type, report.unchecked)),
        evidence_missing=report.evidence_missing,
        usage=report.usage,
    )


def error_type(unchecked: Unchecked) -> str:
    """Why a claim was not judged: code, encoded, unreadable, timeout, limit, budget or judge. Never a message."""
    if unchecked.what != "claim":
        return unchecked.what
    if unchecked.raw is not None:
        return "unreadable"
    known = {"limits.judge_seconds": "timeout", "limits.": "limit", "budget": "budget"}
    return next((kind for sign, kind in known.items() if sign in unchecked.error), "judge")
