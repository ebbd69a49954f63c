"""Logs on disk, and what is read of them in short."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vista_guard.types import Conversation
from vista_lab.logs.formats import BrokenEntry, Columns, LogFormat, LoggedConversation, read_log

Said = tuple[str, str, tuple[str, ...]]
"""Role, text and texts of documents of a turn."""


def written(path: Path, rows: Iterable[object]) -> Path:
    """JSON lines."""
    path.write_text("".join(f"{json.dumps(row, default=str)}\n" for row in rows), encoding="utf-8")
    return path


def turns(conversation: Conversation) -> list[Said]:
    """A conversation in short."""
    return [
        (one.role.value, one.text, tuple(document.text for document in one.documents)) for one in conversation.turns
    ]


def read(path: Path, log_format: LogFormat | None = None, columns: Columns | None = None) -> dict[str, list[Said]]:
    """Conversations of a log by id; nothing of it is broken."""
    entries = list(read_log(path, log_format, columns))
    assert [one for one in entries if isinstance(one, BrokenEntry)] == []
    return {str(one.conversation.id): turns(one.conversation) for one in entries if isinstance(one, LoggedConversation)}


def broken(path: Path, log_format: LogFormat | None = None, columns: Columns | None = None) -> list[str]:
    """What could not be read, without the log's own path."""
    found = [one for one in read_log(path, log_format, columns) if isinstance(one, BrokenEntry)]
    return [f"{one.source.removeprefix(str(path)).strip()}: {one.error}" for one in found]


def run(name: str, run_type: str, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    """A run as LangSmith's API gives it. `at` is the minute in which it began."""
    thread, at = more.pop("thread", None), more.pop("at", 0)
    return {
        "id": name,
        "trace_id": name,
        "parent_run_id": None,
        "name": run_type,
        "run_type": run_type,
        "session_id": "the-project",
        "start_time": f"2026-11-02T09:{at:02}:00+00:00",
        "inputs": inputs,
        "outputs": outputs,
        "extra": {"metadata": {"thread_id": thread} if thread else {}},
        **more,
    }
