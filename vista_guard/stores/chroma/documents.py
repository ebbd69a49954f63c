"""A document store in Chroma, searched exactly: every process, everywhere, finds the same passages."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from hashlib import sha256
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from vista_guard.errors import StoreError
from vista_guard.protocols import Embedder
from vista_guard.reading.passages import passages
from vista_guard.stores.chroma.client import ChromaConnection
from vista_guard.stores.chroma.codes import CodedVectors, can_encode, headings_of, included, texts_of
from vista_guard.stores.entries import (
    DOCUMENTS,
    ListedDocument,
    best_rows,
    cut,
    depth_for,
    digest,
    joined,
    neighbour_keys,
    neighbours_of,
    query_vector,
    reads_of,
    storable,
    version_of,
)
from vista_guard.stores.words import WordRanking
from vista_guard.types import Document, Passage, SearchMode, SourceKind, Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vista_guard.stores.chroma.client import AnyClient, AnyCollection


logger = logging.getLogger("vista_guard")

EXACT = 50_000
"""Passages of a collection up to which a query is compared with each vector. Beyond, codes of them are compared, where faiss is
installed; else Chroma's index is asked, which may miss some."""

HELD = 200_000
"""Passages whose vectors a store keeps in memory (1.5 kB each), of all tenants together; those used longest ago go first."""

_INDEX: Mapping[str, str | int] = {"space": "cosine", "ef_construction": 400, "max_neighbors": 32, "ef_search": 1000}
"""For recall: with Chroma's own numbers an outlier among similar passages is often found by no query. With more neighbours than
these, passages that are all the same take 60 ms each to add."""

_FETCHED = 1000
_LISTED = 10_000
"""Rows for one call: with more than some 32,000 at once Chroma has too many SQL variables."""
_TOLD_EVERY_S = 10.0

_PROBE = "The lighthouse keeper counted eleven ships before noon."
_SAME_MODEL = 0.98
"""Least cosine of the probe's vectors for them to come from one model; rounding between processors stays far above."""

_SAMPLE = Document(
    id="sample", text=" ".join(f"Room {n} of the naïve 博物館 shows {n * 7919} objects." for n in range(99))
)


class _Vectors:
    """The vectors of a collection in memory, brought up to date step by step. Safe to share between threads.

    With `words`, the words of its passages are ranked too.
    """

    def __init__(self, words: WordRanking | None) -> None:
        self.words = words
        self.ids: Sequence[str] = ()
        self.matrix: NDArray[np.float32] | None = None
        self._state: tuple[object, int] | None = None
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._texts: dict[str, str] = {}  # of rows whose words are not ranked yet
        self._listing: tuple[tuple[object, int], list[str]] | None = None
        self._lock = Lock()

    def step(self, collection: AnyCollection, count: int) -> bool:
        """Fetches some of what is missing; True once everything is there that was stored when the first step began."""
        import numpy as np

        with self._lock:
            if self._listing is None:
                # A writer changes the token between adding and deleting rows, so any change shows in one of the two.
                state = ((collection.metadata or {}).get("changed"), count)
                if state == self._state:
                    return True
                self._listing = (state, sorted(collection.get(include=[])["ids"]))
            state, ids = self._listing
            missing = [row_id for row_id in ids if row_id not in self._rows]
            if missing:
                rows = collection.get(ids=missing[:_FETCHED], include=included(self.words))
                self._rows |= zip(rows["ids"], np.asarray(rows["embeddings"], np.float32), strict=True)
                self._texts |= texts_of(rows)
                gone = set(missing[:_FETCHED]).difference(self._rows)  # deleted since
                self._listing = (state, [row_id for row_id in ids if row_id not in gone])
                if len(missing) > _FETCHED:
                    return False
            self.ids = self._listing[1]
            self.matrix = np.stack([self._rows[row_id] for row_id in self.ids]) if self.ids else None
            self._rows = dict(zip(self.ids, self.matrix, strict=True)) if self.matrix is not None else {}
            if self.words is not None:
                self.words.update(self.ids, self._texts.__getitem__)
            self._texts.clear()
            self._state, self._listing = state, None
            return True

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[tuple[float, str]]:
        """Returns the cosines and ids of the nearest rows, best first."""
        with self._lock:
            ids, matrix = self.ids, self.matrix
        return [] if matrix is None else [(score, ids[row]) for score, row in best_rows(matrix, vector, limit)]


class ChromaDocuments:
    """A `DocumentStore` in Chroma, with a part of its own for each tenant. Closing the store closes `client`.

    Every passage's vector comes from one model; a collection filled with another one is refused. Passages that were cut for
    another embedder, or by an earlier version, are cut and embedded anew, once, while searches go on.
    """

    def __init__(self, client: AnyClient, embedder: Embedder, *, search: SearchMode = "hybrid") -> None:
        """`search` says by what passages are found: vectors, words, or both, joined by rank (`hybrid`)."""
        self._chroma = ChromaConnection(client)
        self._embedder = embedder
        self.search_mode = search
        self._name = DOCUMENTS
        self._about: Mapping[str, str] = {}
        self._searched: Sequence[str] = [DOCUMENTS]
        self._probed: set[str] = set()
        self._vectors: dict[str, _Vectors] = {}  # the one used last comes last
        self._codes: dict[str, CodedVectors] = {}
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
        """Returns the passages nearest to the query; of equal ones, always the same come first."""
        if limit <= 0:
            return ()
        collections = await self._made(self._searched)
        if not collections:
            return ()
        depth = depth_for(limit, self.search_mode)
        near, shared = dict[str, float](), dict[str, float]()
        vector = None if self.search_mode == "words" else await asyncio.to_thread(query_vector, self._embedder, query)
        for collection in collections:
            # Of a document that a tenant shares with all, both copies have the same ids.
            by_vectors, by_words = await self._found(collection, query, vector, depth)
            near |= {key: score for score, key in by_vectors}
            shared |= {key: score for score, key in by_words}
        best = joined(_ranked(near, depth), _ranked(shared, depth), limit)
        passages = await self._fetched(collections, list(best))
        # One may be deleted since.
        return tuple(
            passages[key].model_copy(update={"found": best[key], "key": key}) for key in best if key in passages
        )

    async def neighbours(self, found: Sequence[Passage], count: int = 1) -> Sequence[Passage]:
        """Returns the passages that stand up to `count` places beside those found, and are not among them."""
        keys = list(neighbour_keys(found, count))
        passages = await self._fetched(await self._made(self._searched), keys)
        return neighbours_of(found, count, passages.get)

    async def _fetched(self, collections: Sequence[AnyCollection], keys: list[str]) -> dict[str, Passage]:
        def fetch() -> dict[str, Passage]:
            return {key: passage for one in collections for key, passage in _rows(one, keys)}

        return await self._chroma.run("search the documents", fetch) if keys else {}

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
        rows = [row for collection in made for row in await self._complete_rows(collection)]
        listed = {str(row["source_id"]): _listed_document(row) for row in rows}
        return tuple(listed[name] for name in sorted(listed))

    async def aclose(self) -> None:
        """Closes the client."""
        await self._chroma.aclose()

    async def renew(self, tell: Callable[[int, int], None]) -> int:
        """Cuts and embeds anew what was cut for another embedder or by an earlier version; returns the number of documents.

        Several processes share the work. `tell` is given the number of documents done and of all.
        """
        made = await self._made([self._name], renewing=True)
        old = [owner for one in made for owner in await self._outdated_owners(one)]
        random.shuffle(old)
        for done, owner in enumerate(old):
            tell(done, len(old))
            for collection in made:
                document = await self._chroma.run("read a document", partial(_whole, collection, owner))
                if document is not None and not document[0].startswith(self._cut):
                    await self._replace(document[1])
        return len(old)

    async def _outdated_owners(self, collection: AnyCollection) -> list[str]:
        rows = await self._complete_rows(collection)
        return [str(row["document"]) for row in rows if not str(row["version"]).startswith(self._cut)]

    async def _complete_rows(self, collection: AnyCollection) -> list[Mapping[str, Any]]:
        """The metadata of documents that were added completely."""
        where: dict[str, Any] = {"passages": {"$gt": 0}}
        rows: list[Mapping[str, Any]] = []

        def page() -> list[Mapping[str, Any]]:
            found = collection.get(where=where, include=["metadatas"], limit=_LISTED, offset=len(rows))
            return list(found["metadatas"] or [])

        while found := await self._chroma.run("list the documents", page):
            rows += found
            if len(found) < _LISTED:
                break
        return rows

    def _renew_behind(self) -> None:
        """Renews in a thread of its own, which may end with the process at any moment."""
        told = monotonic()

        def tell(done: int, of: int) -> None:
            nonlocal told
            if done == 0 or monotonic() - told > _TOLD_EVERY_S:
                told = monotonic()
                logger.warning("embedding the documents in %s anew, once: %s of %s done", self._name, done, of)

        def work() -> None:
            try:
                if count := asyncio.run(self.renew(tell)):
                    logger.warning("all %s documents in %s are embedded anew", count, self._name)
            except (StoreError, RuntimeError) as exc:  # closed, or the process ends; the next one goes on
                logger.info("documents in %s were not embedded anew: %s", self._name, exc)

        Thread(target=work, daemon=True, name="vista-guard-renew").start()

    @cached_property
    def _cut(self) -> str:
        """Changes with whatever decides where passages end: the cutter, and how much the embedder reads."""
        spans = [passage.span for passage in passages(_SAMPLE, reads=reads_of(self._embedder))]
        return sha256(repr(spans).encode()).hexdigest()[:8] + "-"

    async def _found(
        self, collection: AnyCollection, query: str, vector: NDArray[np.float32] | None, limit: int
    ) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
        """What is nearest in the collection, by vectors and by words."""
        count = await self._chroma.run("search the documents", collection.count)
        if count > EXACT:
            return await self._among_many(collection, count, query, vector, limit)
        fresh = _Vectors(self._ranking())
        vectors = self._vectors[collection.name] = self._vectors.pop(collection.name, fresh)
        while not await self._chroma.run("load the documents", lambda: vectors.step(collection, count)):
            pass
        while len(self._vectors) > 1 and sum(len(one.ids) for one in self._vectors.values()) > HELD:
            self._vectors.pop(next(iter(self._vectors)), None)
        near = [] if vector is None else await asyncio.to_thread(vectors.nearest, vector, limit)
        return near, await _by_words(vectors.words, query, limit)

    def _ranking(self) -> WordRanking | None:
        return None if self.search_mode == "vectors" else WordRanking()

    async def _among_many(
        self, collection: AnyCollection, count: int, query: str, vector: NDArray[np.float32] | None, limit: int
    ) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
        coded = can_encode()
        if not coded and vector is not None and self.search_mode == "vectors":
            return await self._chroma.run("search the documents", lambda: _by_index(collection, vector, limit)), []
        codes = self._codes.setdefault(collection.name, CodedVectors(self._ranking(), vectors=coded))
        while not await self._chroma.run("load the documents", lambda: codes.step(collection, count)):
            pass
        shared = await _by_words(codes.words, query, limit)
        if vector is None:
            return [], shared
        if not coded:
            return await self._chroma.run("search the documents", lambda: _by_index(collection, vector, limit)), shared
        candidates = await asyncio.to_thread(codes.candidates, vector, limit)
        return await self._chroma.run(
            "search the documents", lambda: _exactly(collection, candidates, vector, limit)
        ), shared

    async def _replace(self, document: Document) -> int:
        collection = await self._open()
        cut_passages = cut(document, self._embedder)
        vectors = await asyncio.to_thread(self._embedder.embed, [passage.text for passage in cut_passages])
        await self._chroma.run(
            f"add the document {document.id!r}",
            lambda: self._store(collection, document, cut_passages, vectors),
            timeout_s=600,
        )
        return len(cut_passages)

    def _store(
        self, collection: AnyCollection, document: Document, passages: Sequence[Passage], vectors: NDArray[np.float32]
    ) -> None:
        owner, version = digest(document.id), self._cut + version_of(document)
        rows = list(enumerate(passages))
        stale: dict[str, Any] = {"$and": [{"document": owner}, {"version": {"$ne": version}}]}
        with self._replacing:  # two at once could each drop the other's passages as the old ones
            for batch in self._chroma.batches(rows):
                collection.add(
                    ids=[f"{owner}:{version}:{number:06}" for number, _ in batch],
                    embeddings=[vectors[number] for number, _ in batch],
                    documents=[storable(passage.text) for _, passage in batch],
                    metadatas=[{"document": owner, "version": version, **_metadata(passage)} for _, passage in batch],
                )
            collection.modify(metadata={**(collection.metadata or {}), "changed": uuid4().hex})
            collection.delete(where=stale)
            if passages:
                # Last of all: a process that dies before leaves a document that is not listed, and so is added again.
                listed: Any = {"passages": len(passages), "about": json.dumps(document.metadata)}
                collection.update(ids=[f"{owner}:{version}:{0:06}"], metadatas=[listed])

    async def _open(self) -> AnyCollection:
        """The collection to add to, made when missing."""
        probe = await self._probe()
        metadata = {"probe": " ".join(f"{number:.4f}" for number in probe.tolist()), **self._about}
        collection = await self._chroma.run(
            "open the documents", lambda: self._chroma.collection(self._name, metadata, _INDEX)
        )
        await self._check_model(collection)
        return collection

    async def _made(self, names: Sequence[str], *, renewing: bool = False) -> Sequence[AnyCollection]:
        """Returns the collections that exist, as they are now. Reading creates none."""

        def look() -> list[AnyCollection]:
            return [found for name in names if (found := self._chroma.existing(name, anew=True)) is not None]

        collections = await self._chroma.run("open the documents", look)
        for collection in collections:
            await self._check_model(collection, renewing=renewing)
        return collections

    async def _check_model(self, collection: AnyCollection, *, renewing: bool = False) -> None:
        if collection.name in self._probed:
            return
        _expect_model(collection, await self._probe())
        self._probed.add(collection.name)
        if collection.name == self._name and not renewing and await self._outdated_owners(collection):
            self._renew_behind()

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


def _ranked(scores: Mapping[str, float], limit: int) -> list[tuple[float, str]]:
    """The best of several collections' rows; of equal ones by key."""
    return sorted(((score, key) for key, score in scores.items()), key=lambda one: (-one[0], one[1]))[:limit]


async def _by_words(words: WordRanking | None, query: str, limit: int) -> list[tuple[float, str]]:
    return [] if words is None else await asyncio.to_thread(words.best, query, limit)


def _by_index(collection: AnyCollection, vector: NDArray[Any], limit: int) -> list[tuple[float, str]]:
    """The rows that Chroma's index takes for the nearest."""
    rows = collection.query(query_embeddings=[vector], n_results=limit, include=["distances"])
    return [(1 - distance, key) for distance, key in zip((rows["distances"] or [[]])[0], rows["ids"][0], strict=True)]


def _exactly(
    collection: AnyCollection, ids: list[str], vector: NDArray[np.float32], limit: int
) -> list[tuple[float, str]]:
    """The nearest of these rows by their own vectors; of equal ones always the same come first."""
    import numpy as np

    found = collection.get(ids=ids, include=["embeddings"])
    keys = np.array(found["ids"])
    order = np.argsort(keys)
    matrix = np.asarray(found["embeddings"], np.float32)[order]
    return [(score, str(keys[order[row]])) for score, row in best_rows(matrix, vector, limit)]


def _rows(collection: AnyCollection, ids: list[str]) -> list[tuple[str, Passage]]:
    rows = collection.get(ids=ids, include=["documents", "metadatas"])
    parts = (rows["ids"], rows["documents"] or [], rows["metadatas"] or [])
    return [(key, _passage(text, metadata)) for key, text, metadata in zip(*parts, strict=True)]


def _whole(collection: AnyCollection, owner: str) -> tuple[str, Document] | None:
    """The version and text of a stored document, put together from its passages. White space that lay between two is lost."""
    found = collection.get(where={"document": owner}, include=["documents", "metadatas"])
    rows: list[tuple[Any, str]] = list(zip(found["metadatas"] or [], found["documents"] or [], strict=True))
    listed = next((row for row, _ in rows if row.get("passages")), None)
    if listed is None:
        return None
    text = ""
    for row, piece in sorted(rows, key=lambda one: int(one[0]["start"])):
        if row["version"] == listed["version"]:
            text = text.ljust(row["start"], "\n")
            text += piece[len(text) - row["start"] :]
    about = json.loads(listed["about"])
    return str(listed["version"]), Document(
        id=listed["source_id"], text=text, title=listed.get("title"), metadata=about
    )


def _metadata(passage: Passage) -> dict[str, str | int]:
    over = {"title": passage.title, "headings": "\n".join(passage.headings) or None}
    span = passage.span or Span(start=0, end=len(passage.text))
    shown = {name: storable(text) for name, text in over.items() if text is not None}
    return {"source_id": storable(passage.source_id), "start": span.start, "end": span.end, **shown}


def _passage(text: str, metadata: Mapping[str, Any]) -> Passage:
    return Passage(
        source=SourceKind.DOCUMENT,
        source_id=metadata["source_id"],
        text=text,
        title=metadata.get("title"),
        span=Span(start=metadata["start"], end=metadata["end"]),
        headings=headings_of(metadata),
    )


def _listed_document(row: Mapping[str, Any]) -> ListedDocument:
    about = json.loads(row["about"])
    return ListedDocument(row["source_id"], row.get("title"), row["passages"], about, str(row["version"]))
