"""Answers whose words stood only where the API has none: what is left of them says nothing, and is no answer."""

from __future__ import annotations

from typing import Final

from vista_guard.integrations.openai_api.fields.sifting import Sifting
from vista_guard.integrations.openai_api.requests import Json

NOTHING_LEFT: Final = (
    "upstream's answer says nothing where the API has its words, and something in other places, which does not pass; the guard's "
    "log names these fields"
)


def is_lost(answer: Json, sifting: Sifting) -> bool:
    """Whether an answer, as it passed, says nothing because its words did not pass."""
    return sifting.lost and not sifting.structured and not speaks(answer)


def speaks(told: Json) -> bool:
    """Whether an answer, a chunk or an event says something, or calls a tool."""
    choices = [_object(choice) for choice in _list(told.get("choices"))]
    if any(_says(_object(choice.get("message"))) or _says(_object(choice.get("delta"))) for choice in choices):
        return True
    output = [*_list(told.get("output")), *_list(_object(told.get("response")).get("output")), told.get("item")]
    if any(_item_says(_object(item)) for item in output):
        return True
    return str(told.get("type")).startswith("response.output_text.") and bool(told.get("delta") or told.get("text"))


def _says(message: Json) -> bool:
    content = message.get("content")
    return bool(isinstance(content, str) and content.strip()) or bool(
        message.get("tool_calls") or message.get("function_call")
    )


def _item_says(item: Json) -> bool:
    kind = item.get("type")
    if kind != "message":
        return isinstance(kind, str) and kind != "reasoning"
    return any(_object(part).get("text") for part in _list(item.get("content")))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
