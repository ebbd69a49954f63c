"""Stage 4: says why a claim is not supported (VISTA §3, step 3)."""

from __future__ import annotations

from vista_guard.judges.contract import categorize as ask
from vista_guard.turn.work import Emit, Parts, Work


async def categorize(work: Work, parts: Parts, emit: Emit) -> Work:
    """Labels the unsupported claims and puts all outcomes into the order of the claims."""
    if work.evidence is None:
        return work
    answers = await ask(parts.judge, work.checks, work.evidence)
    for answer in answers:
        emit({"event": answer.kind, answer.kind: answer.model_dump(mode="json")})
    place = {claim.id: position for position, claim in enumerate(work.claims)}
    outcomes = sorted((*work.outcomes, *answers), key=lambda outcome: place.get(outcome.claim.id, len(place)))
    return work.with_(outcomes=tuple(outcomes))
