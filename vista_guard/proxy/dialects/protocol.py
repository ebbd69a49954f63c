"""What the two APIs have in common for the proxy: how a request is read, an answer taken apart, and a verdict put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from vista_guard.integrations.openai_api import Api, Json
from vista_guard.integrations.openai_api.fields import Sifting
from vista_guard.proxy.dialects.evidence import ReadRequest
from vista_guard.proxy.upstream import Problem
from vista_guard.stream.gates import Delta
from vista_guard.types import Document

FIELD = "vista_guard"
"""Where a verdict stands in an answer."""


class UpstreamFailed(Exception):
    """Upstream ended its stream with an error of its own; `event` is what the caller is told of it."""

    def __init__(self, event: Mapping[str, object]) -> None:
        super().__init__("upstream reported an error inside its stream")
        self.event = event


class EventStream(Protocol):
    """One stream on its way. `read` runs ahead of what is written: text that is being judged lies between them."""

    @property
    def finished(self) -> bool:
        """Whether upstream said that its answer is complete."""
        ...

    @property
    def response_id(self) -> str | None: ...

    @property
    def usage(self) -> Json | None:
        """What the answer cost, with what was spent before it; None until upstream says it."""
        ...

    @property
    def unjudged(self) -> list[str]:
        """What passed so far that is not judged by design."""
        ...

    @property
    def lost(self) -> bool:
        """Whether words stood where none are known, and did not pass."""
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
        """What comes after the last event."""
        ...


class Dialect(Protocol):
    """One of the APIs."""

    api: Api

    def read(self, body: Mapping[str, object], patterns: Sequence[str], *, user_context: bool = False) -> ReadRequest:
        """The request. Raises InputError."""
        ...

    def sift(self, answer: Json, sifting: Sifting) -> Json:
        """What passes of a complete answer by the table of known fields; all below is asked of that alone."""
        ...

    def texts(self, answer: Json) -> list[str]:
        """What a complete answer says, choice by choice; raises ValueError for what is no answer."""
        ...

    def documents(self, answer: Json) -> tuple[Document, ...]:
        """Found by upstream's own tools."""
        ...

    def acts(self, answer: Json) -> bool:
        """Whether it calls tools of the caller's, or called some that are not upstream's."""
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
