"""Several callers at once: a process's throughput, and the cost of the queue before the models when it is idle."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from statistics import median
from time import perf_counter

from benchmarks.measure import Row, timed
from benchmarks.turns import turn
from vista_guard import Guard
from vista_guard.inference.onnx import shared_encoder
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.models import Calibration
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Conversation

CALLERS = (1, 4, 16)
BLOCK = 16
"""Turns that are timed together: once one after the other, then by so many callers at once."""


def rows(runs: int) -> Iterator[Row]:
    """Turns a second of concurrent checks, over those of checks one after the other next to them; then the idle queue."""
    guard = Guard(EmbeddedJudge.load(OnnxEmbedder()))
    blocks = max(runs // 40, 2)
    numbers = iter(range(10_000, 100_000))
    guard.check(turn(next(numbers), given=True))  # the models are loaded with the first turn
    for callers in CALLERS:
        ratios, speeds = [], []
        for _ in range(blocks):
            alone, together = (
                _seconds(guard, [turn(next(numbers), given=True) for _ in range(BLOCK)], at_once)
                for at_once in (1, callers)
            )
            ratios.append(alone / together)
            speeds.append(BLOCK / together)
        yield Row(f"{callers} callers at once", median(speeds), "turns/s", runs=blocks * BLOCK, more_is_better=True)
        yield Row("  over one after the other", median(ratios), "ratio", runs=blocks * BLOCK, more_is_better=True)
    yield _idle(runs)


def _seconds(guard: Guard, turns: Sequence[Conversation], callers: int) -> float:
    async def all_of_them() -> None:
        free = asyncio.Semaphore(callers)

        async def one(conversation: Conversation) -> None:
            async with free:
                await guard.acheck(conversation)

        await asyncio.gather(*map(one, turns))

    started = perf_counter()
    asyncio.run(all_of_them())
    return perf_counter() - started


def _idle(runs: int) -> Row:
    """One pair through the queue, over the same pass on the caller's own thread."""
    verifier = shared_encoder("verifier", Calibration.load().max_length)
    pair = ("The lighthouse of Port Ellery was built in 1862 by Jonas Trell.", "Jonas Trell built the lighthouse.")
    calls = {True: lambda: verifier.run([pair]), False: lambda: verifier._forward(verifier.tokens([pair])[0])}
    ratios = []
    for number in range(runs):
        # Alternate: on a busy machine the second run is interrupted more often.
        times = {queued: timed(calls[queued]) for queued in (number % 2 == 0, number % 2 == 1)}
        ratios.append(times[True] / times[False])
    return Row("one pair through the idle queue, over no queue", median(ratios), "ratio", runs=runs)
