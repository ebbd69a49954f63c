"""A document store in Chroma, searched exactly: every process, everywhere, finds the same passages."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from vista_guard.errors import StoreError
from vista_guard.protocols import Embedder
from vista_guard.reading.visible import storable
from vista_guard.stores.chroma.client import ChromaConnection
from vista_guard.stores.chroma.codes import (
    LISTED,
    CodedVectors,
    ExactVectors,
    LoadedRows,
    can_encode,
    headings_of,
)
from vista_guard.stores.entries import (
    ATTEMPTS,
    DOCUMENTS,
    ListedDocument,
    Ranking,
    SearchedDocuments,
    StoredVersion,
    Versions,
    Written,
    best_of,
    cut,
    digest,
    document_passage,
    expect_model,
    is_outdone,
    listed_document,
    next_stamp,
    passage_fields,
    version_of,
)
from vista_guard.stores.words import WordRanking
from vista_guard.types import Document, Passage, SearchMode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vista_guard.stores.chroma.client import AnyClient, AnyCollection


logger = logging.getLogger("vista_guard")

EXACT = 50_000
"""Most passages of a collection whose vectors are all compared with a query. Larger collections use byte codes, where faiss
is installed, else Chroma's index, which may miss some."""

HELD = 200_000
"""Most passages whose vectors a store keeps in memory (1.5 kB each), over all tenants; the least recently used go first."""

_INDEX: Mapping[str, str | int] = {"space": "cosine", "ef_construction": 400, "max_neighbors": 32, "ef_search": 1000}
"""For recall: with Chroma's own numbers an outlier among similar passages is often found by no query. With more neighbours than
these, passages that are all the same take 60 ms each to add."""


class ChromaDocuments(SearchedDocuments):
    """A `DocumentStore` in Chroma, with a collection for each tenant. Closing the store closes `client`.

    All vectors come from one model; a collection of another model is refused.
    """

    def __init__(self, client: AnyClient, embedder: Embedder, *, search: SearchMode = "hybrid") -> None:
        """`search` ranks passages by vectors, by words, or by both, joined by rank (`hybrid`)."""
        super().__init__(embedder, search)
        self._chroma = ChromaConnection(client)
        self._name = DOCUMENTS
        self._about: Mapping[str, str] = {}
        self._searched: Sequence[str] = [DOCUMENTS]
        self._probed: set[str] = set()
        self._loaded: dict[str, LoadedRows] = {}  # by collection; the one used last comes last
        self._replacing = Lock()

    def of_tenant(self, tenant: str, *, shared: bool = False) -> ChromaDocuments:
        """Returns a store of the tenant's own documents, which no other tenant reads or changes.

        Args:
            tenant: its name; any two names have two collections.
            shared: whether searching finds this store's documents too.

        Closing one of the two stores closes the other.
        """
        own = copy(self)
        own._name = f"{DOCUMENTS}.{digest(tenant)}"
        own._about = {"tenant": storable(tenant)}
        own._searched = [own._name, *self._searched] if shared else [own._name]
        own._probed, own._replacing = set(), Lock()
        return own

    async def delete(self, document_id: str) -> int:
        collections = await self._existing_collections([self._name])
        where: dict[str, Any] = {"document": digest(document_id)}

        def drop() -> int:
            count = sum(len(collection.get(where=where, include=[])["ids"]) for collection in collections)
            for collection in collections:
                collection.delete(where=where)
            return count

        return await self._chroma.run(f"delete the document {document_id!r}", drop)

    async def aclose(self) -> None:
        """Closes the client."""
        await self._chroma.aclose()

    async def _listed(self) -> Iterable[ListedDocument]:
        collections = await self._existing_collections([self._name])
        rows = [row for collection in collections for row in await self._complete_rows(collection)]
        return {row["source_id"]: listed_document(row) for row in rows}.values()

    async def _complete_rows(self, collection: AnyCollection) -> list[Mapping[str, Any]]:
        """The metadata of documents that were added completely."""
        where: dict[str, Any] = {"passages": {"$gt": 0}}
        rows: list[Mapping[str, Any]] = []

        def page() -> list[Mapping[str, Any]]:
            result = collection.get(where=where, include=["metadatas"], limit=LISTED, offset=len(rows))
            return list(result["metadatas"] or [])

        while batch := await self._chroma.run("list the documents", page):
            rows += batch
            if len(batch) < LISTED:
                break
        return rows

    async def _rankings(self, query: str, depth: int) -> tuple[Ranking, Ranking]:
        collections = await self._existing_collections(self._searched)
        near, shared = dict[str, float](), dict[str, float]()
        vector = await self._query_vector(query) if collections else None
        for collection in collections:
            # Of a document that a tenant shares with all, both copies have the same ids.
            by_vectors, by_words = await self._search_collection(collection, query, vector, depth)
            near |= {key: score for score, key in by_vectors}
            shared |= {key: score for score, key in by_words}
        return best_of(near, depth), best_of(shared, depth)

    async def _passages(self, keys: list[str]) -> Mapping[str, Passage]:
        collections = await self._existing_collections(self._searched)

        def fetch() -> dict[str, Passage]:
            return {key: passage for collection in collections for key, passage in _rows(collection, keys)}

        return await self._chroma.run("search the documents", fetch)

    async def _search_collection(
        self, collection: AnyCollection, query: str, vector: NDArray[np.float32] | None, limit: int
    ) -> tuple[Ranking, Ranking]:
        """The collection's nearest passages, by vectors and by words."""
        count = await self._chroma.run("search the documents", collection.count)
        kind = ExactVectors if count <= EXACT else CodedVectors if can_encode() else LoadedRows
        shared: Ranking = []
        if kind is LoadedRows and self.search_mode == "vectors":
            rows = LoadedRows()
        else:
            rows = await self._load_rows(collection, count, kind)
            if rows.words is not None:
                shared = await asyncio.to_thread(rows.words.best, query, limit)
        if vector is None:
            return [], shared
        nearest = partial(rows.nearest, collection, vector, limit)
        return await self._chroma.run("search the documents", nearest), shared

    async def _load_rows(self, collection: AnyCollection, count: int, kind: type[LoadedRows]) -> LoadedRows:
        rows = self._loaded.pop(collection.name, None)
        if type(rows) is not kind:
            rows = kind(None if self.search_mode == "vectors" else WordRanking())
        self._loaded[collection.name] = rows
        while not await self._chroma.run("load the documents", lambda: rows.step(collection, count)):
            pass
        exact = {name: len(loaded) for name, loaded in self._loaded.items() if isinstance(loaded, ExactVectors)}
        while len(exact) > 1 and sum(exact.values()) > HELD:
            oldest = next(iter(exact))
            del exact[oldest]
            self._loaded.pop(oldest, None)
        return rows

    async def _replace(self, document: Document) -> Written:
        return await self._replace_all([document])

    async def _replace_all(self, documents: Sequence[Document]) -> Written:
        """Stores documents with different ids."""
        collection = await self._open()
        cuts = await asyncio.to_thread(lambda: [cut(document, self._embedder) for document in documents])
        texts = [passage.text for passages in cuts for passage in passages]
        vectors = await asyncio.to_thread(self._embedder.embed, texts)
        writer = _Writer(collection, self._chroma.batches, list(zip(documents, cuts, strict=True)))

        def write() -> Written:
            with self._replacing:  # spares two tasks of one process a second attempt
                return writer.write(vectors)

        names = f"the document {documents[0].id!r}" if len(documents) == 1 else f"{len(documents)} documents"
        return await self._chroma.run(f"add {names}", write, timeout_s=600)

    async def _open(self) -> AnyCollection:
        """The collection to add to, created when missing."""
        probe = await self._probe()
        metadata = {"probe": " ".join(f"{number:.4f}" for number in probe.tolist()), **self._about}
        collection = await self._chroma.run(
            "open the documents", lambda: self._chroma.collection(self._name, metadata, _INDEX)
        )
        await self._check_model(collection)
        return collection

    async def _existing_collections(self, names: Sequence[str]) -> Sequence[AnyCollection]:
        """Returns the collections that exist, as they are now. Reading creates none."""

        def look() -> list[AnyCollection]:
            return [collection for name in names if (collection := self._chroma.existing(name, anew=True)) is not None]

        collections = await self._chroma.run("open the documents", look)
        for collection in collections:
            await self._check_model(collection)
        return collections

    async def _check_model(self, collection: AnyCollection) -> None:
        if collection.name in self._probed:
            return
        stored = [float(number) for number in str((collection.metadata or {}).get("probe", "")).split()]
        expect_model(stored, await self._probe(), collection.name, "Delete that collection, or use another location")
        self._probed.add(collection.name)


Row = tuple[str, str, dict[str, Any]]
"""The key of a passage, its text and its metadata."""


class _Writer:
    """Stores documents in as few calls as one takes: a call costs about as much as the passages of a short document.

    Chroma has no transactions, and other processes write, too. So each version has a stamp in its first row, and a writer removes
    what is older than its own version, or its own version if there is a newer one. A document is listed last: a writer that dies
    before leaves documents that are not listed, and so are added again.
    """

    def __init__(
        self,
        collection: AnyCollection,
        batches: Callable[[Sequence[Any]], Iterator[Sequence[Any]]],
        cuts: Sequence[tuple[Document, Sequence[Passage]]],
    ) -> None:
        self._collection, self._batches, self._cuts = collection, batches, cuts
        self._ids = {digest(document.id): document.id for document, _ in cuts}
        self._mine = {digest(document.id): version_of(document, passages) for document, passages in cuts}

    def write(self, vectors: NDArray[np.float32]) -> Written:
        """Stores the documents. Blocks.

        Raises:
            StoreError: somebody deletes them as soon as they are added.
        """
        found = self._versions()
        stamp = next_stamp(found.values())
        rows = self._rows(stamp)
        replaced = self._others(found)
        for _ in range(ATTEMPTS):
            self._add(rows, vectors)
            found = self._versions()
            outdone = {owner for owner, mine in self._mine.items() if is_outdone(found.get(owner, {}), stamp, mine)}
            replaced |= self._others(found)
            self._drop(found, outdone)
            self._list(stamp, outdone)
            if self._is_whole(rows, outdone):
                passages = sum(_owner(key) not in outdone for key, _, _ in rows)
                old = {self._ids[owner]: row for owner, row in replaced.items() if owner not in outdone}
                return Written(passages, old, frozenset(self._ids[owner] for owner in outdone))
        raise StoreError("somebody deletes these documents as soon as they are added; add them again")

    def _rows(self, stamp: int) -> list[Row]:
        rows: list[Row] = []
        for owner, (_, passages) in zip(self._ids, self._cuts, strict=True):
            about = {"document": owner, "version": self._mine[owner], "written": stamp}
            for number, fields in enumerate(map(passage_fields, passages)):
                key = f"{owner}:{self._mine[owner]}:{number:06}"
                rows.append((key, fields["text"], {**about, **_metadata(fields)}))
        return rows

    def _add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """Adds rows that are not there, and lets readers know that something changed."""
        for batch in self._batches(list(zip(rows, vectors, strict=True))):
            keys, texts, metadatas = zip(*(row for row, _ in batch), strict=True)
            embeddings = [vector for _, vector in batch]
            self._collection.add(
                ids=list(keys), embeddings=embeddings, documents=list(texts), metadatas=list(metadatas)
            )
        self._collection.modify(metadata={**(self._collection.metadata or {}), "changed": uuid4().hex})

    def _keys(self) -> list[str]:
        owners: dict[str, Any] = {"document": {"$in": list(self._ids)}}
        return list(self._collection.get(where=owners, include=[])["ids"])

    def _versions(self) -> dict[str, dict[str, StoredVersion]]:
        """The stored versions of each document."""
        keys: dict[str, list[str]] = {}
        for key in self._keys():
            keys.setdefault(key.rpartition(":")[0], []).append(key)
        firsts = [f"{version}:{0:06}" for version in keys]
        result: Any = (
            self._collection.get(ids=firsts, include=["metadatas"]) if firsts else {"ids": [], "metadatas": []}
        )
        about = dict(zip(result["ids"], result["metadatas"], strict=True))
        found: dict[str, dict[str, StoredVersion]] = {}
        for version, first in zip(keys, firsts, strict=True):
            row = about.get(first, {})
            owner, _, name = version.partition(":")
            found.setdefault(owner, {})[name] = StoredVersion(row.get("written", 0), row, tuple(keys[version]))
        return found

    def _others(self, found: Mapping[str, Versions]) -> dict[str, ListedDocument]:
        """The listed versions that are not of this writer, by owner."""
        return {
            owner: listed_document(other.row)
            for owner, versions in found.items()
            for name, other in versions.items()
            if name != self._mine[owner] and "source_id" in other.row
        }

    def _drop(self, found: Mapping[str, Versions], outdone: Collection[str]) -> None:
        stale = [
            key
            for owner, versions in found.items()
            for name, version in versions.items()
            if (name == self._mine[owner]) == (owner in outdone)
            for key in version.keys
        ]
        for batch in self._batches(sorted(stale)):
            self._collection.delete(ids=list(batch))

    def _list(self, stamp: int, outdone: Collection[str]) -> None:
        listings = [
            (
                f"{owner}:{self._mine[owner]}:{0:06}",
                {"passages": len(passages), "about": json.dumps(document.metadata), "written": stamp},
            )
            for owner, (document, passages) in zip(self._ids, self._cuts, strict=True)
            if passages and owner not in outdone
        ]
        for batch in self._batches(listings):
            self._collection.update(ids=[key for key, _ in batch], metadatas=[listed for _, listed in batch])

    def _is_whole(self, rows: Sequence[Row], outdone: Collection[str]) -> bool:
        """True if all that this writer leaves is there. Another one may have removed rows that both added."""
        return {key for key, _, _ in rows if _owner(key) not in outdone} <= set(self._keys())


def _owner(key: str) -> str:
    return key.partition(":")[0]


def _rows(collection: AnyCollection, ids: list[str]) -> list[tuple[str, Passage]]:
    rows = collection.get(ids=ids, include=["documents", "metadatas"])
    parts = (rows["ids"], rows["documents"] or [], rows["metadatas"] or [])
    return [
        (key, document_passage({**about, "text": text, "headings": headings_of(about)}))
        for key, text, about in zip(*parts, strict=True)
    ]


def _metadata(fields: Mapping[str, Any]) -> dict[str, str | int]:
    """The fields of a passage beside its text: Chroma keeps neither lists nor None."""
    values = {**fields, "headings": "\n".join(fields["headings"]) or None}
    return {name: value for name, value in values.items() if value is not None and name != "text"}
