"""Stage 3: holds each claim against the evidence (VISTA §3, step 2)."""

from __future__ import annotations

from vista_guard.judges.contract import verify as ask
from vista_guard.turn.work import Emit, Parts, Work
from vista_guard.types import Check, Evidence, Finding, Label, Unchecked


async def verify(work: Work, parts: Parts, emit: Emit) -> Work:
    """Supported claims become VERIFIED findings at once; the others go on to be categorised."""
    if work.evidence is None or parts.trusts(work.turn):
        return work
    answers = work.answers if work.answers is not None else await ask(parts.judge, work.claims, work.evidence)
    done = tuple(_outcome(answer) for answer in answers if isinstance(answer, Unchecked) or answer.supported)
    for outcome in done:
        emit({"event": outcome.kind, outcome.kind: outcome.model_dump(mode="json")})
    open_checks = tuple(answer for answer in answers if isinstance(answer, Check) and not answer.supported)
    return work.with_(checks=open_checks, outcomes=(*work.outcomes, *done))


def _outcome(answer: Check | Unchecked) -> Finding | Unchecked:
    if isinstance(answer, Unchecked):
        return answer
    reason = f"supported by {named(answer.evidence[0])}" if answer.evidence else "supported by the evidence"
    return Finding(
        claim=answer.claim,
        label=Label.VERIFIED,
        confidence=answer.confidence,
        evidence=answer.evidence,
        reason=reason,
        judged_by=answer.judged_by,
    )


def named(evidence: Evidence) -> str:
    """A source as a reader would call it."""
    return (
        f"{evidence.source} “{evidence.title or evidence.source_id}”"
        if evidence.source == "document"
        else f"the agent's {evidence.source}"
    )
