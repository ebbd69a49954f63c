"""An answer as chat completions send it: one object, or a stream of chunks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from vista_guard.testing.script import Answer, ReceivedRequest
from vista_guard.types import Usage

Event = tuple[bytes, bool]
"""A frame of a stream, and whether it carries a token: those are paced."""


def pieces(text: str) -> list[str]:
    """The text in tokens of 4 characters."""
    return [text[start : start + 4] for start in range(0, len(text), 4)]


def chat_body(request: ReceivedRequest, answer: Answer, usage: Usage | None, fingerprint: str | None) -> dict[str, Any]:
    """A `chat.completion` object with `n` equal choices."""
    choices = [
        {
            "index": index,
            "message": _message(request, answer),
            "logprobs": _likely(request, answer),
            "finish_reason": _finish(answer),
        }
        for index in range(request.body.get("n") or 1)
    ]
    return _frame(request, "chat.completion", fingerprint, choices, _usage(usage))


def chat_empty(request: ReceivedRequest) -> dict[str, Any]:
    """A `chat.completion` object without choices."""
    return _frame(request, "chat.completion", None, [], {})


def chat_events(
    request: ReceivedRequest, answer: Answer, usage: Usage | None, fingerprint: str | None
) -> Iterator[Event]:
    """Role, content, finish reason for every choice; the usage when it was asked for; `[DONE]`."""
    wants_usage = bool((request.body.get("stream_options") or {}).get("include_usage"))
    unknown = {"usage": None} if wants_usage else {}

    def chunk(index: int, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        return frame(_frame(request, "chat.completion.chunk", fingerprint, [choice], unknown))

    for index in range(request.body.get("n") or 1):
        yield chunk(index, _opening(request, answer)), False
        for piece in pieces(answer.refusal if answer.refusal is not None else answer.text or ""):
            yield chunk(index, _delta(answer, piece)), True
        yield chunk(index, {}, _finish(answer)), False
    if wants_usage:
        yield frame(_frame(request, "chat.completion.chunk", fingerprint, [], _usage(usage))), False
    yield b"data: [DONE]\n\n", False


def frame(content: Mapping[str, Any]) -> bytes:
    """A server-sent event, named by the content's `type` when it has one."""
    name = f"event: {content['type']}\n" if "type" in content else ""
    return f"{name}data: {json.dumps(content)}\n\n".encode()


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.function is not None else answer.finish


def _message(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    if answer.refusal is not None:
        message["content"] = None
    elif answer.function is not None:
        message["content"] = None
        message["tool_calls"] = [_call(request, answer.function, answer.text or "")]
    return message


def _likely(request: ReceivedRequest, answer: Answer) -> dict[str, Any] | None:
    """The answer's likely first tokens, the most likely first, as many as the caller asked for beside it."""
    if not answer.first or request.body.get("logprobs") is not True:
        return None
    most = request.body.get("top_logprobs") or 0
    told = [
        {"token": token, "logprob": likely, "bytes": list(token.encode())}
        for token, likely in sorted(answer.first.items(), key=lambda one: -one[1])
    ]
    return {"content": [{**told[0], "top_logprobs": told[:most]}], "refusal": None}


def _opening(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    if answer.function is not None:
        calls = [{"index": 0, **_call(request, answer.function, "")}]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": "assistant", "content": None if answer.text is None else "", "refusal": None}


def _delta(answer: Answer, piece: str) -> dict[str, Any]:
    if answer.refusal is not None:
        return {"refusal": piece}
    if answer.function is not None:
        return {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
    return {"content": piece}


def _call(request: ReceivedRequest, name: str, arguments: str) -> dict[str, Any]:
    return {
        "id": f"call_{request.number}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _usage(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    counted = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }
    return {"usage": counted}


def _frame(
    request: ReceivedRequest, kind: str, fingerprint: str | None, choices: list[Any], extra: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.number}",
        "object": kind,
        "created": int(time.time()),
        "model": request.model,
        "system_fingerprint": fingerprint,
        "choices": choices,
        **extra,
    }
