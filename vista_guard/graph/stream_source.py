"""What comes from upstream: read ahead by a task of its own, up to a bound."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Passed:
    """A host's object that is no text of the turn (a tool call, reasoning, usage): it goes through, in its place."""

    item: Any


class Source:
    """The text so far, and the objects between it with the place where each came."""

    def __init__(self, deltas: AsyncIterator[str | Passed]) -> None:
        self.text = ""
        self.passed: deque[tuple[int, Passed]] = deque()
        self.error: BaseException | None = None
        self.ended = False
        self._deltas = deltas
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def complete(self) -> bool:
        """Whether upstream came to its own end."""
        return self.ended and self.error is None

    def start(self, heard: Callable[[], bool]) -> None:
        """Begins to read. `heard` is called after each piece and says whether that is enough for now."""
        self._task = asyncio.create_task(self._read(heard), name="vista-guard stream: upstream")

    def go_on(self) -> None:
        """There may be room for more."""
        self._room.set()

    async def news(self) -> None:
        """Waits until something came since the last call."""
        await self._news.wait()
        self._news.clear()

    async def aclose(self) -> None:
        """Stops reading and closes upstream."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _read(self, heard: Callable[[], bool]) -> None:
        try:
            async for delta in self._deltas:
                if isinstance(delta, Passed):
                    self.passed.append((len(self.text), delta))
                else:
                    self.text += delta
                self._news.set()
                while heard():
                    self._room.clear()
                    await self._room.wait()
        except BaseException as exc:
            self.error = exc
            if isinstance(exc, asyncio.CancelledError):
                raise
        finally:
            self.ended = True
            self._news.set()
            await close(self._deltas)


async def close(deltas: AsyncIterator[str | Passed]) -> None:
    """Closes an upstream that can be closed. What it says to that changes nothing any more."""
    aclose = getattr(deltas, "aclose", None)
    if aclose is not None:
        with suppress(Exception):
            await aclose()
