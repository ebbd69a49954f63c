"""Which format a log is in, by what its first readable entry looks like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets.source import BrokenEntry, Value, values

PATIENCE = 20
"""How many broken lines at the start before a file is given up as no log at all."""


class LogFormat(StrEnum):
    """The formats of logs."""

    REFERENCE = "reference"
    OPENAI = "openai"
    SHAREGPT = "sharegpt"


SHAPES = {
    LogFormat.REFERENCE: 'a JSON list of conversations, each a list of {"role", "utterance", "retrieved_document"}',
    LogFormat.OPENAI: 'one {"messages": [{"role", "content"}, …]} a line',
    LogFormat.SHAREGPT: '{"conversations": [{"from", "value"}, …]}, one a line or in a list',
}


def detect(path: Path) -> LogFormat:
    """The format of the log.

    Raises:
        InputError: unreadable, or no format; lists the formats and how to name one.
    """
    return recognise(path, values(path))


def recognise(path: Path, found: Iterable[Value | BrokenEntry]) -> LogFormat:
    """The format of the first value among `found`, which may have broken entries before it."""
    broken: list[BrokenEntry] = []
    for entry in found:
        if isinstance(entry, Value):
            return _format(path, entry)
        broken.append(entry)
        if len(broken) >= PATIENCE:
            break
    why = f"{broken[0].source} {broken[0].error}" if broken else f"{path} holds no conversation"
    raise InputError(f"{why}. {_help()}")


def _format(path: Path, value: Value) -> LogFormat:
    content = value.content
    if isinstance(content, list):
        return LogFormat.REFERENCE
    shown = f"the value {str(content)[:80]!r}"
    if isinstance(content, Mapping):
        if "messages" in content:
            return LogFormat.OPENAI
        if "conversations" in content:
            return LogFormat.SHAREGPT
        shown = f"the keys {', '.join(map(str, content))[:80]}"
    raise InputError(f"{path} {value.place} has {shown}: no known format. {_help()}")


def _help() -> str:
    shapes = "; ".join(f"{name}: {shape}" for name, shape in SHAPES.items())
    return f"The formats are {shapes}. Name one with --format reference, openai or sharegpt"
