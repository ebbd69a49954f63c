"""Knowledge in the memory of one process: for tests, for conversations that need not outlive the process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from threading import Lock

from vista_guard.protocols import Embedder
from vista_guard.stores.entries import claim_passages, nearest, persona_passages
from vista_guard.types import Claim, Passage, Persona


class MemoryKnowledge:
    """A `KnowledgeStore` that nothing outlives and no other process sees. It grows until `forget`."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._personas: dict[str, tuple[Passage, ...]] = {}
        self._turns: dict[str, dict[str, tuple[Passage, ...]]] = {}
        self._lock = Lock()  # one guard may serve several event loops, each in its own thread

    async def seed(self, persona: Persona) -> None:
        """See `KnowledgeStore.seed`."""
        with self._lock:
            self._personas.setdefault(persona.key, persona_passages(persona))

    async def recall(
        self, conversation_id: str, *, persona: Persona | None, query: str, limit: int, exclude_turn: str | None = None
    ) -> Sequence[Passage]:
        """See `KnowledgeStore.recall`."""
        with self._lock:
            facts = self._personas.get(persona.key, ()) if persona else ()
            turns = list(self._turns.get(conversation_id, {}).items())
        claims = [passage for turn_key, passages in turns if turn_key != exclude_turn for passage in passages]
        return await asyncio.to_thread(nearest, self._embedder, query, [*facts, *claims], limit)

    async def remember(self, conversation_id: str, turn_key: str, claims: Sequence[Claim]) -> None:
        """See `KnowledgeStore.remember`. The first call for a turn counts."""
        with self._lock:
            self._turns.setdefault(conversation_id, {}).setdefault(turn_key, claim_passages(turn_key, claims))

    async def delivered(self, conversation_id: str) -> frozenset[str]:
        """See `KnowledgeStore.delivered`."""
        with self._lock:
            return frozenset(self._turns.get(conversation_id, {}))

    async def forget(self, conversation_id: str) -> int:
        """See `KnowledgeStore.forget`."""
        with self._lock:
            return sum(len(passages) for passages in self._turns.pop(conversation_id, {}).values())

    async def aclose(self) -> None:
        """Nothing to release."""
