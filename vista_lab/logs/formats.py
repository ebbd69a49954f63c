"""Logs as a stream of conversations, with one reader for each format. The format is detected from the first readable entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from typing import Any

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Role
from vista_lab.logs import (
    azure,
    columns,
    huggingface,
    langfuse,
    langsmith,
    openai_evals,
    openai_messages,
    openinference,
    reference,
    sharegpt,
)
from vista_lab.logs import columns as tables
from vista_lab.logs.columns import Columns
from vista_lab.logs.payloads import decode_json
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue, TurnGold, broken_entry, check_texts, values
from vista_lab.logs.source import count as count_values

PATIENCE = 20
"""How many broken lines at the start before a file is given up as no log at all."""


class LogFormat(StrEnum):
    """The formats of logs."""

    REFERENCE = "reference"
    OPENAI = "openai"
    SHAREGPT = "sharegpt"
    LANGSMITH = "langsmith"
    LANGFUSE = "langfuse"
    OPENINFERENCE = "openinference"
    OPENAI_EVALS = "openai-evals"
    AZURE = "azure"
    HF = "hf"
    CSV = "csv"


LOOKS: Sequence[tuple[LogFormat, Callable[[Mapping[str, Any]], bool]]] = (
    (LogFormat.LANGSMITH, langsmith.looks_like_it),
    (LogFormat.OPENINFERENCE, openinference.looks_like_it),
    (LogFormat.LANGFUSE, langfuse.looks_like_it),
    (LogFormat.OPENAI_EVALS, openai_evals.looks_like_it),
    (LogFormat.AZURE, azure.looks_like_it),
    (LogFormat.OPENAI, openai_messages.looks_like_it),
    (LogFormat.SHAREGPT, lambda content: _has_speakers(content.get("conversations"))),
    (LogFormat.HF, huggingface.looks_like_it),
    (LogFormat.SHAREGPT, lambda content: "conversations" in content),
    (LogFormat.OPENAI, lambda content: "messages" in content),
    (LogFormat.CSV, columns.looks_like_it),
)
"""Formats by what their values look like, the most telling first."""


def detect(path: Path) -> LogFormat:
    """The format of the log. Raises InputError if it is none; lists the formats and how to name one."""
    return recognise(path, values(path))


def recognise(path: Path, found: Iterable[LogValue | BrokenEntry]) -> LogFormat:
    """The format of the first value among `found`, which may have broken entries before it."""
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
    content = value.content
    if isinstance(content, list):
        return LogFormat.REFERENCE
    shown = f"the value {str(content)[:80]!r}"
    if isinstance(content, Mapping):
        found = next((name for name, looks_like_it in LOOKS if looks_like_it(content)), None)
        if found is not None:
            return found
        shown = f"the keys {', '.join(map(str, content))[:80]}"
    raise InputError(f"{path} {value.place} has {shown}: no known format. {_help()}")


def _has_speakers(given: object) -> bool:
    return isinstance(given, list) and bool(given) and isinstance(given[0], Mapping) and "from" in given[0]


def _help() -> str:
    return (
        f"The formats are {', '.join(LogFormat)}: name one with --format, or say which column of a table holds what with "
        "--columns (docs/replay.md has an example of each)"
    )


Parse = Callable[[LogValue], LoggedConversation]
"""Makes a conversation of one value of a log."""

Entries = Iterator[LoggedConversation | BrokenEntry]

PARSERS: Mapping[LogFormat, Parse] = {
    LogFormat.REFERENCE: reference.parse,
    LogFormat.OPENAI: openai_messages.parse,
    LogFormat.SHAREGPT: sharegpt.parse,
    LogFormat.OPENAI_EVALS: openai_evals.parse,
    LogFormat.AZURE: azure.parse,
    LogFormat.HF: huggingface.parse,
}
"""Formats in which each value is a conversation."""

GATHERERS: Mapping[LogFormat, Callable[[Iterable[LogValue | BrokenEntry], str], Entries]] = {
    LogFormat.LANGSMITH: langsmith.read,
    LogFormat.LANGFUSE: langfuse.read,
    LogFormat.OPENINFERENCE: openinference.read,
    LogFormat.CSV: tables.read,
}
"""Formats in which a conversation's parts stand in several values, anywhere in the file: these are read to the end first."""


def read_log(path: Path, log_format: LogFormat | Parse | None = None, columns: Columns | None = None) -> Entries:
    """Conversations in the file's order, and in their place what could not be read.

    Every conversation has an id, and no two the same: one without is named after its line, and one that repeats an
    earlier id gets `#2`, `#3`, … appended, the same at every reading.

    Args:
        path: JSON, JSON lines, CSV (plain or gzipped) or Parquet, or a folder of such files. Lines are streamed where each is a
            conversation.
        log_format: the format, or a function that makes a conversation of each value; detected when not given. The function
            raises `InputError` for a value that it cannot read, which is then answered with a `BrokenEntry`.
        columns: which column of a table holds what; the log is then read as a table.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     log = Path(folder, "chats.json")
        ...     _ = log.write_text('[{"id": "1", "messages": [{"role": "assistant", "content": "It is old."}]}]')
        ...     [(entry.conversation.id, entry.conversation.turns[0].text) for entry in read_log(log)]
        [('1', 'It is old.')]

    Raises:
        InputError: the file as a whole cannot be read, or its format is not known.
        ConfigError: `columns` and another format than csv, or a library that is missing for Parquet.
    """
    taken: set[str] = set()
    for entry in _entries(path, log_format, columns):
        yield entry if isinstance(entry, BrokenEntry) else _rename_repeated(entry, taken)


def count(path: Path, log_format: LogFormat | None = None, columns: Columns | None = None) -> int:
    """How many entries `read_log` gives, broken ones included. Reads the log once, parsing only where it must."""
    if columns is None and path.is_file() and (log_format or detect(path)) in PARSERS:
        return count_values(path)
    return sum(1 for _ in read_log(path, log_format, columns))


FIRST = 1000
"""How many conversations `evidence_seen` looks at."""
LONG_PROMPT = 200
"""Characters of a system message that may well hold evidence."""
_EVIDENCE = re.compile("(?i)context|document|source|passage|reference|retriev|evidence|chunk|ground|snippet")


def evidence_seen(path: Path, log_format: LogFormat | None = None, columns: Columns | None = None) -> list[str]:
    """Lines for the user on turns that bring no evidence, and on fields that may hold it and are not read; often none."""
    entries = islice(read_log(path, log_format, columns), FIRST)
    talks = [entry.conversation for entry in entries if isinstance(entry, LoggedConversation)]
    turns = [turn for talk in talks for turn in talk.turns if turn.role is Role.ASSISTANT]
    bare = sum(not turn.documents for turn in turns)
    if not bare:
        return []
    known = "\n".join({document.text for turn in turns for document in turn.documents})
    raw = (value.content for value in islice(values(path), FIRST) if isinstance(value, LogValue))
    fields = {name for content in raw for name, text in _texts(content) if text[:LONG_PROMPT] not in known}
    prompts = any(len(turn.text) > LONG_PROMPT for talk in talks for turn in talk.turns if turn.role is Role.SYSTEM)
    seen = [*sorted(fields)[:5], *(["system messages without a <context> block"] if prompts else [])]
    return [
        f"{bare} of {'the first ' if len(talks) == FIRST else ''}{len(turns)} assistant turns bring no documents: they are held "
        "against earlier turns and what vista-guard documents add has stored",
        f"seen and not read as documents: {', '.join(seen) or 'no field that looks like evidence'}; docs/replay.md says what is",
    ]


def _texts(content: object, place: str = "") -> Iterator[tuple[str, str]]:
    """Fields whose name promises evidence, by their place, with their first text."""
    if isinstance(content, list):
        for item in content:
            yield from _texts(item, f"{place}[]")
    elif isinstance(content, Mapping):
        for name, value in content.items():
            inner = f"{place}.{name}".lstrip(".")
            text = next(_strings(value), "").strip() if _EVIDENCE.search(str(name)) else ""
            if text:
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


def _entries(path: Path, log_format: LogFormat | Parse | None, columns: Columns | None) -> Entries:
    found = values(path)
    if columns is not None:
        if log_format not in (None, LogFormat.CSV):
            raise ConfigError(f"--columns and --format {log_format} exclude each other; give one of them")
        return _storable(tables.read(found, str(path), columns), path)
    if log_format is None:
        head = list(_head(found))
        log_format, found = recognise(path, head), chain(head, found)
    if isinstance(log_format, LogFormat) and log_format in GATHERERS:
        return _storable(GATHERERS[log_format](found, str(path)), path)
    parse = log_format if callable(log_format) else PARSERS[log_format]
    return _parse(found, parse, str(path))


def _parse(found: Iterable[LogValue | BrokenEntry], parse: Parse, source: str) -> Entries:
    for value in found:
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


def _head(found: Iterable[LogValue | BrokenEntry]) -> Iterator[LogValue | BrokenEntry]:
    """Up to and with the first value."""
    for entry in islice(found, PATIENCE):
        yield entry
        if isinstance(entry, LogValue):
            return


def _rename_repeated(entry: LoggedConversation, taken: set[str]) -> LoggedConversation:
    base = name = str(entry.conversation.id)
    number = 1
    while name in taken:
        number += 1
        name = f"{base}#{number}"
    taken.add(name)
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
    "read_log",
]
