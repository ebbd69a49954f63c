"""Runs' folders, made by hand: small, and as `vista-guard eval` writes them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from vista_guard.policy.turn_risk import vista_score
from vista_guard.types import (
    Action,
    Claim,
    Decision,
    Finding,
    JudgeInfo,
    Label,
    Outcome,
    Timings,
    TurnReport,
    Unchecked,
    Usage,
)
from vista_lab.logs.source import Task
from vista_lab.runs.folder import GOLD, MANIFEST, REPORTS, GoldLine, Manifest, Rows
from vista_lab.systems.protocol import SystemInfo

VERIFIED, SCOPE, CONTRADICTED, LACKING, ABSTENTION = Label


@dataclass(frozen=True)
class Told:
    """One turn: what was found in its claims (None: not judged), the data set's word on it, and people's on its claims."""

    found: Sequence[Label | None]
    positive: bool | None = None
    human: Sequence[Label] = ()
    conversation: str | None = None
    confidence: float = 0.9


def turns(tp: int, fp: int, fn: int, tn: int, unchecked: int = 0, label: Label = LACKING) -> list[Told]:
    """So many turns of each kind, of one claim each; positive ones first, so that runs of equal sums have the same gold."""
    kinds = {
        (label, True): tp,
        (VERIFIED, True): fn,
        (None, True): unchecked,
        (label, False): fp,
        (VERIFIED, False): tn,
    }
    return [Told([found], positive) for (found, positive), n in kinds.items() for _ in range(n)]


def report(conversation: str, index: int, told: Told, *, usage: Usage, seconds: float) -> TurnReport:
    """What the run left of a turn."""
    outcomes = tuple(_outcome(f"t{index}.c{number}", label, told) for number, label in enumerate(told.found, 1))
    return TurnReport(
        conversation_id=conversation,
        turn_index=index,
        response="The pier opened in 1911.",
        outcomes=outcomes,
        decision=Decision(action=Action.ALLOW, reason="monitor"),
        score=vista_score(outcomes),
        evidence_missing=False,
        judge=JudgeInfo(name="scripted", version="1"),
        policy="monitor",
        timings=Timings(total=1000 * seconds),
        usage=usage,
    )


def written(
    folder: Path,
    told: Sequence[Told],
    *,
    data_set: str = "begin-dev-wow",
    system: str = "vista",
    judge: str = "gpt-4o",
    version: str = "batched-few-1",
    task: Task = Task.UNVERIFIABLE,
    claims: Literal["given", "judge"] = "judge",
    options: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    reported: int | None = None,
    limit: int | None = None,
    usage: Usage = Usage(calls=2, input_tokens=900, output_tokens=100, cost=0.002),  # noqa: B008  # frozen
    seconds: float = 0.5,
    **rows: Any,
) -> Path:
    """A run's folder. Turns without a conversation are one each; those of one stand in the order in which they come."""
    named = _named(told)
    manifest = Manifest(
        made_by="vista-guard test",
        system=SystemInfo(name=system, judge=JudgeInfo(name=judge, version=version), options=options or {}),
        rows=Rows(
            name=data_set,
            split="dev",
            task=task,
            files=files or {"rows.tsv": "ab" * 32},
            conversations=tuple(dict.fromkeys(conversation for conversation, _, _ in named)),
            turns=len(told),
            **{"test": False, "sample": "written by hand", **rows},
        ),
        claims=claims,
        limit=limit,
        seed=13,
        engine="local",
        machine={},
        created=datetime(2026, 11, 1, tzinfo=UTC),
    )
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_text(manifest.model_dump_json(), encoding="utf-8")
    gold = [_gold(*one) for one in named]
    (folder / GOLD).write_text("".join(f"{line.model_dump_json()}\n" for line in gold), encoding="utf-8")
    reports = [
        report(*one, usage=usage, seconds=seconds) for one in named[: len(named) if reported is None else reported]
    ]
    (folder / REPORTS).write_text("".join(f"{line.model_dump_json()}\n" for line in reports), encoding="utf-8")
    return folder


def human_set(seed: int, errors: float, talks: int = 20) -> list[Told]:
    """Conversations of three turns with claims that people labelled; so many of the labels found are others."""
    draw = random.Random(seed)
    gold = random.Random(1)
    found = []
    for talk in range(talks):
        for _ in range(3):
            human = gold.choices(
                [VERIFIED, SCOPE, CONTRADICTED, LACKING, ABSTENTION], [8, 5, 1, 4, 1], k=gold.randint(1, 5)
            )
            said = [draw.choice(list(Label)) if draw.random() < errors else label for label in human]
            positive = any(label in (LACKING, CONTRADICTED) for label in human)
            found.append(Told(said, positive, human, f"talk-{talk}", confidence=draw.uniform(0.5, 1)))
    return found


def _named(told: Sequence[Told]) -> list[tuple[str, int, Told]]:
    places: dict[str, int] = {}
    found = []
    for number, one in enumerate(told):
        conversation = one.conversation or f"row-{number}"
        places[conversation] = places.get(conversation, -1) + 2
        found.append((conversation, places[conversation], one))
    return found


def _gold(conversation: str, index: int, told: Told) -> GoldLine:
    claims = {f"t{index}.c{number}": label for number, label in enumerate(told.human, 1)}
    label = None if told.positive is None else str(told.positive)
    return GoldLine(conversation_id=conversation, turn_index=index, label=label, positive=told.positive, claims=claims)


def _outcome(id: str, label: Label | None, told: Told) -> Outcome:
    claim = Claim(id=id, text=f"Claim {id}.")
    if label is None:
        return Unchecked(claim=claim, error="no answer")
    return Finding(claim=claim, label=label, confidence=told.confidence, reason="so it says")
