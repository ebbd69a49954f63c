"""A gate's two ends: upstream, read ahead by its own task up to a bound, and the outgoing stream in its original order."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from math import inf
from time import monotonic, perf_counter
from typing import Any, Self

from vista_guard.reading.chat_json import distinct
from vista_guard.types import Document, DraftSpan, Outcome, Span


@dataclass(frozen=True)
class Passed:
    """A host's object that is no text of the turn (a tool call, reasoning, usage): it goes through, in its place.

    A `binding` one, such as a tool call, does something: an answer that holds one is not asked for again.
    """

    item: Any
    binding: bool = False


@dataclass(frozen=True)
class Found:
    """Documents found while the turn is written, such as a file search's: evidence, and nothing to show."""

    documents: tuple[Document, ...]


Delta = str | Passed | Found
"""An item of a streamed answer."""


def join_documents(first: Sequence[Document], more: Sequence[Document]) -> tuple[Document, ...]:
    """Both, each document once; one that shares its id with another text gets a numbered id."""
    return distinct((*first, *more)) if more else tuple(first)


class Source:
    """The text so far, the objects between it with the place where each came, and the documents that were found."""

    def __init__(self, deltas: AsyncIterator[Delta]) -> None:
        self.length = 0
        self.passed: deque[tuple[int, Passed]] = deque()
        self.bound = False
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
        return self.ended and self.error is None

    def seconds_since(self, end: int) -> float:
        """Seconds since the text up to `end` arrived."""
        ends, times = self._arrivals
        place = bisect_left(ends, end)
        return perf_counter() - times[place] if place < len(times) else 0.0

    def start(self, heard: Callable[[], bool]) -> None:
        """Begins to read. `heard` is called after each piece; True pauses reading."""
        self._task = asyncio.create_task(self._read(heard), name="vista-guard stream: upstream")

    def take_found(self) -> tuple[Document, ...]:
        documents, self._found = self._found, ()
        return documents

    def go_on(self) -> None:
        """Resumes reading: there may be room for more."""
        self._room.set()

    async def news(self) -> None:
        await self._news.wait()
        self._news.clear()

    async def aclose(self) -> None:
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
    """Closes an upstream that can be closed, and ignores its errors."""
    aclose = getattr(deltas, "aclose", None)
    if aclose is not None:
        with suppress(Exception):
            await aclose()


async def undisturbed(closing: Coroutine[Any, Any, None], *, most_s: float = 5.0) -> None:
    """Runs to its end, even if the caller is cancelled meanwhile: anyio cancels at every `await` of a scope it left.

    A host's generator may hang while it is closed: `most_s` seconds after the caller was cancelled it is given up.
    """
    task, cancelled, until = asyncio.create_task(closing), None, inf
    while not task.done() and (left := until - monotonic()) > 0:
        try:
            await asyncio.wait((task,), timeout=None if left == inf else left)
        except asyncio.CancelledError as exc:
            cancelled, until = exc, min(until, monotonic() + most_s)
    task.cancel()  # given up, unless it is done
    if cancelled is not None:
        raise cancelled from (task.exception() if task.done() and not task.cancelled() else None)
    task.result()


class Resumed:
    """The deltas that were read already, then the rest. Closing it closes the upstream."""

    def __init__(self, begun: Iterable[Delta], deltas: AsyncIterator[Delta]) -> None:
        self._begun, self._deltas = deque(begun), deltas

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        return self._begun.popleft() if self._begun else await anext(self._deltas)

    async def aclose(self) -> None:
        await close(self._deltas)


_MOST_WAITING = 256
"""Pieces that may wait for a slow reader before upstream has to wait too."""

_AT_ONCE = 16
"""Pieces that a reader takes before others have their turn: one who never has to wait would never give way."""

MOST_HELD = 10_000
"""Objects that may be held back before the first text goes out."""


class Delivery:
    """Keeps what was said, and what was dropped. `most` characters may wait before upstream has to wait.

    `hold` holds everything back until the first text goes out: until then another draft may take this one's place.
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
        self._taken = 0

    async def take(self) -> str | Passed | Outcome | None:
        """The next piece, None at the end. Asking for it says that the one before is on its way."""
        if self._taken:
            self._outbox.task_done()
            self._source.go_on()
            if self._taken % _AT_ONCE == 0:
                await asyncio.sleep(0)
        self._taken += 1
        return await self._outbox.get()

    async def wait_until_taken(self) -> None:
        """Waits until the reader, having taken all that was let through, asks for more: then it is on its way."""
        await self._outbox.join()

    def end(self) -> None:
        self._outbox.put_nowait(None)

    def start_again(self, source: Source, *, hold: bool) -> None:
        self._source, self.upto, self.holding = source, 0, hold

    def commit(self) -> None:
        """Stops holding back: from now on it is this draft."""
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

    def release(self, end: int, marks: Mapping[int, str] | None = None, cuts: Sequence[Span] = ()) -> None:
        """Lets the text up to `end` through, with `marks` put in at their places, and without these `cuts`, in order."""
        self.commit()
        text, marks = self._source.text, marks or {}
        spaced = end - len(text[self.upto : end].lstrip())
        opening = _behind(text, spaced, end, cuts)
        if opening == end and cuts:
            self._leave_out(end)
            return
        released = self._between(text[self.upto : spaced])
        if self._gap is None:
            self._place(self.upto, spaced, len(self.said))
        self.upto, self._gap = opening, None
        between = takewhile(lambda waiting: waiting[0] < end, self._source.passed)
        edges = {edge for cut in cuts for edge in (cut.start, cut.end)}
        stops = {end, *marks, *edges, *(place for place, _ in between)}
        hidden = {cut.start: cut.end for cut in cuts}
        hidden_until = opening
        for stop in sorted({max(stop, opening) for stop in stops}):
            hidden_until = max(hidden_until, hidden.get(self.upto, 0))
            shown = text[self.upto : stop] if self.upto >= hidden_until else ""
            if shown:
                self._place(self.upto, stop, len(self.said) + len(released))
            self.say(released + shown + marks.get(stop, ""))
            released, self.upto = "", stop
            self.pass_on()
        self._source.go_on()

    def note(self, outcomes: Iterable[Outcome]) -> None:
        """Queues the outcomes of claims before their text."""
        for outcome in outcomes:
            self._outbox.put_nowait(outcome)

    def drop(self, end: int) -> None:
        """Leaves the text up to `end` out, with the white space before it."""
        self.dropped.append(Span(start=self.upto, end=end))
        self._leave_out(end)

    def _leave_out(self, end: int) -> None:
        self.commit()
        text = self._source.text[self.upto : end]
        self._gap = max(self._gap or "", text[: len(text) - len(text.lstrip())], key=_width)
        self.upto = end
        self.pass_on()
        self._source.go_on()

    def say(self, text: str) -> None:
        if text:
            if self.holding:
                self.commit()
            self.said += text
            self._outbox.put_nowait(text)

    def _place(self, start: int, end: int, place: int) -> None:
        """Notes where a piece of the source's text is said; merges one that continues the last."""
        if start == end:
            return
        last = self.placed[-1] if self.placed else None
        if last is not None and (last.draft.end, last.response.end) == (start, place):
            self.placed.pop()
            start, place = last.draft.start, last.response.start
        span = Span(start=place, end=place + end - start)
        self.placed.append(DraftSpan(draft=Span(start=start, end=end), response=span))

    def _between(self, space: str) -> str:
        """The white space before a sentence. After a sentence that was dropped, the wider of the two."""
        if self._gap is None:
            return space
        return max(self._gap, space, key=_width) if self.said else ""


def _behind(text: str, place: int, end: int, cuts: Sequence[Span]) -> int:
    """Where the text that is shown begins, behind the cuts that it begins with and the space after them."""
    for cut in cuts:
        if cut.start > place:
            break
        place = max(place, min(cut.end, end))
        place = end - len(text[place:end].lstrip())
    return place


def _width(space: str) -> tuple[int, int]:
    return space.count("\n"), len(space)


class Opening:
    """An answer up to its first word, and the rest.

    `hold` keeps what is no text back too, until something binding comes: another answer may take this one's place.
    """

    def __init__(self, deltas: AsyncGenerator[Delta, None], *, hold: bool) -> None:
        self.spoken = False
        self._deltas = deltas
        self.hold = hold
        """True if another answer may still take this one's place."""
        self._begun: list[Delta] = []

    async def before_text(self) -> AsyncGenerator[str | Passed, None]:
        """Items that may go out before the first word; all of them if there is no text."""
        async for delta in self._deltas:
            if isinstance(delta, str) and delta.strip():
                self._begun.append(delta)
                self.spoken = True
                return
            if self.hold or not isinstance(delta, Passed):
                self._begun.append(delta)
            else:
                yield delta
            if self.hold and (len(self._begun) >= MOST_HELD or (isinstance(delta, Passed) and delta.binding)):
                self.hold = False
                for passed in self._take():
                    yield passed
        for delta in self._begun:
            if isinstance(delta, str | Passed) and delta != "":
                yield delta

    def rest(self) -> AsyncIterator[Delta]:
        """The answer, without what went out. Closing it closes the answer."""
        return Resumed(self._begun, self._deltas)

    def _take(self) -> list[Passed]:
        passed = [delta for delta in self._begun if isinstance(delta, Passed)]
        self._begun = [delta for delta in self._begun if not isinstance(delta, Passed)]
        return passed
