"""Stores in a database: the calls to it, documents with a space for each tenant, and knowledge by turn.

`pgvector` and `qdrant` have the statements; Chroma keeps knowledge in the same form.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Generic, Self, TypeVar

from vista_guard.errors import StoreError
from vista_guard.protocols import Embedder
from vista_guard.stores.entries import (
    SearchedDocuments,
    claim_passages,
    digest,
    nearest,
    persona_passages,
)
from vista_guard.types import Claim, Label, Passage, Persona, SearchMode, SourceKind

Handle = TypeVar("Handle")
"""What a call to the database takes: a connection, a client."""
T = TypeVar("T")


class StoreServer(ABC, Generic[Handle]):
    """A database that both stores may share; each failure is a `StoreError`."""

    kind: str
    place: str

    async def run(self, operation: str, call: Callable[[Handle], T]) -> T:
        """Runs `call` in a thread.

        Raises:
            StoreError: the database failed; `operation` completes "cannot ...".
        """
        try:
            return await asyncio.to_thread(self._call, call)
        except StoreError:
            raise
        except Exception as exc:  # whatever the client raises
            raise StoreError(f"cannot {operation} in {self.kind} at {self.place}: {self._told(exc)}") from exc

    @abstractmethod
    def close(self) -> None:
        """Closes the connections."""

    @abstractmethod
    def _call(self, call: Callable[[Handle], T]) -> T: ...

    def _told(self, exc: BaseException) -> str:
        return " ".join(str(exc).split()) or type(exc).__name__


class ServedDocuments(SearchedDocuments, Generic[Handle]):
    """A `DocumentStore` in a database, with a space for each tenant. Closing the store closes `server`."""

    def __init__(self, server: StoreServer[Handle], embedder: Embedder, *, search: SearchMode = "hybrid") -> None:
        super().__init__(embedder, search)
        self._server = server
        self._tenant = ""
        self._tenants = [""]

    def of_tenant(self, tenant: str, *, shared: bool = False) -> Self:
        """Returns a store of the tenant's own documents; with `shared`, searching finds this store's documents too."""
        own = copy(self)
        own._tenant = digest(tenant)
        own._tenants = [own._tenant, *self._tenants] if shared else [own._tenant]
        return own

    async def aclose(self) -> None:
        """Closes the server's connections."""
        await asyncio.to_thread(self._server.close)


class TurnKnowledge(ABC):
    """A `KnowledgeStore` that keeps the claims of a turn together, and ranks a conversation's in process."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._seeded: set[str] = set()

    async def seed(self, persona: Persona) -> None:
        """Records the persona's key, a fingerprint of its facts, so that the facts need not be stored."""
        if persona.key not in self._seeded:
            await self._put_persona(persona)
            self._seeded.add(persona.key)

    async def recall(
        self, conversation_id: str, *, persona: Persona | None, query: str, limit: int, exclude_turn: str | None = None
    ) -> Sequence[Passage]:
        """Returns the persona's facts and the conversation's claims nearest to the query."""
        known = list(persona_passages(persona)) if persona is not None and await self._is_seeded(persona.key) else []
        for turn, claims in await self._turns(digest(conversation_id)):
            if turn != exclude_turn:
                known += [_knowledge_passage(claim) for claim in claims]
        return await asyncio.to_thread(nearest, self._embedder, query, known, limit)

    async def remember(self, conversation_id: str, turn_key: str, claims: Sequence[Claim]) -> None:
        """Stores a turn's claims. The first call for a turn counts."""
        passages = claim_passages(turn_key, claims)
        rows = [passage.model_dump(mode="json", include={"source_id", "text", "label"}) for passage in passages]
        await self._put_turn(digest(conversation_id), turn_key, rows)

    async def delivered(self, conversation_id: str) -> frozenset[str]:
        """Returns the keys of the conversation's delivered turns."""
        return frozenset(turn for turn, _ in await self._turns(digest(conversation_id)))

    async def forget(self, conversation_id: str) -> int:
        """Deletes the conversation's claims; returns their number."""
        return await self._drop(digest(conversation_id))

    async def _is_seeded(self, key: str) -> bool:
        if key not in self._seeded and await self._has_persona(key):
            self._seeded.add(key)
        return key in self._seeded

    @abstractmethod
    async def _put_persona(self, persona: Persona) -> None: ...

    @abstractmethod
    async def _has_persona(self, key: str) -> bool: ...

    @abstractmethod
    async def _put_turn(self, owner: str, turn: str, claims: list[dict[str, Any]]) -> None: ...

    @abstractmethod
    async def _turns(self, owner: str) -> Sequence[tuple[str, list[dict[str, Any]]]]:
        """Keys and claims of a conversation's turns, oldest first."""

    @abstractmethod
    async def _drop(self, owner: str) -> int: ...


class ServedKnowledge(TurnKnowledge, Generic[Handle]):
    """A `KnowledgeStore` in a database. Closing the store closes `server`."""

    def __init__(self, server: StoreServer[Handle], embedder: Embedder) -> None:
        super().__init__(embedder)
        self._server = server
        self._opened = False

    async def aclose(self) -> None:
        """Closes the server's connections."""
        await asyncio.to_thread(self._server.close)

    async def _run(self, operation: str, call: Callable[[Handle], T]) -> T:
        if not self._opened:
            await self._server.run("open the knowledge", self._create)
            self._opened = True
        return await self._server.run(operation, call)

    @abstractmethod
    def _create(self, handle: Handle) -> None:
        """Creates what is missing to hold knowledge."""


def _knowledge_passage(row: Mapping[str, Any]) -> Passage:
    try:
        label = None if row["label"] is None else Label(row["label"])
    except ValueError as exc:
        raise StoreError(
            f"stored claim {row['source_id']} cannot be read: {exc}. A newer version wrote it: read it with that one"
        ) from exc
    return Passage(source=SourceKind.KNOWLEDGE, source_id=row["source_id"], text=row["text"], label=label)
