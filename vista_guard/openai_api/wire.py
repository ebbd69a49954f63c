"""OpenAI's wire: requests and answers as turns, JSON, headers, server-sent events, and errors in place of an answer.

Documents of the body and of system messages ground the answer that is asked for; those of a user message and of tools every
assistant turn up to the next user message, so that a resent history is recognised. Pure.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeGuard, TypeVar, cast
from urllib.parse import quote, unquote

from vista_guard.errors import InputError
from vista_guard.reading.chat_json import join_parts, read_json, take_blocks, to_conversation, to_document
from vista_guard.types import Conversation, Document, Role, Turn

Api = Literal["chat", "responses"]

Spent = TypeVar("Spent")

Json = dict[str, object]
"""A JSON object of the API, as it is on the wire: its values are unchecked."""

FIELD: Final = "vista_guard"

DONE: Final = b"data: [DONE]\n\n"

MAX_STREAM_EVENTS: Final = 30_000
"""Default limit of events in one streamed answer: each costs the reader up to 0.1 ms, whatever it holds, and
the SDK as much again."""

MAX_EVENT_LINES: Final = 8
"""Line ends that a stream may have for each event it may have: comments and blank lines are no events, and cost time too."""

_HEADERS: Final = re.compile(
    r"content-type|cache-control|vary|via|retry-after(-ms)?|x-should-retry|x-request-id|request-id|cf-ray|cf-cache-status"
    r"|openai-(version|organization|project|processing-ms|model)|x-ratelimit-[a-z-]+|anthropic-ratelimit-[a-z-]+"
    r"|apim-request-id|x-ms-[a-z-]+|azureml-[a-z-]+|x-envoy-upstream-service-time|x-amzn-requestid|x-groq-region"
    r"|strict-transport-security|x-content-type-options|access-control-[a-z-]+"
)
_HEADER_VALUE: Final = re.compile(r"[ -~]{0,200}")

_NOT_REPEATED: Final = ("conversation", "background")
"""Requests with these fields are not sent again: upstream would keep the draft, or has the request itself."""

_BINDING: Final = re.compile(
    r"(function|custom_tool|computer|local_shell|shell|apply_patch|mcp)_call|mcp_approval_request"
)
"""Output items of the responses API that do something, here or at a server that is not upstream."""

_TO_COME: Final = {"role": "assistant", "content": "…"}
"""Placeholder for the answer to come, so that reading the chat collects its documents."""


class Problem(Exception):
    """The error a caller gets instead of an answer: an HTTP status and a code, without internals."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class UnreadableError(Problem):
    """Upstream's answer is malformed, or ends early."""

    def __init__(self, message: str, code: str = "upstream_unreadable") -> None:
        super().__init__(502, code, message)


class TooManyEventsError(UnreadableError):
    """Upstream's stream has more events, or more lines, than are read of one answer."""

    def __init__(self, most: int) -> None:
        super().__init__(f"upstream's answer has more than {most:,} events")


class UpstreamFailed(Exception):
    """Upstream ended its stream with an error of its own; `event` is the caller's version of it."""

    def __init__(self, event: Mapping[str, object]) -> None:
        super().__init__("upstream reported an error inside its stream")
        self.event = event


def answer_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Filters the headers that may go with a judged answer: those known not to carry a model's words."""
    return [(name, value) for name, value in headers if _HEADERS.fullmatch(name) and _HEADER_VALUE.fullmatch(value)]


_EXTENDED: Final = "UTF-8''"


def write_header(text: str) -> str:
    """A text as a header's value: ASCII as it is, other text as RFC 8187 writes it.

    Example:
        >>> write_header("Zoë"), read_header("UTF-8''Zo%C3%AB")
        ("UTF-8''Zo%C3%AB", 'Zoë')
    """
    plain = text.isascii() and not text.upper().startswith(_EXTENDED)
    return text if plain else _EXTENDED + quote(text, safe="")


def read_header(value: str) -> str:
    """The text of a header's value, whose bytes were read as Latin-1: RFC 8187, UTF-8, or else Latin-1."""
    if value[: len(_EXTENDED)].upper() == _EXTENDED:
        return unquote(value[len(_EXTENDED) :])
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def is_stream(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"


def frame(content: Mapping[str, object]) -> bytes:
    """A server-sent event, named by its content's `type` when it has one, as the Responses API does."""
    kind = content.get("type")
    name = f"event: {kind}\n" if isinstance(kind, str) else ""
    return f"{name}data: {json.dumps(content, separators=(',', ':'))}\n\n".encode()


def line_ends(chunk: bytes) -> int:
    return chunk.count(b"\n") + chunk.count(b"\r")


async def json_events(events: AsyncIterable[Any], most: int = MAX_STREAM_EVENTS) -> AsyncGenerator[Json | None, None]:
    """Server-sent events as JSON objects; None for `[DONE]`, the last.

    UnreadableError: one that is no object. TooManyEventsError: more than `most` events, empty ones included.
    """
    count = 0
    async for event in events:
        count += 1
        if count > most:
            raise TooManyEventsError(most)
        data = event.data.strip()
        if data.startswith("[DONE]"):
            yield None
            return
        if not data:
            continue
        if (content := read_object(event.data)) is None:
            raise UnreadableError("upstream's stream cannot be read")
        yield content


def read_answer(body: bytes) -> Json:
    """A whole answer. UnreadableError: it is no JSON object."""
    answer = read_object(body)
    if answer is None:
        raise UnreadableError("upstream's answer is not a JSON object")
    return answer


def read_object(content: str | bytes) -> Json | None:
    value = read_value(content)
    return value if isinstance(value, dict) else None


def read_value(content: str | bytes) -> object:
    """The JSON value; None for what is no JSON."""
    try:
        return read_json(content)
    except ValueError:
        return None


def as_list(value: object) -> list[object]:
    """The value when it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def as_object(value: object) -> Json:
    """The value when it is a JSON object; else an empty one."""
    return value if isinstance(value, dict) else {}


def path_words(path: str) -> list[str]:
    return [word for word in unquote(path).lower().split("/") if word]


def judged_api(path: str) -> Api | None:
    """The API whose answers are judged, when the path ends with its name: also below a deployment or an engine."""
    words = path_words(path)
    if words[-2:] == ["chat", "completions"]:
        return "chat"
    return "responses" if words[-1:] == ["responses"] else None


LONGEST_NAME: Final = 512


def check_name(value: object, place: str) -> str:
    """Returns a valid name of a conversation; else InputError, which says where it stands."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise InputError(
            f"{place} is {str(value)[:80]!r}; it must be a printable text of at most {LONGEST_NAME} characters"
        )
    return value


def request_again(api: Api, request: Mapping[str, object], draft: str, note: str) -> Json:
    """The request with the draft and the note appended; all else unchanged."""
    name = "messages" if api == "chat" else "input"
    past = request[name]
    items: list[object] = past if isinstance(past, list) else [{"role": "user", "content": past}]
    additions = [{"role": "assistant", "content": draft}, {"role": "user", "content": note}]
    return {**request, name: [*items, *additions]}


def repeatable(api: Api, request: Mapping[str, object]) -> bool:
    """True if the request can be sent again: it has one choice, and needs nothing that upstream keeps."""
    past = request.get("messages" if api == "chat" else "input")
    unrepeatable = any(request.get(name) for name in _NOT_REPEATED)
    return isinstance(past, str | list) and request.get("n") in (None, 1) and not unrepeatable


def add_usage(first: object, more: Spent) -> Spent:
    """The usage of two answers together; numbers are added at any depth."""
    if isinstance(first, Mapping) and isinstance(more, Mapping):
        return cast(Spent, {name: add_usage(first.get(name), more.get(name)) for name in {**first, **more}})
    if isinstance(first, int | float) and isinstance(more, int | float):
        return cast(Spent, first + more)
    return cast(Spent, first) if more is None else more


def ground(
    messages: Sequence[object], identity: str | None, documents: Iterable[object] = ()
) -> tuple[Conversation, tuple[Document, ...]]:
    """The conversation so far, and the documents of the next answer. InputError: a malformed message or document."""
    chat = cast(
        "Sequence[Mapping[str, object]]", [*messages, _TO_COME]
    )  # read with care: what is no message is refused
    *turns, to_come = to_conversation(chat, documents=documents, patterns=None).turns
    return Conversation(turns=tuple(turns), id=identity), to_come.documents


def with_answer(conversation: Conversation, text: str, documents: Iterable[Document] = ()) -> Conversation:
    turn = Turn(role=Role.ASSISTANT, text=text, documents=tuple(documents))
    return conversation.model_copy(update={"turns": (*conversation.turns, turn)})


class PendingLogprobs:
    """Holds the log probabilities of a draft's pieces until the shown text has reached the end of each piece.

    Once the shown text differs from the draft, none are released: tokens spell what was withheld.
    """

    def __init__(self) -> None:
        self._pieces: deque[tuple[int, Sequence[object]]] = deque()
        self._unseen = ""
        self._read = self._shown = 0
        self.faithful = True
        """True if all that was shown is the draft's beginning, word for word."""

    def read(self, text: str, logprobs: Sequence[object]) -> None:
        """Takes a piece of the draft."""
        self._unseen += text
        self._read += len(text)
        if logprobs:
            self._pieces.append((self._read, logprobs))

    def show(self, text: str) -> list[object]:
        """The log probabilities that go with this text."""
        self.faithful = self.faithful and self._unseen.startswith(text)
        self._unseen = self._unseen[len(text) :]
        self._shown += len(text)
        entries: list[object] = []
        while self.faithful and self._pieces and self._pieces[0][0] <= self._shown:
            entries += self._pieces.popleft()[1]
        return entries


_STRUCTURED = frozenset({"json_schema", "json_object"})


@dataclass(frozen=True)
class ReadRequest:
    """A parsed request. `sent` is what upstream gets; `messages` is chat JSON without the tagged blocks."""

    sent: Json
    messages: tuple[Json, ...]
    documents: tuple[Document, ...] = ()
    structured: bool = False
    """True if the answer is data for a program and not a turn: such answers are not judged."""

    @property
    def streamed(self) -> bool:
        return self.sent.get("stream") is True

    def conversation(self, name: str | None = None) -> Conversation:
        return to_conversation(self.messages, conversation_id=name, patterns=None)

    def followed_by(self, text: str) -> Conversation:
        """The conversation, anonymous, as a caller will send it when the answer has become part of it."""
        return to_conversation([*self.messages, {"role": "assistant", "content": text}], patterns=None)

    def grounds(self) -> tuple[Document, ...]:
        """The documents that the request brings for the turn that is asked for."""
        return ground(self.messages, None, self.documents)[1]


def read_chat(body: Mapping[str, object], patterns: Sequence[str], *, user_context: bool = False) -> ReadRequest:
    """A request for chat completions. InputError: one that cannot be read; more than one choice in a stream."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise InputError("messages is missing or not a list; give the conversation as a list of messages")
    if body.get("stream") is True and body.get("n") not in (None, 1):
        raise InputError(
            f"n is {str(body['n'])[:20]} in a stream; the guard judges one choice of a stream: leave n out"
        )
    response_format = body.get("response_format")
    sent = {**_without_documents(body), "messages": [_strip_documents(message) for message in messages]}
    return _read_request(sent, messages, body, patterns, response_format, user_context=user_context)


def read_responses(body: Mapping[str, object], patterns: Sequence[str], *, user_context: bool = False) -> ReadRequest:
    """A request to the Responses API. InputError: one that cannot be read; an answer that would be made in the background."""
    if body.get("background"):
        raise InputError("background is set; an answer that is fetched later is not judged: leave background out")
    request_input, text = body.get("input"), body.get("text")
    items = as_list(request_input)
    messages: list[Json] = (
        [{"role": "user", "content": request_input}] if isinstance(request_input, str) else list(_messages(items))
    )
    if isinstance(body.get("instructions"), str):
        messages.insert(0, {"role": "system", "content": body["instructions"]})
    sent = _without_documents(body)
    if items:
        sent["input"] = [_strip_documents(item) for item in items]
    response_format = text.get("format") if isinstance(text, Mapping) else None
    return _read_request(sent, messages, body, patterns, response_format, user_context=user_context)


def found_documents(items: object) -> tuple[Document, ...]:
    """Documents in output items of the Responses API: results of file searches, outputs of MCP tools."""
    return tuple(document for item in as_list(items) if isinstance(item, Mapping) for document in _documents_of(item))


def text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    return join_parts(str(part["text"]) for part in as_list(content) if is_text(part))


def is_binding(item: object) -> bool:
    return isinstance(item, Mapping) and _BINDING.fullmatch(str(item.get("type"))) is not None


def is_text(part: object) -> TypeGuard[Json]:
    """True if a content part is text that is shown to the user."""
    return (
        isinstance(part, Mapping)
        and part.get("type", "text") in ("text", "output_text")
        and isinstance(part.get("text"), str)
    )


def _read_request(
    sent: Json,
    messages: Sequence[object],
    body: Mapping[str, object],
    patterns: Sequence[str],
    response_format: object,
    *,
    user_context: bool,
) -> ReadRequest:
    cleaned, tagged = [], []
    for message in messages:
        if not isinstance(message, Mapping):
            raise InputError(f"a message is {str(message)[:80]!r}; expected a mapping with role and content")
        clean, blocks = take_blocks(message, patterns, user_context=user_context)
        if message.get("role") == "user":
            attached = message.get("documents") or []
            clean["documents"] = [*(attached if isinstance(attached, list) else [attached]), *blocks]
        else:
            tagged += blocks
        cleaned.append(clean)
    raw_documents = body.get("documents")
    if raw_documents is not None and not isinstance(raw_documents, list):
        raise InputError("documents is not a list; give a list of texts or of mappings with text, id, title, url")
    documents = tuple(to_document(document) for document in raw_documents or ())
    structured = isinstance(response_format, Mapping) and str(response_format.get("type")) in _STRUCTURED
    request = ReadRequest(sent, tuple(cleaned), (*documents, *tagged), structured)
    request.conversation()  # what cannot be read must not reach upstream
    return request


def _strip_documents(item: object) -> object:
    return _without_documents(item) if isinstance(item, Mapping) else item


def _without_documents(value: Mapping[str, object]) -> Json:
    return {key: item for key, item in value.items() if key != "documents"}


def _messages(items: Iterable[object]) -> Iterator[Json]:
    """Input items of the Responses API as chat messages; what says nothing is left out."""
    for item in items:
        if not isinstance(item, Mapping):
            raise InputError(f"an input item is {str(item)[:80]!r}; expected a mapping")
        kind = str(item.get("type", "message"))
        if kind == "message":
            yield {key: item[key] for key in ("role", "content", "documents") if key in item}
        elif kind in ("function_call", "custom_tool_call"):
            call = {"id": item.get("call_id"), "function": {"name": item.get("name")}}
            yield {"role": "assistant", "content": None, "tool_calls": [call]}
        elif kind.endswith("_output"):
            output = item.get("output")
            content = output if isinstance(output, str | list) else ""
            yield {"role": "tool", "tool_call_id": item.get("call_id") or item.get("id"), "content": content}
        elif documents := list(_documents_of(item)):
            yield {"role": "tool", "content": "", "documents": documents}


def _documents_of(item: Mapping[str, object]) -> Iterator[Document]:
    if item.get("type") == "file_search_call":
        for result in as_list(item.get("results")):
            if isinstance(result, Mapping) and isinstance(result.get("text"), str) and result["text"].strip():
                file, name = result.get("file_id"), result.get("filename")
                identity = {"id": file} if isinstance(file, str) else {}
                title = {"title": name} if isinstance(name, str) else {}
                yield to_document({"text": result["text"], **identity, **title})
    elif item.get("type") == "mcp_call" and isinstance(output := item.get("output"), str) and output.strip():
        yield to_document({"text": output, "id": f"tool:{item.get('id')}", "title": str(item.get("name"))})
