"""One text of a response that is being streamed, taken out of the events around it."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from openai.types.responses import ResponseStreamEvent, ResponseTextDeltaEvent

from vista_guard.integrations.openai.requests import output_documents
from vista_guard.integrations.openai.responses.texts import Place, texts_of_event
from vista_guard.integrations.openai_api import BINDING
from vista_guard.stream.gates import Delta, Found, Passed

DELTA: Final = "response.output_text.delta"
CITED: Final = "response.output_text.annotation.added"
FAILURES = ("response.failed", "error")
ENDS = ("response.completed", "response.incomplete", *FAILURES)

Events = AsyncGenerator[ResponseStreamEvent, None]


class ReplayedEvents:
    """Upstream's events, some of which are put back to be read later."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self.waiting: deque[ResponseStreamEvent] = deque()

    def put_back(self, events: Sequence[ResponseStreamEvent]) -> None:
        """They come next, in this order."""
        self.waiting.extendleft(reversed(events))

    def __aiter__(self) -> ReplayedEvents:
        return self

    async def __anext__(self) -> ResponseStreamEvent:
        return self.waiting.popleft() if self.waiting else await anext(self.events)


@dataclass
class StreamedText:
    """The first text that its source holds, with what comes before it; `later` is what must wait until it was judged."""

    source: ReplayedEvents
    first: ResponseTextDeltaEvent | None = None
    raw: str = ""
    later: list[ResponseStreamEvent] = field(default_factory=list)
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
        return self.first is None and all(event.type in FAILURES for event in self.later)

    @property
    def place(self) -> Place:
        """Where it is; the place of no text, when there is none."""
        return Place("", -1) if self.first is None else Place(self.first.item_id, self.first.content_index)

    def _read(self, event: ResponseStreamEvent) -> Iterator[Delta]:
        if event.type == DELTA:
            if self.first is None or Place(event.item_id, event.content_index) == self.place:
                self.first = self.first or event
                self.raw += event.delta
                yield event.delta
            else:
                self.later.append(event)
                self.over = False
        elif event.type in ENDS or any(text.holder.text for text in texts_of_event(event)):
            self.later.append(event)
            self.over = True
        elif event.type != CITED or self.first is not None:  # nothing is cited by a text that is not there yet
            item = getattr(event, "item", None)
            if event.type == "response.output_item.done" and (found := output_documents([item])):
                yield Found(found)
            yield Passed(event, binding=getattr(item, "type", None) in BINDING)
