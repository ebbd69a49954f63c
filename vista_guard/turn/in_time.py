"""Judging piece by piece, in the order of the turn, until the turn's time is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import TypeVar

from vista_guard.turn.work import Parts, Work
from vista_guard.types import Check, Claim, Unchecked

Item = TypeVar("Item", Claim, Check)
Answer = TypeVar("Answer")

AT_ONCE = 128
"""Claims that are asked about together. A turn has fewer; of a longer one the first are known before the last are asked about."""

_JUDGING = ("decompose", "verify", "categorize")


async def judged_in_time(
    work: Work,
    parts: Parts,
    items: Sequence[Item],
    ask: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]],
    told: Callable[[Sequence[Answer | Unchecked]], None],
) -> list[Answer | Unchecked]:
    """One answer an item, in order; those that the time does not suffice for are unchecked.

    Args:
        work: the turn so far, which says how long it was judged.
        parts: the guard's collaborators.
        items: what to judge.
        ask: asks the judge about some of them.
        told: is given each piece's answers as they come.
    """
    deadline = monotonic() + seconds_left(work, parts)
    answers: list[Answer | Unchecked] = []
    for start in range(0, len(items), AT_ONCE):
        piece = items[start : start + AT_ONCE]
        try:
            async with asyncio.timeout(max(deadline - monotonic(), 0)):
                new: Sequence[Answer | Unchecked] = await ask(piece)
        except TimeoutError:
            late: list[Answer | Unchecked] = [
                Unchecked(claim=_claim(item), error=too_late(parts)) for item in items[start:]
            ]
            told(late)
            return [*answers, *late]
        told(new)
        answers += new
    return answers


def seconds_left(work: Work, parts: Parts) -> float:
    """Of the time in which the turn may be judged."""
    spent = sum(work.timings.get(stage, 0.0) for stage in _JUDGING) / 1000
    return max(parts.limits.judge_seconds - spent, 0.0)


def too_late(parts: Parts) -> str:
    """Why a claim was not judged."""
    return f"not judged within {parts.limits.judge_seconds:g} s (limits.judge_seconds)"


def _claim(item: Claim | Check) -> Claim:
    return item if isinstance(item, Claim) else item.claim
