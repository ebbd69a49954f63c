"""A knowledge store in Chroma: one folder, or one server for several processes. docs/design/stores.md explains its shape."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vista_guard.errors import StoreError
from vista_guard.protocols import Embedder
from vista_guard.stores.chroma.client import ChromaConnection
from vista_guard.stores.entries import claim_passages, digest, nearest, persona_passages
from vista_guard.types import Claim, Label, Passage, Persona, SourceKind

if TYPE_CHECKING:
    from vista_guard.stores.chroma.client import AnyClient, AnyCollection

BUCKETS = 16

_PERSONAS = "vista_guard.personas"
_NO_VECTOR: Sequence[float] = [0.0]
"""Entries are fetched by conversation and ranked in process, so Chroma's own index would be memory for nothing; and vectors
kept from an earlier version of the model would rank wrongly."""


@dataclass(frozen=True)
class _Row:
    """A stored entry. Each delivered turn has one without text, whose `number` is -1."""

    id: str
    text: str
    metadata: Mapping[str, Any]


class ChromaKnowledge:
    """A `KnowledgeStore` in Chroma. Every answer is read from Chroma, so processes see each other's writes.

    Conversations are spread over `buckets` collections by a hash of their id, and ids are stored as that hash only. The
    number belongs to the location: it is fixed when the first conversation is stored. Closing the store closes `client`.
    """

    def __init__(self, client: AnyClient, embedder: Embedder, *, buckets: int = BUCKETS) -> None:
        self._chroma = ChromaConnection(client)
        self._embedder = embedder
        self._buckets = buckets
        # A persona's key is a fingerprint of its facts: what was read once stays true.
        self._personas: dict[str, tuple[Passage, ...]] = {}

    async def seed(self, persona: Persona) -> None:
        """Stores the persona's facts."""
        if persona.key not in self._personas:
            facts = persona_passages(persona)
            rows = [_Row(fact.source_id, fact.text, {"persona": persona.key, "name": fact.title}) for fact in facts]
            await self._chroma.run(f"store the persona {persona.name!r}", lambda: self._add(self._shelf(), rows))
            self._personas[persona.key] = facts

    async def recall(
        self, conversation_id: str, *, persona: Persona | None, query: str, limit: int, exclude_turn: str | None = None
    ) -> Sequence[Passage]:
        """Returns the persona's facts and the conversation's claims nearest to the query."""
        facts = await self._facts(persona) if persona else ()
        rows = await self._chroma.run("recall a conversation", lambda: self._rows(conversation_id))
        claims = [_claim(row) for row in rows if _is_claim(row) and row.metadata["turn"] != exclude_turn]
        return await asyncio.to_thread(nearest, self._embedder, query, [*facts, *claims], limit)

    async def remember(self, conversation_id: str, turn_key: str, claims: Sequence[Claim]) -> None:
        """Stores a turn's claims. The first call for a turn counts."""
        await self._chroma.run(
            "remember a turn", lambda: self._remember(conversation_id, turn_key, claim_passages(turn_key, claims))
        )

    async def delivered(self, conversation_id: str) -> frozenset[str]:
        """Returns the keys of the conversation's delivered turns."""
        rows = await self._chroma.run("read the delivered turns", lambda: self._rows(conversation_id))
        return frozenset(row.metadata["turn"] for row in rows if not _is_claim(row))

    async def forget(self, conversation_id: str) -> int:
        """Deletes the conversation's claims; returns their number."""
        return await self._chroma.run("forget a conversation", lambda: self._forget(conversation_id))

    async def aclose(self) -> None:
        """Closes the client."""
        await self._chroma.aclose()

    async def _facts(self, persona: Persona) -> tuple[Passage, ...]:
        if persona.key not in self._personas:
            stored = await self._chroma.run(f"recall the persona {persona.name!r}", lambda: self._stored_facts(persona))
            facts = persona_passages(persona)
            if not facts or len(stored) < len(facts):  # not seeded, or only just being seeded by another process
                return ()
            self._personas[persona.key] = facts
        return self._personas[persona.key]

    def _stored_facts(self, persona: Persona) -> Sequence[str]:
        """Ids of the persona's facts."""
        exists = self._chroma.existing(_PERSONAS) is not None
        return self._shelf().get(where={"persona": persona.key})["ids"] if exists else ()

    def _remember(self, conversation_id: str, turn_key: str, claims: Sequence[Passage]) -> None:
        positions = {row.metadata["turn"]: row.metadata["position"] for row in self._rows(conversation_id)}
        if turn_key in positions:
            return
        position = max(positions.values(), default=-1) + 1
        owner = digest(conversation_id)
        mark = {"conversation": owner, "turn": turn_key, "position": position, "number": -1}
        rows = [_Row(f"{owner}:{turn_key}", "", mark)]
        for number, claim in enumerate(claims):
            metadata = {**mark, "number": number, "source_id": claim.source_id}
            if claim.label is not None:
                metadata["label"] = claim.label.value
            rows.append(_Row(f"{owner}:{turn_key}:{number}", claim.text, metadata))
        # One call is one transaction: a turn is known with its claims or not at all.
        self._add(self._bucket(conversation_id), rows)

    def _rows(self, conversation_id: str) -> list[_Row]:
        """Returns the conversation's rows, oldest first."""
        bucket = self._existing_bucket(conversation_id)
        if bucket is None:
            return []
        result = bucket.get(where={"conversation": digest(conversation_id)}, include=["documents", "metadatas"])
        texts, metadatas = result["documents"] or [], result["metadatas"] or []
        rows = [_Row(*parts) for parts in zip(result["ids"], texts, metadatas, strict=True)]
        return sorted(rows, key=lambda row: tuple(row.metadata[key] for key in ("position", "turn", "number")))

    def _forget(self, conversation_id: str) -> int:
        rows = self._rows(conversation_id)
        if rows:
            self._bucket(conversation_id).delete(where={"conversation": digest(conversation_id)})
        return sum(map(_is_claim, rows))

    def _add(self, collection: AnyCollection, rows: Sequence[_Row]) -> None:
        # `add` keeps a row that is there already, so writing the same turn twice changes nothing.
        for batch in self._chroma.batches(rows):
            collection.add(
                ids=[row.id for row in batch],
                embeddings=[_NO_VECTOR for _ in batch],
                documents=[row.text for row in batch],
                metadatas=[dict(row.metadata) for row in batch],
            )

    def _shelf(self) -> AnyCollection:
        """The personas' collection, which also records this location's number of buckets."""
        shelf = self._chroma.collection(_PERSONAS, {"buckets": self._buckets})
        buckets = (shelf.metadata or {}).get("buckets")
        if buckets != self._buckets:
            raise StoreError(
                f"{shelf.name} at {self._chroma.location} was created with buckets = {buckets}, not {self._buckets}. "
                "Pass that number as buckets, or use another location"
            )
        return shelf

    def _bucket(self, conversation_id: str) -> AnyCollection:
        self._shelf()
        return self._chroma.collection(self._bucket_name(conversation_id), {"buckets": self._buckets})

    def _existing_bucket(self, conversation_id: str) -> AnyCollection | None:
        """The bucket if it exists. Reading creates none: it must work on a full disk."""
        if self._chroma.existing(_PERSONAS) is not None:
            self._shelf()
        return self._chroma.existing(self._bucket_name(conversation_id))

    def _bucket_name(self, conversation_id: str) -> str:
        return f"vista_guard.knowledge.{int(digest(conversation_id)[:8], 16) % self._buckets:03}"


def _is_claim(row: _Row) -> bool:
    return bool(row.metadata["number"] >= 0)


def _claim(row: _Row) -> Passage:
    # Rows of versions that kept no labels count as what nearly all of them are: VERIFIED.
    try:
        label = Label(row.metadata["label"]) if "label" in row.metadata else None
    except ValueError as exc:
        raise StoreError(
            f"stored claim {row.id} cannot be read: {exc}. A newer version wrote it: read it with that one"
        ) from exc
    return Passage(source=SourceKind.KNOWLEDGE, source_id=row.metadata["source_id"], text=row.text, label=label)
