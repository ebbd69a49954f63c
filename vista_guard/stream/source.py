"""The upstream of a gate, read ahead by its own task up to a bound."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from vista_guard.reading.chat_json import distinct
from vista_guard.types import Document


@dataclass(frozen=True)
class Passed:
    """A host's object that is no text of the turn (a tool call, reasoning, usage): it goes through, in its place.

    A `binding` one, such as a tool call, does something: an answer that holds one is not asked for again.
    """

    item: Any
    binding: bool = False


@dataclass(frozen=True)
class Found:
    """Documents that were found while the turn is being said, such as a file search's: evidence, and nothing to show."""

    documents: tuple[Document, ...]


Delta = str | Passed | Found
"""What an answer that is being streamed is made of."""


def join_documents(first: Sequence[Document], more: Sequence[Document]) -> tuple[Document, ...]:
    """Both, each document once; one that shares its id with another text gets a numbered id."""
    return distinct((*first, *more)) if more else tuple(first)


class Source:
    """The text so far, the objects between it with the place where each came, and the documents that were found."""

    def __init__(self, deltas: AsyncIterator[Delta]) -> None:
        self.length = 0
        """Of the text."""
        self.passed: deque[tuple[int, Passed]] = deque()
        self.bound = False
        """True if something binding came."""
        self.error: BaseException | None = None
        self.ended = False
        self._said: list[str] = []
        self._arrivals: tuple[list[int], list[float]] = ([], [])
        """Length of the text after each piece of it, and when that piece came."""
        self._deltas = deltas
        self._found: tuple[Document, ...] = ()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def text(self) -> str:
        """The text so far. Put together when it is asked for: doing so for each piece would take the square of their number."""
        if len(self._said) > 1:
            self._said = ["".join(self._said)]
        return self._said[0] if self._said else ""

    @property
    def complete(self) -> bool:
        """True if upstream ended by itself."""
        return self.ended and self.error is None

    def seconds_since(self, end: int) -> float:
        """How long ago the text was there up to `end`."""
        ends, times = self._arrivals
        place = bisect_left(ends, end)
        return perf_counter() - times[place] if place < len(times) else 0.0

    def start(self, heard: Callable[[], bool]) -> None:
        """Begins to read. `heard` is called after each piece and says whether that is enough for now."""
        self._task = asyncio.create_task(self._read(heard), name="vista-guard stream: upstream")

    def take_found(self) -> tuple[Document, ...]:
        """Documents found since the last call."""
        found, self._found = self._found, ()
        return found

    def go_on(self) -> None:
        """There may be room for more."""
        self._room.set()

    async def news(self) -> None:
        """Waits until something came since the last call."""
        await self._news.wait()
        self._news.clear()

    async def aclose(self) -> None:
        """Stops reading and closes upstream."""
        if self._task is None:
            await close(self._deltas)
        elif not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _read(self, heard: Callable[[], bool]) -> None:
        try:
            async for delta in self._deltas:
                self._take(delta)
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

    def _take(self, delta: Delta) -> None:
        if isinstance(delta, Passed):
            self.passed.append((self.length, delta))
            self.bound = self.bound or delta.binding
        elif isinstance(delta, Found):
            self._found += delta.documents
        else:
            self._said.append(delta)
            self.length += len(delta)
            ends, times = self._arrivals
            ends.append(self.length)
            times.append(perf_counter())


async def close(deltas: AsyncIterator[Delta]) -> None:
    """Closes an upstream that can be closed. What it says to that changes nothing any more."""
    aclose = getattr(deltas, "aclose", None)
    if aclose is not None:
        with suppress(Exception):
            await aclose()
