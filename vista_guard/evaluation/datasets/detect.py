"""Which format a log is in, by what its first readable entry looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets.logs import (
    azure,
    columns,
    huggingface,
    langfuse,
    langsmith,
    openai_evals,
    openai_messages,
    openinference,
)
from vista_guard.evaluation.datasets.source import BrokenEntry, Value, values

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
