"""Stage 3: holds each claim against the evidence (VISTA §3, step 2)."""

from __future__ import annotations

from collections.abc import Sequence

from vista_guard.judges.contract import verify as ask
from vista_guard.turn.in_time import judged_in_time
from vista_guard.turn.work import Emit, Parts, Work
from vista_guard.types import Check, Evidence, Finding, Label, Unchecked


async def verify(work: Work, parts: Parts, emit: Emit) -> Work:
    """Supported claims become VERIFIED findings at once; the others go on to be categorised."""
    evidence = work.evidence
    if evidence is None or parts.trusts(work.turn):
        return work

    def tell(answers: Sequence[Check | Unchecked]) -> None:
        for outcome in _done(answers):
            emit({"event": outcome.kind, outcome.kind: outcome.model_dump(mode="json")})

    if work.answers is not None:
        answers: Sequence[Check | Unchecked] = work.answers
        tell(answers)
    else:
        answers = await judged_in_time(
            work, parts, work.claims, lambda claims: ask(parts.judge, claims, evidence), tell
        )
    open_checks = tuple(answer for answer in answers if isinstance(answer, Check) and not answer.supported)
    return work.with_(checks=open_checks, outcomes=(*work.outcomes, *_done(answers)))


def _done(answers: Sequence[Check | Unchecked]) -> tuple[Finding | Unchecked, ...]:
    """What needs no category."""
    return tuple(_outcome(answer) for answer in answers if isinstance(answer, Unchecked) or answer.supported)


def _outcome(answer: Check | Unchecked) -> Finding | Unchecked:
    if isinstance(answer, Unchecked):
        return answer
    if answer.finding is not None and answer.finding.label is Label.VERIFIED:
        return answer.finding  # The judge said why by itself.
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
