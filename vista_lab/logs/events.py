"""Messages in lists of events, as chat platforms export them: a speaker under one of many keys, a text that is nested or HTML.

{"author": {"type": "user"}, "body": "<p>Open?</p>", "created_at": 1762074000}
{"actor_type": "agent", "message_parts": [{"text": {"content": "Yes."}}], "conversation_id": "7"}
{"event": "bot", "text": "Yes."}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vista_guard.errors import InputError
from vista_guard.reading.html import read_html
from vista_lab.logs.payloads import CONTENTS, Message, decode_json, evidence, may_be_read
from vista_lab.logs.roles import KEYS, known_role, role_named, snake
from vista_lab.logs.source import Omission
from vista_lab.logs.threads import FIRST, moment

LISTS = ("messages", "events", "history", "transcript", "conversation_parts", "conversation")
"""Keys of an entry's list of events."""
TEXTS = ("content", "text", "message", "utterance", "body", "msg", "payload", "message_parts", "parts")
"""Keys of an event's text, also one in the other."""
TIMES = ("created_at", "created_time", "timestamp", "time", "ts", "received", "sent_at", "date")
FLAGS = {"is_created_by_user": ("assistant", "user"), "is_user": ("assistant", "user"), "is_bot": ("user", "assistant")}
"""Keys that say who speaks by no and yes."""
LOOSE = ("event", "type")
"""Keys of a speaker that mostly hold something else."""
INTERNAL = ("note", "private", "internal")
_HTML = re.compile(
    r"\s*<(?:html|body|div|p|span|h[1-6]|ul|ol|table|blockquote|b|i|strong|em|a)\b[^<>]*>.*(?:</\w+>|<br\s*/?>)\s*",
    re.DOTALL,
)
"""A text that is HTML from end to end."""


def found(content: Mapping[str, Any]) -> list[Any] | None:
    """The events of an entry, by time if each has one, after the event that opens the conversation beside the list, if any.

    None if the entry has no list of events; chat messages with role and content are none.
    """
    for key in LISTS:
        items = decode_json(content.get(key))
        items = items.get(key) if isinstance(items, Mapping) else items
        if isinstance(items, list) and are_events(items):
            return [*filter(_is_event, content.values()), *_by_time(list(_flat(items)))]
    return None


def are_events(items: Sequence[object]) -> bool:
    """True if some item is an event with a speaker and a text, and none a message of a chat API."""
    chat = (isinstance(item, Mapping) and "role" in item and not item.keys().isdisjoint(CONTENTS) for item in items)
    return any(map(_is_event, items)) and not any(chat)


def _is_event(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    names = (snake(key) for key, cell in item.items() if cell)
    speaks = any(name in FLAGS or (name in KEYS and name not in LOOSE) for name in names)
    known = role_named(speaker(item)) is not None and not ("type" in item and "content" in item)
    return (speaks or known) and bool(text_of(item))


def messages(items: Sequence[object], told: list[Omission]) -> list[Message]:
    """The messages among events; notes among colleagues and events without text are left out, and `told`.

    Raises InputError for a text of an unknown speaker; names the event and how to map the name.
    """
    said: list[Message] = []
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InputError(f"event {number} is {str(item)[:60]!r}; expected messages with a role and a text")
        name, text = speaker(item), text_of(item)
        if _is_internal(item) or not text:
            what = "an event without text" if not text else "a note that users do not see"
            told.append(Omission(f"{what} is left out", f"event {number} ({name})"))
            continue
        try:
            message = {"role": known_role(name), "content": text}
        except InputError as exc:
            raise InputError(f"event {number} {exc}") from exc
        documents = evidence(item.get("documents"), "documents")
        said.append({**message, "documents": documents} if documents else message)
    return said


def speaker(item: Mapping[str, Any]) -> object:
    """Who speaks: the first known name under one of `KEYS`, else the first name at all, else None."""
    cells = {snake(key): cell for key, cell in item.items()}
    flag = next((key for key in FLAGS if isinstance(cells.get(key), bool)), None)
    if flag is not None:
        return FLAGS[flag][cells[flag]]
    names = [name for key in KEYS for name in _names(cells.get(key))]
    return next((name for name in names if role_named(name)), names[0] if names else None)


def _names(cell: object) -> list[str]:
    parts = [cell.get(key) for key in ("type", "role", "name")] if isinstance(cell, Mapping) else [cell]
    return [part for part in parts if isinstance(part, str)]


def text_of(value: object) -> str | None:
    """The text of an event or of a part of it, HTML as its page shows it; None if it has none."""
    if isinstance(value, str):
        return read_html(value).text if _HTML.fullmatch(value) else value.strip() and value
    if isinstance(value, list):
        return "\n".join(filter(None, map(text_of, value))) or None
    if not isinstance(value, Mapping) or not may_be_read(value):
        return None
    keys = (*TEXTS, "value") if "from" in value else TEXTS
    return next((text for key in keys if key in value and (text := text_of(value[key]))), None)


def _is_internal(item: Mapping[str, Any]) -> bool:
    kinds = (item.get("part_type"), item.get("message_type"), item.get("type"))
    return any(kind in INTERNAL for kind in kinds) or item.get("public") is False or item.get("private") is True


def _flat(items: Sequence[object]) -> Iterator[object]:
    """Events with the replies that are nested in them; of several replies to one event, the last."""
    for item in items:
        yield item
        if isinstance(item, Mapping) and isinstance(item.get("children"), list):
            yield from _flat(item["children"][-1:])


def _by_time(items: list[object]) -> list[object]:
    try:
        times = [moment(_time(item)) for item in items]
    except InputError:
        return items
    if None in times:
        return items
    order = sorted(range(len(items)), key=lambda place: times[place] or FIRST)
    return [items[place] for place in order]


def _time(item: object) -> object:
    cells = {snake(key): cell for key, cell in item.items()} if isinstance(item, Mapping) else {}
    return next((cells[key] for key in TIMES if cells.get(key)), None)
