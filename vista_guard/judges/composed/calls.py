"""What every judge around other judges needs: questions as fingerprints, and answers that keep the contract."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterable, Sequence
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import BaseModel

from vista_guard.judges import contract
from vista_guard.protocols import Judge, TurnJudge
from vista_guard.types import Check, EvidenceSet, Finding, Turn, Unchecked

T = TypeVar("T")


def fingerprint(*parts: Any) -> str:
    """64 hex digits of the parts' canonical JSON. Parts are JSON types, models, or sequences of models."""
    return sha256(json.dumps(_plain(parts), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _plain(part: Any) -> Any:
    if isinstance(part, BaseModel):
        return part.model_dump(mode="json")
    return [_plain(one) for one in part] if isinstance(part, list | tuple) else part


def names(judges: Sequence[Judge]) -> list[str]:
    """What to call the judges in a report: their names, with the version where two have the same."""
    infos = [judge.info for judge in judges]
    twice = [info.name for info in infos]
    return [info.name if twice.count(info.name) == 1 else f"{info.name} {info.version}" for info in infos]


def why_exhausted(*judges: Judge) -> str | None:
    """Why one of the judges makes no further call in this run; None while all do."""
    return next((why for judge in judges if (why := getattr(judge, "why_exhausted", None)) is not None), None)


async def aclose(*judges: Judge) -> None:
    """Closes those that can be closed."""
    for judge in judges:
        close = getattr(judge, "aclose", None)
        if close is not None:
            await close()


async def judge_turn(
    judge: Judge, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
) -> Sequence[Check | Unchecked] | None:
    """The judge's verdicts on the whole turn; None from a judge that wants to be asked stage by stage."""
    return await judge.judge_turn(turn, history, evidence) if isinstance(judge, TurnJudge) else None


async def label(judge: Judge, answers: Sequence[Check | Unchecked], evidence: EvidenceSet) -> list[Check | Unchecked]:
    """The answers, with a `finding` in every check that is not supported: what became of `categorize` is known at once."""
    checks = [one for one in answers if isinstance(one, Check) and not one.supported]
    asked = [one for one in checks if one.finding is None]
    found = iter(await contract.categorize(judge, asked, evidence))
    labels = iter([one.finding or next(found) for one in checks])
    return [
        _with_finding(one, next(labels)) if isinstance(one, Check) and not one.supported else one for one in answers
    ]


def _with_finding(check: Check, finding: Finding | Unchecked) -> Check | Unchecked:
    return finding if isinstance(finding, Unchecked) else check.model_copy(update={"finding": finding})


def finding(answer: Check | Unchecked) -> Finding | Unchecked:
    """What `label` found of a check that is not supported."""
    if isinstance(answer, Unchecked):
        return answer
    return answer.finding or Unchecked(claim=answer.claim, error="a supported claim has no category")


async def together(questions: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The answers to questions asked at once. When one raises, the others are not left running unheard."""
    try:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(question) for question in questions]
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    return [task.result() for task in asked]
