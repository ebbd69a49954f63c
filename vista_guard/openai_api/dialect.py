"""What both APIs share: errors, headers, JSON, server-sent events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from vista_guard.openai_api.requests import Json
from vista_guard.reading.chat_json import read_json

FIELD: Final = "vista_guard"
"""Where a verdict stands in an answer."""

DONE: Final = b"data: [DONE]\n\n"
"""How a stream of chat completions ends."""

_HEADERS: Final = re.compile(
    r"content-type|cache-control|vary|via|retry-after(-ms)?|x-should-retry|x-request-id|request-id|cf-ray|cf-cache-status"
    r"|openai-(version|organization|project|processing-ms|model)|x-ratelimit-[a-z-]+|anthropic-ratelimit-[a-z-]+"
    r"|apim-request-id|x-ms-[a-z-]+|azureml-[a-z-]+|x-envoy-upstream-service-time|x-amzn-requestid|x-groq-region"
    r"|strict-transport-security|x-content-type-options|access-control-[a-z-]+"
)
_HEADER_VALUE: Final = re.compile(r"[ -~]{0,200}")


class Problem(Exception):
    """The error a caller gets instead of an answer: an HTTP status and a code, without internals."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class UnreadableError(Problem):
    """Upstream's answer is of no form that the API has, or ends in the middle."""

    def __init__(self, message: str, code: str = "upstream_unreadable") -> None:
        super().__init__(502, code, message)


class UpstreamFailed(Exception):
    """Upstream ended its stream with an error of its own; `event` is what the caller is told of it."""

    def __init__(self, event: Mapping[str, object]) -> None:
        super().__init__("upstream reported an error inside its stream")
        self.event = event


def answer_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers that may go with a judged answer: those that are known not to carry a model's words."""
    return [(name, value) for name, value in headers if _HEADERS.fullmatch(name) and _HEADER_VALUE.fullmatch(value)]


def is_stream(headers: Mapping[str, str]) -> bool:
    """True if a body comes as server-sent events."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"


def frame(content: Mapping[str, object]) -> bytes:
    """A server-sent event, named by its content's `type` when it has one, as the Responses API does."""
    kind = content.get("type")
    name = f"event: {kind}\n" if isinstance(kind, str) else ""
    return f"{name}data: {json.dumps(content, separators=(',', ':'))}\n\n".encode()


def read_answer(body: bytes) -> Json:
    """A whole answer. UnreadableError: it is no JSON object."""
    answer = read_object(body)
    if answer is None:
        raise UnreadableError("upstream's answer is not a JSON object")
    return answer


def read_object(content: str | bytes) -> Json | None:
    """A JSON object; None for anything else."""
    try:
        value = read_json(content)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
