"""What judges of whole turns share: the turn as its own only claim, and a verdict on it as a check. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.turn.limits import writable
from vista_guard.types import Check, Claim, Finding, Label, Span, Turn

POSITIVE: Mapping[Task, Label] = {
    Task.UNVERIFIABLE: Label.LACKING_EVIDENCE,
    Task.CONTRADICTS: Label.CONTRADICTED,
    Task.ABSTAINS: Label.ABSTENTION,
}
"""The label of a turn of which it is only known that it is what the data set looks for. One that it is not is VERIFIED."""


def whole_turn(turn: Turn, history: Sequence[Turn]) -> list[Claim]:
    """The turn as one claim; none where it says nothing."""
    if not turn.text.strip():
        return []
    span = Span(start=0, end=len(turn.text))
    return [Claim(id=f"t{len(history)}.c1", text=writable(turn.text), span=span)]


def labelled(claim: Claim, label: Label, reason: str) -> Check:
    """A verdict that came with its label, and with the reason for it, so that no other stage is asked for one."""
    finding = Finding(claim=claim, label=label, confidence=1.0, reason=reason)
    return Check(claim=claim, supported=label is Label.VERIFIED, confidence=1.0, finding=finding)
