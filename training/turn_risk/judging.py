"""Cases through the guard, as users run it; what came of each is kept in a file, so that fitting anew costs seconds."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from training.false_alarms import shipped_guard
from training.turn_risk.cases import Case
from vista_guard.guard import Guard
from vista_guard.types import Outcome


class JudgedTurn(BaseModel):
    """A turn of a case, judged. No text of the turn or its evidence is needed but what outcomes hold."""

    model_config = ConfigDict(frozen=True)

    source: str
    kind: str
    group: str
    faithful: bool
    outcomes: tuple[Outcome, ...]
    evidence_missing: bool


def judged(cases: Callable[[], Sequence[Case]], weights: Path, kept: Path) -> list[JudgedTurn]:
    """The known turns of the cases; read from ``kept`` where it holds them already, and then no case is made."""
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as file:
            asyncio.run(_judge_into(file.write, shipped_guard(weights), cases()))
        partial.rename(kept)
    return list(read(kept.read_text(encoding="utf-8").splitlines()))


def read(lines: Iterable[str]) -> Iterable[JudgedTurn]:
    """One turn a line."""
    return (JudgedTurn.model_validate_json(line) for line in lines)


async def _judge_into(write: Callable[[str], object], guard: Guard, cases: Sequence[Case]) -> None:
    for number, case in enumerate(cases, 1):
        if number % 50 == 0:
            print(f"turn risk: {number} of {len(cases)} cases", file=sys.stderr, flush=True)
        async for report in guard.areplay(case.conversation):
            if report.turn_index in case.faithful:
                turn = JudgedTurn(
                    source=case.source,
                    kind=case.kind,
                    group=case.group,
                    faithful=case.faithful[report.turn_index],
                    outcomes=report.outcomes,
                    evidence_missing=report.evidence_missing,
                )
                write(turn.model_dump_json() + "\n")
