"""Stage 4: says why a claim is not supported (VISTA §3, step 3)."""

from __future__ import annotations

from collections.abc import Sequence

from vista_guard.judges.contract import categorize as ask
from vista_guard.turn.in_time import judged_in_time
from vista_guard.turn.work import Emit, Parts, Work
from vista_guard.types import Finding, Unchecked


async def categorize(work: Work, parts: Parts, emit: Emit) -> Work:
    """Labels the unsupported claims and puts all outcomes into the order of the claims."""
    evidence = work.evidence
    if evidence is None:
        return work

    def tell(answers: Sequence[Finding | Unchecked]) -> None:
        for answer in answers:
            emit({"event": answer.kind, answer.kind: answer.model_dump(mode="json")})

    answers = await judged_in_time(work, parts, work.checks, lambda checks: ask(parts.judge, checks, evidence), tell)
    place = {claim.id: position for position, claim in enumerate(work.claims)}
    outcomes = sorted((*work.outcomes, *answers), key=lambda outcome: place.get(outcome.claim.id, len(place)))
    return work.with_(outcomes=tuple(outcomes))
