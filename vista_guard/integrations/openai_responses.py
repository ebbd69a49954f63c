"""The responses API: a whole response, and a stream of events, with what the guard delivers in place of what it withheld."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
from openai.types.responses.response import IncompleteDetails

from vista_guard.graph.stream import Passed
from vista_guard.integrations.openai_chat import FILTERED
from vista_guard.integrations.openai_requests import Asked, joined, output_documents, said
from vista_guard.integrations.openai_surface import Surface, mark
from vista_guard.types import TurnReport

_DELTA = "response.output_text.delta"
_DONE = "response.output_text.done"
_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")

Key = tuple[str, int]
"""Id of an output item, and place of the text in its content."""


async def judge_response(surface: Surface, asked: Asked, response: Response) -> dict[int, TurnReport]:
    """A report for every text of the response, one after the other: a later text may lean on an earlier."""
    reports: dict[int, TurnReport] = {}
    if asked.structured:
        return reports
    asked = _grounded(asked, response.output or [])
    for _, part in _response_texts(response):
        if part.text.strip():
            reports[len(reports)] = await surface.judge(_after(asked, reports), part.text)
    return reports


def deliver_response(surface: Surface, asked: Asked, response: Response, reports: Mapping[int, TurnReport]) -> None:
    """Puts what is delivered into the response.

    Raises:
        Blocked: a text was withheld, and `on_block` is raise.
    """
    surface.tell(reports.values())
    spoken = [part for _, part in _response_texts(response) if part.text.strip()]
    for part, report in zip(spoken, reports.values(), strict=not asked.structured):
        _put(part, report)
    _finish(surface, asked, response, reports)


async def response_events(
    surface: Surface, asked: Asked, events: AsyncGenerator[Any, None]
) -> AsyncGenerator[Any | TurnReport, None]:
    """The events that may be shown, numbered anew, and each text's report as soon as there is one."""
    answer, number = _Answer(surface, asked, _Source(events)), 0
    try:
        async for item in events if asked.structured else answer.events():
            if not isinstance(item, TurnReport) and not asked.structured:
                item.sequence_number, number = number, number + 1
            yield item
    finally:
        await events.aclose()


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
class _Answer:
    """A response on its way."""

    surface: Surface
    asked: Asked
    source: _Source
    response: Response | None = None
    items: dict[int, Any] = field(default_factory=dict)
    reports: dict[Key, TurnReport] = field(default_factory=dict)
    raw: dict[Key, str] = field(default_factory=dict)
    closed: bool = False

    async def events(self) -> AsyncGenerator[Any | TurnReport, None]:
        """Goes on to upstream's end, or to the first text that is withheld."""
        async for event in self.source:
            if event.type == _DELTA:
                async for item in self._text(event):
                    yield item
                if self._blocked(event) and self.closed:
                    for made in self._cut_off(event):
                        yield made
                    return
            else:
                async for item in self._other(event):
                    yield item

    async def _text(self, first: Any) -> AsyncGenerator[Any | TurnReport, None]:
        later: list[Any] = []
        key = (first.item_id, first.content_index)
        async for item in self.surface.gated(self._now(), self._deltas(first, later)):
            if isinstance(item, TurnReport):
                self.reports[key] = item
                yield item
            elif isinstance(item, Passed):
                self._note(item.item)
                yield item.item
            else:
                yield first.model_copy(update={"delta": item, "logprobs": []})
        self.source.waiting.extendleft(reversed(later))

    async def _deltas(self, first: Any, later: list[Any]) -> AsyncGenerator[str | Passed, None]:
        """The text that `first` begins; `later` takes what must wait until it was judged."""
        key = (first.item_id, first.content_index)
        self.raw[key], over = first.delta, False
        try:
            yield first.delta
            while not over and (event := await anext(self.source, None)) is not None:
                if event.type == _DELTA and (event.item_id, event.content_index) == key:
                    self.raw[key] += event.delta
                    yield event.delta
                elif event.type == _DELTA or event.type in _ENDS or any(part.text for _, part in _texts(event)):
                    later.append(event)
                    over = event.type != _DELTA
                else:
                    yield Passed(event)
        finally:
            if not over:
                self.closed = True
                await self.source.events.aclose()

    async def _other(self, event: Any) -> AsyncGenerator[Any | TurnReport, None]:
        """An event that repeats texts says what was delivered; a text that did not come before is judged here."""
        self._note(event)
        for key, part in _texts(event):
            if not part.text.strip():
                continue
            report = self._known(key, part.text)
            if report is None:
                report = self.reports[key] = await self.surface.judge(self._now(), part.text)
                self.raw[key] = part.text
                yield report
            _put(part, report)
        if event.type == "response.output_item.done":
            _cut_short(event.item, self.reports)
        if event.type in _ENDS and event.type != "error":
            yield self._ended(event)
        else:
            yield event

    def _cut_off(self, delta: Any) -> Iterator[Any]:
        """The events that end a response in the middle: upstream is closed, so that they have to be made up."""
        place = {"item_id": delta.item_id, "output_index": delta.output_index, "content_index": delta.content_index}
        text = self.reports[delta.item_id, delta.content_index].response
        part = ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])
        yield ResponseTextDoneEvent(**place, type=_DONE, text=text, logprobs=[], sequence_number=0)
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
        _finish(self.surface, self.asked, event.response, reports)
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

    def _blocked(self, delta: Any) -> bool:
        report = self.reports.get((delta.item_id, delta.content_index))
        return report is not None and report.blocked

    def _now(self) -> Asked:
        return _after(_grounded(self.asked, list(self.items.values())), self.reports)


def _finish(surface: Surface, asked: Asked, response: Response, reports: Mapping[int, TurnReport]) -> None:
    if any(report.blocked for report in reports.values()):
        response.status = "incomplete"
        response.incomplete_details = IncompleteDetails(reason=FILTERED)
        for item in response.output or []:
            _cut_short(item, reports)
    mark(response, reports)
    conversation = _after(_grounded(asked, response.output or []), reports).conversation
    surface.chains.put(response.id, conversation)
    surface.chains.put(asked.chain, conversation)


def _cut_short(item: Any, reports: Mapping[Any, TurnReport]) -> None:
    withheld = {report.response for report in reports.values() if report.blocked}
    if any(part.text in withheld for _, part in _item_texts(item)):
        item.status = "incomplete"


def _put(part: Any, report: TurnReport) -> None:
    if part.text == report.response:
        return
    part.text = report.response
    if hasattr(part, "annotations"):
        part.annotations = []  # They point into the text that was replaced.
    if getattr(part, "logprobs", None):
        part.logprobs = []


def _grounded(asked: Asked, output: list[Any]) -> Asked:
    return replace(asked, documents=joined(asked.documents, output_documents(output)))


def _after(asked: Asked, reports: Mapping[Any, TurnReport]) -> Asked:
    texts = (report.response for report in reports.values())
    return replace(asked, conversation=said(asked.conversation, texts, asked.documents))


def _texts(event: Any) -> list[tuple[Key, Any]]:
    """The texts that an event holds, with what holds them."""
    if event.type == _DONE:
        return [((event.item_id, event.content_index), event)]
    part = getattr(event, "part", None)
    if part is not None and getattr(part, "type", None) == "output_text":
        return [((event.item_id, event.content_index), part)]
    if getattr(event, "item", None) is not None:
        return _item_texts(event.item)
    response = getattr(event, "response", None)
    return [] if response is None else _response_texts(response)


def _response_texts(response: Response) -> list[tuple[Key, Any]]:
    return [text for item in response.output or [] for text in _item_texts(item)]


def _item_texts(item: Any) -> list[tuple[Key, Any]]:
    if getattr(item, "type", None) != "message":
        return []
    parts = enumerate(item.content or [])
    return [((item.id, place), part) for place, part in parts if getattr(part, "type", None) == "output_text"]
