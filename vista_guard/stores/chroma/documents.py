"""A document store in Chroma, searched by its vector index."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from copy import copy
from hashlib import sha256
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any

from vista_guard.errors import StoreError
from vista_guard.protocols import Embedder
from vista_guard.reading.passages import passages
from vista_guard.stores.chroma.client import ChromaConnection
from vista_guard.stores.entries import DOCUMENTS, ListedDocument, digest, storable
from vista_guard.types import Document, Passage, SourceKind, Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vista_guard.stores.chroma.client import AnyClient, AnyCollection


_PROBE = "The lighthouse keeper counted eleven ships before noon."
_SAME_MODEL = 0.98
"""Least cosine of the probe's vectors for them to come from one model; rounding between processors stays far above."""


class ChromaDocuments:
    """A `DocumentStore` in Chroma, with a part of its own for each tenant. Closing the store closes `client`.

    Every passage's vector comes from one model; a collection filled with another one is refused. One process at a time may
    use a folder: Chroma's vector index does not see what another process writes there. Several need a server.
    """

    def __init__(self, client: AnyClient, embedder: Embedder) -> None:
        self._chroma = ChromaConnection(client)
        self._embedder = embedder
        self._name = DOCUMENTS
        self._about: Mapping[str, str] = {}
        self._searched: Sequence[str] = [DOCUMENTS]
        self._probed: set[str] = set()
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

    async def add(self, documents: Sequence[Document]) -> int:
        """Adds or replaces documents. Readers see the old passages, the new ones, or briefly both."""
        latest = {document.id: document for document in documents}
        return sum([await self._replace(document) for document in latest.values()])

    async def search(self, query: str, limit: int) -> Sequence[Passage]:
        """Returns the nearest passages, by Chroma's approximate index."""
        if limit <= 0:
            return ()
        collections = await self._made(self._searched)
        if not collections:
            return ()
        vector = (await asyncio.to_thread(self._embedder.embed, [query]))[0]

        def find() -> tuple[Passage, ...]:
            found = [near for collection in collections for near in _nearest(collection, vector, limit)]
            return tuple(passage for _, passage in sorted(found, key=itemgetter(0))[:limit])

        return await self._chroma.run("search the documents", find)

    async def delete(self, document_id: str) -> int:
        """Deletes a document; returns its number of passages."""
        made = await self._made([self._name])
        where: dict[str, Any] = {"document": digest(document_id)}

        def drop() -> int:
            count = sum(len(collection.get(where=where, include=[])["ids"]) for collection in made)
            for collection in made:
                collection.delete(where=where)
            return count

        return await self._chroma.run(f"delete the document {document_id!r}", drop)

    async def stored(self) -> Sequence[ListedDocument]:
        """Lists the documents that were added completely, by id."""
        made = await self._made([self._name])

        def find() -> tuple[ListedDocument, ...]:
            finished: dict[str, Any] = {"passages": {"$gt": 0}}
            rows = [row for one in made for row in one.get(where=finished, include=["metadatas"])["metadatas"] or []]
            listed = {str(row["source_id"]): _listed(row) for row in rows}
            return tuple(listed[name] for name in sorted(listed))

        return await self._chroma.run("list the documents", find, timeout_s=600)

    async def aclose(self) -> None:
        """Closes the client."""
        await self._chroma.aclose()

    async def _replace(self, document: Document) -> int:
        collection = await self._open()
        found = passages(document)
        vectors = await asyncio.to_thread(self._embedder.embed, [passage.text for passage in found])
        await self._chroma.run(
            f"add the document {document.id!r}",
            lambda: self._store(collection, document, found, vectors),
            timeout_s=600,
        )
        return len(found)

    def _store(
        self, collection: AnyCollection, document: Document, found: Sequence[Passage], vectors: NDArray[np.float32]
    ) -> None:
        owner, version = digest(document.id), _version(document)
        rows = list(enumerate(found))
        stale: dict[str, Any] = {"$and": [{"document": owner}, {"version": {"$ne": version}}]}
        with self._replacing:  # two at once could each drop the other's passages as the old ones
            for batch in self._chroma.batches(rows):
                collection.add(
                    ids=[f"{owner}:{version}:{number}" for number, _ in batch],
                    embeddings=[vectors[number] for number, _ in batch],
                    documents=[storable(passage.text) for _, passage in batch],
                    metadatas=[{"document": owner, "version": version, **_metadata(passage)} for _, passage in batch],
                )
            collection.delete(where=stale)
            if found:
                # Last of all: a process that dies before leaves a document that is not listed, and so is added again.
                listed: Any = {"passages": len(found), "about": json.dumps(document.metadata)}
                collection.update(ids=[f"{owner}:{version}:0"], metadatas=[listed])

    async def _open(self) -> AnyCollection:
        """The collection to add to, made when missing."""
        probe = await self._probe()
        metadata = {"probe": " ".join(f"{number:.4f}" for number in probe.tolist()), **self._about}
        collection = await self._chroma.run("open the documents", lambda: self._chroma.collection(self._name, metadata))
        await self._check_model(collection)
        return collection

    async def _made(self, names: Sequence[str]) -> Sequence[AnyCollection]:
        """Returns the collections that exist. Reading creates none."""

        def look() -> list[AnyCollection]:
            return [found for name in names if (found := self._chroma.existing(name)) is not None]

        collections = await self._chroma.run("open the documents", look)
        for collection in collections:
            await self._check_model(collection)
        return collections

    async def _check_model(self, collection: AnyCollection) -> None:
        if collection.name not in self._probed:
            _expect_model(collection, await self._probe())
            self._probed.add(collection.name)

    async def _probe(self) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = (await asyncio.to_thread(self._embedder.embed, [_PROBE]))[0]
        return vector


def _expect_model(collection: AnyCollection, probe: NDArray[np.float32]) -> None:
    """Raises `StoreError` when the collection's probe text had another vector than it has now."""
    import numpy as np

    made = np.array([float(number) for number in str((collection.metadata or {}).get("probe", "")).split()], np.float32)
    if made.shape != probe.shape or float(made @ probe) < _SAME_MODEL:
        raise StoreError(
            f"the documents in {collection.name} were embedded by another model (dimension {len(made)}, not {len(probe)}). "
            "Delete that collection, or use another location, and add the documents again"
        )


def _nearest(collection: AnyCollection, vector: NDArray[Any], limit: int) -> list[tuple[float, Passage]]:
    """The collection's passages nearest to the vector, each behind its distance."""
    found = collection.query(
        query_embeddings=[vector], n_results=limit, include=["documents", "metadatas", "distances"]
    )
    parts = [(found[part] or [[]])[0] for part in ("distances", "documents", "metadatas")]
    return [(distance, _passage(text, metadata)) for distance, text, metadata in zip(*parts, strict=True)]


def _version(document: Document) -> str:
    """Changes with whatever a passage shows of the document."""
    shown = f"{document.title}\x1f{document.text}"
    return sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _metadata(passage: Passage) -> dict[str, str | int]:
    title = {} if passage.title is None else {"title": storable(passage.title)}
    span = passage.span or Span(start=0, end=len(passage.text))
    return {"source_id": storable(passage.source_id), "start": span.start, "end": span.end, **title}


def _passage(text: str, metadata: Mapping[str, Any]) -> Passage:
    return Passage(
        source=SourceKind.DOCUMENT,
        source_id=metadata["source_id"],
        text=text,
        title=metadata.get("title"),
        span=Span(start=metadata["start"], end=metadata["end"]),
    )


def _listed(row: Mapping[str, Any]) -> ListedDocument:
    return ListedDocument(row["source_id"], row.get("title"), row["passages"], json.loads(row["about"]))
