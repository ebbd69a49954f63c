"""Knowledge and documents in the memory of one process: for tests, and for data that need not outlive the process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from vista_guard.protocols import Embedder
from vista_guard.stores.entries import (
    ListedDocument,
    Ranking,
    SearchedDocuments,
    Written,
    best_rows,
    claim_passages,
    digest,
    nearest,
    persona_passages,
    search_text,
    version_of,
)
from vista_guard.stores.words import WordRanking
from vista_guard.types import Claim, Document, Passage, Persona, SearchMode

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

    async def stored(self) -> Sequence[ListedDocument]:
        with self._lock:
            listed = [listed for listed, _, _ in self._documents.values() if listed.passages]
        return tuple(sorted(listed, key=lambda document: document.id))

    async def aclose(self) -> None:
        """Does nothing."""

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


class MemoryKnowledge:
    """A `KnowledgeStore` of this process, lost at its end. It grows until `forget`."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._personas: dict[str, tuple[Passage, ...]] = {}
        self._turns: dict[str, dict[str, tuple[Passage, ...]]] = {}
        self._lock = Lock()  # one guard may serve several event loops, each in its own thread

    async def seed(self, persona: Persona) -> None:
        """Stores the persona's facts."""
        with self._lock:
            self._personas.setdefault(persona.key, persona_passages(persona))

    async def recall(
        self, conversation_id: str, *, persona: Persona | None, query: str, limit: int, exclude_turn: str | None = None
    ) -> Sequence[Passage]:
        """Returns the persona's facts and the conversation's claims nearest to the query."""
        with self._lock:
            facts = self._personas.get(persona.key, ()) if persona else ()
            turns = list(self._turns.get(conversation_id, {}).items())
        claims = [passage for turn_key, passages in turns if turn_key != exclude_turn for passage in passages]
        return await asyncio.to_thread(nearest, self._embedder, query, [*facts, *claims], limit)

    async def remember(self, conversation_id: str, turn_key: str, claims: Sequence[Claim]) -> None:
        """Stores a turn's claims. The first call for a turn counts."""
        with self._lock:
            self._turns.setdefault(conversation_id, {}).setdefault(turn_key, claim_passages(turn_key, claims))

    async def delivered(self, conversation_id: str) -> frozenset[str]:
        """Returns the keys of the conversation's delivered turns."""
        with self._lock:
            return frozenset(self._turns.get(conversation_id, {}))

    async def forget(self, conversation_id: str) -> int:
        """Deletes the conversation's claims; returns their number."""
        with self._lock:
            return sum(len(passages) for passages in self._turns.pop(conversation_id, {}).values())

    async def aclose(self) -> None:
        """Does nothing."""
