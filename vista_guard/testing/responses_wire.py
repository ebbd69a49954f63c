"""An answer as the responses API sends it: one object, or a stream of named events."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from vista_guard.testing.chat_wire import Event, frame, pieces
from vista_guard.testing.script import Answer, ReceivedRequest
from vista_guard.types import Usage

_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


def responses_body(request: ReceivedRequest, answer: Answer, usage: Usage | None) -> dict[str, Any]:
    """A `response` object with one output item."""
    reason = _REASONS.get(answer.finish)
    status = "completed" if reason is None else "incomplete"
    return {
        **_response(request, status),
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": [_item(request, answer, status)],
        "usage": _usage(usage),
    }


def responses_empty(request: ReceivedRequest) -> dict[str, Any]:
    """A `response` object without output."""
    return _response(request, "completed")


def responses_events(request: ReceivedRequest, answer: Answer, usage: Usage | None) -> Iterator[Event]:
    """From `response.created` to `response.completed` (or `.incomplete`), numbered from 0."""
    for number, (name, content, paced) in enumerate(_events(request, answer, usage)):
        yield frame({"type": name, "sequence_number": number, **content}), paced


_Named = tuple[str, dict[str, Any], bool]


def _events(request: ReceivedRequest, answer: Answer, usage: Usage | None) -> Iterator[_Named]:
    whole = responses_body(request, answer, usage)
    item = whole["output"][0]
    begun = _response(request, "in_progress")
    yield "response.created", {"response": begun}, False
    yield "response.in_progress", {"response": begun}, False
    opened = {**item, "status": "in_progress", **({"content": []} if "content" in item else {"arguments": ""})}
    yield "response.output_item.added", {"output_index": 0, "item": opened}, False
    yield from _call_events(item) if answer.function is not None else _part_events(item)
    yield "response.output_item.done", {"output_index": 0, "item": item}, False
    yield f"response.{whole['status']}", {"response": whole}, False


def _part_events(item: dict[str, Any]) -> Iterator[_Named]:
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    for part in item["content"]:
        refused = part["type"] == "refusal"
        key, name = ("refusal", "response.refusal") if refused else ("text", "response.output_text")
        extra: dict[str, Any] = {} if refused else {"logprobs": []}
        yield "response.content_part.added", {**place, "part": {**part, key: ""}}, False
        for piece in pieces(part[key]):
            yield f"{name}.delta", {**place, "delta": piece, **extra}, True
        yield f"{name}.done", {**place, key: part[key], **extra}, False
        yield "response.content_part.done", {**place, "part": part}, False


def _call_events(item: dict[str, Any]) -> Iterator[_Named]:
    place = {"item_id": item["id"], "output_index": 0}
    for piece in pieces(item["arguments"]):
        yield "response.function_call_arguments.delta", {**place, "delta": piece}, True
    done = {**place, "arguments": item["arguments"], "name": item["name"]}
    yield "response.function_call_arguments.done", done, False


def _item(request: ReceivedRequest, answer: Answer, status: str) -> dict[str, Any]:
    if answer.function is not None:
        return {
            "type": "function_call",
            "id": f"fc_{request.number}",
            "call_id": f"call_{request.number}",
            "name": answer.function,
            "arguments": answer.text or "",
            "status": status,
        }
    content: list[dict[str, Any]] = []
    if answer.refusal is not None:
        content.append({"type": "refusal", "refusal": answer.refusal})
    elif answer.text is not None:
        content.append({"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []})
    return {
        "type": "message",
        "id": f"msg_{request.number}",
        "role": "assistant",
        "status": status,
        "content": content,
    }


def _response(request: ReceivedRequest, status: str) -> dict[str, Any]:
    body = request.body
    return {
        "id": f"resp_{request.number}",
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": request.model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation", "disabled"),
        "usage": None,
    }


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
