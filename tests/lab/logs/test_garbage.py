"""Whatever a log holds: conversations, or what is wrong with it; never another error."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.lab.logs.rows import broken
from tests.raising import raises
from vista_guard.errors import InputError, VistaGuardError
from vista_lab.logs.formats import BrokenEntry, LogFormat, LoggedConversation, named, read_log
from vista_lab.logs.registry import formats

NAMES = (
    "id trace_id parent_run_id run_type inputs outputs extra metadata thread_id start_time runs child_runs traceId sessionId",
    "input output observations traces timestamp context span_id attributes data resourceSpans spans key value session.id",
    "llm.input_messages llm.input_messages.0.message.role llm.input_messages.0.message.content retrieval.documents item sample",
    "document.content input.value messages role content documents query response conversation conversations from question",
    "answer label time prompt completion kwargs lc citations args generations choices text page_content tool_calls contents",
    "tool_result message_content.text type",
)
KEYS = [name for line in NAMES for name in line.split()]
WORDS = [
    "user",
    "assistant",
    "human",
    "llm",
    "chain",
    "retriever",
    "GENERATION",
    "2026-11-02T09:00:00Z",
    "",
    "{",
    "[1]",
    "\x00",
]
WORDS += ['{"messages": [{"role": "user", "content": "x"}]}', "constructor", "tool_call", "faithful", "\ud800"]
SHAPES: list[dict[str, Any]] = [
    {"id": "a", "trace_id": "t", "run_type": "llm"},
    {"id": "a", "traceId": "t", "type": "GENERATION"},
    {"context": {"trace_id": "t", "span_id": "a"}, "attributes": {}},
    {"item": {}},
    {"query": "?", "response": "!"},
    {"conversation": "c", "role": "user", "content": "?"},
]


def made(draw: random.Random, depth: int) -> Any:
    """A value made of the names that formats look for."""
    kind = draw.random()
    if depth == 0 or kind < 0.35:
        return draw.choice([*WORDS, None, 1, -3, 1.5, True, 10**30])
    if kind < 0.6:
        return [made(draw, depth - 1) for _ in range(draw.randint(0, 3))]
    return {draw.choice(KEYS): made(draw, depth - 1) for _ in range(draw.randint(0, 7))}


def row(draw: random.Random) -> Any:
    value = made(draw, 4)
    return {**value, **draw.choice(SHAPES)} if isinstance(value, dict) else value


@pytest.mark.parametrize("log_format", [None, *formats()])
def test_garbage(tmp_path: Path, log_format: LogFormat | None) -> None:
    log, draw, read = tmp_path / "log", random.Random(7), 0
    for _ in range(60):
        log.write_text(json.dumps([row(draw) for _ in range(4)]), encoding="utf-8")
        try:
            entries = list(read_log(log, log_format))
        except VistaGuardError:
            assert log_format in (None, named("csv"))  # no known format, no known columns
        else:
            assert all(isinstance(one, BrokenEntry | LoggedConversation) for one in entries)
            read += len(entries)
    assert read


@pytest.mark.parametrize(
    "log_format", [named("langsmith"), named("openinference"), named("azure"), named("openai-evals")]
)
def test_a_row_that_is_too_deep(tmp_path: Path, log_format: LogFormat) -> None:
    deep = '{"output":' * 900 + "1" + "}" * 900
    fields = ("inputs", "outputs", "attributes", "query", "response", "item", "sample")
    whole = ", ".join(f'"{name}": {deep}' for name in fields)
    log = tmp_path / "log"
    log.write_text(f'{{"id": "a", "run_type": "chain", "trace_id": "t", "span_id": "a", {whole}}}', encoding="utf-8")
    assert re.search(r"nested more than \d+ levels deep$", broken(log, log_format)[0])


def test_a_file_that_is_cut_off_in_the_middle(tmp_path: Path) -> None:
    log = tmp_path / "trace.json"
    log.write_text('{\n "id": "a",\n "observations": [', encoding="utf-8")
    with raises(InputError, "JSON"):
        list(read_log(log))
