"""What the judge wrongly holds against turns that are fine, as users run it: ``risk.json`` beside the weights.

The table holds numbers only. Its groups are kept apart, so that statements that are easy do not pay for talk that is not:

- statements: FEVER dev claims that their evidence supports, from row 5,000 on (``calibrate`` tunes on those before);
- talk: BEGIN dev responses that are fully attributable to their knowledge (wow), and VISTA dev turns of which
  humans found every claim verifiable, out of scope or an abstention; taken apart by the judge itself.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from training.suites.loaders import begin_responses, clean, fever_rows
from vista_guard.guard import Guard
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.policy.risk import Level, RiskTable
from vista_guard.policy.turn_risk import SAFE
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.types import Claim, Conversation, Document, Role, Turn
from vista_lab.datasets.files import whole
from vista_lab.datasets.sets import begin, vista
from vista_lab.metrics.calibration import LabelledTurn, fine_group

Case = tuple[Conversation, dict[int, bool]]
"""A conversation, and which of its turns are known to be fine or not, by place."""

FIRST_ROW, ROWS = 5000, 3000
BEGIN_FILES = ("wow",)  # `cmu` and `tc` are training data


def _turn(text: str, document: str, claims: tuple[Claim, ...] | None = None) -> Turn:
    return Turn(role=Role.ASSISTANT, text=text, documents=(Document(id="d", text=document),), claims=claims)


def statements(data: Path) -> Iterator[Case]:
    """FEVER dev claims with their evidence, one turn each."""
    rows = fever_rows(data / "train/fever/dev.jsonl.gz")
    for row in islice(rows, FIRST_ROW, FIRST_ROW + ROWS):
        evidence = " ".join(row.sentences)
        if evidence:
            turn = _turn(row.claim, evidence, (Claim(id="t0.c1", text=row.claim),))
            yield Conversation(turns=(turn,)), {0: row.label == "SUPPORTS"}


def responses(data: Path) -> Iterator[Case]:
    """BEGIN dev responses with the message before them. Generic ones are left out: whether they are fine is open."""
    for name in BEGIN_FILES:
        for row in begin_responses(data / f"begin/begin_dev_{name}.tsv"):
            if row.label != begin.GENERIC and row.knowledge.strip():
                asked = Turn(role=Role.USER, text=clean(row.message))
                answer = _turn(clean(row.text), clean(row.knowledge))
                yield Conversation(turns=(asked, answer)), {1: row.label == begin.FULLY}


def conversations(data: Path) -> Iterator[Case]:
    """VISTA dev conversations; turns that no human judged are there for what they establish."""
    for entry in whole(vista.read((data / "vista-human/human_eval_dev.json",))):
        places = {
            place: all(entry.labels[claim.id] in SAFE for claim in turn.claims)
            for place, turn in enumerate(entry.conversation.turns)
            if turn.claims
        }
        heard = entry.conversation.turns[: max(places, default=-1) + 1]
        yield Conversation(turns=tuple(turn.model_copy(update={"claims": None}) for turn in heard)), places


async def judged(guard: Guard, cases: Sequence[Case]) -> list[LabelledTurn]:
    """The known turns, as the guard judges them. Progress goes to stderr."""
    found = []
    for number, (conversation, fine) in enumerate(cases, 1):
        if number % 100 == 0:
            print(f"false alarms: {number} of {len(cases)} conversations", file=sys.stderr, flush=True)
        async for report in guard.areplay(conversation):
            if report.turn_index in fine:
                found.append(LabelledTurn(report.outcomes, fine[report.turn_index], {}))
    return found


def shipped_guard(weights: Path) -> Guard:
    """The runtime's judge from a weights folder; its embedder is the installed one, which training leaves as it is."""
    embedder = OnnxEmbedder()
    return Guard(EmbeddedJudge.load(embedder, weights), "monitor", knowledge=MemoryKnowledge(embedder))


def risk_table(weights: Path, data: Path) -> RiskTable:
    """The table for the judge of a weights folder. Only fine turns are judged, and what VISTA's lean on."""
    guard = shipped_guard(weights)
    parts = {
        "FEVER dev (supported claims)": [statements(data)],
        "BEGIN dev (fully attributable) and VISTA dev (safe) turns": [responses(data), conversations(data)],
    }
    groups = []
    for source, files in parts.items():
        cases = [case for cases in files for case in cases if any(case[1].values())]
        group = fine_group(asyncio.run(judged(guard, cases)), Level.TURN, source)
        if group is None:
            raise SystemExit(f"{source}: no fine turn in {data}")
        groups.append(group)
    return RiskTable(
        judge=guard.parts.judge.info, level=Level.TURN, created=datetime.now(UTC).date(), groups=tuple(groups)
    )


def write(weights: Path, data: Path) -> RiskTable:
    """``risk.json`` into the folder whose ``judge.json`` is final."""
    table = risk_table(weights, data)
    table.save(weights / "risk.json")
    return table
