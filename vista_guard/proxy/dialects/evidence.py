"""What a request brings: the conversation, and the documents that the answer to it must agree with. Pure.

Documents come from `documents` in the body, from tool messages, from file searches, and from tagged blocks in system and
user messages. Those of the body and of system messages ground the answer that is asked for; those of a user message and of
tools every assistant turn up to the next user message, so that a resent history is recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from vista_guard.errors import InputError
from vista_guard.integrations.openai_api import Json, ground
from vista_guard.reading.chat_json import to_conversation, to_document
from vista_guard.types import Conversation, Document

_STRUCTURED = frozenset({"json_schema", "json_object"})
_TAG = re.compile(r"(?P<open>[^\\.^$*+?{}\[\]|()]+)\(\.\*\?\)(?P<close>[^\\.^$*+?{}\[\]|()]+)")
"""A pattern that is only an opening and a closing text."""

_TOOL_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})


@dataclass(frozen=True)
class ReadRequest:
    """A request, read. `sent` is what upstream gets; `messages` is chat JSON without the tagged blocks."""

    sent: Json
    messages: tuple[Json, ...]
    documents: tuple[Document, ...] = ()
    structured: bool = False
    """Whether the answer is data for a program and not a turn: such answers are not judged."""

    @property
    def streamed(self) -> bool:
        """Whether a stream is asked for."""
        return self.sent.get("stream") is True

    def conversation(self, name: str | None = None) -> Conversation:
        """What was said so far."""
        return to_conversation(self.messages, conversation_id=name)

    def followed_by(self, text: str) -> Conversation:
        """The conversation, anonymous, as a caller will send it when the answer has become part of it."""
        return to_conversation([*self.messages, {"role": "assistant", "content": text}])

    def grounds(self) -> tuple[Document, ...]:
        """The documents that the request brings for the turn that is asked for."""
        return ground(self.messages, None, self.documents)[1]


def read_chat(body: Mapping[str, object], patterns: Sequence[str]) -> ReadRequest:
    """A request for chat completions.

    Raises:
        InputError: messages or documents that cannot be read; more than one choice in a stream.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise InputError("messages is missing or not a list; give the conversation as a list of messages")
    if body.get("stream") is True and body.get("n") not in (None, 1):
        raise InputError(
            f"n is {str(body['n'])[:20]} in a stream; the guard judges one choice of a stream: leave n out"
        )
    wanted = body.get("response_format")
    sent = {**_without_documents(body), "messages": [_sent(message) for message in messages]}
    return _read_request(sent, messages, body, patterns, wanted)


def read_responses(body: Mapping[str, object], patterns: Sequence[str]) -> ReadRequest:
    """A request to the Responses API.

    Raises:
        InputError: input or documents that cannot be read; an answer that would be made in the background.
    """
    if body.get("background"):
        raise InputError("background is set; an answer that is fetched later is not judged: leave background out")
    given, text = body.get("input"), body.get("text")
    items = as_list(given)
    messages: list[Json] = [{"role": "user", "content": given}] if isinstance(given, str) else list(_messages(items))
    if isinstance(body.get("instructions"), str):
        messages.insert(0, {"role": "system", "content": body["instructions"]})
    sent = _without_documents(body)
    if items:
        sent["input"] = [_sent(item) for item in items]
    return _read_request(sent, messages, body, patterns, text.get("format") if isinstance(text, Mapping) else None)


def found_documents(items: object) -> tuple[Document, ...]:
    """Documents in output items of the Responses API: results of file searches, outputs of MCP tools."""
    return tuple(document for item in as_list(items) if isinstance(item, Mapping) for document in _documents_of(item))


def text_of(content: object) -> str:
    """The text of a message's content, as the guard reads it."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in as_list(content) if is_text(part))


def as_list(value: object) -> list[object]:
    """The value when it is a list, as upstream or a caller may or may not send it; else an empty one."""
    return value if isinstance(value, list) else []


def is_text(part: object) -> TypeGuard[Json]:
    """Whether a content part is text that is shown to the user."""
    return (
        isinstance(part, Mapping)
        and part.get("type", "text") in ("text", "output_text")
        and isinstance(part.get("text"), str)
    )


def _read_request(
    sent: Json, messages: Sequence[object], body: Mapping[str, object], patterns: Sequence[str], wanted: object
) -> ReadRequest:
    cleaned, tagged = [], []
    for message in messages:
        if not isinstance(message, Mapping):
            raise InputError(f"a message is {str(message)[:80]!r}; expected a mapping with role and content")
        clean, blocks = _take_blocks(dict(message), patterns)
        if message.get("role") == "user":
            brought = message.get("documents") or []
            clean["documents"] = [*(brought if isinstance(brought, list) else [brought]), *blocks]
        else:
            tagged += blocks
        cleaned.append(clean)
    given = body.get("documents")
    if given is not None and not isinstance(given, list):
        raise InputError("documents is not a list; give a list of texts or of mappings with text, id, title, url")
    documents = tuple(to_document(document) for document in given or ())
    structured = isinstance(wanted, Mapping) and str(wanted.get("type")) in _STRUCTURED
    asked = ReadRequest(sent, tuple(cleaned), (*documents, *tagged), structured)
    asked.conversation()  # what cannot be read must not reach upstream
    return asked


def _sent(item: object) -> object:
    return _without_documents(item) if isinstance(item, Mapping) else item


def _without_documents(value: Mapping[str, object]) -> Json:
    return {key: item for key, item in value.items() if key != "documents"}


def _take_blocks(message: Json, patterns: Sequence[str]) -> tuple[Json, list[Document]]:
    """The message without its tagged blocks, and the blocks as documents."""
    if message.get("role") not in ("system", "developer", "user"):
        return message, []
    content, blocks = message.get("content"), list[str]()
    if isinstance(content, str):
        message["content"] = _cut(content, patterns, blocks)
    elif isinstance(content, list):
        message["content"] = [
            {**part, "text": _cut(part["text"], patterns, blocks)}
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
            else part
            for part in content
        ]
    return message, [to_document(block.strip()) for block in blocks if block.strip()]


def _cut(text: str, patterns: Sequence[str], blocks: list[str]) -> str:
    for pattern in patterns:
        kept, end = [], 0
        for start, stop, block in _matches(pattern, text):
            kept.append(text[end:start])
            blocks.append(block)
            end = stop
        if end:
            text = ("".join(kept) + text[end:]).strip()
    return text


def _matches(pattern: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and block of every match, in order."""
    tag = _TAG.fullmatch(pattern)
    if tag is None:
        for match in _compiled(pattern).finditer(text):
            yield match.start(), match.end(), match.group(1) or ""
        return
    # A regular expression would try every opening tag up to the end of the text when none is closed: seconds for a megabyte.
    start = text.find(tag["open"])
    while start >= 0:
        inside = start + len(tag["open"])
        stop = text.find(tag["close"], inside)
        if stop < 0:
            return
        yield start, stop + len(tag["close"]), text[inside:stop]
        start = text.find(tag["open"], stop + len(tag["close"]))


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


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
        elif kind in _TOOL_OUTPUTS:
            output = item.get("output")
            content = output if isinstance(output, str | list) else ""
            yield {"role": "tool", "tool_call_id": item.get("call_id"), "content": content}
        elif brought := list(_documents_of(item)):
            yield {"role": "tool", "content": "", "documents": brought}


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
