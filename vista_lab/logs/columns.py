"""Tables of one's own: CSV, or rows of any kind, with a map that says which column holds what.

A row is a message (`role`, `content`) or an exchange (`question`, `answer`). Rows of one conversation follow each other by their
time where there is a column for it, else as they stand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, Self

from vista_guard.errors import ConfigError, InputError
from vista_guard.reading.chat_json import to_conversation
from vista_guard.types import Role
from vista_lab.logs.azure import context_documents
from vista_lab.logs.payloads import ROLES, Message
from vista_lab.logs.sharegpt import SPEAKERS
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue, TurnGold, broken_entry
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
"""The fields of a table, and the column names that are taken for each without a map."""

PEOPLE = {**{name: Role(role) for name, role in ROLES.items()}, "customer": Role.USER, "client": Role.USER}
"""Names of speakers, beside those of ShareGPT logs."""

_GOOD = ("true", "yes", "1", "fine", "good", "faithful", "supported", "grounded", "verifiable", "correct")
_BAD = ("false", "no", "0", "bad", "not fine", "hallucinated", "unfaithful", "unsupported", "ungrounded")
FINE: Mapping[str, bool] = {
    **dict.fromkeys(_GOOD, True),
    **dict.fromkeys((*_BAD, "unverifiable", "incorrect", "hallucination"), False),
}
"""People's words on an answer, and whether it may be delivered."""


@dataclass(frozen=True)
class Columns:
    """Which column holds what: names of a table's columns by the keys of `USUAL`."""

    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, told: str) -> Self:
        """The map that `--columns conversation=thread,role=speaker` names.

        Raises ConfigError for a part without `=`, an unknown key, or a key that is named twice.
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
        return cls(names)

    def among(self, there: Iterable[str]) -> Self:
        """The map, with the usual names for what it leaves out.

        Raises InputError for a column that the table does not have, or none for what is needed.
        """
        known = {name.strip().lower(): name for name in there}
        missing = [column for column in self.names.values() if column not in known.values()]
        if missing:
            raise InputError(f"has no column {missing[0]!r}; its columns are {', '.join(known.values())}")
        usual = {key: known[name] for key, names in USUAL.items() for name in reversed(names) if name in known}
        found = {**{key: one for key, one in usual.items() if one not in self.names.values()}, **self.names}
        if not ({"conversation", "role", "content"} <= found.keys() or "answer" in found):
            raise InputError(
                f"has the columns {', '.join(known.values())}, and none is known to hold the messages or the conversation. Name "
                "them: --columns conversation=NAME,role=NAME,content=NAME or --columns question=NAME,answer=NAME"
            )
        return type(self)(found)


@dataclass(frozen=True)
class _Row:
    messages: list[Message]
    time: datetime | None
    label: TurnGold | None
    value: LogValue


def looks_like_it(content: Mapping[str, Any]) -> bool:
    """Recognises a row by the usual names of columns."""
    try:
        Columns().among(map(str, content))
    except InputError:
        return False
    return True


def read(
    found: Iterable[LogValue | BrokenEntry], source: str, columns: Columns | None = None
) -> Iterator[LoggedConversation | BrokenEntry]:
    """Conversations in the order in which they first appear; a row without a conversation is one of its own.

    Args:
        found: rows; all are held until the last is read, as a conversation's may stand anywhere.
        source: the file's name, for errors.
        columns: which column holds what; the usual names when not given.

    Raises:
        InputError: a column that is not there.
    """
    threads: dict[str, list[_Row]] = defaultdict(list)
    spoiled: dict[str, str] = {}
    seen: dict[str, str] = {}
    names: Mapping[str, str] | None = None
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
            names = names or (columns or Columns()).among(map(str, content)).names
        except InputError as exc:
            raise ConfigError(f"log {source} {exc}") from exc  # Every row would say the same.
        identity = content.get(names.get("id", ""))
        first = seen.setdefault(str(identity), value.place) if identity not in (None, "") else value.place
        if first != value.place:
            again = InputError(f"has the id {identity} of {first} again; the first one is used")
            yield broken_entry(source, value, again)
            continue
        name = value.first_id(content.get(names.get("conversation", "")))
        try:
            threads[name].append(_row(content, names, value))
        except (InputError, RecursionError) as exc:
            spoiled.setdefault(name, value.place)
            yield broken_entry(source, value, exc)
    for name, rows in threads.items():
        if name not in spoiled:
            yield _conversation(name, rows, source)
        elif rows:
            # Judged without a turn or a document of its own, an answer would be held against less than was known.
            yield BrokenEntry(
                f"{source} conversation {name}",
                f"is not judged, as its {spoiled[name]} cannot be read; mend that first",
            )


def _row(content: Mapping[str, Any], names: Mapping[str, str], value: LogValue) -> _Row:
    cells = {key: content.get(column) for key, column in names.items()}
    if "role" in names and "content" in names:
        messages: list[Message] = [{"role": _role(cells["role"]), "content": _text(cells["content"])}]
    else:
        messages = [{"role": "user", "content": _text(cells["question"])}] if cells.get("question") else []
        messages.append({"role": "assistant", "content": _text(cells.get("answer"))})
    if documents := context_documents(cells.get("documents")):
        messages[-1]["documents"] = documents
    gold = _gold(cells.get("label")) if messages[-1]["role"] == "assistant" else None
    return _Row(messages, moment(cells.get("time")), gold, value)


def _role(given: object) -> str:
    name = str(given or "").strip().lower()
    role = PEOPLE.get(name) or SPEAKERS.get(name)
    if role is None:
        raise InputError(f"has the role {given!r}; it must be one of {', '.join(dict.fromkeys([*PEOPLE, *SPEAKERS]))}")
    return str(role)


def _text(given: object) -> str:
    if isinstance(given, Mapping | list):
        raise InputError(
            f"has {str(given)[:60]!r} where a text is expected; name the column that holds the text with --columns, or the "
            "log's format with --format"
        )
    return "" if given is None else str(given)


def _gold(given: object) -> TurnGold | None:
    label = str(given).strip() if given is not None else ""
    if not label:
        return None
    if label.lower() not in FINE:
        raise InputError(f"has the label {given!r}; it must be one of {', '.join(FINE)}, or empty")
    return TurnGold(label, positive=not FINE[label.lower()])


def _conversation(name: str, rows: list[_Row], source: str) -> LoggedConversation | BrokenEntry:
    timeless = [row for row in rows if row.time is None]
    if timeless and len(timeless) < len(rows):
        place = f"{source} {timeless[0].value.place}"
        return BrokenEntry(place, f"has no time, and other rows of conversation {name} do")
    ordered = rows if timeless else sorted(rows, key=lambda row: row.time or datetime.min)
    first = rows[0].value
    try:
        conversation = to_conversation(list(chain.from_iterable(row.messages for row in ordered)), conversation_id=name)
    except InputError as exc:
        return BrokenEntry(f"{source} {first.place}", f"conversation {name}: {exc}")
    answers = iter([row.label for row in ordered if row.messages[-1]["role"] == "assistant"])
    places = [index for index, turn in enumerate(conversation.turns) if turn.role is Role.ASSISTANT]
    gold = {index: label for index, label in zip(places, answers, strict=True) if label is not None}
    return LoggedConversation(conversation, {}, first.line, gold)
