"""Chat messages of an entry as a conversation. Whatever holds no text is told: as an error, or as an omission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vista_guard.errors import InputError
from vista_guard.reading.chat_json import to_conversation
from vista_guard.types import Conversation, Role
from vista_lab.logs.payloads import CONTENTS, Message, may_be_read, part_text, plain
from vista_lab.logs.roles import known_role
from vista_lab.logs.source import UNANSWERED, LoggedConversation, Omission

SILENT: Message = {"role": "assistant", "content": None, "tool_calls": [{"type": "function"}]}
"""An assistant's message that says nothing, and is no turn."""
EMPTY = "an assistant's message has no text and is left out"


def logged(
    messages: Sequence[object],
    name: str,
    line: int | None = None,
    *,
    documents: Iterable[object] = (),
    omissions: Iterable[Omission] = (),
) -> LoggedConversation:
    """Chat messages as a conversation, with the omissions.

    Args:
        messages: in OpenAI's chat format; content parts of any library.
        name: the conversation's id.
        line: the entry's line, if its file has lines.
        documents: evidence for every assistant turn.
        omissions: what the entry's reader left out itself.

    Raises:
        InputError: a message is malformed or has no content that can be read, or no assistant's message has text.
    """
    told = list(omissions)
    read = [message for index, given in enumerate(messages) for message in _read(index, given, told)]
    conversation = _without_blank_documents(to_conversation(read, conversation_id=name, documents=documents))
    if not conversation.turns:
        raise InputError("has no message with text" if messages else "has no messages")
    if all(turn.role is not Role.ASSISTANT for turn in conversation.turns):
        silent = next((omission for omission in told if omission.what == EMPTY), None)
        if silent is not None:
            raise InputError(f"{silent.where} has no text, and there is no other answer")
        told.append(Omission(UNANSWERED))
    return LoggedConversation(conversation, {}, line, omissions=tuple(told))


def _without_blank_documents(conversation: Conversation) -> Conversation:
    """A document without text is no evidence, and its turn must not count as one that had some."""
    turns = tuple(
        turn.model_copy(update={"documents": tuple(one for one in turn.documents if one.text.strip())})
        for turn in conversation.turns
    )
    return conversation.model_copy(update={"turns": turns})


def _read(index: int, given: object, told: list[Omission]) -> list[Any]:
    if not isinstance(given, Mapping):
        return [given]  # refused by the conversation's reader
    try:
        given = {**given, "role": known_role(given.get("role"))}
    except InputError as exc:
        raise InputError(f"message {index} {exc}") from exc
    content = given.get("content")
    if isinstance(content, str) and content.strip() and given.get("role") != "tool":
        return [given]
    where = f"message {index} ({given.get('role')})"
    if isinstance(content, Mapping):
        if _is_unread(content) and given.get("role") != "tool":
            raise InputError(f"{where} has no text that can be read: it has {_named(content)}")
        given = {**given, "content": [content]}
    if any(given.get(key) is not None for key in CONTENTS):
        own = {key: given[key] for key in ("documents", "function_call") if key in given}
        return [_with_text(where, {**one, **own}, told) for one in plain(given, str(given.get("role")))]
    return [_with_text(where, given, told)]


def _with_text(where: str, message: Mapping[str, Any], told: list[Omission]) -> Mapping[str, Any]:
    """The message with its texts only. Raises InputError if it has none and something that might be its text."""
    parts = message.get("content")
    unread: list[str] = []
    if isinstance(parts, list):
        unread = [_named(part) for part in parts if _is_unread(part)]
        told += (Omission(f"not read: {what}", where) for what in unread)
        texts = [part if not isinstance(part, str | Mapping) else _text_part(part) for part in parts]
        message = {**message, "content": [part for part in texts if part is not None]}
    if _says_something(message):
        return message
    if unread or "content" not in message:
        what = ", ".join(unread) or f"keys {', '.join(map(str, message))[:80]}"
        if message.get("role") != "user" or "content" not in message:
            raise InputError(f"{where} has no text that can be read: it has {what}")
    if message.get("role") == "assistant":
        told.append(Omission(EMPTY, where))
        return {**SILENT, **({"documents": message["documents"]} if message.get("documents") else {})}
    return message


def _says_something(message: Mapping[str, Any]) -> bool:
    if any(message.get(key) for key in ("tool_calls", "function_call", "refusal")):
        return True
    content = message.get("content")
    texts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    return any(not isinstance(text, str | Mapping) or (part_text(text) or "").strip() for text in texts)


def _text_part(part: object) -> Message | None:
    text = part_text(part)
    return None if text is None else {"type": "text", "text": text}


def _is_unread(part: object) -> bool:
    return isinstance(part, Mapping) and part_text(part) is None and may_be_read(part)


def _named(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    keys = ", ".join(str(key) for key in part if key != "type")[:80] or "none"
    return f"a content part {'without a type' if kind is None else f'of type {str(kind)[:40]!r}'}, keys {keys}"
