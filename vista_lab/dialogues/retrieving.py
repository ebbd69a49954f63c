"""Passages for a question, from an item's documents or from one corpus: 15 by vectors, 5 of them by a reranker.

Source: KnowMT-Bench, App. G. The paper cuts references into 512 tokens with 128 of overlap. Here passages are cut as everywhere
in the product: about as long, and no longer than the embedder reads.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from vista_guard.errors import InputError
from vista_guard.protocols import DocumentStore, Embedder
from vista_guard.reading.passages import passages
from vista_guard.stores.entries import best_rows, query_vector, reads_of
from vista_guard.types import Document, Passage
from vista_lab.dialogues.questions import QuestionItem
from vista_lab.dialogues.reranking import Reranker, WordReranker
from vista_lab.dialogues.settings import ORACLE
from vista_lab.files import reading

NEAREST, KEPT = 15, 5
MAX_CHARS, OVERLAP = 2048, 512
"""About the paper's 512 and 128 tokens."""


@dataclass(frozen=True)
class Pool:
    """An item's passages with their vectors, shape (passages, dimension)."""

    passages: tuple[Passage, ...]
    vectors: np.ndarray


class PassageFinder:
    """Finds passages of an item's own documents, or of a corpus that all items share.

    Args:
        embedder: of passages and queries.
        reranker: keeps the best of the nearest; the guard's own ranking when None.
        corpus: searched in place of the items' documents.
    """

    def __init__(
        self, embedder: Embedder, reranker: Reranker | None = None, corpus: DocumentStore | None = None
    ) -> None:
        self._embedder = embedder
        self._reranker = reranker or WordReranker()
        self._corpus = corpus
        self._pools: dict[str, Pool] = {}

    async def find(self, item: QuestionItem, query: str) -> list[Passage]:
        """The passages for a query, best first; the same at every call.

        Raises JudgeError if the reranker failed; StoreError if the corpus cannot be searched.
        """
        if self._corpus is not None:
            candidates = await self._corpus.search(query, NEAREST)
        else:
            candidates = await asyncio.to_thread(self._nearest, item, query)
        return await self._reranker.keep(query, candidates, KEPT)

    async def aclose(self) -> None:
        """Closes the reranker and the corpus."""
        await self._reranker.aclose()
        if self._corpus is not None:
            await self._corpus.aclose()

    def _nearest(self, item: QuestionItem, query: str) -> list[Passage]:
        pool = self._pools.get(item.id)
        if pool is None:
            pool = self._pools[item.id] = self._pool(item)
        rows = best_rows(pool.vectors, query_vector(self._embedder, query), NEAREST)
        return [pool.passages[row] for _, row in rows]

    def _pool(self, item: QuestionItem) -> Pool:
        reads = reads_of(self._embedder)
        cut = partial(passages, max_chars=MAX_CHARS, overlap=OVERLAP, reads=reads)
        pieces = tuple(passage for document in documents_of(item) for passage in cut(document))
        return Pool(pieces, self._embedder.embed([piece.text for piece in pieces]))


def documents_of(item: QuestionItem) -> list[Document]:
    """The item's documents, without blank ones."""
    return [Document(id=f"{item.id}-{number}", text=one) for number, one in enumerate(item.documents, 1) if one.strip()]


def with_references(items: Sequence[QuestionItem], given: str) -> list[QuestionItem]:
    """The items with other documents: their own answers (`oracle`), or a file's `[{"sample_id", "reference"}]`.

    Raises InputError if the file cannot be read, or has a reference for none of the items.
    """
    if given == ORACLE:
        return [replace(item, documents=(item.answer,) if item.answer else ()) for item in items]
    references = _references(Path(given))
    if not any(item.id in references for item in items):
        raise InputError(f"{given} has references for none of the {len(items)} items; sample_id must be the items' ids")
    return [replace(item, documents=references.get(item.id, ())) for item in items]


def _references(path: Path) -> Mapping[str, tuple[str, ...]]:
    with reading(path, f"; give [{{sample_id, reference}}] as JSON, or {ORACLE}"):
        rows = json.loads(path.read_text(encoding="utf-8"))
    references: dict[str, tuple[str, ...]] = {}
    for number, row in enumerate(rows if isinstance(rows, list) else [], 1):
        text = row.get("reference") if isinstance(row, dict) else None
        texts = [text] if isinstance(text, str) else text
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts) or "sample_id" not in row:
            raise InputError(f"{path}, item {number} lacks sample_id or reference (a text, or a list of texts)")
        references[str(row["sample_id"])] = tuple(one for one in texts if one.strip())
    if not references:
        raise InputError(f"{path} holds no list of references")
    return references
