"""Logs as a stream of conversations: one reader for each format, found by what the file looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets import openai_messages, reference, sharegpt
from vista_guard.evaluation.datasets.detect import PATIENCE, LogFormat, detect, recognise
from vista_guard.evaluation.datasets.source import BrokenEntry, LoggedConversation, TurnGold, Value, count, values
from vista_guard.evaluation.datasets.texts import check_texts

__all__ = [
    "BrokenEntry",
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

PARSERS: Mapping[LogFormat, Parse] = {
    LogFormat.REFERENCE: reference.parse,
    LogFormat.OPENAI: openai_messages.parse,
    LogFormat.SHAREGPT: sharegpt.parse,
}


def read_log(path: Path, log_format: LogFormat | Parse | None = None) -> Iterator[LoggedConversation | BrokenEntry]:
    """Conversations in the file's order, and in their place what could not be read.

    Every conversation has an id, and no two the same: one without is named after its line, and one that repeats an
    earlier id gets `#2`, `#3`, … appended, the same at every reading.

    Args:
        path: a JSON list or JSON lines, plain or gzipped. Lines are streamed.
        log_format: the format, or a function that makes a conversation of each value; detected when not given. The function
            raises `InputError` for a value that it cannot read, which is then answered with a `BrokenEntry`.

    Raises:
        InputError: the file as a whole cannot be read, or its format is not known.
    """
    found = values(path)
    if log_format is None:
        head = list(_head(found))
        log_format, found = recognise(path, head), chain(head, found)
    parse = log_format if callable(log_format) else PARSERS[log_format]
    taken: set[str] = set()
    for value in found:
        if isinstance(value, BrokenEntry):
            yield value
            continue
        try:
            entry = parse(value)
            check_texts(entry.conversation)
        except InputError as exc:
            yield BrokenEntry(f"{path} {value.place}", str(exc))
        else:
            yield _renamed(entry, taken)


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
        return entry
    return replace(entry, conversation=entry.conversation.model_copy(update={"id": name}))
