"""A judge for logs: simple rules, the same verdict for the same text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, Turn, Unchecked


async def _at_once() -> None:
    await asyncio.sleep(0)


@dataclass
class RuleJudge:
    """Every sentence is a claim. It is VERIFIED when some evidence holds it word for word.

    Else "I like" makes it OUT_OF_SCOPE, "not" CONTRADICTED, "perhaps" ABSTENTION, "boom" leaves it unchecked.
    """

    info: JudgeInfo = field(default_factory=lambda: JudgeInfo(name="rules", version="1"))
    held: Callable[[], Awaitable[object]] = _at_once
    """The event that a turn with an "I like" waits for."""
    asked: list[str] = field(default_factory=list)
    """Texts of the turns that were decomposed."""
    verified: list[str] = field(default_factory=list)
    """Texts of the claims that were verified."""

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """One claim for each sentence."""
        self.asked.append(turn.text)
        sentences = [sentence for sentence in turn.text.split(". ") if sentence]
        return [Claim(id=f"t{len(history)}.c{number}", text=text) for number, text in enumerate(sentences, 1)]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Word for word."""
        if any("I like" in claim.text for claim in claims):
            await self.held()
        self.verified += [claim.text for claim in claims]
        return [self._check(claim, evidence) for claim in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """By word."""
        return [
            Finding(claim=check.claim, label=_label(check.claim.text), confidence=0.9, reason="a rule")
            for check in checks
        ]

    def _check(self, claim: Claim, evidence: EvidenceSet) -> Check | Unchecked:
        if "boom" in claim.text:
            return Unchecked(claim=claim, error="boom")
        known = [passage.text for passage in (*evidence.documents, *evidence.knowledge)]
        return Check(claim=claim, supported=any(claim.text in text for text in known), confidence=0.9)


def _label(text: str) -> Label:
    words = {"I like": Label.OUT_OF_SCOPE, "not": Label.CONTRADICTED, "perhaps": Label.ABSTENTION}
    return next((label for word, label in words.items() if word in text), Label.LACKING_EVIDENCE)
