"""The cost of the graph itself: no model, no store on disk."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import Row, timed, timing_row
from benchmarks.turns import CLAIMS, turn
from vista_guard import Guard
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

WARM_UP = 20


def rows(runs: int) -> Iterator[Row]:
    """A turn of four scripted claims, through the sync door."""
    turns = [turn(number, given=False) for number in range(WARM_UP + runs)]
    script = {conversation.turns[-1].text: [Verdict(claim) for claim in CLAIMS] for conversation in turns}
    guard = Guard(ScriptedJudge(script), knowledge=MemoryKnowledge(WordEmbedder()))
    samples = [timed(lambda conversation=conversation: guard.check(conversation)) for conversation in turns]  # type: ignore[misc]
    yield timing_row("engine alone, scripted judge", samples[WARM_UP:])
