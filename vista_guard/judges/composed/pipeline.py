"""The parts of LLM-OASIS's pipeline (§5) as judges around a judge: claims of another model, retrieval per claim, Algorithm 1.

Each works alone. Algorithm 1 passes claims that no passage mentions, so it needs `weighing = "first"`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vista_guard.errors import JudgeError, StoreError
from vista_guard.judges import contract
from vista_guard.judges.composed import ensemble
from vista_guard.judges.composed.ensemble import JudgeAround
from vista_guard.judges.contract import NOT_ENOUGH, SUPPORTED
from vista_guard.protocols import Decomposer, DocumentStore, Embedder, Judge, NeighbourStore, QueryEmbedder, Verifier
from vista_guard.reading.passages import quote_of
from vista_guard.types import (
    Check,
    Claim,
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
"""Finds passages for a claim, best first. Raises `JudgeError` or `StoreError` if the search fails."""


class DecomposingJudge(JudgeAround):
    """Implements `Judge`: a decomposer takes turns apart, the judge verifies and categorises."""

    def __init__(self, judge: Judge, decomposer: Decomposer) -> None:
        super().__init__(judge, decomposer)
        self._decomposer = decomposer

    @property
    def info(self) -> JudgeInfo:
        """The judge's; its version names the decomposer, since other claims have other verdicts."""
        inner, decomposer = self._judge.info, self._decomposer.info
        return JudgeInfo(name=inner.name, version=f"{inner.version}; claims by {decomposer.name} {decomposer.version}")

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        return await self._decomposer.decompose(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """The judge's verdicts, except on sentences that the decomposer failed on."""
        return await contract.except_unchecked(claims, lambda left: self._judge.verify(left, evidence))


async def retrieve(documents: DocumentStore, query: str, limit: int, neighbours: int) -> tuple[Passage, ...]:
    """Searches the store: passages, best first, then their neighbours if the store knows them."""
    passages = tuple(await documents.search(query, limit))
    if not neighbours or not isinstance(documents, NeighbourStore):
        return passages
    return (*passages, *await documents.neighbours(passages, neighbours))


class RetrievingJudge(JudgeAround):
    """Implements `TurnJudge`: searches the document store for each claim, and checks the claim against its passages.

    Turns with documents of their own are passed to the judge unchanged. For others the claim's passages replace the turn's,
    nearest first.

    Args:
        judge: checks the claims.
        documents: the store to search.
        passages: how many per claim; k in the paper.
        neighbours: passages to add on either side of each.
        beside: whether the turn's passages are kept, behind those of the claim.
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
        """A function that finds a claim's passages; None if the turn has its own documents."""
        if not evidence.retrieved:
            return None
        return lambda text: self._find(text, evidence.documents if self._beside else ())

    async def _find(self, text: str, turn: Sequence[Passage]) -> Sequence[Passage]:
        passages = await retrieve(self._documents, text, self._passages, self._neighbours)
        return tuple(dict.fromkeys((*passages, *turn)))

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """The judge's verdicts for a turn with documents; else None: claims come before their passages."""
        return None if self.finder(evidence) else await ensemble.judge_turn(self._judge, turn, history, evidence)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """One concurrent call for all claims with the same passages; claims whose search failed are unchecked."""
        return await self._ask(claims, claims, evidence, self._judge.verify)

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """Categorises by the same passages: the store finds them again."""
        return await self._ask(checks, [check.claim for check in checks], evidence, self._judge.categorize)

    async def _ask(
        self,
        items: Sequence[Item],
        claims: Sequence[Claim],
        evidence: EvidenceSet,
        ask: Callable[[Sequence[Item], EvidenceSet], Coroutine[Any, Any, Sequence[Answer]]],
    ) -> Sequence[Answer | Unchecked]:
        find = self.finder(evidence)
        if find is None:
            return await ask(items, evidence)
        texts = list(dict.fromkeys(claim.text for claim in claims))
        passages_by_text = dict(zip(texts, await ensemble.gather(_try_find(find, text) for text in texts), strict=True))
        groups = defaultdict[tuple[Passage, ...], list[int]](list)
        passages_at: dict[int, tuple[Passage, ...]] = {}
        answers: dict[int, Answer | Unchecked] = {}
        for place, claim in enumerate(claims):
            passages = passages_by_text[claim.text]
            if isinstance(passages, Exception):
                answers[place] = Unchecked(claim=claim, error=str(passages))
            else:
                passages_at[place] = passages
                groups[passages].append(place)
        batches = await ensemble.gather(
            ask([items[place] for place in places], _with_passages(evidence, passages))
            for passages, places in groups.items()
        )
        for places, batch in zip(groups.values(), batches, strict=True):
            if len(batch) != len(places):
                raise JudgeError(f"{self.info.name} did not answer with one verdict for each claim")
            for place, answer in zip(places, batch, strict=True):
                # Equal passages are grouped: how each was found differs between claims.
                answers[place] = contract.place_quotes(answer, _with_passages(evidence, passages_at[place]))
        return [answers[place] for place in range(len(items))]


async def _try_find(find: Find, text: str) -> tuple[Passage, ...] | JudgeError | StoreError:
    try:
        return tuple(await find(text))
    except (JudgeError, StoreError) as exc:
        return exc


def _with_passages(evidence: EvidenceSet, passages: tuple[Passage, ...]) -> EvidenceSet:
    return evidence.model_copy(update={"documents": passages, "retrieved": True})


class FirstPassageJudge(JudgeAround):
    """Implements `Judge` by Algorithm 1 of LLM-OASIS: the first passage that is not neutral decides.

    In rank order, the first passage that entails the claim supports it, and the first that contradicts the claim contradicts
    it. A claim whose passages are all neutral, or that has none, passes: without evidence, and with its best passage's
    support as confidence, 0 without any. Only documents are read, no knowledge and no persona.

    Args:
        judge: decomposes turns.
        verifier: Ψ of the paper, with whole passages as premises.
        embedder: ranks a turn's own documents; the store's passages come ranked.
        passages: most passages to read per claim, k in the paper; default: all.
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
        ranked = [passages] * len(claims) if evidence.retrieved else self._rank(claims, passages)
        best = [0.0] * len(claims)
        decided: dict[int, Check] = {}
        for rank in range(len(passages[: self._passages])):
            # One rank per pass for all open claims: passages behind the deciding one are never read.
            left = [place for place in range(len(claims)) if place not in decided]
            if not left:
                break
            rows = self._verifier.probabilities([(ranked[place][rank].text, claims[place].text) for place in left])
            for place, row in zip(left, rows, strict=True):
                best[place] = max(best[place], float(row[SUPPORTED]))
                check = _verdict(claims[place], ranked[place][rank], row)
                if check is not None:
                    decided[place] = check
        return [decided.get(place) or _neutral_check(claim, best[place]) for place, claim in enumerate(claims)]

    def _rank(self, claims: Sequence[Claim], passages: Sequence[Passage]) -> list[list[Passage]]:
        """The passages for each claim, nearest in meaning first."""
        if not claims or not passages:
            return [[] for _ in claims]
        texts = [claim.text for claim in claims]
        embedder = self._embedder
        queries = embedder.embed_queries(texts) if isinstance(embedder, QueryEmbedder) else embedder.embed(texts)
        # Rounded, as in the stores: the last digits, and so the order of ties, depend on the product's shape.
        scores = np.round(queries @ embedder.embed([passage.text for passage in passages]).T, 5)
        return [[passages[place] for place in np.argsort(-row, kind="stable")] for row in scores]


def _verdict(claim: Claim, passage: Passage, row: NDArray[np.float32]) -> Check | None:
    """The verdict of one passage (Eq. 7); None if neutral."""
    label = int(np.argmax(row))
    if label == NOT_ENOUGH:
        return None
    score, support = float(row[label]), float(row[SUPPORTED])
    quote = quote_of(passage, score)
    if label == SUPPORTED:
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


def _neutral_check(claim: Claim, best: float) -> Check:
    """The check of a claim whose passages are all neutral."""
    reason = "No passage speaks of it; Algorithm 1 lets it pass."
    finding = Finding(claim=claim, label=Label.VERIFIED, confidence=best, reason=reason)
    return Check(claim=claim, supported=True, confidence=best, finding=finding)
