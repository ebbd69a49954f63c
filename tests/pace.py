"""Tests that hold on any machine: work is counted instead of timed, clocks are turned, and what must happen is waited for."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import accumulate, count
from types import FrameType
from typing import Any

PATIENCE_S = 600.0
"""Seconds until a test that waits in vain fails."""


def lines_run(call: Callable[..., object], *arguments: Any) -> int:
    """Lines of Python that a call runs in this thread. Work in C, as of an expression, is one line: give it a text that would
    never end."""
    run = 0

    def step(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal run
        run += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        call(*arguments)
    finally:
        sys.settrace(before)
    return run


def until(holds: Callable[[], object]) -> None:
    """Waits for another thread or process."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


async def auntil(holds: Callable[[], object]) -> None:
    """Waits for another task, thread or process."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110  what is waited for knows nothing of the test
            await asyncio.sleep(0.002)


async def others() -> None:
    """Lets every task of this loop go on until it waits for something else."""
    for _ in range(100):
        await asyncio.sleep(0)


class Clock:
    """An event loop's clock, which a test turns on: deadlines pass at once, and no other ones."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop, self._time, self._ahead = loop, loop.time, 0.0
        loop.time = lambda: self._time() + self._ahead  # type: ignore[method-assign]

    def turn(self, seconds: float) -> None:
        """Turns it on, from any thread."""
        self.loop.call_soon_threadsafe(self._turn, seconds)

    def _turn(self, seconds: float) -> None:
        self._ahead += seconds


Pause = Callable[[object, float], Awaitable[None]]
"""How a scripted server waits, for `monkeypatch.setattr(Loopback, "pause", …)`."""


def waves(*sizes: int) -> Pause:
    """Answers wait until all calls of their wave are there."""
    full = [(calls, asyncio.Event()) for calls in accumulate(sizes)]
    numbers = count(1)

    async def pause(_server: object, _until: float) -> None:
        number = next(numbers)
        calls, event = next(wave for wave in full if wave[0] >= number)
        if calls == number:
            event.set()
        async with asyncio.timeout(PATIENCE_S):
            await event.wait()

    return pause


def held(tokens: int, holds: Callable[[], object]) -> Pause:
    """A stream at some pace waits after so many tokens until something holds."""
    numbers = count()

    async def pause(_server: object, _until: float) -> None:
        if next(numbers) > tokens:
            await auntil(holds)

    return pause
