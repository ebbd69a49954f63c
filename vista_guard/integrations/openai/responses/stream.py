"""The responses API's stream of events: what may be shown of it, and what is delivered in place of what was withheld."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFailedEvent,
    ResponseIncompleteEvent,
    ResponseOutputItem,
    ResponseStreamEvent,
)

from vista_guard.errors import InputError
from vista_guard.integrations.openai.answering import AskAgain
from vista_guard.integrations.openai.client_guard import ClientGuard
from vista_guard.integrations.openai.reports import mark
from vista_guard.integrations.openai.requests import Asked
from vista_guard.integrations.openai.responses.closing_events import closing_events
from vista_guard.integrations.openai.responses.streamed_text import CITED, DELTA, Events, ReplayedEvents, StreamedText
from vista_guard.integrations.openai.responses.texts import Place, put_in_place, texts_of_event
from vista_guard.integrations.openai.responses.whole import after_answers, cut_short, finish, with_found_documents
from vista_guard.stream.gates import Delta, Passed
from vista_guard.types import TurnReport

Shown = AsyncGenerator[ResponseStreamEvent | TurnReport, None]
LastEvent = ResponseCompletedEvent | ResponseIncompleteEvent | ResponseFailedEvent


async def response_events(guard: ClientGuard, asked: Asked, events: Events, again: AskAgain[Events] | None) -> Shown:
    """The events that may be shown, numbered anew, and each text's report as soon as there is one."""
    answer, number = _StreamedResponse(guard, asked, ReplayedEvents(events), again), 0
    try:
        async with aclosing(_as_shown(events) if asked.structured else answer.events()) as items:
            async for item in items:
                if not isinstance(item, TurnReport) and not asked.structured:
                    item.sequence_number, number = number, number + 1
                yield item
    finally:
        for opened in (events, *answer.opened):
            await opened.aclose()


async def _as_shown(events: Events) -> Shown:
    async for event in events:
        yield event


@dataclass
class _StreamedResponse:
    """A response on its way."""

    guard: ClientGuard
    asked: Asked
    source: ReplayedEvents
    ask: AskAgain[Events] | None = None
    response: Response | None = None
    items: dict[int, ResponseOutputItem] = field(default_factory=dict)
    reports: dict[Place, TurnReport] = field(default_factory=dict)
    raw: dict[Place, str] = field(default_factory=dict)
    opened: list[Events] = field(default_factory=list)
    """Upstream's answers, one for each draft."""

    async def events(self) -> Shown:
        """Goes on to upstream's end, or to the first text that is withheld."""
        if self.ask is not None:  # From its first event on the response may be one that nobody is to see.
            async with aclosing(self._text_events()) as items:
                async for item in items:
                    yield item
        async for event in self.source:
            if event.type == DELTA:
                self.source.put_back([event])
            async with aclosing(self._text_events() if event.type == DELTA else self._other_events(event)) as items:
                async for item in items:
                    yield item

    async def _text_events(self) -> Shown:
        text, ask, self.ask = StreamedText(self.source), self.ask, None

        async def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
            nonlocal text
            if ask is None:
                raise AssertionError("an answer is asked for again that cannot be")
            events = await ask(draft, note)
            self.opened.append(events)
            before, following = text, StreamedText(ReplayedEvents(events))
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

        gated = self.guard.gated(self._asked_by_now(), text.parts(), None if ask is None else again)
        async with aclosing(gated):
            async for item in gated:
                if isinstance(item, TurnReport):
                    self.reports[text.place], self.raw[text.place] = item, text.raw
                    yield item
                elif isinstance(item, Passed):
                    self._note(item.item)
                    yield item.item
                elif text.first is not None:
                    yield text.first.model_copy(update={"delta": item, "logprobs": []})
        self.source = text.source
        self.source.put_back(text.later)
        if text.closed and self._is_blocked(text.place):
            for made in self._closing_events(text):
                yield made
            self.source.waiting.clear()

    async def _other_events(self, event: ResponseStreamEvent) -> Shown:
        """An event that repeats texts says what was delivered; a text that did not come before is judged here."""
        if event.type == CITED and Place(event.item_id, event.content_index) not in self.reports:
            return
        self._note(event)
        for text in texts_of_event(event):
            said = text.holder.text
            if not said.strip():
                continue
            report = self._report_on(text.place, said)
            if report is None:
                report = self.reports[text.place] = await self.guard.judge(self._asked_by_now(), said)
                self.raw[text.place] = said
                yield report
            put_in_place(text.holder, report)
        if event.type == "response.output_item.done":
            cut_short(event.item, self.reports)
        if event.type in ("response.completed", "response.incomplete", "response.failed"):
            yield self._finish(event)
        else:
            yield event

    def _closing_events(self, text: StreamedText) -> Iterator[ResponseStreamEvent]:
        """The events that end a response in the middle: upstream is closed, so that they have to be made up."""
        delta = text.first
        if delta is None:
            raise AssertionError("a text is withheld that has no first word")
        told = {place: report.response for place, report in self.reports.items()}
        text_done, part_done, item_done = closing_events(delta, told, self.items.get(delta.output_index))
        yield from (text_done, part_done, item_done)
        if self.response is not None:
            self.items[delta.output_index] = item_done.item
            output = [self.items[index] for index in sorted(self.items)]
            response = self.response.model_copy(update={"output": output})
            yield self._finish(
                ResponseIncompleteEvent(type="response.incomplete", response=response, sequence_number=0)
            )

    def _finish(self, event: LastEvent) -> LastEvent:
        """The last event, with the reports; a response that was cut short is no completed one."""
        reports = dict(enumerate(self.reports.values()))
        finish(self.guard, self.asked, event.response, reports)
        if event.type == "response.completed" and event.response.status == "incomplete":
            event = ResponseIncompleteEvent.construct(
                type="response.incomplete", response=event.response, sequence_number=0
            )
        mark(event, reports)
        return event

    def _note(self, event: ResponseStreamEvent) -> None:
        self.response = getattr(event, "response", None) or self.response
        if event.type in ("response.output_item.added", "response.output_item.done") and event.item is not None:
            self.items[event.output_index] = event.item

    def _report_on(self, place: Place, text: str) -> TurnReport | None:
        """By its place; by its words where a server names one item differently from event to event."""
        same = next((other for other, raw in self.raw.items() if raw == text), None)
        return self.reports.get(place) or (self.reports.get(same) if same is not None else None)

    def _is_blocked(self, place: Place) -> bool:
        report = self.reports.get(place)
        return report is not None and report.blocked

    def _asked_by_now(self) -> Asked:
        return after_answers(with_found_documents(self.asked, list(self.items.values())), self.reports)
