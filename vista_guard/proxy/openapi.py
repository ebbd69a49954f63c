"""What the guarded routes read, as JSON Schema for `/openapi.json`: the API's own requests, and what the guard adds to them."""

from __future__ import annotations

from typing import Final

from vista_guard.openai_api.requests import Json

_TEXT: Final[Json] = {"type": "string", "minLength": 1}
_DOCUMENT: Final[Json] = {
    "anyOf": [
        _TEXT,
        {
            "type": "object",
            "required": ["text"],
            "properties": {"id": _TEXT, "text": _TEXT, "title": {"type": "string"}, "url": {"type": "string"}},
        },
    ]
}
_DOCUMENTS: Final[Json] = {
    "type": "array",
    "items": _DOCUMENT,
    "description": "What the answer is held against. The guard's own field: upstream does not see it.",
}
_STREAM: Final[Json] = {"type": "boolean", "description": "Whether the answer comes as server-sent events."}
_MESSAGE: Final[Json] = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {"role": {"enum": ["system", "user", "assistant"]}, "content": _TEXT},
}
_ASKED: Final = {"role": "user", "content": "When does the museum open?"}
_NOTES: Final = [{"id": "hours", "text": "The museum is open from nine to five."}]


def _body(required: list[str], properties: Json, *examples: Json) -> Json:
    schema = {"type": "object", "required": required, "properties": properties}
    named = {f"example {number}": {"value": example} for number, example in enumerate(examples, 1)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema, "examples": named}}}}


CHAT: Final = _body(
    ["model", "messages"],
    {
        "model": _TEXT,
        "messages": {"type": "array", "items": _MESSAGE, "minItems": 1},
        "stream": _STREAM,
        "documents": _DOCUMENTS,
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    {"model": "gpt-4o-mini", "messages": [_ASKED], "documents": _NOTES},
    {"model": "gpt-4o-mini", "messages": [_ASKED], "documents": _NOTES, "stream": True},
)
RESPONSES: Final = _body(
    ["model", "input"],
    {
        "model": _TEXT,
        "input": {"anyOf": [_TEXT, {"type": "array", "items": _MESSAGE, "minItems": 1}]},
        "instructions": {"type": "string"},
        "stream": _STREAM,
        "documents": _DOCUMENTS,
    },
    {"model": "gpt-4o-mini", "input": "When does the museum open?", "documents": _NOTES},
    {"model": "gpt-4o-mini", "input": [_ASKED], "documents": _NOTES, "stream": True},
)
