"""Knowledge and documents in the memory of one process: for tests, and for what need not outlive the process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from vista_guard.protocols import Embedder
from vista_guard.stores.entries import (
    ListedDocument,
    best_rows,
    claim_passages,
    cut,
    depth_for,
    digest,
    joined,
    nearest,
    neighbours_of,
    persona_passages,
    query_vector,
    searched,
    version_of,
)
from vista_guard.stores.words import WordRanking
from vista_guard.types import Claim, Document, Passage, Persona, SearchMode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def _words_of(passage: Passage) -> str:
    return searched(passage.text, passage.title, passage.headings)


@dataclass(frozen=True)
class _Shelf:
    """Every passage with its key and its vector."""

    keys: Sequence[str]
    passages: Mapping[str, Passage]
    vectors: NDArray[np.float32]


class MemoryDocuments:
    """A `DocumentStore` that compares a query with every passage: exact, and right for some ten thousand passages.

    `search` says by what: vectors, words, or both, joined by rank (`hybrid`).
    """

    def __init__(self, embedder: Embedder, *, search: SearchMode = "hybrid") -> None:
        self._embedder = embedder
        self.search_mode = search
        self._documents: dict[str, tuple[ListedDocument, Mapping[str, Passage], NDArray[np.float32]]] = {}
        self._words = WordRanking()
        self._whole: _Shelf | None = None  # all in one, until the next change
        self._lock = Lock()

    async def add(self, documents: Sequence[Document]) -> int:
        """Adds or replaces documents."""
        return sum(
            [await asyncio.to_thread(self._add, document) for document in {one.id: one for one in documents}.values()]
        )

    async def search(self, query: str, limit: int) -> Sequence[Passage]:
        """Returns the passages nearest to the query."""
        return await asyncio.to_thread(self._search, query, limit)

    async def neighbours(self, found: Sequence[Passage], count: int = 1) -> Sequence[Passage]:
        """Returns the passages that stand up to `count` places beside those found, and are not among them."""
        known = self._all().passages
        return neighbours_of(found, count, known.get)

    async def delete(self, document_id: str) -> int:
        """Deletes a document; returns its number of passages."""
        with self._lock:
            removed = self._documents.pop(document_id, None)
            self._whole = None
        return 0 if removed is None else len(removed[1])

    async def stored(self) -> Sequence[ListedDocument]:
        """Lists the documents that have passages, by id."""
        with self._lock:
            listed = [listed for listed, _, _ in self._documents.values() if listed.passages]
        return tuple(sorted(listed, key=lambda one: one.id))

    async def aclose(self) -> None:
        """Does nothing."""

    def _add(self, document: Document) -> int:
        passages = cut(document, self._embedder)
        vectors = self._embedder.embed([passage.text for passage in passages])
        listed = ListedDocument(document.id, document.title, len(passages), document.metadata)
        start = f"{digest(document.id)}:{version_of(document)}"
        keyed = {f"{start}:{number:06}": passage for number, passage in enumerate(passages)}
        with self._lock:
            self._documents[document.id] = (listed, keyed, vectors)
            self._whole = None
        return len(passages)

    def _search(self, query: str, limit: int) -> tuple[Passage, ...]:
        shelf = self._all()
        if not shelf.keys or limit <= 0:
            return ()
        depth = depth_for(limit, self.search_mode)
        near: list[tuple[float, str]] = []
        if self.search_mode != "words":
            rows = best_rows(shelf.vectors, query_vector(self._embedder, query), depth)
            near = [(score, shelf.keys[row]) for score, row in rows]
        shared = self._words.best(query, depth) if self.search_mode != "vectors" else []
        best = joined(near, shared, limit)
        return tuple(shelf.passages[key].model_copy(update={"found": how, "key": key}) for key, how in best.items())

    def _all(self) -> _Shelf:
        """Every passage with keys that sort as Chroma's do, so that equal passages come in the same order from both."""
        import numpy as np

        with self._lock:
            if self._whole is None:
                stored = sorted(self._documents.items(), key=lambda one: digest(one[0]))
                entries = [(found, vectors) for _, (_, found, vectors) in stored if found]
                passages = {key: passage for found, _ in entries for key, passage in found.items()}
                if self.search_mode != "vectors":
                    self._words.update(passages, lambda key: _words_of(passages[key]))
                rows = [vectors for _, vectors in entries] or [np.empty((0, 0), np.float32)]
                self._whole = _Shelf(list(passages), passages, np.concatenate(rows))
            return self._whole


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
