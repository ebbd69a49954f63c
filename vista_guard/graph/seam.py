"""Asks a judge, and holds it to its contract: whatever it fails to answer becomes `Unchecked`, never a clean pass."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from vista_guard.errors import JudgeError
from vista_guard.protocols import Judge
from vista_guard.types import Check, Claim, EvidenceSet, Finding, Label, Turn, Unchecked

T = TypeVar("T")


async def decompose(judge: Judge, turn: Turn, history: Sequence[Turn]) -> tuple[Claim, ...]:
    """The judge's claims.

    Raises:
        JudgeError: the judge failed, or its claims cannot be used.
    """
    claims = tuple(await _answer(judge.decompose(turn, history)))
    ids = [claim.id for claim in claims]
    if len(set(ids)) != len(ids):
        raise JudgeError(f"{judge.info.name} gave two claims the same id: {ids}")
    for claim in claims:
        if not claim.text.strip():
            raise JudgeError(f"{judge.info.name} gave an empty claim {claim.id}")
        if claim.span and claim.span.end > len(turn.text):
            raise JudgeError(f"{judge.info.name} placed claim {claim.id} past the turn's end, at {claim.span.end}")
    return claims


async def verify(judge: Judge, claims: Sequence[Claim], evidence: EvidenceSet) -> list[Check | Unchecked]:
    """One answer a claim, in order."""
    if not claims:
        return []
    try:
        answers = await _answer(judge.verify(claims, evidence))
    except JudgeError as exc:
        return [Unchecked(claim=claim, error=str(exc)) for claim in claims]
    if not _one_each(claims, answers):
        error = f"{judge.info.name} did not answer with one check for each claim"
        return [Unchecked(claim=claim, error=error) for claim in claims]
    return list(answers)


async def categorize(judge: Judge, checks: Sequence[Check], evidence: EvidenceSet) -> list[Finding | Unchecked]:
    """One answer a check, in order."""
    if not checks:
        return []
    claims = [check.claim for check in checks]
    try:
        answers = await _answer(judge.categorize(checks, evidence))
    except JudgeError as exc:
        return [Unchecked(claim=claim, error=str(exc)) for claim in claims]
    if not _one_each(claims, answers):
        error = f"{judge.info.name} did not answer with one label for each claim"
        return [Unchecked(claim=claim, error=error) for claim in claims]
    return [_unless_verified(judge, answer) for answer in answers]


async def _answer(question: Awaitable[Sequence[T]]) -> Sequence[T]:
    try:
        return await question
    except JudgeError:
        raise
    except Exception as exc:
        # A judge is somebody else's code at this point. Whatever it raises, the turn was not judged, and the policy decides.
        raise JudgeError(f"the judge failed: {type(exc).__name__}: {exc}") from exc


def _one_each(claims: Sequence[Claim], answers: Sequence[Check | Finding | Unchecked]) -> bool:
    return [claim.id for claim in claims] == [answer.claim.id for answer in answers]


def _unless_verified(judge: Judge, answer: Finding | Unchecked) -> Finding | Unchecked:
    if isinstance(answer, Finding) and answer.label is Label.VERIFIED:
        # An unsupported claim cannot become verified by naming its category: that would be a clean pass by mistake.
        return Unchecked(claim=answer.claim, error=f"{judge.info.name} categorised an unsupported claim as VERIFIED")
    return answer
