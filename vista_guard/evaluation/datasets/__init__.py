"""Logs as a stream of conversations: one reader for each format, found by what the file looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_guard.evaluation.datasets.detect import PATIENCE, LogFormat, detect, recognise
from vista_guard.evaluation.datasets.logs import (
    azure,
    huggingface,
    langfuse,
    langsmith,
    openai_evals,
    openai_messages,
    openinference,
    reference,
    sharegpt,
)
from vista_guard.evaluation.datasets.logs import columns as tables
from vista_guard.evaluation.datasets.logs.columns import Columns
from vista_guard.evaluation.datasets.source import BrokenEntry, LoggedConversation, TurnGold, Value, broken, values
from vista_guard.evaluation.datasets.source import count as count_values
from vista_guard.evaluation.datasets.texts import check_texts

__all__ = [
    "BrokenEntry",
    "Columns",
    "LogFormat",
    "LoggedConversation",
    "Parse",
    "TurnGold",
    "Value",
    "count",
    "detect",
    "read_log",
]

Parse = Callable[[Value], LoggedConversation]
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

GATHERERS: Mapping[LogFormat, Callable[[Iterable[Value | BrokenEntry], str], Entries]] = {
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

    Raises:
        InputError: the file as a whole cannot be read, or its format is not known.
        ConfigError: `columns` and another format than csv, or a library that is missing for Parquet.
    """
    yield from _unique(_entries(path, log_format, columns))


def count(path: Path, log_format: LogFormat | None = None, columns: Columns | None = None) -> int:
    """How many entries `read_log` gives, broken ones included. Reads the log once, parsing only where it must."""
    if columns is None and path.is_file() and (log_format or detect(path)) in PARSERS:
        return count_values(path)
    return sum(1 for _ in read_log(path, log_format, columns))


def _entries(path: Path, log_format: LogFormat | Parse | None, columns: Columns | None) -> Entries:
    found = values(path)
    if columns is not None:
        if log_format not in (None, LogFormat.CSV):
            raise ConfigError(f"columns are named, and the log's format is {log_format}; drop one of the two")
        return _storable(tables.read(found, str(path), columns), path)
    if log_format is None:
        head = list(_head(found))
        log_format, found = recognise(path, head), chain(head, found)
    if isinstance(log_format, LogFormat) and log_format in GATHERERS:
        return _storable(GATHERERS[log_format](found, str(path)), path)
    parse = log_format if callable(log_format) else PARSERS[log_format]
    return _parsed(found, parse, str(path))


def _parsed(found: Iterable[Value | BrokenEntry], parse: Parse, source: str) -> Entries:
    for value in found:
        if isinstance(value, BrokenEntry):
            yield value
            continue
        try:
            entry = parse(value)
            check_texts(entry.conversation)
        except (InputError, RecursionError) as exc:
            yield broken(source, value, exc)
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


def _unique(entries: Entries) -> Entries:
    taken: set[str] = set()
    for entry in entries:
        yield entry if isinstance(entry, BrokenEntry) else _renamed(entry, taken)


def _head(found: Iterable[Value | BrokenEntry]) -> Iterator[Value | BrokenEntry]:
    """Up to and with the first value."""
    for entry in islice(found, PATIENCE):
        yield entry
        if isinstance(entry, Value):
            return


def _renamed(entry: LoggedConversation, taken: set[str]) -> LoggedConversation:
    base = name = str(entry.conversation.id)
    number = 1
    while name in taken:
        number += 1
        name = f"{base}#{number}"
    taken.add(name)
    if name == base:
        return replace(entry, every_turn=True)
    return replace(entry, every_turn=True, conversation=entry.conversation.model_copy(update={"id": name}))
