"""The texts of a response and of its events: where each is, and what holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, TypeGuard

from openai.types.responses import (
    Response,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseStreamEvent,
)

from vista_guard.types import TurnReport

TEXT_DONE: Final = "response.output_text.done"


class HoldsText(Protocol):
    """A part of a message, or an event: what has a text that can be replaced."""

    text: str


@dataclass(frozen=True)
class Place:
    """Id of an output item, and place of the text in its content."""

    item_id: str
    index: int


@dataclass(frozen=True)
class PlacedText:
    """A text where it is."""

    place: Place
    holder: HoldsText


def texts_of_event(event: ResponseStreamEvent) -> list[PlacedText]:
    """The texts that an event holds."""
    if event.type == TEXT_DONE:
        return [PlacedText(Place(event.item_id, event.content_index), event)]
    if event.type in ("response.content_part.added", "response.content_part.done") and _is_output_text(event.part):
        return [PlacedText(Place(event.item_id, event.content_index), event.part)]
    item: ResponseOutputItem | None = getattr(event, "item", None)
    if item is not None:
        return texts_of_item(item)
    response: Response | None = getattr(event, "response", None)
    return [] if response is None else texts_of_response(response)


def texts_of_response(response: Response) -> list[PlacedText]:
    """The texts of all messages of a response."""
    return [text for item in response.output or [] for text in texts_of_item(item)]


def texts_of_item(item: ResponseOutputItem) -> list[PlacedText]:
    """The texts of a message; none of what is no message."""
    if not is_message(item):
        return []
    parts = enumerate(item.content or [])
    return [PlacedText(Place(item.id, index), part) for index, part in parts if _is_output_text(part)]


def is_message(item: object) -> TypeGuard[ResponseOutputMessage]:
    """Whether an output item is a message. Some servers leave the type of other items out."""
    return getattr(item, "type", None) == "message"


def put_in_place(holder: HoldsText, report: TurnReport) -> None:
    """Puts what is delivered in place of a text; what points into that, or spells it, goes."""
    if holder.text == report.response:
        return
    holder.text = report.response
    for name in ("annotations", "logprobs"):
        if getattr(holder, name, None):
            setattr(holder, name, [])


def _is_output_text(part: object) -> TypeGuard[ResponseOutputText]:
    return getattr(part, "type", None) == "output_text"
