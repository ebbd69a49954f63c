"""Logs as a stream of conversations, with one reader for each format. The format is detected from the first readable entry."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Conversation, Document, Role, Turn
from vista_lab.logs import readers
from vista_lab.logs.paths import messages_told, steps
from vista_lab.logs.payloads import decode_json
from vista_lab.logs.readers import csv as tables
from vista_lab.logs.readers.csv import Columns
from vista_lab.logs.readers.reference import NO_DOCUMENT
from vista_lab.logs.registry import Entries, LogFormat, Parse, best, named
from vista_lab.logs.roles import KEYS, Roles, checked, snake
from vista_lab.logs.source import (
    BrokenEntry,
    LoggedConversation,
    LogValue,
    Omission,
    TurnGold,
    broken_entry,
    check_texts,
    values,
)
from vista_lab.logs.source import count as count_values

PATIENCE = 20
"""Broken lines at the start after which a file is rejected."""


def detect(path: Path) -> LogFormat:
    """Detects the format of a log. Raises InputError if it is unknown; lists the formats and how to name one."""
    return recognise(path, values(path))


def recognise(path: Path, found: Iterable[LogValue | BrokenEntry]) -> LogFormat:
    """Detects the format of the first value in `found`, skipping broken entries before it."""
    broken: list[BrokenEntry] = []
    for entry in found:
        if isinstance(entry, LogValue):
            return _format(path, entry)
        broken.append(entry)
        if len(broken) >= PATIENCE:
            break
    why = f"{broken[0].source} {broken[0].error}" if broken else f"{path} has no conversation"
    raise InputError(f"{why}. {_help()}")


def _format(path: Path, value: LogValue) -> LogFormat:
    found = best(value.content)
    if found is not None:
        return found
    content = value.content
    keys = f"the keys {', '.join(map(str, content))[:80]}" if isinstance(content, Mapping) else ""
    shown = keys or f"the value {str(content)[:80]!r}"
    hint = messages_told(content)
    raise InputError(f"{path} {value.place} has {shown}: no known format. {hint and f'{hint}. '}{_help()}")


def _help() -> str:
    return (
        f"The formats are {', '.join(readers.names())}: name one with --format, or say which column of a table holds what with "
        "--columns (docs/replay.md has an example of each, and short commands that convert exports of Slack, Zendesk and others)"
    )


Preference = Literal["chosen", "rejected"]
"""The answer of a row of preferences that is judged."""


def read_log(
    path: Path,
    log_format: LogFormat | Parse | None = None,
    columns: Columns | None = None,
    answer: Preference = "chosen",
    roles: Roles | None = None,
) -> Entries:
    """Reads a log: conversations in the file's order, and broken entries in place of unreadable ones.

    Every conversation has a unique id: one without gets its line's name, and one that repeats an earlier id gets `#2`,
    `#3`, … appended, the same at every reading. Turns that it begins with, and that were all of the last one with that id,
    are its `history`.

    Args:
        path: JSON, JSON lines, CSV (plain or gzipped) or Parquet, or a folder of such files. Lines are streamed if each is a
            conversation.
        log_format: the format, or a function that turns each value into a conversation; detected when None. The function
            raises `InputError` for a value that it cannot read, which then becomes a `BrokenEntry`.
        columns: map of a table's columns; the log is then read as a table.
        answer: of rows of preferences, with `chosen` and `rejected` answers, the one that is read.
        roles: roles by names of speakers that have no usual one, such as `{"operator": "assistant"}`.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     log = Path(folder, "chats.json")
        ...     _ = log.write_text('[{"id": "1", "messages": [{"role": "assistant", "content": "It is old."}]}]')
        ...     [(entry.conversation.id, entry.conversation.turns[0].text) for entry in read_log(log)]
        [('1', 'It is old.')]

    Raises:
        InputError: the file as a whole cannot be read, or its format is unknown.
        ConfigError: `columns` is given with a format other than csv, `roles` has an unknown role, or the library for Parquet is
            missing.
    """
    return _read(_with_roles(values(path), roles, columns), path, log_format, columns, answer)


def _with_roles(
    found: Iterator[LogValue | BrokenEntry], roles: Roles | None, columns: Columns | None
) -> Iterator[LogValue | BrokenEntry]:
    if not roles:
        return found
    told = checked(roles)
    own = columns.names.get("role") if columns else None
    keys = {*KEYS, *({snake(own), snake(steps(own)[-1])} if own else ())}
    return (
        replace(value, content=_renamed(value.content, told, keys)) if isinstance(value, LogValue) else value
        for value in found
    )


def _renamed(value: Any, roles: Roles, keys: Collection[str]) -> Any:
    """A log's value with roles in place of the names of speakers that are mapped, at any depth; `keys` hold speakers."""
    if isinstance(value, str):
        inner = decode_json(value)
        changed = _renamed(inner, roles, keys) if isinstance(inner, list | Mapping) else inner
        return value if changed == inner else changed
    if isinstance(value, list):
        return [_renamed(item, roles, keys) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {key: _cell_renamed(cell, roles, keys, speaker=snake(key) in keys) for key, cell in value.items()}


def _cell_renamed(cell: Any, roles: Roles, keys: Collection[str], *, speaker: bool) -> Any:
    if speaker and isinstance(cell, str) and snake(cell) in roles:
        return roles[snake(cell)]
    return _renamed(cell, roles, {*keys, "name"} if speaker and isinstance(cell, Mapping) else keys)


def count(
    path: Path, log_format: LogFormat | None = None, columns: Columns | None = None, roles: Roles | None = None
) -> int:
    """Number of entries that `read_log` yields, including broken ones. Reads the log once, parsing only if needed."""
    if columns is None and path.is_file() and (log_format or detect(path)).parse is not None:
        return count_values(path)
    return sum(1 for _ in read_log(path, log_format, columns, roles=roles))


REPEATED = "an answer that the entry before it with the same id has, too, is not judged again"
FIRST = 1000
"""Conversations that `open_entries` looks at before the others are read."""


@dataclass(frozen=True)
class OpenedLog:
    """A log about to be read: its number of entries, the entries, and hints about turns without evidence, often none."""

    total: int
    entries: Entries
    hints: list[str]


def open_entries(
    path: Path,
    log_format: LogFormat | None = None,
    columns: Columns | None = None,
    answer: Preference = "chosen",
    roles: Roles | None = None,
) -> OpenedLog:
    """Opens a log, whose entries are as of `read_log`. It is read once; a long one is also counted before.

    Raises InputError, ConfigError: as `read_log`.
    """
    raw: list[object] = []
    entries = _read(_noting(_with_roles(values(path), roles, columns), raw), path, log_format, columns, answer)
    first = list(islice(entries, FIRST))
    rest: Entries = entries
    if len(first) < FIRST:
        total = len(first)
    elif columns is None and path.is_file() and (log_format or detect(path)).parse is None:
        # Rows that are gathered have all been read by now; a second reading would cost as much again.
        held = list(entries)
        total, rest = len(first) + len(held), iter(held)
    else:
        total = count(path, log_format, columns, roles)
    return OpenedLog(total, chain(first, rest), evidence_seen(first, raw))


LONG_PROMPT = 200
"""Least characters of a system message that may hold evidence."""
_WORDS = "context|document|source|passage|reference|retriev|evidence|chunk|ground|snippet"
_EVIDENCE = re.compile(f"(?i){_WORDS}")
_HEADING = re.compile(rf"(?im)^[^\n:]{{0,40}}(?:{_WORDS})[^\n:]{{0,20}}[:>]")
"""A line such as `Use this context:`, or a tag."""


def _noting(found: Iterable[LogValue | BrokenEntry], raw: list[object]) -> Iterator[LogValue | BrokenEntry]:
    for value in found:
        if isinstance(value, LogValue) and len(raw) < FIRST:
            raw.append(value.content)
        yield value


def evidence_seen(entries: Iterable[LoggedConversation | BrokenEntry], raw: Iterable[object]) -> list[str]:
    """Hints: turns without evidence, fields of the raw values that may hold it, a log that reads backwards; often empty."""
    read = [entry for entry in entries if isinstance(entry, LoggedConversation)]
    talks = [entry.conversation for entry in read]
    judged = (turn for entry in read for turn in entry.conversation.turns[entry.history :])
    turns = [turn for turn in judged if turn.role is Role.ASSISTANT]
    some = f"of {'the first ' if len(talks) == FIRST else ''}{len(turns)} assistant turns"
    return [*_unread_evidence(talks, turns, raw, some), *_names_for_texts(turns, some), *_newest_first(talks)]


def _unread_evidence(
    talks: Sequence[Conversation], turns: Sequence[Turn], raw: Iterable[object], some: str
) -> Iterator[str]:
    bare = sum(not turn.documents for turn in turns)
    if not bare:
        return
    known = "\n".join({document.text for turn in turns for document in turn.documents})
    fields = {name for content in raw for name, text in _texts(content) if text[:LONG_PROMPT] not in known}
    long = [turn for talk in talks for turn in talk.turns if len(turn.text) > LONG_PROMPT]
    prompts = any(turn.role is Role.SYSTEM for turn in long)
    asked = any(turn.role is Role.USER and _HEADING.search(turn.text) for turn in long)
    seen = [
        *sorted(fields)[:5],
        *(["system messages without a <context> block"] if prompts else []),
        *(["user messages that bring texts"] if asked else []),
    ]
    yield (
        f"{bare} {some} bring no documents: they are held against earlier turns and what vista-guard documents add has stored"
    )
    yield f"seen and not read as documents: {', '.join(seen) or 'no field that looks like evidence'}; docs/replay.md says what is"


def _names_for_texts(turns: Sequence[Turn], some: str) -> Iterator[str]:
    """A hint where documents are single words of a language that writes spaces: files' names or ids."""
    named = [turn for turn in turns if turn.documents and all(map(_is_word, turn.documents))]
    if named:
        shown = named[0].documents[0].text.strip()[:60]
        yield f"{len(named)} {some} have documents of one word, such as {shown!r}: names or ids prove nothing; give their texts"


def _is_word(document: Document) -> bool:
    return document.text.isascii() and len(document.text.split()) < 2


def _newest_first(talks: Sequence[Conversation]) -> Iterator[str]:
    said = [[turn.role for turn in talk.turns if turn.role is not Role.SYSTEM] for talk in talks]
    ends = {(roles[0], roles[-1]) for roles in said if len(roles) > 1}
    if ends == {(Role.ASSISTANT, Role.USER)}:
        yield "every conversation begins with an answer and ends with a question: if the log is newest first, turn it round"


def _texts(content: object, place: str = "") -> Iterator[tuple[str, str]]:
    """Fields whose name suggests evidence, by their place, with their first text."""
    if isinstance(content, list):
        for item in content:
            yield from _texts(item, f"{place}[]")
    elif isinstance(content, Mapping):
        for name, value in content.items():
            inner = f"{place}.{name}".lstrip(".")
            text = next(_strings(value), "").strip() if _EVIDENCE.search(str(name)) else ""
            if text and text.lower() not in NO_DOCUMENT:
                yield inner, text
            else:
                yield from _texts(decode_json(value), inner)


def _strings(value: object) -> Iterator[str]:
    value = decode_json(value)
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | Mapping):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(item)


def _read(
    items: Iterator[LogValue | BrokenEntry],
    path: Path,
    log_format: LogFormat | Parse | None,
    columns: Columns | None,
    answer: Preference,
) -> Entries:
    taken: dict[str, tuple[int, int]] = {}
    for entry in _entries(items, path, log_format, columns, answer):
        yield entry if isinstance(entry, BrokenEntry) else _rename_repeated(entry, taken)


def _entries(
    items: Iterator[LogValue | BrokenEntry],
    path: Path,
    log_format: LogFormat | Parse | None,
    columns: Columns | None,
    answer: Preference,
) -> Entries:
    if answer != "chosen":
        items = (_rejected(value, path) for value in items)
    if columns is not None:
        if log_format not in (None, tables.FORMAT):
            raise ConfigError(f"--columns and --format {log_format} exclude each other; give one of them")
        return _storable(tables.read(items, str(path), columns), path)
    if log_format is None:
        head = list(_head(items))
        log_format, items = recognise(path, head), chain(head, items)
    if not isinstance(log_format, LogFormat):
        return _parse(items, log_format, str(path))
    if log_format.parse is not None:
        return _parse(items, log_format.parse, str(path))
    assert log_format.gather is not None, log_format.name
    return _storable(log_format.gather(items, str(path)), path)


def _rejected(value: LogValue | BrokenEntry, path: Path) -> LogValue | BrokenEntry:
    """A row of preferences with its rejected answer in the place of the chosen one."""
    if isinstance(value, BrokenEntry) or not isinstance(value.content, Mapping):
        return value
    if not value.content.get("rejected"):
        return BrokenEntry(f"{path} {value.place}", "has no rejected answer; leave out --answer to judge what it has")
    rest = {key: cell for key, cell in value.content.items() if key != "rejected"}
    return replace(value, content={**rest, "chosen": value.content["rejected"]})


def _parse(items: Iterable[LogValue | BrokenEntry], parse: Parse, source: str) -> Entries:
    for value in items:
        if isinstance(value, BrokenEntry):
            yield value
            continue
        try:
            entry = parse(value)
            check_texts(entry.conversation)
        except (InputError, RecursionError) as exc:
            yield broken_entry(source, value, exc)
        else:
            yield entry


def _storable(entries: Entries, path: Path) -> Entries:
    for entry in entries:
        if isinstance(entry, BrokenEntry):
            yield entry
            continue
        try:
            check_texts(entry.conversation)
        except InputError as exc:
            yield BrokenEntry(f"{path} conversation {entry.conversation.id}", str(exc))
        else:
            yield entry


def _head(items: Iterable[LogValue | BrokenEntry]) -> Iterator[LogValue | BrokenEntry]:
    for entry in islice(items, PATIENCE):
        yield entry
        if isinstance(entry, LogValue):
            return


def _rename_repeated(entry: LoggedConversation, taken: dict[str, tuple[int, int]]) -> LoggedConversation:
    """The entry under a name of its own. `taken` has the number of turns of the last entry of each name, and their hash.

    What begins with all turns of the last entry of its name is that conversation, later on: those turns are history.
    """
    base = name = str(entry.conversation.id)
    number = 1
    while name in taken:
        number += 1
        name = f"{base}#{number}"
    said = [(turn.role, turn.text) for turn in entry.conversation.turns]
    count, earlier = taken.get(base, (0, 0))
    if count < len(said) and hash(tuple(said[:count])) == earlier:
        answers = sum(role is Role.ASSISTANT for role, _ in said[entry.history : count])
        told = (*entry.omissions, *[Omission(REPEATED)] * answers)
        entry = replace(entry, history=max(count, entry.history), omissions=told)
    taken[base] = taken[name] = len(said), hash(tuple(said))
    conversation = entry.conversation if name == base else entry.conversation.model_copy(update={"id": name})
    return replace(entry, every_turn=True, conversation=conversation)


__all__ = [
    "BrokenEntry",
    "Columns",
    "LogFormat",
    "LogValue",
    "LoggedConversation",
    "Parse",
    "TurnGold",
    "count",
    "detect",
    "named",
    "read_log",
]
