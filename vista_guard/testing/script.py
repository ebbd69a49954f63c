"""What the scripted chat server is told to do, and what it tells about the calls it received."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from vista_guard.types import Usage

Api = Literal["chat", "responses"]


@dataclass(frozen=True)
class Answer:
    """What the model says.

    `text` None gives a null content, `refusal` a refusal instead of a text. With `function` the text is delivered as the
    arguments of a call of that function. Token numbers that are None are counted roughly (`count_tokens`); with
    `usage` False none are sent, as some servers do. `latency` (seconds) replaces the server's own. `first` are the tokens
    with which the answer might have begun, with the natural logarithms of their probabilities: sent to callers of chat
    completions that ask for `logprobs` and do not stream.
    """

    text: str | None = ""
    finish: Literal["stop", "length", "content_filter"] = "stop"
    refusal: str | None = None
    function: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usage: bool = True
    latency: float | None = None
    first: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """What goes wrong. Made by the class methods; `latency` is in seconds, from the arrival of the request."""

    kind: Literal["http", "html", "reset", "hang", "cut", "empty"]
    status: int = 200
    message: str | None = None
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    share: float = 0.5
    clean: bool = False
    latency: float = 0.0

    @classmethod
    def http(
        cls,
        status: int,
        *,
        message: str | None = None,
        code: str | None = None,
        retry_after: float | str | None = None,
        headers: Mapping[str, str] | None = None,
        latency: float = 0.0,
    ) -> Fault:
        """An error in OpenAI's shape. `retry_after`: seconds, or an HTTP date."""
        told = {} if retry_after is None else {"retry-after": str(retry_after)}
        return cls("http", status, message, code, {**told, **(headers or {})}, latency=latency)

    @classmethod
    def html(cls, status: int = 502, *, latency: float = 0.0) -> Fault:
        """A page of HTML, as gateways send it; also with status 200."""
        return cls("html", status, latency=latency)

    @classmethod
    def reset(cls, *, latency: float = 0.0) -> Fault:
        """The connection is reset before any answer."""
        return cls("reset", latency=latency)

    @classmethod
    def hang(cls) -> Fault:
        """No answer until the caller goes away or the server is stopped."""
        return cls("hang")

    @classmethod
    def cut(cls, text: str = "", *, share: float = 0.5, clean: bool = False, latency: float = 0.0) -> Fault:
        """The answer `text` breaks off after this share of its bytes or, streamed, of its events.

        With `clean` the response ends as HTTP wants it, so that only its content is incomplete; else the connection is closed.
        """
        return cls("cut", text=text, share=share, clean=clean, latency=latency)

    @classmethod
    def empty(cls, *, latency: float = 0.0) -> Fault:
        """A well-formed answer without any choice (chat completions) or output (responses)."""
        return cls("empty", latency=latency)


Told: TypeAlias = str | Answer | Fault


@dataclass(eq=False)
class ReceivedRequest:
    """One call. Times are seconds of `time.monotonic()`; `ended` and `status` are None while it is being answered.

    `headers` have lower-case names and are never printed or logged: they hold the caller's key.
    """

    number: int
    api: Api
    body: Mapping[str, Any]
    started: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ended: float | None = None
    status: int | None = None
    usage: Usage | None = None

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def seed(self) -> int | None:
        return self.body.get("seed")

    @property
    def messages(self) -> list[tuple[str, str]]:
        """(role, text) of every message, in order; parts that are no text are left out."""
        if self.api == "chat":
            return [(message["role"], _text(message.get("content"))) for message in self.body.get("messages", ())]
        given = self.body.get("instructions")
        system = [("system", str(given))] if given else []
        asked = self.body.get("input", ())
        if isinstance(asked, str):
            return [*system, ("user", asked)]
        return [*system, *((item["role"], _text(item.get("content"))) for item in asked if "role" in item)]

    @property
    def user(self) -> str:
        """The last user message."""
        return next((text for role, text in reversed(self.messages) if role == "user"), "")

    @property
    def text(self) -> str:
        """All messages, one after the other."""
        return "\n".join(text for _, text in self.messages)

    @property
    def schema_name(self) -> str | None:
        """Name of the JSON schema that the answer should have."""
        name = self._schema_format().get("name")
        return name if isinstance(name, str) else None

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema that the answer should have."""
        return self._schema_format().get("schema")

    @property
    def prompt(self) -> str:
        """All that the model reads, in the order that a prefix cache goes by: tools, schema, messages."""
        extra = [json.dumps(part, sort_keys=True) for part in (self.body.get("tools"), self.schema) if part]
        return "\n".join([*extra, *(f"{role}: {text}" for role, text in self.messages)])

    def _schema_format(self) -> Mapping[str, Any]:
        if self.api == "chat":
            wanted = (self.body.get("response_format") or {}).get("json_schema")
        else:
            wanted = (self.body.get("text") or {}).get("format")
        return wanted if isinstance(wanted, Mapping) else {}


@dataclass(frozen=True)
class Rejected:
    """A call that a real endpoint would have refused as wrong, or that the script has no answer for, and why."""

    request: ReceivedRequest
    message: str


Script: TypeAlias = str | Sequence[Told] | Callable[[ReceivedRequest], Told]
Faults: TypeAlias = Mapping[int, Fault] | Callable[[ReceivedRequest], Fault | None]


def count_tokens(text: str) -> int:
    """About 4 characters a token, rounded up."""
    return -(-len(text) // 4)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts)
