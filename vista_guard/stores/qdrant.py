"""Documents and knowledge in Qdrant: a server, or a folder that one process uses.

Words are a sparse vector: each word's weight is BM25's for an average length that is fixed (`_LENGTH`), and Qdrant weighs its
rarity. Ranks may therefore differ a little from those of the other stores, which know the true average.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import NAMESPACE_URL, uuid5

from vista_guard._extras import require
from vista_guard.errors import StoreError
from vista_guard.protocols import Embedder
from vista_guard.reading.visible import storable
from vista_guard.stores.entries import (
    ATTEMPTS,
    DOCUMENTS,
    ListedDocument,
    Ranking,
    StoredVersion,
    Written,
    best_of,
    digest,
    document_passage,
    expect_model,
    is_outdone,
    listed_document,
    next_stamp,
    passage_fields,
    search_text,
    version_of,
)
from vista_guard.stores.served import ServedDocuments, ServedKnowledge, StoreServer
from vista_guard.stores.words import K1, B, terms
from vista_guard.types import Document, Passage, Persona, SearchMode

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

T = TypeVar("T")

TIMEOUT_S = 30
"""Time limit of a call in seconds."""
_LENGTH = 100
"""Assumed average length of a passage in words."""
_BATCH = 500
_TURNS, _PERSONAS = "vista_guard.turns", "vista_guard.personas"


class Qdrant(StoreServer["QdrantClient"]):
    """A client that both stores may share; each failure is a `StoreError`.

    Args:
        location: the address of a server, `http://host:6333`, a folder, or `:memory:`.
        api_key: the server's API key, if it needs one.

    Raises:
        ConfigError: the extra `qdrant` is not installed.
        StoreError: the folder cannot be used.
    """

    kind = "Qdrant"

    def __init__(self, location: str | Path, *, api_key: str | None = None) -> None:
        require("a store in Qdrant", "qdrant_client", extra="qdrant")
        from qdrant_client import QdrantClient

        self.place = str(location)
        try:
            if not _is_local(self.place):
                self._client = QdrantClient(
                    url=self.place, api_key=api_key, timeout=TIMEOUT_S, check_compatibility=False
                )
            elif self.place == ":memory:":
                self._client = QdrantClient(self.place)
            else:
                self._client = QdrantClient(
                    path=str(Path(self.place).expanduser()), force_disable_check_same_thread=True
                )
        except Exception as exc:  # besides its own errors the client raises RuntimeError, OSError and ValueError
            raise StoreError(
                f"cannot open Qdrant at {self.place}: {exc}. Check store_url, or use another folder"
            ) from exc
        self._lock = Lock() if _is_local(self.place) else nullcontext()

    def close(self) -> None:
        self._client.close()

    def _call(self, call: Callable[[QdrantClient], T]) -> T:
        with self._lock:
            return call(self._client)


class QdrantDocuments(ServedDocuments["QdrantClient"]):
    """A `DocumentStore` in Qdrant, with a collection for each tenant. Closing the store closes the client."""

    def __init__(self, qdrant: Qdrant, embedder: Embedder, *, search: SearchMode = "hybrid") -> None:
        super().__init__(qdrant, embedder, search=search)
        self._is_local = _is_local(qdrant.place)
        self._checked: set[str] = set()

    @property
    def _name(self) -> str:
        return _collection(self._tenant)

    async def delete(self, document_id: str) -> int:
        if not await self._exists(self._name):
            return 0
        where = _where(owner=digest(document_id))

        def drop(client: QdrantClient) -> int:
            count = client.count(self._name, where, exact=True).count
            client.delete(self._name, where, wait=True)
            return count

        return await self._server.run(f"delete the document {document_id!r}", drop)

    async def _listed(self) -> Iterable[ListedDocument]:
        if not await self._exists(self._name):
            return ()
        where = _where(first=True)
        rows = await self._server.run("list the documents", lambda client: _scroll(client, self._name, where))
        return map(listed_document, rows)

    async def _rankings(self, query: str, depth: int) -> tuple[Ranking, Ranking]:
        from qdrant_client.models import SearchParams

        names, vector = await self._existing_collections(), await self._query_vector(query)
        meaning = None if vector is None else vector.tolist()
        words = None if self.search_mode == "vectors" else _sparse(dict.fromkeys(terms(storable(query)), 1.0))
        exact = None if self._is_local else SearchParams(exact=True)  # a folder is always searched exactly

        def call(client: QdrantClient) -> tuple[Ranking, Ranking]:
            near, shared = dict[str, float](), dict[str, float]()
            for scores, sought, using in ((near, meaning, "meaning"), (shared, words, "words")):
                for name in names if sought else ():
                    answer = client.query_points(
                        name, query=sought, using=using, limit=depth, search_params=exact, with_payload=["key"]
                    )
                    scores |= {(point.payload or {})["key"]: round(point.score, 5) for point in answer.points}
            return best_of(near, depth), best_of(shared, depth)

        return await self._server.run("search the documents", call)

    async def _passages(self, keys: list[str]) -> Mapping[str, Passage]:
        names, ids = await self._existing_collections(), list(map(_id, keys))

        def call(client: QdrantClient) -> list[dict[str, Any]]:
            return [point.payload or {} for name in names for point in client.retrieve(name, ids)]

        rows = await self._server.run("search the documents", call)
        return {row["key"]: document_passage(row) for row in rows}

    async def _exists(self, name: str) -> bool:
        return await self._server.run("open the documents", lambda client: client.collection_exists(name))

    async def _existing_collections(self) -> list[str]:
        """Existing collections, checked to be of this embedding model."""
        existing = [name for name in map(_collection, self._tenants) if await self._exists(name)]
        for name in existing:
            await self._check(name)
        return existing

    async def _check(self, name: str) -> None:
        if name not in self._checked:
            points = await self._server.run("open the documents", lambda client: client.retrieve(name, [_id("probe")]))
            stored = (points[0].payload or {}).get("probe", []) if points else []
            expect_model(stored, await self._probe(), name, "Delete that collection, or use another location")
            self._checked.add(name)

    async def _open(self) -> None:
        from qdrant_client.models import (
            Distance,
            Modifier,
            PayloadSchemaType,
            PointStruct,
            SparseVectorParams,
            VectorParams,
        )

        if not await self._exists(self._name):
            probe = (await self._probe()).tolist()

            def make(client: QdrantClient) -> None:
                if client.collection_exists(self._name):  # another task was first
                    return
                client.create_collection(
                    self._name,
                    vectors_config={"meaning": VectorParams(size=len(probe), distance=Distance.COSINE)},
                    sparse_vectors_config={"words": SparseVectorParams(modifier=Modifier.IDF)},
                )
                client.upsert(
                    self._name, [PointStruct(id=_id("probe"), vector={}, payload={"probe": probe})], wait=True
                )
                if not self._is_local:  # which has none, and warns
                    client.create_payload_index(self._name, "owner", PayloadSchemaType.KEYWORD, wait=True)
                    client.create_payload_index(self._name, "first", PayloadSchemaType.BOOL, wait=True)

            await self._server.run("open the documents", make)
        await self._check(self._name)

    async def _replace(self, document: Document) -> Written:
        from qdrant_client.models import PointStruct

        await self._open()
        passages, vectors = await self._cut(document)
        owner, version = digest(document.id), version_of(document, passages)
        points = []
        for number, (passage, vector) in enumerate(zip(passages, vectors, strict=True)):
            key = f"{owner}:{version}:{number:06}"
            about = {"key": key, "owner": owner, "version": version, **passage_fields(passage)}
            words = _sparse(_weights(search_text(passage.text, passage.title, passage.headings)))
            points.append(PointStruct(id=_id(key), vector={"meaning": vector.tolist(), "words": words}, payload=about))
        first = f"{owner}:{version}:{0:06}"  # another writer may have deleted it: then its id would be an error
        listed = {"first": True, "passages": len(points), "about": json.dumps(document.metadata)}

        def store(client: QdrantClient) -> Written:
            replaced = self._versions(client, owner)
            stamp = next_stamp([replaced])
            for point in points[:1]:
                point.payload["written"] = stamp  # type: ignore[index]  # there is one
            for _ in range(ATTEMPTS):
                for start in range(0, len(points), _BATCH):
                    client.upsert(self._name, points[start : start + _BATCH], wait=True)
                found = self._versions(client, owner)
                if is_outdone(found, stamp, version):
                    client.delete(self._name, _where(owner=owner, version=version), wait=True)
                    return Written(outdone=frozenset({document.id}))
                replaced |= {name: other for name, other in found.items() if name != version}
                for name in found.keys() - {version}:
                    client.delete(self._name, _where(owner=owner, version=name), wait=True)
                if points:  # last of all: a document that is not listed is added again
                    client.set_payload(self._name, listed, _where(owner=owner, key=first), wait=True)
                if client.count(self._name, _where(owner=owner, version=version), exact=True).count == len(points):
                    old = [listed_document(other.row) for name, other in replaced.items() if name != version]
                    return Written(len(points), {document.id: old[0]} if old else {})
            raise StoreError(f"others delete the document {document.id!r} as soon as it is added; add it again")

        return await self._server.run(f"add the document {document.id!r}", store)

    def _versions(self, client: QdrantClient, owner: str) -> dict[str, StoredVersion]:
        """The versions of a document, by the stamps in their first points."""
        found: dict[str, StoredVersion] = {}
        for row in _scroll(client, self._name, _where(owner=owner)):
            if row["version"] not in found or row["key"].endswith(":000000"):
                found[row["version"]] = StoredVersion(row.get("written", 0), row)
        return found


class QdrantKnowledge(ServedKnowledge["QdrantClient"]):
    """A `KnowledgeStore` in Qdrant."""

    async def _put_persona(self, persona: Persona) -> None:
        await self._put(f"store the persona {persona.name!r}", _PERSONAS, persona.key, {"persona": persona.key})

    async def _has_persona(self, key: str) -> bool:
        return bool(await self._run("recall the persona", lambda client: client.retrieve(_PERSONAS, [_id(key)])))

    async def _put_turn(self, owner: str, turn: str, claims: list[dict[str, Any]]) -> None:
        rows = await self._stored(owner)
        if all(row["turn"] != turn for row in rows):
            position = 1 + max((int(row["position"]) for row in rows), default=-1)
            row = {"conversation": owner, "turn": turn, "position": position, "claims": claims}
            await self._put("remember a turn", _TURNS, f"{owner}:{turn}", row)

    async def _turns(self, owner: str) -> Sequence[tuple[str, list[dict[str, Any]]]]:
        rows = sorted(await self._stored(owner), key=lambda row: (row["position"], row["turn"]))
        return [(str(row["turn"]), row["claims"]) for row in rows]

    async def _drop(self, owner: str) -> int:
        count = sum(len(claims) for _, claims in await self._turns(owner))
        where = _where(conversation=owner)
        await self._run("forget a conversation", lambda client: client.delete(_TURNS, where, wait=True))
        return count

    async def _stored(self, owner: str) -> list[dict[str, Any]]:
        where = _where(conversation=owner)
        return await self._run("recall a conversation", lambda client: _scroll(client, _TURNS, where))

    async def _put(self, operation: str, name: str, key: str, payload: dict[str, Any]) -> None:
        from qdrant_client.models import PointStruct

        point = PointStruct(id=_id(key), vector={}, payload=payload)
        await self._run(operation, lambda client: client.upsert(name, [point], wait=True))

    def _create(self, client: QdrantClient) -> None:
        from qdrant_client.models import PayloadSchemaType

        for name in (_TURNS, _PERSONAS):
            if not client.collection_exists(name):
                client.create_collection(name, vectors_config={})
        if not _is_local(self._server.place):
            client.create_payload_index(_TURNS, "conversation", PayloadSchemaType.KEYWORD, wait=True)


def _collection(tenant: str) -> str:
    return f"{DOCUMENTS}.{tenant}" if tenant else DOCUMENTS


def _is_local(place: str) -> bool:
    """True for a folder or for memory: no server, no indexes, one call at a time."""
    return not place.startswith(("http://", "https://"))


def _id(key: str) -> str:
    return str(uuid5(NAMESPACE_URL, key))


def _weights(text: str) -> dict[str, float]:
    counts = Counter(terms(storable(text)))
    discount = K1 * (1 - B + B * counts.total() / _LENGTH)
    return {term: count / (count + discount) for term, count in counts.items()}


def _sparse(weights: Mapping[str, float]) -> Any:
    """The words as a sparse vector: each has a number of 32 bits. Two words of 100,000 seldom share one."""
    from qdrant_client.models import SparseVector

    numbered = Counter[int]()
    for term, weight in weights.items():
        numbered[int.from_bytes(blake2b(term.encode(), digest_size=4).digest(), "big")] += weight  # type: ignore[assignment]
    return (
        SparseVector(indices=list(numbered), values=[float(weight) for weight in numbered.values()])
        if numbered
        else None
    )


def _where(**fields: Any) -> Any:
    from qdrant_client.models import FieldCondition, Filter, MatchValue

    return Filter(must=[FieldCondition(key=name, match=MatchValue(value=value)) for name, value in fields.items()])


def _scroll(client: QdrantClient, name: str, where: Any) -> list[dict[str, Any]]:
    """The payloads of all points that match the filter."""
    rows: list[dict[str, Any]] = []
    place: Any = None
    while True:
        points, place = client.scroll(name, scroll_filter=where, limit=1000, offset=place)
        rows += [dict(point.payload or {}) for point in points]
        if place is None:
            return rows
