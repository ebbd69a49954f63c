"""Reads the input of `check`, a text, files and a conversation, as a `Conversation`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from vista_guard.errors import InputError, first_problem
from vista_guard.reading import files
from vista_guard.reading.chat_json import read_json, to_conversation
from vista_guard.reading.files import MAX_BYTES
from vista_guard.types import Conversation, Document, Role


def conversation_to_check(
    text: str | None, *, documents: Sequence[Path], conversation: Path | None, document_chars: int
) -> Conversation:
    """Returns the conversation whose last assistant turn is to be judged, with the documents on that turn.

    Args:
        text: the assistant turn, said after the conversation; `-` reads stdin. Else the conversation's last one.
        documents: files, of any format that `documents add` reads.
        conversation: a JSON file.
        document_chars: files that must hold more than this are refused.

    Raises:
        InputError: a file or text that cannot be judged, or no assistant turn.
    """
    answer = [] if text is None else [{"role": "assistant", "content": _turn_text(text)}]
    past = to_conversation(answer) if conversation is None else read_conversation(conversation, answer)
    grounds = tuple(read_document(path, document_chars) for path in documents)
    turns = list(past.turns)
    last = max((index for index, turn in enumerate(turns) if turn.role is Role.ASSISTANT), default=None)
    if last is None:
        raise InputError("there is no assistant turn to check: give it as TEXT, or - to read it from stdin")
    turns[last] = turns[last].model_copy(update={"documents": turns[last].documents + grounds})
    return past.model_copy(update={"turns": tuple(turns)})


def read_document(path: Path, limit: int) -> Document:
    """Reads a file as `vista-guard documents add` does, as a document named after its path.

    Raises:
        InputError: missing, a folder, empty, too big, damaged, or of no kind that is read.
    """
    name = f"document {path}"
    raw = _read(path, name, max(MAX_BYTES, 4 * limit))  # A character takes at most four bytes.
    try:
        document = files.read_document(files.DocumentFile(path, str(path)), raw)
    except InputError as exc:
        raise InputError(f"{name} {exc}") from exc
    if isinstance(document, files.SkippedFile):
        raise InputError(f"{name} is {document.reason}; a turn cannot be grounded in it")
    return document


def read_conversation(path: Path, answer: Sequence[Mapping[str, Any]] = ()) -> Conversation:
    """Reads a JSON file: chat messages, `{"messages": […]}`, or a `Conversation` with `turns`; then comes the answer.

    Raises:
        InputError: unreadable, not JSON, or of another shape.
    """
    name = f"conversation {path}"
    try:
        content = read_json(_decode(_read(path, name), name, "save it as UTF-8"))
    except ValueError as exc:
        raise InputError(f"{name} is not JSON: {exc}") from exc
    try:
        conversation = _conversation(content, answer)
        conversation.model_dump_json()  # Half a surrogate pair can be read from JSON, but not be written.
        return conversation
    except PydanticSerializationError as exc:
        raise InputError(f"{name} holds a lone surrogate: {exc}; repair it") from exc
    except ValidationError as exc:
        raise InputError(f"{name}: {first_problem(exc)}") from exc
    except InputError as exc:
        raise InputError(f"{name}: {exc}") from exc


def _conversation(content: object, answer: Sequence[Mapping[str, Any]]) -> Conversation:
    if isinstance(content, list):
        return to_conversation([*content, *answer])
    if isinstance(content, Mapping) and "turns" in content:
        parsed = Conversation.model_validate(content)
        return parsed.model_copy(update={"turns": (*parsed.turns, *to_conversation(answer).turns)})
    if isinstance(content, Mapping) and isinstance(content.get("messages"), list):
        ids = [content[key] for key in ("id", "conversation_id") if content.get(key) not in (None, "")]
        identity = str(ids[0]) if ids else None
        messages = [*content["messages"], *answer]
        return to_conversation(messages, conversation_id=identity, documents=content.get("documents") or ())
    raise InputError('holds no conversation; expected chat messages, {"messages": […]} or {"turns": […]}')


def read_text(path: Path) -> str:
    """The text of a file, or "-" for `conversation_to_check`, which then reads stdin.

    Raises:
        InputError: unreadable, empty or not UTF-8.
    """
    if str(path) == "-":
        return "-"
    text = _decode(_read(path, str(path)), str(path), "save it as UTF-8")
    if text.strip() in ("", "-"):
        raise InputError(f"{path} has no text to take apart")
    return text


def _turn_text(argument: str) -> str:
    if argument == "-":
        text = _decode(sys.stdin.buffer.read(), "stdin", "send the turn as UTF-8 text").removesuffix("\n")
    else:
        text = argument
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as exc:
            raise InputError(
                f"TEXT is not UTF-8 at character {exc.start}; set a UTF-8 locale or send it to stdin"
            ) from exc
    if not text.strip():
        raise InputError(f"the turn to check ({'stdin' if argument == '-' else 'TEXT'}) is empty")
    return text


def _read(path: Path, name: str, limit: int | None = None) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read() if limit is None else file.read(limit + 1)
    except OSError as exc:
        raise InputError(f"{name} cannot be read: {exc.strerror}") from exc
    if limit is not None and len(raw) > limit:
        raise InputError(f"{name} has more than {limit:,} bytes; split it, or raise limits.document_chars")
    return raw


def _decode(raw: bytes, name: str, advice: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise InputError(f"{name}: byte {exc.start} (0x{raw[exc.start]:02x}) is not UTF-8 text; {advice}") from exc
