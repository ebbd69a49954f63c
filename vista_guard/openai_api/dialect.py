"""The common seam of both APIs: read a request, take an answer apart, put a verdict back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from vista_guard.openai_api.fields import Sifting
from vista_guard.openai_api.requests import Api, Json, ReadRequest
from vista_guard.reading.chat_json import read_json
from vista_guard.stream.source import Delta
from vista_guard.types import Document

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
    """A whole answer.

    Raises:
        UnreadableError: it is no JSON object.
    """
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


class EventStream(Protocol):
    """One stream on its way. `read` runs ahead of what is written: text that is being judged lies between them."""

    @property
    def finished(self) -> bool:
        """True if upstream said that its answer is complete."""
        ...

    @property
    def response_id(self) -> str | None: ...

    @property
    def usage(self) -> Json | None:
        """Usage of this answer and of those before it; None until upstream reports it."""
        ...

    @property
    def unjudged(self) -> list[str]:
        """Kinds of content that passed unjudged by design, so far."""
        ...

    @property
    def lost(self) -> bool:
        """True if words stood where none are known, and did not pass."""
        ...

    def read(self, event: Json) -> Iterator[Delta]:
        """The text of an event, what is not text, and what upstream's own tools found. Raises `UpstreamFailed`."""
        ...

    def text(self, text: str) -> Iterator[Json]:
        """Events that show this text."""
        ...

    def passed(self, item: Json) -> Iterator[Json]:
        """Events for what `read` passed on."""
        ...

    def end(self, verdict: Json | None, *, blocked: bool) -> Iterator[Json]:
        """The events that complete the answer."""
        ...

    def error(self, problem: Problem) -> Json:
        """The event that ends the stream in place of an answer."""
        ...

    def closing(self) -> bytes:
        """Events that close the stream."""
        ...


class Dialect(Protocol):
    """One of the APIs."""

    api: Api

    def read(self, body: Mapping[str, object], patterns: Sequence[str], *, user_context: bool = False) -> ReadRequest:
        """The request. Raises InputError."""
        ...

    def sift(self, answer: Json, sifting: Sifting) -> Json:
        """The known fields of a complete answer; the other methods see only these."""
        ...

    def texts(self, answer: Json) -> list[str]:
        """The texts of a complete answer, choice by choice; raises ValueError if it is not an answer."""
        ...

    def documents(self, answer: Json) -> tuple[Document, ...]:
        """Found by upstream's own tools."""
        ...

    def acts(self, answer: Json) -> bool:
        """True if it calls tools of the caller's, or called some that are not upstream's."""
        ...

    def response_id(self, answer: Json) -> str | None:
        """By which a later request may go on."""
        ...

    def deliver(self, answer: Json, choice: int, text: str, *, blocked: bool) -> None:
        """Puts a text in place of a choice's own."""
        ...

    def stream(self, sifting: Sifting, spent: Json | None = None) -> EventStream:
        """A stream of an answer, held against the table of known fields; `spent` is the usage of those before it."""
        ...
