"""What goes out: text that was let through and the host's objects, in the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from vista_guard.graph.stream_source import Passed, Source
from vista_guard.types import Span

_MOST_WAITING = 256
"""Pieces that may wait for a slow reader before upstream has to wait too."""


class Delivery:
    """Keeps what was said, and what was dropped.

    Args:
        source: where the text comes from.
        most: characters of it that may wait to be let through before upstream has to wait.
    """

    def __init__(self, source: Source, most: int) -> None:
        self.said = ""
        self.upto = 0
        """Place in the source's text up to which it went out or was dropped."""
        self.dropped: list[Span] = []
        self._source = source
        self._most = most
        self._gap: str | None = None
        self._outbox: asyncio.Queue[str | Passed | None] = asyncio.Queue()

    async def pieces(self) -> AsyncIterator[str | Passed]:
        """Everything, until `end`."""
        while (piece := await self._outbox.get()) is not None:
            yield piece
            self._source.go_on()

    def end(self) -> None:
        """Nothing more comes."""
        self._outbox.put_nowait(None)

    def pass_on(self) -> bool:
        """Lets through the objects that have no unreleased text before them; says whether enough is waiting for now."""
        waiting = self._source.passed
        while waiting and waiting[0][0] <= self.upto:
            self._outbox.put_nowait(waiting.popleft()[1])
        return len(self._source.text) - self.upto >= self._most or self._outbox.qsize() > _MOST_WAITING

    def release(self, end: int, marks: Mapping[int, str] | None = None) -> None:
        """Lets the text up to `end` through, with `marks` put in at their places."""
        text, marks = self._source.text, marks or {}
        opening = end - len(text[self.upto : end].lstrip())
        said = self._between(text[self.upto : opening])
        self.upto, self._gap = opening, None
        stops = {end, *marks, *(place for place, _ in self._source.passed if place < end)}
        for stop in sorted({max(stop, opening) for stop in stops}):
            self.say(said + text[self.upto : stop] + marks.get(stop, ""))
            said, self.upto = "", stop
            self.pass_on()
        self._source.go_on()

    def drop(self, end: int) -> None:
        """Leaves the text up to `end` out, with the white space before it."""
        text = self._source.text[self.upto : end]
        self._gap = max(self._gap or "", text[: len(text) - len(text.lstrip())], key=_width)
        self.dropped.append(Span(start=self.upto, end=end))
        self.upto = end
        self.pass_on()
        self._source.go_on()

    def say(self, text: str) -> None:
        """Says something, whether or not it is in the source's text."""
        if text:
            self.said += text
            self._outbox.put_nowait(text)

    def _between(self, space: str) -> str:
        """The white space before a sentence. After a sentence that was dropped, the wider of the two."""
        if self._gap is None:
            return space
        return max(self._gap, space, key=_width) if self.said else ""


def _width(space: str) -> tuple[int, int]:
    return space.count("\n"), len(space)
