"""Stage 2: takes the turn apart into claims (VISTA §3, step 1)."""

from __future__ import annotations

import asyncio

from vista_guard.errors import JudgeError, UnreadableError
from vista_guard.judges.contract import decompose as ask
from vista_guard.judges.contract import judge_turn
from vista_guard.turn.in_time import seconds_left, too_late
from vista_guard.turn.work import Emit, Parts, Work
from vista_guard.types import Claim, Unchecked


async def decompose(work: Work, parts: Parts, emit: Emit) -> Work:
    """The turn's own claims when it carries some, else the judge's; with the verdicts, from a judge that gives both at once."""
    if work.outcomes:
        return work
    try:
        async with asyncio.timeout(seconds_left(work, parts)):
            return await _decomposed(work, parts)
    except TimeoutError:
        return work.unjudged(too_late(parts))
    except JudgeError as exc:
        return work.unjudged(str(exc), exc.raw if isinstance(exc, UnreadableError) else None)


async def _decomposed(work: Work, parts: Parts) -> Work:
    if work.turn.claims is not None:
        return _within_limit(work, work.turn.claims, parts.limits.claims)
    answers = None
    if work.evidence is not None and not parts.trusts(work.turn):
        answers = await judge_turn(parts.judge, work.turn, work.history, work.evidence)
    if answers is None:
        return _within_limit(work, await ask(parts.judge, work.turn, work.history), parts.limits.claims)
    most = parts.limits.claims
    work = _within_limit(work, tuple(answer.claim for answer in answers), most)
    return work.with_(answers=tuple(answers[:most]))


def _within_limit(work: Work, claims: tuple[Claim, ...], most: int) -> Work:
    error = f"the turn makes {len(claims)} claims, more than limits.claims = {most}; raise the limit to have all judged"
    rest = tuple(Unchecked(claim=claim, error=error) for claim in claims[most:])
    return work.with_(claims=claims[:most], outcomes=(*work.outcomes, *rest))
