"""Replay of a made-up log: conversations of five assistant turns each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Row
from benchmarks.turns import turn
from vista_guard import Guard
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Conversation
from vista_lab.logs.formats import LoggedConversation
from vista_lab.runs.replaying import replay

TURNS = 5
TURNS_PER_SECOND = 40.0


def rows(runs: int) -> Iterator[Row]:
    """Turns a second, four conversations at once."""
    log = [LoggedConversation(conversation(number), labels={}) for number in range(max(runs // TURNS, 4))]
    guard = Guard(EmbeddedJudge.load(OnnxEmbedder()))
    guard.check(turn(len(log) * TURNS, given=False))  # the models are loaded with the first turn
    with TemporaryDirectory() as folder:
        summary = asyncio.run(replay(guard, log, Path(folder) / "reports.jsonl"))
    yield Row(
        "replay, claims by own decomposition",
        summary.turns_per_second or 0.0,
        "turns/s",
        target=TURNS_PER_SECOND,
        runs=summary.turns,
        more_is_better=True,
    )


def conversation(number: int) -> Conversation:
    """Conversation `number` of the log: five assistant turns, each of four claims of its own."""
    turns = [message for place in range(TURNS) for message in turn(number * TURNS + place, given=False).turns]
    return Conversation(turns=tuple(turns), id=f"log-{number}")
