"""A knowledge store in Chroma: one folder, or one server for several processes. docs/design/stores.md explains its shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from vista_guard.errors import StoreError
from vista_guard.protocols import Embedder
from vista_guard.stores.chroma.client import ChromaConnection
from vista_guard.stores.served import TurnKnowledge
from vista_guard.types import Persona

if TYPE_CHECKING:
    from vista_guard.stores.chroma.client import AnyClient, AnyCollection

T = TypeVar("T")

BUCKETS = 16

_PERSONAS = "vista_guard.personas"
_NO_VECTOR: Sequence[float] = [0.0]
"""Entries are fetched by conversation and ranked in process, so Chroma's own index would be memory for nothing; and vectors
kept from an earlier version of the model would rank wrongly."""


class ChromaKnowledge(TurnKnowledge):
    """A `KnowledgeStore` in Chroma, a row for each turn.

    Conversations are spread over `buckets` collections by a hash of their id, and ids are stored as that hash only. The
    number belongs to the location: it is fixed when the first conversation is stored. Closing the store closes `client`.
    """

    def __init__(self, client: AnyClient, embedder: Embedder, *, buckets: int = BUCKETS) -> None:
        super().__init__(embedder)
        self._chroma = ChromaConnection(client)
        self._buckets = buckets

    async def aclose(self) -> None:
        """Closes the client."""
        await self._chroma.aclose()

    async def _put_persona(self, persona: Persona) -> None:
        about = {"persona": persona.key}
        await self._chroma.run(
            f"store the persona {persona.name!r}", lambda: _add(self._shelf(), persona.key, "", about)
        )

    async def _has_persona(self, key: str) -> bool:
        def look() -> bool:
            return self._chroma.existing(_PERSONAS) is not None and bool(self._shelf().get(ids=[key])["ids"])

        return await self._chroma.run("recall the persona", look)

    async def _put_turn(self, owner: str, turn: str, claims: list[dict[str, Any]]) -> None:
        def put() -> None:
            rows = self._rows(owner)
            if all(row["turn"] != turn for row, _ in rows):
                position = 1 + max((row["position"] for row, _ in rows), default=-1)
                about = {"conversation": owner, "turn": turn, "position": position}
                _add(self._bucket(owner), f"{owner}:{turn}", json.dumps(claims), about)

        await self._chroma.run("remember a turn", put)

    async def _turns(self, owner: str) -> Sequence[tuple[str, list[dict[str, Any]]]]:
        rows = await self._chroma.run("recall a conversation", lambda: self._rows(owner))
        return [(str(row["turn"]), claims) for row, claims in rows]

    async def _drop(self, owner: str) -> int:
        def drop() -> int:
            rows = self._rows(owner)
            if rows:
                self._bucket(owner).delete(where={"conversation": owner})
            return sum(len(claims) for _, claims in rows)

        return await self._chroma.run("forget a conversation", drop)

    def _rows(self, owner: str) -> list[tuple[Mapping[str, Any], list[dict[str, Any]]]]:
        """Metadata and claims of the conversation's turns, oldest first."""
        if self._chroma.existing(_PERSONAS) is not None:
            self._shelf()
        # Reading creates no bucket: it must work on a full disk.
        bucket = self._chroma.existing(self._bucket_name(owner))
        if bucket is None:
            return []
        result = bucket.get(where={"conversation": owner}, include=["documents", "metadatas"])
        rows = zip(result["metadatas"] or [], map(json.loads, result["documents"] or []), strict=True)
        return sorted(rows, key=lambda row: (row[0]["position"], row[0]["turn"]))

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

    def _bucket(self, owner: str) -> AnyCollection:
        self._shelf()
        return self._chroma.collection(self._bucket_name(owner), {"buckets": self._buckets})

    def _bucket_name(self, owner: str) -> str:
        return f"vista_guard.knowledge.{int(owner[:8], 16) % self._buckets:03}"


def _add(collection: AnyCollection, key: str, text: str, about: Mapping[str, Any]) -> None:
    """Adds a row. One that is there already stays, so that the first writer of a turn counts."""
    collection.add(ids=[key], embeddings=[_NO_VECTOR], documents=[text], metadatas=[dict(about)])
