"""Stage 2: takes the turn apart into claims (VISTA §3, step 1)."""

from __future__ import annotations

from vista_guard.errors import JudgeError
from vista_guard.graph.seam import decompose as ask
from vista_guard.graph.state import Emit, Parts, Work
from vista_guard.types import Claim, Unchecked


async def decompose(work: Work, parts: Parts, emit: Emit) -> Work:
    """The turn's own claims when it carries some, else the judge's."""
    if work.outcomes:
        return work
    try:
        claims = await ask(parts.judge, work.turn, work.history) if work.turn.claims is None else work.turn.claims
    except JudgeError as exc:
        return work.unjudged(str(exc))
    return _within_limit(work, claims, parts.limits.claims)


def _within_limit(work: Work, claims: tuple[Claim, ...], most: int) -> Work:
    error = f"the turn makes {len(claims)} claims, more than limits.claims = {most}; raise the limit to have all judged"
    rest = tuple(Unchecked(claim=claim, error=error) for claim in claims[most:])
    return work.with_(claims=claims[:most], outcomes=(*work.outcomes, *rest))
