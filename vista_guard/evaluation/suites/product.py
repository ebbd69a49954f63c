"""The judge that users get, in the form in which benchmarks ask it: same code, same weights, its probabilities kept."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from vista_guard.errors import JudgeError
from vista_guard.evaluation.systems.ablations import NoKnowledge
from vista_guard.guard import Guard
from vista_guard.inference.onnx import WEIGHTS, Encoder
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.calibration import Calibration, ClaimTypeHead
from vista_guard.judges.embedded.verifier import ShippedVerifier
from vista_guard.protocols import KnowledgeStore
from vista_guard.stores.embeddings import OnnxEmbedder
from vista_guard.stores.memory.knowledge import MemoryKnowledge
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Turn, Unchecked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 512
"""Pairs between two reports of progress."""

T = TypeVar("T")


@dataclass(frozen=True)
class Measured:
    """What the judge measured of one claim over all of its evidence; probabilities in [0, 1]."""

    supported: float
    contradicted: float
    """Of what may refute the claim; 0 for a supported claim, which the judge does not hold against anything further."""


NOTHING = Measured(0.0, 0.0)


class MeasuredJudge:
    """Implements `Judge`: the embedded judge, which keeps by claim id what it measured.

    It runs with a contradiction threshold of 0, so that every probability of a refutation is seen, and drops those below
    the shipped threshold from its answers, as the shipped judge does.
    """

    def __init__(self, judge: EmbeddedJudge, contradicted: float) -> None:
        self._judge = judge
        self._contradicted = contradicted
        self.measured: dict[str, Measured] = {}

    @property
    def info(self) -> JudgeInfo:
        return self._judge.info

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """See `EmbeddedJudge.decompose`."""
        return await self._judge.decompose(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """See `EmbeddedJudge.verify`."""
        return [self._shipped(check) for check in await self._judge.verify(claims, evidence)]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """See `EmbeddedJudge.categorize`."""
        return await self._judge.categorize(checks, evidence)

    def _shipped(self, check: Check | Unchecked) -> Check | Unchecked:
        if isinstance(check, Unchecked):
            return check
        against = tuple(one for one in check.counter_evidence if one.score >= self._contradicted)
        worst = max((one.score for one in check.counter_evidence), default=0.0)
        support = check.confidence if check.supported else 1.0 - check.confidence
        self.measured[check.claim.id] = Measured(support, worst)
        return check.model_copy(update={"counter_evidence": against})


class Product:
    """The verifier for pairs, and guards around the whole judge, from one weights folder."""

    def __init__(self, folder: Path = WEIGHTS, verifier: str = "verifier.onnx") -> None:
        self.limits = Calibration.load(folder)
        name, most = verifier.removesuffix(".onnx"), self.limits.max_length
        self.verifier = ShippedVerifier(Encoder.load(name, max_length=most, folder=folder.resolve()), self.limits)
        self.embedder = OnnxEmbedder()
        eager = replace(self.limits, contradicted=0.0)
        judge = EmbeddedJudge(self.verifier, self.embedder, ClaimTypeHead.load(folder), eager)
        self.judge = MeasuredJudge(judge, self.limits.contradicted)

    def guard(self, *, context: Literal["none", "full"] = "none", knowledge: bool = True) -> Guard:
        """A guard that lets every turn through; without `knowledge` nothing that was established is known later."""
        store: KnowledgeStore = MemoryKnowledge(self.embedder) if knowledge else NoKnowledge(self.embedder)
        return Guard(self.judge, "monitor", knowledge=store, context=context)

    def probabilities(self, pairs: Sequence[tuple[str, str]], task: str) -> NDArray[np.float32]:
        """Calibrated verifier probabilities [pairs, 3] in the order supported, contradicted, not enough."""
        import numpy as np

        order = sorted(range(len(pairs)), key=lambda index: len(pairs[index][0]) + len(pairs[index][1]))
        rows = np.zeros((len(pairs), 3), np.float32)
        for start in progress(range(0, len(order), BLOCK), f"{task}, blocks of {BLOCK} pairs"):
            block = order[start : start + BLOCK]
            rows[block] = self.verifier.probabilities([pairs[index] for index in block])
        return rows

    async def claims(self, turn: Turn, history: Sequence[Turn]) -> list[str]:
        """Texts of the turn's claims; none for a language that the judge does not read."""
        try:
            return [claim.text for claim in await self.judge.decompose(turn, history)]
        except JudgeError:
            return []


def progress(items: Iterable[T], task: str) -> Iterator[T]:
    """The items, counted on stderr."""
    known = list(items)
    for number, item in enumerate(known, 1):
        yield item
        if sys.stderr.isatty() or number % 200 == 0 or number == len(known):
            print(f"\r{task}: {number}/{len(known)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
