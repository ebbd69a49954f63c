"""Documents in Chroma, found by its vector index."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any

from chromadb.api.client import Client
from chromadb.api.models.Collection import Collection

from vista_guard.chunking import passages
from vista_guard.errors import StoreError
from vista_guard.protocols import Embedder
from vista_guard.stores.chroma import ChromaConnection
from vista_guard.stores.entries import digest, storable
from vista_guard.stores.listed import ListedDocument
from vista_guard.types import Document, Passage, SourceKind, Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_COLLECTION = "vista_guard.documents"
_PROBE = "The lighthouse keeper counted eleven ships before noon."
_SAME_MODEL = 0.98
"""Least cosine of the probe's vectors for them to come from one model; rounding between processors stays far above."""


class ChromaDocuments:
    """A `DocumentStore` in Chroma. Closing the store closes `client`.

    Every passage's vector comes from one model; a collection filled with another one is refused. One process at a time may
    use a folder: Chroma's vector index does not see what another process writes there. Several need a server.
    """

    def __init__(self, client: Client, embedder: Embedder) -> None:
        self._chroma = ChromaConnection(client)
        self._embedder = embedder
        self._probed = False
        self._replacing = Lock()

    async def add(self, documents: Sequence[Document]) -> int:
        """See `DocumentStore.add`. A reader finds the old passages or the new ones, for a moment both, never none."""
        latest = {document.id: document for document in documents}
        return sum([await self._replace(document) for document in latest.values()])

    async def search(self, query: str, limit: int) -> Sequence[Passage]:
        """See `DocumentStore.search`. Nearest by Chroma's approximate index."""
        if limit <= 0:
            return ()
        collection = await self._open()
        vector = (await asyncio.to_thread(self._embedder.embed, [query]))[0]

        def find() -> tuple[Passage, ...]:
            found = collection.query(query_embeddings=[vector], n_results=limit, include=["documents", "metadatas"])
            texts, metadatas = (found["documents"] or [[]])[0], (found["metadatas"] or [[]])[0]
            return tuple(_passage(text, metadata) for text, metadata in zip(texts, metadatas, strict=True))

        return await self._chroma.run("search the documents", find)

    async def delete(self, document_id: str) -> int:
        """Returns how many passages that were."""
        collection = await self._open()
        where: dict[str, Any] = {"document": digest(document_id)}

        def drop() -> int:
            count = len(collection.get(where=where, include=[])["ids"])
            collection.delete(where=where)
            return count

        return await self._chroma.run(f"delete the document {document_id!r}", drop)

    async def stored(self) -> Sequence[ListedDocument]:
        """Every document whose adding was finished, by id."""
        collection = await self._open()

        def find() -> tuple[ListedDocument, ...]:
            finished: dict[str, Any] = {"passages": {"$gt": 0}}
            rows = collection.get(where=finished, include=["metadatas"])["metadatas"] or []
            listed = {str(row["source_id"]): _listed(row) for row in rows}
            return tuple(listed[name] for name in sorted(listed))

        return await self._chroma.run("list the documents", find, timeout_s=600)

    async def aclose(self) -> None:
        """Closes the client that was passed in."""
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
        self, collection: Collection, document: Document, found: Sequence[Passage], vectors: NDArray[np.float32]
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

    async def _open(self) -> Collection:
        """The collection, once it is known to hold vectors of this store's model."""
        probe = (await asyncio.to_thread(self._embedder.embed, [_PROBE]))[0]
        metadata = {"probe": " ".join(f"{number:.4f}" for number in probe.tolist())}
        collection = await self._chroma.run(
            "open the documents", lambda: self._chroma.collection(_COLLECTION, metadata)
        )
        if not self._probed:
            _check_model(collection, probe)
            self._probed = True
        return collection


def _check_model(collection: Collection, probe: NDArray[np.float32]) -> None:
    """Raises `StoreError` when the collection's probe text had another vector than it has now."""
    import numpy as np

    made = np.array([float(number) for number in str((collection.metadata or {}).get("probe", "")).split()], np.float32)
    if made.shape != probe.shape or float(made @ probe) < _SAME_MODEL:
        raise StoreError(
            f"the documents in {collection.name} were embedded by another model (dimension {len(made)}, not {len(probe)}). "
            "Delete that collection, or use another location, and add the documents anew"
        )


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
