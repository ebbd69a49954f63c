"""The format of a log, and where formats are found: each module of `vista_lab.logs.readers` has one in `FORMAT`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Any

from vista_guard.errors import ConfigError
from vista_lab.logs import readers
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue

Entries = Iterator[LoggedConversation | BrokenEntry]

Parse = Callable[[LogValue], LoggedConversation]
"""Turns one value of a log into a conversation. Raises InputError for a value that it cannot read."""

Gather = Callable[[Iterable[LogValue | BrokenEntry], str], Entries]
"""Reads all values of a log, if a conversation is spread over several; gets the file's name for errors."""


class Likeness(IntEnum):
    """How surely a value is of a format; the surest format reads the log."""

    NONE = 0
    GUESS = 1
    """Some key has a name that the format uses."""
    LOOSE = 2
    """The format's shape, which others share."""
    CLOSE = 3
    """The shape of the tool that most people use."""
    EXACT = 4
    """Keys that no other format has."""


@dataclass(frozen=True)
class LogFormat:
    """A format of logs, with `parse` if each value is a conversation, `gather` if it is spread over several.

    `looks` says how surely a mapping is of this format; `lists` is True for the format whose values are lists.
    """

    name: str
    looks: Callable[[Mapping[str, Any]], Likeness] | None = None
    parse: Parse | None = None
    gather: Gather | None = None
    lists: bool = False

    def __str__(self) -> str:
        return self.name


@cache
def formats() -> tuple[LogFormat, ...]:
    """All formats, by name."""
    return tuple(map(named, readers.names()))


def named(name: str) -> LogFormat:
    """The format of this name. Raises ConfigError if there is none; lists the formats."""
    if name not in readers.names():
        raise ConfigError(f"--format is {name!r}; the formats are auto, {', '.join(readers.names())}")
    found = import_module(f"{readers.__name__}.{name.replace('-', '_')}").FORMAT
    assert isinstance(found, LogFormat)
    return found


def best(content: object) -> LogFormat | None:
    """The format that a value is surest of; None for none."""
    if isinstance(content, list):
        return next((one for one in formats() if one.lists), None)
    if not isinstance(content, Mapping):
        return None
    fit, found = max(((one.looks(content), one) for one in formats() if one.looks), key=lambda pair: pair[0])
    return found if fit else None
