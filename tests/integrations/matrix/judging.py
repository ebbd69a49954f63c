"""The judges of the matrix: they know some sentences, wherever those stand in a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tests.integrations.openai.ways import Script
from vista_guard import JudgeError, Label
from vista_guard.testing import ScriptedJudge, Verdict
from vista_guard.types import Claim, EvidenceSet

NOTES = "The whale hall of the tide museum opened in 1925."
TRUTH = "The whale hall opened in 1925."
ASIDE = "Entry costs nothing."
LIE = "Queen Zubrowka inaugurated Neptune's ballroom."
"""It has no word in common with the others."""


def museum() -> ScriptedJudge:
    """Knows the whale hall."""
    return ScriptedJudge(
        Script(
            Verdict(TRUTH, needs="1925"),
            Verdict(LIE, Label.CONTRADICTED, 0.97),
            Verdict(ASIDE, Label.OUT_OF_SCOPE),
        )
    )


RAISES = "The hall has three whales."
NONSENSE = "The smallest whale is called Ida."
LEFT_OUT = "The roof is made of copper."
FAILING = {
    RAISES: "no answer within 10 s",
    NONSENSE: "label 'maybe' is none",
    LEFT_OUT: "scripted did not answer with one check for each claim",
}
"""What `Failing` fails on, and what a report says of it."""


class Failing(ScriptedJudge):
    """Fails on each claim in another way: it raises, answers nonsense, leaves it out."""

    def __init__(self) -> None:
        super().__init__(_Raising(Verdict(NONSENSE, error=FAILING[NONSENSE]), Verdict(LEFT_OUT, needs="")))

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Any:
        checks = await super().verify(claims, evidence)
        return [check for check in checks if check.claim.text != LEFT_OUT]


class _Raising(Script):
    def __getitem__(self, text: str) -> list[Verdict]:
        if RAISES in text:
            raise JudgeError(FAILING[RAISES])
        return super().__getitem__(text)


class Slow(ScriptedJudge):
    """Takes its time, so that conversations get into each other's way if they can."""

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Any:
        await asyncio.sleep(0.005)
        return await super().verify(claims, evidence)
