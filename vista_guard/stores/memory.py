"""Knowledge and documents in the memory of one process: for tests, and for data that need not outlive the process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from vista_guard.protocols import Embedder
from vista_guard.stores.entries import (
    ListedDocument,
    Ranking,
    SearchedDocuments,
    Written,
    best_rows,
    digest,
    search_text,
    version_of,
)
from vista_guard.stores.served import TurnKnowledge
from vista_guard.stores.words import WordRanking
from vista_guard.types import Document, Passage, Persona, SearchMode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class MemoryDocuments(SearchedDocuments):
    """A `DocumentStore` that compares a query with every passage: exact, and right for some ten thousand passages.

    `search` ranks passages by vectors, by words, or by both, joined by rank (`hybrid`).
    """

    def __init__(self, embedder: Embedder, *, search: SearchMode = "hybrid") -> None:
        super().__init__(embedder, search)
        self._documents: dict[str, tuple[ListedDocument, Mapping[str, Passage], NDArray[np.float32]]] = {}
        self._words = WordRanking()
        self._whole: tuple[Mapping[str, Passage], NDArray[np.float32]] | None = None  # until the next change
        self._lock = Lock()

    async def delete(self, document_id: str) -> int:
        with self._lock:
            removed = self._documents.pop(document_id, None)
            self._whole = None
        return 0 if removed is None else len(removed[1])

    async def aclose(self) -> None:
        """Does nothing."""

    async def _listed(self) -> Iterable[ListedDocument]:
        with self._lock:
            return [listed for listed, _, _ in self._documents.values() if listed.passages]

    async def _replace(self, document: Document) -> Written:
        passages, vectors = await self._cut(document)
        listed = ListedDocument(document.id, document.title, len(passages), document.metadata)
        prefix = f"{digest(document.id)}:{version_of(document, passages)}"
        keyed = {f"{prefix}:{number:06}": passage for number, passage in enumerate(passages)}
        with self._lock:
            old = self._documents.get(document.id)
            self._documents[document.id] = (listed, keyed, vectors)
            self._whole = None
        return Written(len(passages), {document.id: old[0]} if old and old[1].keys() != keyed.keys() else {})

    async def _rankings(self, query: str, depth: int) -> tuple[Ranking, Ranking]:
        passages, vectors = await asyncio.to_thread(self._all)
        vector = await self._query_vector(query) if passages else None
        near: Ranking = []
        if vector is not None:
            keys = list(passages)
            near = [(score, keys[row]) for score, row in await asyncio.to_thread(best_rows, vectors, vector, depth)]
        shared = [] if self.search_mode == "vectors" else await asyncio.to_thread(self._words.best, query, depth)
        return near, shared

    async def _passages(self, keys: list[str]) -> Mapping[str, Passage]:
        passages = self._all()[0]
        return {key: passages[key] for key in keys if key in passages}

    def _all(self) -> tuple[Mapping[str, Passage], NDArray[np.float32]]:
        """Every passage with keys that sort as Chroma's do, so that equal passages come in the same order from both."""
        import numpy as np

        with self._lock:
            if self._whole is None:
                stored = sorted(self._documents.items(), key=lambda item: digest(item[0]))
                entries = [(keyed, vectors) for _, (_, keyed, vectors) in stored if keyed]
                passages = {key: passage for keyed, _ in entries for key, passage in keyed.items()}
                if self.search_mode != "vectors":
                    self._words.update(passages, lambda key: _words_of(passages[key]))
                rows = [vectors for _, vectors in entries] or [np.empty((0, 0), np.float32)]
                self._whole = passages, np.concatenate(rows)
            return self._whole


def _words_of(passage: Passage) -> str:
    return search_text(passage.text, passage.title, passage.headings)


class MemoryKnowledge(TurnKnowledge):
    """A `KnowledgeStore` of this process, lost at its end. It grows until `forget`."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._claims: dict[str, dict[str, list[dict[str, Any]]]] = {}
        self._lock = Lock()  # one guard may serve several event loops, each in its own thread

    async def aclose(self) -> None:
        """Does nothing."""

    async def _put_persona(self, persona: Persona) -> None:
        """Does nothing: the base class remembers the key."""

    async def _has_persona(self, key: str) -> bool:  # noqa: ARG002
        return False

    async def _put_turn(self, owner: str, turn: str, claims: list[dict[str, Any]]) -> None:
        with self._lock:
            self._claims.setdefault(owner, {}).setdefault(turn, claims)

    async def _turns(self, owner: str) -> Sequence[tuple[str, list[dict[str, Any]]]]:
        with self._lock:
            return list(self._claims.get(owner, {}).items())

    async def _drop(self, owner: str) -> int:
        with self._lock:
            return sum(map(len, self._claims.pop(owner, {}).values()))
