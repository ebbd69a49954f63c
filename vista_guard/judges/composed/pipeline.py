"""The parts of LLM-OASIS's pipeline (§5) as judges around a judge: claims of another model, retrieval per claim, Algorithm 1.

Each stands alone. Algorithm 1 passes what no passage speaks of, so it weighs only where `weighing = "first"` says so.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from vista_guard.errors import JudgeError, StoreError
from vista_guard.judges import contract
from vista_guard.judges.composed import ensemble
from vista_guard.protocols import Decomposer, DocumentStore, Embedder, Judge, NeighbourStore, QueryEmbedder, Verifier
from vista_guard.types import (
    Check,
    Claim,
    Evidence,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Label,
    Passage,
    Turn,
    Unchecked,
)

Item = TypeVar("Item", Claim, Check)
Answer = TypeVar("Answer", Check | Unchecked, Finding | Unchecked)
Find = Callable[[str], Awaitable[Sequence[Passage]]]
"""Finds passages for a claim, best first. Raises `JudgeError` or `StoreError` where it cannot look."""

ENT, CONTR, NEUT = range(3)
"""Columns of a verifier's answer."""


class _JudgeAround:
    """A judge that leaves all to another one, but for what its subclasses do themselves."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @property
    def info(self) -> JudgeInfo:
        """The judge's own."""
        return self._judge.info

    @property
    def why_exhausted(self) -> str | None:
        return ensemble.why_exhausted(self._judge)

    async def aclose(self) -> None:
        """Closes the judge, not what its owner passed in beside it."""
        await ensemble.aclose(self._judge)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        return await self._judge.decompose(turn, history)


class DecomposingJudge(_JudgeAround):
    """Implements `Judge`: a decomposer takes turns apart, the judge verifies and categorises."""

    def __init__(self, judge: Judge, decomposer: Decomposer) -> None:
        super().__init__(judge)
        self._decomposer = decomposer

    @property
    def info(self) -> JudgeInfo:
        """The judge's; its version names the decomposer, since other claims have other verdicts."""
        inner, decomposer = self._judge.info, self._decomposer.info
        return JudgeInfo(name=inner.name, version=f"{inner.version}; claims by {decomposer.name} {decomposer.version}")

    @property
    def why_exhausted(self) -> str | None:
        return ensemble.why_exhausted(self._judge, self._decomposer)

    async def aclose(self) -> None:
        """Closes both."""
        await ensemble.aclose(self._judge, self._decomposer)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        return await self._decomposer.decompose(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """By the judge, except for what the decomposer could not take apart."""
        return await contract.except_unchecked(claims, lambda left: self._judge.verify(left, evidence))

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        return await self._judge.categorize(checks, evidence)


async def retrieved(documents: DocumentStore, query: str, limit: int, neighbours: int) -> tuple[Passage, ...]:
    """What the store finds, best first, and behind it the passages that stand beside, from a store that knows them."""
    found = tuple(await documents.search(query, limit))
    if not neighbours or not isinstance(documents, NeighbourStore):
        return found
    return (*found, *await documents.neighbours(found, neighbours))


class RetrievingJudge(_JudgeAround):
    """Implements `TurnJudge`: each claim is held against the passages that the document store finds for it.

    Turns with documents of their own are judged as the judge does it. For others the evidence of the turn only says that there
    is some: its passages are replaced by those of the claim, nearest first.

    Args:
        judge: who judges.
        documents: where passages are found.
        passages: how many for each claim. k in the paper.
        neighbours: passages on either side of each that come along.
        beside: whether the passages that were found for the turn stay, behind those of the claim.
    """

    def __init__(
        self, judge: Judge, documents: DocumentStore, passages: int, *, neighbours: int = 0, beside: bool = False
    ) -> None:
        super().__init__(judge)
        self._documents = documents
        self._passages = passages
        self._neighbours = neighbours
        self._beside = beside

    def finder(self, evidence: EvidenceSet) -> Find | None:
        """Finds the passages of each claim; None where the turn's own documents are its evidence."""
        if not evidence.retrieved:
            return None
        return lambda text: self._find(text, evidence.documents if self._beside else ())

    async def _find(self, text: str, turn: Sequence[Passage]) -> Sequence[Passage]:
        found = await retrieved(self._documents, text, self._passages, self._neighbours)
        return tuple(dict.fromkeys((*found, *turn)))

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """As the judge, for a turn with documents; else None: claims must be known before passages are found for them."""
        return None if self.finder(evidence) else await ensemble.judge_turn(self._judge, turn, history, evidence)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Claims with the same passages are asked about together, the others at once; those that nothing could be looked up
        for are unchecked."""
        return await self._ask(claims, claims, evidence, self._judge.verify)

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """By the passages of `verify`: the store finds the same ones again."""
        return await self._ask(checks, [check.claim for check in checks], evidence, self._judge.categorize)

    async def _ask(
        self,
        items: Sequence[Item],
        claims: Sequence[Claim],
        evidence: EvidenceSet,
        ask: Callable[[Sequence[Item], EvidenceSet], Awaitable[Sequence[Answer]]],
    ) -> Sequence[Answer | Unchecked]:
        find = self.finder(evidence)
        if find is None:
            return await ask(items, evidence)
        texts = list(dict.fromkeys(claim.text for claim in claims))
        passages_by_text = dict(zip(texts, await ensemble.together(_found(find, text) for text in texts), strict=True))
        groups = defaultdict[tuple[Passage, ...], list[int]](list)
        own: dict[int, tuple[Passage, ...]] = {}
        answers: dict[int, Answer | Unchecked] = {}
        for place, claim in enumerate(claims):
            passages = passages_by_text[claim.text]
            if isinstance(passages, Exception):
                answers[place] = Unchecked(claim=claim, error=str(passages))
            else:
                own[place] = passages
                groups[passages].append(place)
        answered = await ensemble.together(
            _asked(ask, [items[place] for place in places], _retrieved(evidence, passages))
            for passages, places in groups.items()
        )
        for places, some in zip(groups.values(), answered, strict=True):
            if len(some) != len(places):
                raise JudgeError(f"{self.info.name} did not answer with one verdict for each claim")
            for place, one in zip(places, some, strict=True):
                # Passages are grouped by their texts: how each was found differs from claim to claim.
                answers[place] = contract.placed(one, _retrieved(evidence, own[place]))
        return [answers[place] for place in range(len(items))]


async def _found(find: Find, text: str) -> tuple[Passage, ...] | JudgeError | StoreError:
    try:
        return tuple(await find(text))
    except (JudgeError, StoreError) as exc:
        return exc


def _retrieved(evidence: EvidenceSet, passages: tuple[Passage, ...]) -> EvidenceSet:
    return evidence.model_copy(update={"documents": passages, "retrieved": True})


async def _asked(
    ask: Callable[[Sequence[Item], EvidenceSet], Awaitable[Sequence[Answer]]],
    items: Sequence[Item],
    evidence: EvidenceSet,
) -> Sequence[Answer]:
    return await ask(items, evidence)


class FirstPassageJudge(_JudgeAround):
    """Implements `Judge` by Algorithm 1 of LLM-OASIS: the first passage that is not neutral decides.

    A claim is supported by the first passage, in rank order, that the verifier calls entailing, and contradicted by the first
    that it calls contradicting. One that all passages are neutral about, or for which there is none, passes: with no evidence
    and the confidence of its best passage's support, 0 without any. Only documents are read, no knowledge and no persona.

    Args:
        judge: takes turns apart.
        verifier: Ψ of the paper: whole passages as premises.
        embedder: ranks the documents that a turn brings; passages of the document store come ranked.
        passages: most passages that are read for a claim, k in the paper; all when not given.
    """

    def __init__(self, judge: Judge, verifier: Verifier, embedder: Embedder, *, passages: int | None = None) -> None:
        super().__init__(judge)
        self._verifier = verifier
        self._embedder = embedder
        self._passages = passages

    @property
    def info(self) -> JudgeInfo:
        """The judge's; its version says that the first passage decides."""
        inner = self._judge.info
        return JudgeInfo(name=inner.name, version=f"{inner.version}; first passage decides")

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        return await asyncio.to_thread(self._verify, claims, evidence)

    async def categorize(
        self,
        checks: Sequence[Check],
        evidence: EvidenceSet,  # noqa: ARG002  the verdict came with its label
    ) -> Sequence[Finding | Unchecked]:
        return [ensemble.finding(check) for check in checks]

    def _verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> list[Check]:
        passages = list(evidence.documents)
        ranked = [passages] * len(claims) if evidence.retrieved else self._ranked(claims, passages)
        best = [0.0] * len(claims)
        decided: dict[int, Check] = {}
        for rank in range(len(passages[: self._passages])):
            # One rank for all open claims in a pass: what stands behind the deciding passage is never read.
            left = [place for place in range(len(claims)) if place not in decided]
            if not left:
                break
            rows = self._verifier.probabilities([(ranked[place][rank].text, claims[place].text) for place in left])
            for place, row in zip(left, rows, strict=True):
                best[place] = max(best[place], float(row[ENT]))
                check = _decided(claims[place], ranked[place][rank], row)
                if check is not None:
                    decided[place] = check
        return [decided.get(place) or _passed(claim, best[place]) for place, claim in enumerate(claims)]

    def _ranked(self, claims: Sequence[Claim], passages: Sequence[Passage]) -> list[list[Passage]]:
        """For each claim the passages, nearest in meaning first."""
        if not claims or not passages:
            return [[] for _ in claims]
        texts = [claim.text for claim in claims]
        embedder = self._embedder
        queries = embedder.embed_queries(texts) if isinstance(embedder, QueryEmbedder) else embedder.embed(texts)
        # Rounded, as in the stores: the last digits depend on the shape of the product, and so would the order of equals.
        scores = np.round(queries @ embedder.embed([passage.text for passage in passages]).T, 5)
        return [[passages[place] for place in np.argsort(-row, kind="stable")] for row in scores]


def _decided(claim: Claim, passage: Passage, row: NDArray[np.float32]) -> Check | None:
    """The verdict of one passage (Eq. 7); None where it is neutral."""
    label = int(np.argmax(row))
    if label == NEUT:
        return None
    score, support = float(row[label]), float(row[ENT])
    quote = Evidence(
        source=passage.source,
        source_id=passage.source_id,
        quote=passage.text,
        title=passage.title,
        span=passage.span,
        score=score,
    )
    if label == ENT:
        return Check(claim=claim, supported=True, confidence=score, evidence=(quote,), support=support)
    finding = Finding(
        claim=claim,
        label=Label.CONTRADICTED,
        confidence=score,
        evidence=(quote,),
        reason="The first passage that speaks of it contradicts it.",
    )
    return Check(
        claim=claim, supported=False, confidence=score, counter_evidence=(quote,), finding=finding, support=support
    )


def _passed(claim: Claim, best: float) -> Check:
    """A claim that all passages are neutral about."""
    reason = "No passage speaks of it; Algorithm 1 lets it pass."
    finding = Finding(claim=claim, label=Label.VERIFIED, confidence=best, reason=reason)
    return Check(claim=claim, supported=True, confidence=best, finding=finding)
