"""The user's own tables: CSV, or rows of any kind, with a map of their columns.

A row is a message (`role`, `content`) or an exchange (`question`, `answer`). Rows of one conversation are sorted by time if
there is a column for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Any, Self

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Role
from vista_lab.logs.labels import LabelColumn
from vista_lab.logs.payloads import ROLES, Message, decode_json, evidence
from vista_lab.logs.readers.sharegpt import SPEAKERS
from vista_lab.logs.registry import Fit, LogFormat
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue, TurnGold, broken_entry
from vista_lab.logs.talks import logged
from vista_lab.logs.threads import moment

USUAL: Mapping[str, tuple[str, ...]] = {
    "conversation": (
        *("conversation", "conversation_id", "thread", "thread_id"),
        *("session", "session_id", "chat_id", "dialog_id"),
    ),
    "role": ("role", "speaker", "sender", "author", "from"),
    "content": ("content", "text", "message", "utterance", "body"),
    "question": ("question", "query", "instruction", "user", "input", "prompt"),
    "answer": ("answer", "response", "assistant", "output", "completion"),
    "time": ("time", "timestamp", "created_at", "date", "sent_at"),
    "documents": ("documents", "document", "context", "contexts", "passages", "sources"),
    "id": ("id", "message_id", "row_id"),
    "label": ("label", "gold"),
}
"""The fields of a table, and the default column names of each."""

PEOPLE = {**{name: Role(role) for name, role in ROLES.items()}, "customer": Role.USER, "client": Role.USER}
"""Roles by the names of speakers; `sharegpt.SPEAKERS` has more."""

YES = {"bad": False, "good": True}
"""What may follow the column of labels, and whether yes is fine there."""


@dataclass(frozen=True)
class Columns:
    """Map of a table's columns, by the keys of `USUAL`."""

    names: Mapping[str, str] = field(default_factory=dict)
    yes_is_fine: bool | None = None
    """What yes, true and 1 mean in the column of labels; None if its name or its words say it."""

    @classmethod
    def parse(cls, told: str) -> Self:
        """Parses a map such as `conversation=thread,role=speaker`; `label=NAME:bad` is a column in which yes marks a fault.

        Raises ConfigError for a part without `=`, an unknown key, or a duplicate key.
        """
        names: dict[str, str] = {}
        for part in told.split(","):
            key, sign, column = (piece.strip() for piece in part.partition("="))
            if not sign or not column or key not in USUAL or key in names:
                raise ConfigError(
                    f"--columns has {part.strip()!r}; give what=column pairs, each once, of {', '.join(USUAL)}: for example "
                    "conversation=thread,role=speaker,content=text"
                )
            names[key] = column
        column, _, told = names.get("label", "").rpartition(":")
        if column and told in YES:
            return cls({**names, "label": column}, YES[told])
        return cls(names)

    def among(self, there: Iterable[str]) -> Self:
        """Completes the map with the usual names among the table's columns.

        Raises InputError if the table lacks a mapped column, or has none for a needed field.
        """
        known = {name.strip().lower(): name for name in there}
        missing = [column for column in self.names.values() if column not in known.values()]
        if missing:
            raise InputError(f"has no column {missing[0]!r}; its columns are {', '.join(known.values())}")
        usual = {key: known[name] for key, names in USUAL.items() for name in reversed(names) if name in known}
        columns = {**{key: one for key, one in usual.items() if one not in self.names.values()}, **self.names}
        if not ({"conversation", "role", "content"} <= columns.keys() or "answer" in columns):
            raise InputError(
                f"has the columns {', '.join(known.values())}, and none is known to hold the messages or the conversation. Name "
                "them: --columns conversation=NAME,role=NAME,content=NAME or --columns question=NAME,answer=NAME"
            )
        return replace(self, names=columns)


@dataclass(frozen=True)
class _Row:
    messages: list[Message]
    time: datetime | None
    label: TurnGold | None
    value: LogValue


def looks(content: Mapping[str, Any]) -> Fit:
    """Recognises a row by the usual names of columns."""
    try:
        Columns().among(map(str, content))
    except InputError:
        return Fit.NONE
    return Fit.GUESS


def read(
    found: Iterable[LogValue | BrokenEntry], source: str, columns: Columns | None = None
) -> Iterator[LoggedConversation | BrokenEntry]:
    """Conversations in the order in which they first appear; a row without a conversation is one of its own.

    Args:
        found: rows; all are held until the last is read, as those of a conversation may be anywhere.
        source: the file's name, for errors.
        columns: map of the columns; the usual names when None.

    Raises:
        ConfigError: a column is missing, or it is not known what yes means in the column of labels.
    """
    threads: dict[str, list[_Row]] = defaultdict(list)
    spoiled: dict[str, str] = {}
    seen: dict[str, str] = {}
    known: Columns | None = None
    for value in found:
        if isinstance(value, BrokenEntry):
            yield value
            continue
        content = value.content
        if not isinstance(content, Mapping):
            wrong = InputError(f"is {str(content)[:80]!r}; expected a row with named columns")
            yield broken_entry(source, value, wrong)
            continue
        try:
            known = known or (columns or Columns()).among(map(str, content))
        except InputError as exc:
            raise ConfigError(f"log {source} {exc}") from exc  # Every row would say the same.
        names = known.names
        identity = content.get(names.get("id", ""))
        first = seen.setdefault(str(identity), value.place) if identity not in (None, "") else value.place
        if first != value.place:
            again = InputError(f"has the id {identity} of {first} again; the first one is used")
            yield broken_entry(source, value, again)
            continue
        name = value.first_id(content.get(names.get("conversation", "")))
        try:
            threads[name].append(_row(content, known, value))
        except (InputError, RecursionError) as exc:
            spoiled.setdefault(name, value.place)
            yield broken_entry(source, value, exc)
    for name, rows in threads.items():
        if name not in spoiled:
            yield _conversation(name, rows, source)
        elif rows:
            # Without the unreadable turn or document, answers would be checked against too little.
            yield BrokenEntry(
                f"{source} conversation {name}",
                f"is not judged, as its {spoiled[name]} cannot be read; mend that first",
            )


def _row(content: Mapping[str, Any], columns: Columns, value: LogValue) -> _Row:
    names = columns.names
    cells = {key: content.get(column) for key, column in names.items()}
    if "role" in names and "content" in names:
        messages: list[Message] = [{"role": _role(cells["role"]), "content": _text(cells["content"])}]
    else:
        messages = [{"role": "user", "content": _text(cells["question"])}] if cells.get("question") else []
        messages.append({"role": "assistant", "content": _text(cells.get("answer"))})
        if not _speaks(messages[-1]):
            raise InputError(f"has no text in its column {names['answer']!r}, the answer")
    if documents := evidence(cells.get("documents"), names.get("documents", "")):
        messages[-1]["documents"] = documents
    is_answer = messages[-1]["role"] == "assistant" and _speaks(messages[-1])
    labels = LabelColumn(names.get("label", ""), columns.yes_is_fine)
    gold = labels.gold(decode_json(cells.get("label"))) if is_answer else None
    return _Row(messages, moment(cells.get("time")), gold, value)


def _speaks(message: Message) -> bool:
    return bool(message["content"].strip())


def _role(cell: object) -> str:
    name = str(cell or "").strip().lower()
    role = PEOPLE.get(name) or SPEAKERS.get(name)
    if role is None:
        raise InputError(f"has the role {cell!r}; it must be one of {', '.join(dict.fromkeys([*PEOPLE, *SPEAKERS]))}")
    return str(role)


def _text(cell: object) -> str:
    if isinstance(cell, Mapping | list):
        raise InputError(
            f"has {str(cell)[:60]!r} where a text is expected; name the column that holds the text with --columns, or the "
            "log's format with --format"
        )
    return "" if cell is None else str(cell)


def _conversation(name: str, rows: list[_Row], source: str) -> LoggedConversation | BrokenEntry:
    timeless = [row for row in rows if row.time is None]
    if timeless and len(timeless) < len(rows):
        place = f"{source} {timeless[0].value.place}"
        return BrokenEntry(place, f"has no time, and other rows of conversation {name} do")
    ordered = rows if timeless else sorted(rows, key=lambda row: row.time or datetime.min)
    first = rows[0].value
    try:
        entry = logged(list(chain.from_iterable(row.messages for row in ordered)), name, first.line)
    except InputError as exc:
        return BrokenEntry(f"{source} {first.place}", f"conversation {name}: {exc}")
    answers = [row.label for row in ordered if row.messages[-1]["role"] == "assistant" and _speaks(row.messages[-1])]
    places = [index for index, turn in enumerate(entry.conversation.turns) if turn.role is Role.ASSISTANT]
    gold = {index: label for index, label in zip(places, answers, strict=True) if label is not None}
    return replace(entry, gold=gold)


FORMAT = LogFormat("csv", looks, gather=read)
