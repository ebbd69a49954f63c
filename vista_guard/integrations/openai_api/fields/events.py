"""The table of the responses API's stream: which events there are, and what each holds."""

from __future__ import annotations

from typing import Final

from vista_guard.integrations.openai_api.fields.common import CITATION, spelled
from vista_guard.integrations.openai_api.fields.responses import THOUGHT, item, part, sift_response
from vista_guard.integrations.openai_api.fields.rules import (
    DROPPED,
    Rule,
    anything,
    encoded,
    fields,
    integer,
    token,
    unjudged,
    words,
)
from vista_guard.integrations.openai_api.fields.sifting import Sifting
from vista_guard.integrations.openai_api.requests import Json

_PLACE: Final[dict[str, Rule]] = {
    "type": token,
    "sequence_number": integer,
    "item_id": token,
    "output_index": integer,
    "content_index": integer,
    "summary_index": integer,
    "command_index": integer,
}
_NOWHERE: Final[Json] = {"item_id": "", "output_index": 0, "content_index": 0}
"""Where a text is, of which upstream does not say where it is."""

_BEGUN: Final = ("response.created", "response.queued", "response.in_progress")
_ENDED: Final = ("response.completed", "response.incomplete", "response.failed")
_ITEM: Final = ("response.output_item.added", "response.output_item.done")
_PART: Final = ("response.content_part.added", "response.content_part.done")

_STEPS: Final = {
    "file_search_call": "in_progress searching completed",
    "web_search_call": "in_progress searching completed",
    "code_interpreter_call": "in_progress interpreting completed",
    "image_generation_call": "in_progress generating completed",
    "mcp_call": "in_progress completed failed",
    "mcp_list_tools": "in_progress completed failed",
    "compaction": "compacting",
}
_CALLED: Final = {
    "function_call_arguments.delta": "delta",
    "function_call_arguments.done": "arguments name",
    "mcp_call_arguments.delta": "delta",
    "mcp_call_arguments.done": "arguments",
    "custom_tool_call_input.delta": "delta",
    "custom_tool_call_input.done": "input",
    "code_interpreter_call_code.delta": "delta",
    "code_interpreter_call_code.done": "code",
    "shell_call_command.added": "command",
    "shell_call_command.delta": "delta",
    "shell_call_command.done": "command",
    "shell_call_output_content.delta": "delta",
    "shell_call_output_content.done": "output",
}
_THOUGHT: Final = {
    "reasoning_summary_text.delta": "delta",
    "reasoning_summary_text.done": "text",
    "reasoning_text.delta": "delta",
    "reasoning_text.done": "text",
}


def _with(**more: Rule) -> Rule:
    return fields("event", {**_PLACE, **more})


def _response(value: object, sifting: Sifting) -> object:
    return sift_response(value, sifting) if isinstance(value, dict) else DROPPED


def _part(value: object, sifting: Sifting) -> object:
    thought = isinstance(value, dict) and value.get("type") == "reasoning_text"
    return (THOUGHT if thought else part)(value, sifting)


_TEXT_DELTA: Final = _with(delta=words, logprobs=anything)
_TEXT_DONE: Final = _with(text=words, logprobs=anything)

_EVENTS: Final[dict[str, Rule]] = {
    **dict.fromkeys((*_BEGUN, *_ENDED), _with(response=_response)),
    **dict.fromkeys(_ITEM, _with(item=item)),
    **dict.fromkeys(_PART, _with(part=_part)),
    "response.refusal.delta": _with(delta=words),
    "response.refusal.done": _with(refusal=words),
    "response.output_text.delta": _TEXT_DELTA,
    "response.output_text.done": _TEXT_DONE,
    "response.output_text.annotation.added": _with(
        annotation=unjudged("citations", CITATION), annotation_index=integer
    ),
    **{f"response.{call}.{step}": _with() for call, steps in _STEPS.items() for step in steps.split()},
    **{
        f"response.{name}": _with(**dict.fromkeys(held.split(), unjudged("tools", anything)))
        for name, held in _CALLED.items()
    },
    **{f"response.{name}": _with(**{held: unjudged("reasoning", words)}) for name, held in _THOUGHT.items()},
    **dict.fromkeys(
        ("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"), _with(part=THOUGHT)
    ),
    "response.image_generation_call.partial_image": _with(
        partial_image_b64=unjudged("tools", encoded), partial_image_index=integer
    ),
}

_NEEDED: Final[dict[str, str]] = {
    **dict.fromkeys((*_BEGUN, *_ENDED), "response"),
    **dict.fromkeys(_ITEM, "item"),
    **dict.fromkeys(_PART, "part"),
    "response.output_text.delta": "delta",
    "response.output_text.done": "text",
    "response.output_text.annotation.added": "annotation",
}
"""Without what an event says nothing."""

_REFUSED: Final = {
    "response.refusal.delta": ("response.output_text.delta", "delta", "delta"),
    "response.refusal.done": ("response.output_text.done", "refusal", "text"),
}


def sift_event(event: Json, sifting: Sifting) -> Json | None:
    """What passes of an event; None for one that is not known. A refusal is text as all other."""
    event = event if sifting.structured else _in_words(event)
    kind = event.get("type")
    rule = _EVENTS.get(kind) if isinstance(kind, str) else None
    kept = DROPPED if rule is None else rule(event, sifting)
    if not isinstance(kind, str) or not isinstance(kept, dict) or kept.get(_NEEDED.get(kind, "type")) is None:
        sifting.drop("event", kind if isinstance(kind, str) else "", event)
        return None
    return _completed(kind, kept, sifting)


def _in_words(event: Json) -> Json:
    kind = event.get("type")
    if not isinstance(kind, str) or kind not in _REFUSED:
        return event
    named, given, wanted = _REFUSED[kind]
    rest = {name: held for name, held in event.items() if name != given}
    return {**rest, "type": named, wanted: event.get(given), "logprobs": []}


def _completed(kind: str, event: Json, sifting: Sifting) -> Json:
    """The event with its place, without words that come before their time, and with the tokens of its own text only."""
    if kind in _ITEM:
        return {"output_index": 0, **event}
    if kind in _PART:
        return {**_NOWHERE, **event}
    if kind in (*_BEGUN, "response.failed"):
        return _unspoken(event, sifting)
    if kind in ("response.output_text.delta", "response.output_text.done"):
        text = event.get("delta", event.get("text"))
        return {**_NOWHERE, **event, "logprobs": spelled(text, event.get("logprobs"), sifting)}
    return event


def _unspoken(event: Json, sifting: Sifting) -> Json:
    response = event["response"]
    if not isinstance(response, dict):
        return event
    if response.get("output"):
        sifting.drop("response", "output")
    return {
        **event,
        "response": {**{name: held for name, held in response.items() if name != "output_text"}, "output": []},
    }
