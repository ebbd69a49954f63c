"""The user's own tables: CSV, or rows of any kind, with a map of their columns.

A row is a message (`role`, `content`), an exchange (`question`, `answer`) or a conversation (`messages`). A list of events, as
chat platforms export it (`vista_lab.logs.events`), is one or more conversations. Rows of one
conversation are sorted by time if there is a column for it. A column may be a path into JSON, `traj[-1].content`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Any, Self

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Role
from vista_lab.logs import events, payloads
from vista_lab.logs.labels import LabelColumn
from vista_lab.logs.paths import messages_told, steps, value_at
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.roles import KEYS, known_role, snake
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue, Omission, TurnGold, broken_entry
from vista_lab.logs.talks import logged
from vista_lab.logs.threads import moment

USUAL: Mapping[str, tuple[str, ...]] = {
    "conversation": (
        *("conversation", "conversation_id", "thread", "thread_id"),
        *("session", "session_id", "chat_id", "dialog_id"),
    ),
    "role": tuple(key for key in KEYS if key not in events.LOOSE),
    "content": events.TEXTS,
    # Last in each: columns of these names often hold who it was, beside a column with the text.
    "question": ("question", "query", "instruction", "input", "prompt", "user"),
    "answer": ("answer", "response", "output", "completion", "assistant"),
    "time": ("time", "timestamp", "created_at", "created_time", "date", "sent_at"),
    "documents": ("documents", "document", "context", "contexts", "passages", "sources"),
    "id": ("id", "message_id", "row_id"),
    "label": ("label", "gold"),
    "messages": (),
}
"""The fields of a table, and the default column names of each."""

NEEDED = ("conversation", "messages", "role", "content", "question", "answer")
"""Fields that a row must have, if they are mapped to a path."""

UNREAD = "-"
"""In place of a column: the field is not read."""

YES = {"bad": False, "good": True}
"""What may follow the column of labels, and whether yes is fine there."""


@dataclass(frozen=True)
class Columns:
    """Map of a table's columns, by the keys of `USUAL`."""

    names: Mapping[str, str] = field(default_factory=dict)
    yes_is_fine: bool | None = None
    """What yes, true and 1 mean in the column of labels; None if its name or its words say it."""
    unread: frozenset[str] = frozenset()
    """Fields that are not read, also from columns with usual names."""

    @classmethod
    def parse(cls, told: str) -> Self:
        """Parses a map such as `conversation=thread,role=speaker`; `label=NAME:bad` is a column in which yes marks a fault,
        and `time=-` leaves the time unread.

        Raises ConfigError for a part without `=`, an unknown key, or a duplicate key.
        """
        names: dict[str, str] = {}
        for part in told.split(","):
            key, sign, column = (piece.strip() for piece in part.partition("="))
            if not sign or not column or key not in USUAL or key in names:
                pairs = f"what=column pairs, each once, of {', '.join(USUAL)}"
                example = "conversation=thread,role=speaker,content=text"
                raise ConfigError(f"--columns has {part.strip()!r}; give {pairs}: for example {example}")
            names[key] = column
        unread = frozenset(key for key, column in names.items() if column == UNREAD)
        names = {key: column for key, column in names.items() if key not in unread}
        column, _, told = names.get("label", "").rpartition(":")
        if column and told in YES:
            return cls({**names, "label": column}, YES[told], unread)
        return cls(names, unread=unread)

    def among(self, there: Iterable[str], *, every: bool = True) -> Self:
        """Completes the map with the usual names among the columns of the first row; with `every`, no row has others.

        Raises InputError if the row lacks a mapped column that it must have, or has none for a needed field.
        """
        known = _known(there)
        told = [name for key, name in self.names.items() if every or key in NEEDED]
        roots = [name if name in known.values() else str(steps(name)[0]) for name in told]
        missing = [column for column in roots if column not in known.values()]
        if missing:
            raise InputError(f"has no column {missing[0]!r}; its columns are {', '.join(known.values())}")
        columns = {**self._usual(known, self.names.values()), **self.names}
        if not ({"conversation", "role", "content"} <= columns.keys() or {"answer", "messages"} & columns.keys()):
            raise InputError(
                f"has the columns {', '.join(known.values())}, and none is known to hold the messages or the conversation. Name "
                "them: --columns conversation=NAME,role=NAME,content=NAME or --columns question=NAME,answer=NAME"
            )
        return replace(self, names=columns)

    def of_row(self, there: Iterable[str], told: Columns) -> Self:
        """The map for a row with columns that the first one lacks: those too, by their usual names, but for fields `told` of."""
        known = _known(there)
        kept = {key: name for key, name in self.names.items() if key in told.names or name in known.values()}
        return replace(self, names={**self.names, **self._usual(known, kept.values()), **kept})

    def _usual(self, known: Mapping[str, str], taken: Collection[str]) -> dict[str, str]:
        """The columns with usual names, by field, but for those taken; of several the first that `USUAL` names."""
        usual = {key: known[name] for key, names in USUAL.items() for name in reversed(names) if name in known}
        return {key: name for key, name in usual.items() if name not in taken and key not in self.unread}

    def absent(self, there: Iterable[str]) -> list[Omission]:
        """The mapped columns that are not `there`, in any row; `cells` notes paths itself, row by row."""
        known = {*there}
        return [
            Omission(f"no {key} at {name}")
            for key, name in self.names.items()
            if name not in known and len(steps(name)) == 1
        ]

    def cells(
        self, content: Mapping[str, Any], omissions: list[Omission], fields: Collection[str] = USUAL
    ) -> dict[str, Any]:
        """The cells of a row by field; a path without a value is noted in `omissions`.

        Raises InputError if a row has nothing at the path of a field in `NEEDED`.
        """
        found: dict[str, Any] = {}
        for key, name in self.names.items():
            if key not in fields:
                continue
            if name in content or len(steps(name)) == 1:
                found[key] = content.get(name)
                continue
            try:
                found[key] = value_at(content, name)
            except InputError:
                if key in NEEDED:
                    raise
                omissions.append(Omission(f"no {key} at {name}"))
        return found


def _known(there: Iterable[str]) -> dict[str, str]:
    """The columns by their names as `USUAL` writes them: `Session ID` is session_id."""
    return {snake(name): name for name in there}


@dataclass(frozen=True)
class _Row:
    messages: list[payloads.Message]
    time: datetime | None
    label: TurnGold | None
    value: LogValue
    omissions: Sequence[Omission] = ()


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a list of events, or a row by the usual names of columns."""
    if _listed(content) is not None:
        return Likeness.CLOSE
    try:
        Columns().among(map(str, content))
    except InputError:
        return Likeness.NONE
    return Likeness.GUESS


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
    told, known, kinds = columns or Columns(), None, dict[tuple[str, ...], Columns]()
    for value in found:
        if isinstance(value, BrokenEntry):
            yield value
            continue
        content = value.content
        if not isinstance(content, Mapping):
            wrong = InputError(f"is {str(content)[:80]!r}; expected a row with named columns")
            yield broken_entry(source, value, wrong)
            continue
        if value.headed and all(cell in (None, "") for cell in content.values()):
            continue  # a spreadsheet's blank row
        try:
            if columns is None and (listed := _listed(content)) is not None:
                for name, row in _of_events(content, listed, value):
                    threads[name].append(row)
                continue
        except (InputError, RecursionError) as exc:
            yield broken_entry(source, value, exc)
            continue
        try:
            keys = tuple(map(str, content))
            known = known or told.among(keys, every=value.headed)
        except InputError as exc:
            hint = messages_told(content)
            raise ConfigError(f"log {source} {exc}{hint and f'. {hint}'}") from exc  # Every row would say the same.
        here = kinds.get(keys) or kinds.setdefault(keys, known.of_row(keys, told))
        try:
            cells = here.cells(content, [], ("id", "conversation"))
        except (InputError, RecursionError) as exc:
            yield broken_entry(source, value, exc)
            continue
        identity = cells.get("id")
        first = seen.setdefault(str(identity), value.place) if identity not in (None, "") else value.place
        if first != value.place:
            again = InputError(f"has the id {identity} of {first} again; the first one is used")
            yield broken_entry(source, value, again)
            continue
        name = value.first_id(cells.get("conversation"))
        try:
            threads[name].append(_row(content, here, value))
        except (InputError, RecursionError) as exc:
            spoiled.setdefault(name, value.place)
            yield broken_entry(source, value, exc)
    absent = told.absent(chain.from_iterable(kinds))
    for name, rows in threads.items():
        if name not in spoiled:
            yield _conversation(name, rows, source, absent)
        elif rows:
            # Without the unreadable turn or document, answers would be checked against too little.
            why = f"is not judged, as its {spoiled[name]} cannot be read; mend that first"
            yield BrokenEntry(f"{source} conversation {name}", why)


def _listed(content: Mapping[str, Any]) -> list[Any] | None:
    """The events of an entry; None if it has none, or an answer beside them, whose history they are."""
    return None if any(name in content for name in USUAL["answer"]) else events.found(content)


def _of_events(content: Mapping[str, Any], listed: Sequence[Any], value: LogValue) -> list[tuple[str, _Row]]:
    """The conversations of a list of events, by id: an event may name its own."""
    names = (*USUAL["conversation"], "sender_id", "id")
    usual = value.first_id(*map(_spelt(content).get, names))
    parts: dict[str, list[Any]] = defaultdict(list)
    for event in listed:
        own = map(_spelt(event).get, USUAL["conversation"]) if isinstance(event, Mapping) else ()
        parts[next((str(name) for name in own if name), usual)].append(event)
    documents = payloads.evidence(content.get("documents"), "documents")
    made: list[tuple[str, _Row]] = []
    for name, part in parts.items():
        omissions: list[Omission] = []
        said = events.messages(part, omissions)
        for message in filter(_answers, said):
            message.update({"documents": [*message.get("documents", ()), *documents]})
        made.append((name, _Row(said, None, None, value, omissions)))
    return made


def _spelt(content: Mapping[str, Any]) -> dict[str, Any]:
    return {snake(key): cell for key, cell in content.items()}


def _row(content: Mapping[str, Any], columns: Columns, value: LogValue) -> _Row:
    names = columns.names
    omissions: list[Omission] = []
    cells = columns.cells(content, omissions)
    said: list[payloads.Message]
    if "messages" in names:
        said = _messages(cells["messages"], names["messages"], omissions)
    elif "role" in names and "content" in names:
        said = [{"role": known_role(events.speaker({"role": cells["role"]})), "content": _text(cells["content"])}]
    else:
        asked = [{"role": "user", "content": _text(cells["question"])}] if cells.get("question") else []
        answered = _talk(cells.get("answer")) or [{"role": "assistant", "content": _text(cells.get("answer"))}]
        said = answered if any(message["role"] == "user" for message in answered) else [*asked, *answered]
        if not any(map(_answers, said)):
            raise InputError(f"has no text in its column {names['answer']!r}, the answer")
    documents = payloads.evidence(cells.get("documents"), names.get("documents", ""))
    answers = [message for message in said if _answers(message)]
    for message in answers if "messages" in names else said[-1:]:
        message.update({"documents": documents} if documents else {})
    labels = LabelColumn(names.get("label", ""), columns.yes_is_fine)
    gold = labels.gold(payloads.decode_json(cells.get("label"))) if answers else None
    try:
        at = moment(cells.get("time"))
    except InputError as exc:
        hint = f"if the rows are in order, leave the column {names['time']!r} unread with --columns time={UNREAD}"
        raise InputError(f"{exc}; {hint}") from exc
    return _Row(said, at, gold, value, omissions)


def _talk(cell: object) -> list[payloads.Message]:
    """The messages that a traced call answered with, from a cell that holds such a talk, as JSON or not; else empty."""
    talk = payloads.decode_json(cell)
    items = talk.get("messages") if isinstance(talk, Mapping) else talk
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        return []
    return payloads.output_messages(talk) if items and all({"role", "type"} & item.keys() for item in items) else []


def _messages(cell: object, name: str, omissions: list[Omission]) -> list[payloads.Message]:
    """The messages of a conversation in one cell: a chat API's, or events."""
    items = payloads.decode_json(cell)
    if not isinstance(items, list) or not items:
        raise InputError(f"has {str(cell)[:60]!r} in {name!r}; expected a list of messages")
    if events.are_events(items):
        return events.messages(items, omissions)
    return [
        message for item in items for message in payloads.input_messages(item) or events.messages([item], omissions)
    ]


def _answers(message: payloads.Message) -> bool:
    said = payloads.message_text(message).strip() or message.get("refusal")
    return message["role"] == "assistant" and bool(said)


def _text(cell: object) -> str:
    if isinstance(cell, Mapping | list):
        parts = [payloads.part_text(part) for part in (cell if isinstance(cell, list) else [cell])]
        texts = [text for text in parts if text is not None]
        if texts and len(texts) == len(parts):
            return "\n".join(texts)
        if (nested := events.text_of(cell)) is not None:
            return nested
        raise InputError(
            f"has {str(cell)[:60]!r} where a text is expected; name the column that holds the text with --columns, by a path if "
            "it is inside (answer=traj[-1].content), or the log's format with --format"
        )
    text = payloads.decode_json(cell)  # a text that was stored as JSON
    return "" if cell is None else (events.text_of(text) or "") if isinstance(text, str) else str(cell)


def _conversation(
    name: str, rows: list[_Row], source: str, absent: Sequence[Omission]
) -> LoggedConversation | BrokenEntry:
    timeless = [row for row in rows if row.time is None]
    if timeless and len(timeless) < len(rows):
        place = f"{source} {timeless[0].value.place}"
        return BrokenEntry(place, f"has no time, and other rows of conversation {name} do")
    ordered = rows if timeless else sorted(rows, key=lambda row: row.time or datetime.min)
    first = rows[0].value
    try:
        messages = list(chain.from_iterable(row.messages for row in ordered))
        omissions = [*absent, *(omission for row in ordered for omission in row.omissions)]
        entry = logged(messages, name, first.line, omissions=omissions)
    except InputError as exc:
        return BrokenEntry(f"{source} {first.place}", f"conversation {name}: {exc}")
    places = [index for index, turn in enumerate(entry.conversation.turns) if turn.role is Role.ASSISTANT]
    gold: dict[int, TurnGold] = {}
    end = 0
    for row in ordered:
        end += sum(map(_answers, row.messages))
        if row.label is not None and end <= len(places):  # of a row with several answers the last is meant
            gold[places[end - 1]] = row.label
    return replace(entry, gold=gold)


FORMAT = LogFormat("csv", looks, gather=read)
