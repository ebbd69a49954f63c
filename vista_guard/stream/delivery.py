"""The outgoing stream: released text and the host's objects, in their original order.

An answer without text is no turn and is not judged; that shows only at the first word.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping

from vista_guard.stream.source import Delta, Passed, Source
from vista_guard.types import DraftSpan, Outcome, Span

_MOST_WAITING = 256
"""Pieces that may wait for a slow reader before upstream has to wait too."""

_AT_ONCE = 16
"""Pieces that a reader takes before others have their turn: one who never has to wait would never give way."""

MOST_HELD = 10_000
"""Objects that may be held back before the first text goes out."""


class Delivery:
    """Keeps what was said, and what was dropped.

    Args:
        source: where the text comes from.
        most: characters of it that may wait to be let through before upstream has to wait.
        hold: holds everything back until the first text goes out: until then another draft may take this one's place.
    """

    def __init__(self, source: Source, most: int, *, hold: bool = False) -> None:
        self.said = ""
        self.holding = hold
        self.upto = 0
        """Place in the source's text up to which it went out or was dropped."""
        self.dropped: list[Span] = []
        self.placed: list[DraftSpan] = []
        """Pieces of the source's text that were said, and where in what was said."""
        self._source = source
        self._most = most
        self._gap: str | None = None
        self._outbox: asyncio.Queue[str | Passed | Outcome | None] = asyncio.Queue()

    async def pieces(self) -> AsyncIterator[str | Passed | Outcome]:
        """Everything, until `end`."""
        taken = 0
        while (piece := await self._outbox.get()) is not None:
            yield piece
            self._outbox.task_done()
            self._source.go_on()
            taken += 1
            if taken % _AT_ONCE == 0:
                await asyncio.sleep(0)

    async def wait_until_taken(self) -> None:
        """Waits until the reader, having taken all that was let through, asks for more: then it is on its way."""
        await self._outbox.join()

    def end(self) -> None:
        """Nothing more comes."""
        self._outbox.put_nowait(None)

    def start_again(self, source: Source, *, hold: bool) -> None:
        """Another draft takes the place of the one that was held."""
        self._source, self.upto, self.holding = source, 0, hold

    def commit(self) -> None:
        """Nothing is held back any more: from now on it is this draft."""
        self.holding = False
        self.pass_on()

    def pass_on(self) -> bool:
        """Lets through the objects that have no unreleased text before them; says whether enough is waiting for now."""
        waiting = self._source.passed
        if self._source.bound or len(waiting) > MOST_HELD:
            self.holding = False
        while not self.holding and waiting and waiting[0][0] <= self.upto:
            self._outbox.put_nowait(waiting.popleft()[1])
        return self._source.length - self.upto >= self._most or self._outbox.qsize() > _MOST_WAITING

    def release(self, end: int, marks: Mapping[int, str] | None = None) -> None:
        """Lets the text up to `end` through, with `marks` put in at their places."""
        self.commit()
        text, marks = self._source.text, marks or {}
        opening = end - len(text[self.upto : end].lstrip())
        said = self._between(text[self.upto : opening])
        if self._gap is None:
            self._place(self.upto, opening, len(self.said))
        self.upto, self._gap = opening, None
        stops = {end, *marks, *(place for place, _ in self._source.passed if place < end)}
        for stop in sorted({max(stop, opening) for stop in stops}):
            self._place(self.upto, stop, len(self.said) + len(said))
            self.say(said + text[self.upto : stop] + marks.get(stop, ""))
            said, self.upto = "", stop
            self.pass_on()
        self._source.go_on()

    def note(self, outcomes: Iterable[Outcome]) -> None:
        """Puts what became of claims before the text that says them."""
        for outcome in outcomes:
            self._outbox.put_nowait(outcome)

    def drop(self, end: int) -> None:
        """Leaves the text up to `end` out, with the white space before it."""
        self.commit()
        text = self._source.text[self.upto : end]
        self._gap = max(self._gap or "", text[: len(text) - len(text.lstrip())], key=_width)
        self.dropped.append(Span(start=self.upto, end=end))
        self.upto = end
        self.pass_on()
        self._source.go_on()

    def say(self, text: str) -> None:
        """Says something, whether or not it is in the source's text."""
        if text:
            if self.holding:
                self.commit()
            self.said += text
            self._outbox.put_nowait(text)

    def _place(self, start: int, end: int, place: int) -> None:
        """Notes where a piece of the source's text is said; one that goes on from the last is one with it."""
        if start == end:
            return
        last = self.placed[-1] if self.placed else None
        if last is not None and (last.draft.end, last.response.end) == (start, place):
            self.placed.pop()
            start, place = last.draft.start, last.response.start
        said = Span(start=place, end=place + end - start)
        self.placed.append(DraftSpan(draft=Span(start=start, end=end), response=said))

    def _between(self, space: str) -> str:
        """The white space before a sentence. After a sentence that was dropped, the wider of the two."""
        if self._gap is None:
            return space
        return max(self._gap, space, key=_width) if self.said else ""


def _width(space: str) -> tuple[int, int]:
    return space.count("\n"), len(space)


class Opening:
    """An answer up to its first word, and the rest.

    Args:
        deltas: the answer.
        hold: keeps what is no text back too, until something binding comes: another answer may take this one's place.
    """

    def __init__(self, deltas: AsyncGenerator[Delta, None], *, hold: bool) -> None:
        self.spoken = False
        """True if there is a word."""
        self._deltas = deltas
        self.hold = hold
        """True if another answer may still take this one's place."""
        self._begun: list[Delta] = []

    async def before_text(self) -> AsyncGenerator[str | Passed, None]:
        """Items that may go out before the first word; all of them if there is no text."""
        async for delta in self._deltas:
            self._begun.append(delta)
            if isinstance(delta, str) and delta.strip():
                self.spoken = True
                return
            binding = isinstance(delta, Passed) and delta.binding
            self.hold = self.hold and not binding and len(self._begun) < MOST_HELD
            for passed in [] if self.hold else self._take():
                yield passed
        for delta in self._begun:
            if isinstance(delta, str | Passed) and delta != "":
                yield delta

    async def rest(self) -> AsyncGenerator[Delta, None]:
        """The answer, without what went out. Closing it closes the answer."""
        try:
            for delta in self._begun:
                yield delta
            async for delta in self._deltas:
                yield delta
        finally:
            await self._deltas.aclose()

    def _take(self) -> list[Passed]:
        passed = [delta for delta in self._begun if isinstance(delta, Passed)]
        self._begun = [delta for delta in self._begun if not isinstance(delta, Passed)]
        return passed
