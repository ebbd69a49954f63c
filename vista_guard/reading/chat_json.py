"""Chat JSON, as chat APIs and their logs have it, into a `Conversation`. Pure.

`user`, `system` and `developer` messages are turns, and so is an `assistant` message, unless it only calls tools. A `tool`'s or
`function`'s answer is a document of every assistant turn up to the next user message: the agent leans on it. Documents travel on
a message (`"documents": [...]`), in a block of a system message, or beside the messages. An assistant message's are its own, a
user or tool message's ground the assistant turns up to the next user message, all others every assistant turn that follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError

from vista_guard.errors import ConfigError, InputError
from vista_guard.reading.office import row_text, with_rows
from vista_guard.types import Conversation, Document, Role, Turn

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
"""The roles of chat APIs, and what each is here."""

TEXT_KEYS = ("text", "content", "page_content")
PATTERNS = ("<context>(.*?)</context>", "<documents>(.*?)</documents>")
"""Default blocks: regular expressions with one group."""
MOST_LEVELS = 100
"""Deepest nesting of JSON from outside: code that walks through it recurses at each level."""


def read_json(text: str | bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Reads JSON from outside, as `json.loads` does.

    Raises:
        ValueError: no JSON, or one of more than `MOST_LEVELS` levels.
    """
    too_deep = ValueError(f"nested more than {MOST_LEVELS} levels deep")
    try:
        content = json.loads(text, parse_constant=parse_constant)
    except RecursionError:
        raise too_deep from None
    opened = text.count("{") + text.count("[") if isinstance(text, str) else text.count(b"{") + text.count(b"[")
    if opened <= MOST_LEVELS:  # it cannot be deeper than it has brackets, and most is not walked through
        return content
    level = [content]
    for _ in range(MOST_LEVELS + 1):
        nested = [value for value in level if isinstance(value, dict | list)]
        level = [part for value in nested for part in (value.values() if isinstance(value, dict) else value)]
        if not level:
            return content
    raise too_deep


def to_conversation(
    messages: Sequence[Mapping[str, Any]],
    *,
    conversation_id: str | None = None,
    documents: Iterable[object] = (),
    patterns: Sequence[str] | None = PATTERNS,
) -> Conversation:
    """Converts chat messages to a conversation.

    Args:
        messages: OpenAI chat messages. Content is a string, null, or a list of parts, of which the text is taken.
        conversation_id: the conversation's id; anonymous when not given.
        documents: evidence for every assistant turn; anything `to_document` takes.
        patterns: blocks of system messages that are documents, as in `take_blocks`; None leaves these messages as they are.

    Raises:
        InputError: a malformed message or document; names its index, the value and what is allowed.
    """
    reader = _Reader([to_document(document) for document in _as_list(documents, "documents")], patterns)
    for index, message in enumerate(_as_list(messages, "messages")):
        reader.read(index, message)
    try:
        return Conversation(turns=tuple(reader.turns), id=conversation_id)
    except ValidationError as exc:
        raise InputError(f"the conversation's {_first_problem(exc)}") from exc


def to_document(value: object) -> Document:
    """Converts a text, or a mapping with `text` (or `content`, `page_content`) and optional `id`, `title`, `url`, `metadata`.

    A mapping of plain values without any of these names is the row of a table. Tables in the text (HTML, CSV, TSV, JSON of
    records) become rows, too, as in the document store. Without an id, a document is called by its `url`, or by its first words
    and a mark of the whole: the same text has the same id everywhere.

    Raises:
        InputError: the value is neither, has no text, or has a field of the wrong kind.
    """
    if isinstance(value, Document):
        return value
    if isinstance(value, str):
        return Document(id=_text_id(value), text=with_rows(value))
    if not isinstance(value, Mapping):
        raise InputError(
            f"a document is {_short_repr(value)}; expected a text or a mapping with {', '.join(TEXT_KEYS)}"
        )
    text = next((value[key] for key in TEXT_KEYS if isinstance(value.get(key), str)), None)
    if text is None and _is_row(value):
        return to_document(row_text(value))
    if text is None:
        keys = ", ".join(map(str, value)) or "none"
        raise InputError(f"a document has the keys {keys[:80]}; it needs its text under one of {', '.join(TEXT_KEYS)}")
    metadata = value.get("metadata") or {}
    named = value.get("id") if value.get("id") is not None else value.get("url")
    identity = _text_id(text) if named is None else str(named)
    try:
        fields = {"title": value.get("title"), "url": value.get("url"), "metadata": metadata}
        return Document(id=identity, text=with_rows(text), **fields)
    except ValidationError as exc:
        raise InputError(f"document {identity!r}: {_first_problem(exc)}") from exc


def _is_row(value: Mapping[Any, object]) -> bool:
    """True for the row of a table: columns and plain values, and no name of a document's own fields."""
    own = {*TEXT_KEYS, "id", "title", "url", "metadata"}
    plain = all(isinstance(cell, str | int | float | None) for cell in value.values())
    return plain and len(value) > 1 and all(isinstance(name, str) and name not in own for name in value)


DOCUMENT_KEYS = ("documents", "context", "source_documents")


@runtime_checkable
class HostDocument(Protocol):
    """LangChain's document, known by its fields: importing it to look takes a third of a second."""

    @property
    def page_content(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, object]: ...


GivenDocument = Document | HostDocument | str | Mapping[str, object]
"""A document, LangChain's, a text, or a mapping that `to_document` reads."""

GivenDocuments = GivenDocument | Sequence[GivenDocument]

FoundDocuments = GivenDocument | Iterable[GivenDocument] | None
"""The answer of a function that finds documents: one, several, also as a generator, or none."""

GivenFinder = Callable[[Conversation], FoundDocuments]
"""Finds the documents of a draft, from the conversation that ends with it."""

FindDocuments = Callable[[Conversation], Sequence[Document]]


def find_documents_of(
    documents: GivenDocuments | Callable[[Conversation], Any] | None,
) -> Callable[[Conversation], Any] | None:
    """A document finder from the option `documents`: a function unchanged, anything else as a function that returns it.

    ConfigError: it is neither a document, nor a list of them, nor a function.
    """
    if documents is None or callable(documents):
        return documents
    if isinstance(documents, Document | HostDocument | str | Mapping):
        fixed: tuple[Document, ...] = (_read_option("documents", documents),)
    elif isinstance(documents, Sequence) and not isinstance(documents, bytes | bytearray):
        fixed = distinct(_read_option(f"documents[{place}]", item) for place, item in enumerate(documents))
    else:
        raise ConfigError(
            f"documents is {type(documents).__name__}; give a Document or a text, a list of them, or a function that takes "
            "the conversation and returns a list"
        )
    return lambda _: fixed


def given_documents(documents: FoundDocuments) -> tuple[Document, ...]:
    """Reads one document or several, each once. InputError: one that is none, and would be a claim without evidence."""
    if documents is None:
        return ()
    if isinstance(documents, str | Mapping | Document | HostDocument):
        return (read_document(documents),)
    if not isinstance(documents, Iterable):
        raise InputError(
            f"documents is {type(documents).__name__}; give a text, a Document, a mapping with text, or a list"
        )
    return distinct(read_document(item) for item in documents)


def read_documents(mapping: Mapping[str, object]) -> tuple[Document, ...]:
    """Reads the documents of a request or an answer, under the first of `DOCUMENT_KEYS` that has any."""
    for key in DOCUMENT_KEYS:
        value = mapping.get(key)
        if isinstance(value, str) and value.strip():
            return (to_document(value),)
        if isinstance(value, Sequence) and not isinstance(value, str) and value:
            return tuple(read_document(item) for item in value)
    return ()


def read_document(item: object) -> Document:
    if isinstance(item, Document | str | Mapping) or not isinstance(item, HostDocument):
        return to_document(item)
    metadata = {
        str(key): value for key, value in item.metadata.items() if isinstance(value, str | int | float | bool | None)
    }
    fields: dict[str, object] = {"text": item.page_content, "metadata": metadata}
    identity = getattr(item, "id", None)
    return to_document({**fields, "id": identity} if identity else fields)


def _read_option(name: str, item: object) -> Document:
    if not isinstance(item, Document | HostDocument | str | Mapping):
        raise ConfigError(f"{name} is {type(item).__name__}; give a Document, a text, or a mapping with text")
    try:
        return read_document(item)
    except InputError as exc:
        raise ConfigError(f"{name}: {exc}") from exc


@dataclass
class _Reader:
    """Walks over messages. `pending` holds documents since the last user message, `tools` names by call id."""

    shared: list[Document]
    patterns: Sequence[str] | None
    turns: list[Turn] = field(default_factory=list)
    pending: list[Document] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)

    def read(self, index: int, message: object) -> None:
        where = f"message {index}"
        if not isinstance(message, Mapping):
            raise InputError(f"{where} is {_short_repr(message)}; expected a mapping with role and content")
        role_name = message.get("role")
        role = ROLES.get(role_name) if isinstance(role_name, str) else None
        if role is None:
            raise InputError(f"{where} has the role {_short_repr(role_name)}; the roles are {', '.join(ROLES)}")
        message, blocks = (message, []) if self.patterns is None else take_blocks(message, self.patterns)
        text = _text(message, where)
        documents = [
            to_document(document) for document in _as_list(message.get("documents") or (), f"{where}: documents")
        ]
        if role is Role.TOOL:
            self.pending += documents
            if text.strip():
                self.pending.append(self._tool_document(index, message, text))
        elif role is Role.ASSISTANT:
            self._assistant(message, text, documents)
        elif role is Role.USER:
            self.pending = documents
            self.turns.append(Turn(role=role, text=text))
        else:
            self.shared += [*documents, *blocks]
            self.turns.append(Turn(role=role, text=text))

    def _assistant(self, message: Mapping[str, Any], text: str, own_documents: list[Document]) -> None:
        calls = _as_list(message.get("tool_calls") or (), "tool_calls")
        self.tools.update(_tool_names(calls))
        if text.strip() or not (calls or message.get("function_call")):
            documents = distinct([*own_documents, *self.pending, *self.shared])
            self.turns.append(Turn(role=Role.ASSISTANT, text=text, documents=documents))
        else:
            self.pending += own_documents

    def _tool_document(self, index: int, message: Mapping[str, Any], text: str) -> Document:
        call = message.get("tool_call_id")
        name = message.get("name") or self.tools.get(str(call))
        title = None if name is None else str(name)
        return Document(id=f"tool:{index if call is None else call}", text=with_rows(text), title=title)


def _text(message: Mapping[str, Any], where: str) -> str:
    """Returns the text of a message. A refusal counts as text when there is no content."""
    content = message.get("content")
    if content is None:
        refusal = message.get("refusal")
        return refusal if isinstance(refusal, str) else ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence) or isinstance(content, bytes | bytearray):
        raise InputError(
            f"{where} has the content {_short_repr(content)}; expected a text, null or a list of content parts"
        )
    read = _tool_text if message.get("role") in ("tool", "function") else _part_text
    return join_parts(text for part in content if (text := read(part, where)) is not None)


_OPEN_ADDRESS = re.compile(r"(?:[/\\]{2}|\]\()[^\s)]*\Z")
_LONGEST_ADDRESS = 2000
"""Characters before a part's end in which an address may have begun."""


def join_parts(texts: Iterable[str]) -> str:
    """The texts of one message's parts, a line each; an address that is split between two parts stays one."""
    joined: list[str] = []
    for text in texts:
        joined += (text,) if not joined or splits_address(joined[-1], text) else ("\n", text)
    return "".join(joined)


def splits_address(before: str, after: str) -> bool:
    """True if an address may begin in one part of a message and go on in the next."""
    return bool(after[:1].strip()) and _OPEN_ADDRESS.search(before[-_LONGEST_ADDRESS:]) is not None


def _part_text(part: object, where: str) -> str | None:
    """Returns the text of a content part; None for images, sounds, tool calls and unknown parts."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InputError(f"{where} has the content part {_short_repr(part)}; expected a mapping with type")
    text = part.get("refusal") if part.get("type") == "refusal" else part.get("text")
    return text if isinstance(text, str) else None


def _tool_text(part: object, where: str) -> str | None:
    """Returns the text of a part of a tool's answer: also JSON, documents and search results, with title and address."""
    text = _part_text(part, where)
    if text is not None or not isinstance(part, Mapping):
        return text
    if part.get("type") == "json":
        return json.dumps(part.get("json"), ensure_ascii=False)
    source, content = part.get("source"), part.get("content")
    if isinstance(source, Mapping):  # a document: its text, or its parts
        content = source.get("data") if source.get("type") == "text" else source.get("content")
    items = content if isinstance(content, list) else [content] if isinstance(content, str) else []
    given = [found for item in items if (found := _tool_text(item, where))]
    named = [name for name in (part.get("title"), source) if isinstance(name, str)]
    return "\n".join([*named, *given]) if given else None


def _tool_names(calls: Iterable[object]) -> dict[str, str]:
    """Maps call ids to the names of called tools."""
    names = {}
    for call in calls:
        if isinstance(call, Mapping):
            function = call.get("function")
            name = function.get("name") if isinstance(function, Mapping) else call.get("name")
            if isinstance(name, str) and call.get("id") is not None:
                names[str(call["id"])] = name
    return names


def distinct(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Drops duplicates, and numbers the id of a document that shares it with another text, so that evidence stays traceable."""
    by_id: dict[str, Document] = {}
    seen: set[tuple[str, str]] = set()
    numbers: dict[str, int] = {}  # the last of each id: thousands of passages may come under one
    for document in documents:
        if (document.id, document.text) in seen:
            continue
        seen.add((document.id, document.text))
        number = numbers.get(document.id, 1)
        name = document.id if number == 1 else f"{document.id}#{number}"
        while name in by_id and by_id[name].text != document.text:
            number += 1
            name = f"{document.id}#{number}"
        numbers[document.id] = number
        by_id.setdefault(name, document if name == document.id else document.model_copy(update={"id": name}))
    return tuple(by_id.values())


def _as_list(value: object, what: str) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{what} is {_short_repr(value)}; expected a list")
    return list(value)


_NAME = 48
"""Most characters of a text that name it."""


def _text_id(text: str) -> str:
    """The text's first words, which people know it by, and a mark of the whole: no other text has the same id."""
    line = "".join(filter(str.isprintable, " ".join(text[: 4 * _NAME].split())))
    name = line if len(line) <= _NAME else f"{line[:_NAME].rpartition(' ')[0] or line[:_NAME]} …"
    return f"{name} #{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}".strip()


def _short_repr(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))} is {_short_repr(first['input'])}: {first['msg']}"


BY_USER = "brought_by_user"
"""Key of a document's metadata: the document was found in a user's own message."""
USER_EVIDENCE = "evidence came from the user's own message"
"""The report's warning about such documents."""

_TAG = re.compile(r"(?P<open>[^\\.^$*+?{}\[\]|()]+)\(\.\*\?\)(?P<close>[^\\.^$*+?{}\[\]|()]+)")
"""A pattern that is only an opening and a closing text."""
_HEADED = re.compile(
    r"^[ \t#*]*(?:Context|Documents?|Sources?|References?)[ \t]*:[ \t*]*\n", re.MULTILINE | re.IGNORECASE
)
"""A line "Context:": all that follows it is a document, up to a question after a blank line."""
_ASKED = re.compile(r"\n[ \t]*\n[ \t#*]*(?:Question|Query|User)\b[^\n:]{0,40}:", re.IGNORECASE)


def take_blocks(
    message: Mapping[str, object], patterns: Sequence[str] = PATTERNS, *, user_context: bool = False
) -> tuple[dict[str, object], list[Document]]:
    """Separates a message from its blocks, returned as documents: tagged ones, and what follows a line "Context:".

    User messages are no trusted evidence, since anyone can type a block: they are read only with `user_context`, and
    their documents are marked.

    Args:
        message: a chat message; only system and developer messages are read.
        patterns: regular expressions with one group, which is the document.
        user_context: read user messages too.
    """
    remainder, blocks, role = dict(message), list[str](), message.get("role")
    if role not in ("system", "developer") and not (user_context and role == "user"):
        return remainder, []
    content = message.get("content")
    if isinstance(content, str):
        remainder["content"] = _cut(content, patterns, blocks)
    elif isinstance(content, list):
        remainder["content"] = [
            {**part, "text": _cut(part["text"], patterns, blocks)}
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
            else part
            for part in content
        ]
    documents = [to_document(block.strip()) for block in blocks if block.strip()]
    by_user = {"metadata": {BY_USER: True}}
    return remainder, [document.model_copy(update=by_user) for document in documents] if role == "user" else documents


def _cut(text: str, patterns: Sequence[str], blocks: list[str]) -> str:
    for pattern in patterns:
        pieces, end = [], 0
        for start, stop, block in _matches(pattern, text):
            pieces.append(text[end:start])
            blocks.append(block)
            end = stop
        if end:
            text = ("".join(pieces) + text[end:]).strip()
    heading = _HEADED.search(text)
    if heading is not None:
        question = _ASKED.search(text, heading.end())
        end = len(text) if question is None else question.start()
        blocks.append(text[heading.end() : end])
        text = (text[: heading.start()] + text[end:]).strip()
    return text


def _matches(pattern: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Yields start, end and block of every match, in order."""
    tag = _TAG.fullmatch(pattern)
    if tag is None:
        for match in re.finditer(pattern, text, re.DOTALL):
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
