"""Small judges whose every answer is told by the claim's text, and which count what they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vista_guard.judges.contract import meter
from vista_guard.types import (
    Check,
    Claim,
    Evidence,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Label,
    Passage,
    SourceKind,
    Turn,
    Unchecked,
    Usage,
)

HALL = EvidenceSet(documents=(Passage(source=SourceKind.DOCUMENT, source_id="d1", text="The hall opened in 1925."),))


def claim(text: str, id: str = "c1") -> Claim:
    """A claim."""
    return Claim(id=id, text=text)


def quote(text: str, score: float = 1.0) -> Evidence:
    """A quote of the document."""
    return Evidence(source=SourceKind.DOCUMENT, source_id="d1", quote=text, score=score)


def check(of: Claim, supported: bool, confidence: float = 0.9, *, by: str | None = None) -> Check:
    """A check with its quote, if it is supported."""
    return Check(
        claim=of,
        supported=supported,
        confidence=confidence,
        judged_by=by,
        evidence=(quote(of.text),) if supported else (),
    )


def finding(of: Claim, label: Label, confidence: float = 0.9, *, by: str | None = None) -> Finding:
    """A finding."""
    return Finding(claim=of, label=label, confidence=confidence, reason=f"scripted as {label}", judged_by=by)


@dataclass
class Answering:
    """Labels by claim text; a text that is not there is unchecked. An exception is raised by the whole call."""

    labels: Mapping[str, tuple[Label, float] | Exception]
    info: JudgeInfo = field(default_factory=lambda: JudgeInfo(name="answering", version="1"))
    claims_per_call: int | None = None
    why_exhausted: str | None = None
    wait: float = 0.0
    warning: str | None = None
    decomposed: list[str] = field(default_factory=list)
    verified: list[list[str]] = field(default_factory=list)
    categorized: list[list[str]] = field(default_factory=list)
    closed: int = 0

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """A claim a sentence."""
        self.decomposed.append(turn.text)
        await self._spend()
        sentences = turn.text.removesuffix(".").split(". ")
        return [Claim(id=f"t{len(history)}.c{number}", text=f"{one}.") for number, one in enumerate(sentences, 1)]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Supported when VERIFIED."""
        self.verified.append([one.text for one in claims])
        await self._spend()
        return [self._check(one) for one in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """The label."""
        self.categorized.append([one.claim.text for one in checks])
        await self._spend()
        return [self._finding(one.claim) for one in checks]

    async def aclose(self) -> None:
        """Counted."""
        self.closed += 1

    async def _spend(self) -> None:
        await asyncio.sleep(self.wait)
        meter().add(Usage(calls=1, input_tokens=10))
        if self.warning is not None:
            meter().warn(self.warning)

    def _said(self, of: Claim) -> tuple[Label, float] | None:
        said = self.labels.get(of.text)
        if isinstance(said, Exception):
            raise said
        return said

    def _check(self, of: Claim) -> Check | Unchecked:
        said = self._said(of)
        if said is None:
            return Unchecked(claim=of, error="no answer")
        return check(of, said[0] is Label.VERIFIED, said[1])

    def _finding(self, of: Claim) -> Finding | Unchecked:
        said = self._said(of)
        return Unchecked(claim=of, error="no answer") if said is None else finding(of, *said)


class AnsweringTurns(Answering):
    """Judges whole turns too."""

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """The claims with their verdicts."""
        return await self.verify(await self.decompose(turn, history), evidence)
