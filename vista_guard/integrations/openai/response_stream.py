"""The responses API's stream of events: what may be shown of it, and what is delivered in place of what was withheld."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from openai.types.responses import (
    Response,
    ResponseContentPartDoneEvent,
    ResponseIncompleteEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDoneEvent,
)

from vista_guard.errors import InputError
from vista_guard.integrations.openai.chat import AskAgain
from vista_guard.integrations.openai.requests import Asked, output_documents
from vista_guard.integrations.openai.responses import TEXT_DONE, Key, after, cut_short, finish, grounded, put, texts_of
from vista_guard.integrations.openai.surface import Surface, mark
from vista_guard.integrations.openai_api import BINDING
from vista_guard.stream.gates import Delta, Found, Passed
from vista_guard.types import TurnReport

_DELTA = "response.output_text.delta"
_FAILURES = ("response.failed", "error")
_ENDS = ("response.completed", "response.incomplete", *_FAILURES)


async def response_events(
    surface: Surface, asked: Asked, events: AsyncGenerator[Any, None], again: AskAgain | None
) -> AsyncGenerator[Any | TurnReport, None]:
    """The events that may be shown, numbered anew, and each text's report as soon as there is one."""
    answer, number = _Answer(surface, asked, _Source(events), again), 0
    try:
        async with aclosing(events if asked.structured else answer.events()) as items:
            async for item in items:
                if not isinstance(item, TurnReport) and not asked.structured:
                    item.sequence_number, number = number, number + 1
                yield item
    finally:
        for opened in (events, *answer.opened):
            await opened.aclose()


class _Source:
    """Upstream's events, some of which are put back to be read later."""

    def __init__(self, events: AsyncGenerator[Any, None]) -> None:
        self.events = events
        self.waiting: deque[Any] = deque()

    def __aiter__(self) -> _Source:
        return self

    async def __anext__(self) -> Any:
        return self.waiting.popleft() if self.waiting else await anext(self.events)


@dataclass
class _Text:
    """The first text that its source holds, with what comes before it; `later` is what must wait until it was judged."""

    source: _Source
    first: Any = None
    raw: str = ""
    later: list[Any] = field(default_factory=list)
    over: bool = False
    closed: bool = False

    async def parts(self) -> AsyncGenerator[Delta, None]:
        """The text, and what is none, in order."""
        try:
            while not self.over and (event := await anext(self.source, None)) is not None:
                for part in self._read(event):
                    yield part
        finally:
            if not self.over:
                self.closed = True
                await self.source.events.aclose()

    @property
    def failed(self) -> bool:
        """Whether upstream failed, or broke off, before it said a word."""
        return self.first is None and all(event.type in _FAILURES for event in self.later)

    @property
    def key(self) -> Key:
        """Where it is; the place of no text, when there is none."""
        return ("", -1) if self.first is None else (self.first.item_id, self.first.content_index)

    def _read(self, event: Any) -> Iterator[Delta]:
        if event.type == _DELTA and (self.first is None or (event.item_id, event.content_index) == self.key):
            self.first = self.first or event
            self.raw += event.delta
            yield event.delta
        elif event.type == _DELTA or event.type in _ENDS or any(part.text for _, part in texts_of(event)):
            self.later.append(event)
            self.over = event.type != _DELTA
        else:
            item = getattr(event, "item", None)
            if event.type == "response.output_item.done" and (found := output_documents([item])):
                yield Found(found)
            yield Passed(event, binding=getattr(item, "type", None) in BINDING)


@dataclass
class _Answer:
    """A response on its way."""

    surface: Surface
    asked: Asked
    source: _Source
    ask: AskAgain | None = None
    response: Response | None = None
    items: dict[int, Any] = field(default_factory=dict)
    reports: dict[Key, TurnReport] = field(default_factory=dict)
    raw: dict[Key, str] = field(default_factory=dict)
    opened: list[AsyncGenerator[Any, None]] = field(default_factory=list)
    """Upstream's answers, one for each draft."""

    async def events(self) -> AsyncGenerator[Any | TurnReport, None]:
        """Goes on to upstream's end, or to the first text that is withheld."""
        if self.ask is not None:  # From its first event on the response may be one that nobody is to see.
            async with aclosing(self._text()) as items:
                async for item in items:
                    yield item
        async for event in self.source:
            if event.type == _DELTA:
                self.source.waiting.appendleft(event)
            async with aclosing(self._text() if event.type == _DELTA else self._other(event)) as items:
                async for item in items:
                    yield item

    async def _text(self) -> AsyncGenerator[Any | TurnReport, None]:
        text, ask, self.ask = _Text(self.source), self.ask, None

        async def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
            nonlocal text
            if ask is None:
                raise AssertionError("an answer is asked for again that cannot be")
            events = await ask(draft, note)
            self.opened.append(events)
            before, following = text, _Text(_Source(events))
            async with aclosing(following.parts()) as parts:
                async for part in parts:
                    if isinstance(part, str) and part.strip():
                        text = following  # only now: what never comes to speak leaves the answer before it in its place
                    yield part
            if following.failed:
                raise InputError("the answer failed, or has no end")
            text = following
            if before.over:
                await before.source.events.aclose()

        gated = self.surface.gated(self._now(), text.parts(), None if ask is None else again)
        async with aclosing(gated):
            async for item in gated:
                if isinstance(item, TurnReport):
                    self.reports[text.key], self.raw[text.key] = item, text.raw
                    yield item
                elif isinstance(item, Passed):
                    self._note(item.item)
                    yield item.item
                elif text.first is not None:
                    yield text.first.model_copy(update={"delta": item, "logprobs": []})
        self.source = text.source
        self.source.waiting.extendleft(reversed(text.later))
        if text.closed and self._blocked(text.key):
            for made in self._cut_off(text.first):
                yield made
            self.source.waiting.clear()

    async def _other(self, event: Any) -> AsyncGenerator[Any | TurnReport, None]:
        """An event that repeats texts says what was delivered; a text that did not come before is judged here."""
        self._note(event)
        for key, part in texts_of(event):
            if not part.text.strip():
                continue
            report = self._known(key, part.text)
            if report is None:
                report = self.reports[key] = await self.surface.judge(self._now(), part.text)
                self.raw[key] = part.text
                yield report
            put(part, report)
        if event.type == "response.output_item.done":
            cut_short(event.item, self.reports)
        if event.type in _ENDS and event.type != "error":
            yield self._ended(event)
        else:
            yield event

    def _cut_off(self, delta: Any) -> Iterator[Any]:
        """The events that end a response in the middle: upstream is closed, so that they have to be made up."""
        place = {"item_id": delta.item_id, "output_index": delta.output_index, "content_index": delta.content_index}
        text = self.reports[delta.item_id, delta.content_index].response
        part = ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])
        yield ResponseTextDoneEvent(**place, type=TEXT_DONE, text=text, logprobs=[], sequence_number=0)
        yield ResponseContentPartDoneEvent(**place, type="response.content_part.done", part=part, sequence_number=0)
        item = self._message(delta, part)
        yield ResponseOutputItemDoneEvent(
            type="response.output_item.done", item=item, output_index=delta.output_index, sequence_number=0
        )
        if self.response is not None:
            self.items[delta.output_index] = item
            output = [self.items[index] for index in sorted(self.items)]
            response = self.response.model_copy(update={"output": output})
            yield self._ended(ResponseIncompleteEvent(type="response.incomplete", response=response, sequence_number=0))

    def _message(self, delta: Any, part: ResponseOutputText) -> ResponseOutputMessage:
        before = [
            ResponseOutputText(type="output_text", text=report.response, annotations=[])
            for key, report in self.reports.items()
            if key[0] == delta.item_id and key[1] < delta.content_index
        ]
        told = getattr(self.items.get(delta.output_index), "phase", None)
        phase: Any = {} if told is None else {"phase": told}
        return ResponseOutputMessage(
            id=delta.item_id, type="message", role="assistant", status="incomplete", content=[*before, part], **phase
        )

    def _ended(self, event: Any) -> Any:
        reports = dict(enumerate(self.reports.values()))
        finish(self.surface, self.asked, event.response, reports)
        if event.type == "response.completed" and event.response.status == "incomplete":
            event = ResponseIncompleteEvent.construct(
                type="response.incomplete", response=event.response, sequence_number=0
            )
        mark(event, reports)
        return event

    def _note(self, event: Any) -> None:
        if getattr(event, "response", None) is not None:
            self.response = event.response
        if getattr(event, "item", None) is not None:
            self.items[event.output_index] = event.item

    def _known(self, key: Key, text: str) -> TurnReport | None:
        """By its place; by its words where a server names one item differently from event to event."""
        same = next((other for other, raw in self.raw.items() if raw == text), None)
        return self.reports.get(key) or (self.reports.get(same) if same is not None else None)

    def _blocked(self, key: Key) -> bool:
        report = self.reports.get(key)
        return report is not None and report.blocked

    def _now(self) -> Asked:
        return after(grounded(self.asked, list(self.items.values())), self.reports)
