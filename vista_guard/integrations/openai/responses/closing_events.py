"""The events that end a message of the responses API in the middle, made up because upstream was closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

from openai.types.responses import (
    ResponseContentPartDoneEvent,
    ResponseOutputItem,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseTextDoneEvent,
)

from vista_guard.integrations.openai.responses.texts import TEXT_DONE, Place

ClosingEvents = tuple[ResponseTextDoneEvent, ResponseContentPartDoneEvent, ResponseOutputItemDoneEvent]


class _Where(TypedDict):
    item_id: str
    output_index: int
    content_index: int


class _Phase(TypedDict, total=False):
    phase: Literal["commentary", "final_answer"]


def closing_events(
    delta: ResponseTextDeltaEvent, told: Mapping[Place, str], item: ResponseOutputItem | None
) -> ClosingEvents:
    """The text, the part and the message complete, the message last.

    Args:
        delta: an event of the text that was withheld.
        told: what was delivered, by place.
        item: the message as far as it was there.
    """
    where: _Where = {
        "item_id": delta.item_id,
        "output_index": delta.output_index,
        "content_index": delta.content_index,
    }
    text = told[Place(delta.item_id, delta.content_index)]
    part = ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])
    return (
        ResponseTextDoneEvent(**where, type=TEXT_DONE, text=text, logprobs=[], sequence_number=0),
        ResponseContentPartDoneEvent(**where, type="response.content_part.done", part=part, sequence_number=0),
        ResponseOutputItemDoneEvent(
            type="response.output_item.done",
            item=_cut_message(delta, part, told, item),
            output_index=delta.output_index,
            sequence_number=0,
        ),
    )


def _cut_message(
    delta: ResponseTextDeltaEvent, part: ResponseOutputText, told: Mapping[Place, str], item: ResponseOutputItem | None
) -> ResponseOutputMessage:
    before = [
        ResponseOutputText(type="output_text", text=text, annotations=[])
        for place, text in told.items()
        if place.item_id == delta.item_id and place.index < delta.content_index
    ]
    named = getattr(item, "phase", None)
    phase: _Phase = {} if named is None else {"phase": named}
    return ResponseOutputMessage(
        id=delta.item_id, type="message", role="assistant", status="incomplete", content=[*before, part], **phase
    )
