"""Parts that the stores share: passages of entries, the choice of the nearest, sentence vectors."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from threading import Lock
from time import time_ns
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from vista_guard.errors import StoreError
from vista_guard.inference.onnx import shared_encoder
from vista_guard.protocols import BoundedEmbedder, Embedder, QueryEmbedder
from vista_guard.reading.passages import headings_over, passages
from vista_guard.reading.visible import storable
from vista_guard.stores.words import DEPTH, fused
from vista_guard.types import (
    Claim,
    Document,
    EarnedClaim,
    Passage,
    Persona,
    Retrieval,
    SearchMode,
    SourceKind,
    Span,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Ranking = Sequence[tuple[float, str]]
"""Scores and keys of passages, best first."""

PROBE = "The lighthouse keeper counted eleven ships before noon."
"""A text whose vector identifies the model that embedded a store's documents."""
_SAME_MODEL = 0.98
"""Least cosine of the probe's vectors for them to come from one model; rounding between processors stays far above."""


def digest(identifier: str) -> str:
    """Hashes an id of any length and characters to 32 hex digits."""
    return sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def persona_passages(persona: Persona) -> tuple[Passage, ...]:
    """Returns one passage for each fact, in order: first the persona's, then the chat's."""
    kinds = (SourceKind.PERSONA,) * len(persona.facts) + (SourceKind.CHANNEL,) * len(persona.channel)
    facts = zip(kinds, (*persona.facts, *persona.channel), strict=True)
    return tuple(
        Passage(source=kind, source_id=f"{persona.key}:{number}", text=storable(fact), title=storable(persona.name))
        for number, (kind, fact) in enumerate(facts)
    )


def claim_passages(turn_key: str, claims: Sequence[Claim]) -> tuple[Passage, ...]:
    """Returns one passage for each claim, in order, named `turn key:claim id`. A repeated id of imported claims gets `#2`."""
    counts: Counter[str] = Counter()
    passages = []
    for claim in claims:
        name = storable(claim.id)
        counts[name] += 1
        source_id = f"{turn_key}:{name}" if counts[name] == 1 else f"{turn_key}:{name}#{counts[name]}"
        label = claim.label if isinstance(claim, EarnedClaim) else None
        text = storable(claim.text)
        passages.append(Passage(source=SourceKind.KNOWLEDGE, source_id=source_id, text=text, label=label))
    return tuple(passages)


def nearest(embedder: Embedder, query: str, known: Sequence[Passage], limit: int) -> tuple[Passage, ...]:
    """Returns at most `limit` passages, in the order given: those nearest in meaning to `query` when not all fit."""
    if len(known) <= limit or limit <= 0:
        return tuple(known) if limit > 0 else ()
    vectors = embedder.embed([query, *(passage.text for passage in known)])
    return tuple(known[row] for row in sorted(row for _, row in best_rows(vectors[1:], vectors[0], limit)))


def best_rows(vectors: NDArray[np.float32], query: NDArray[np.float32], limit: int) -> list[tuple[float, int]]:
    """Returns cosines and rows of the nearest vectors, best first; of equal ones the first.

    The last digits of a product of matrices depend on their shape and on the machine, and so would the order of equal rows:
    whatever may be among the best is computed again, exactly, and rounded.
    """
    import numpy as np

    rough = vectors @ query
    floor = np.partition(rough, -limit)[-limit] - 1e-5 if 0 < limit < len(rough) else -2.0
    rows = np.flatnonzero(rough >= floor)
    scores = np.round(vectors[rows].astype(np.float64) @ query.astype(np.float64), 6)
    return [(float(scores[index]), int(rows[index])) for index in np.argsort(-scores, kind="stable")[:limit]]


def passage_fields(passage: Passage) -> dict[str, Any]:
    """Returns the fields of a document's passage as stores keep them; `document_passage` makes the passage of them."""
    span = passage.span or Span(start=0, end=len(passage.text))
    return {
        "source_id": storable(passage.source_id),
        "title": None if passage.title is None else storable(passage.title),
        "url": None if passage.url is None else storable(passage.url),
        "headings": list(map(storable, passage.headings)),
        "text": storable(passage.text),
        "start": span.start,
        "end": span.end,
    }


def document_passage(fields: Mapping[str, Any]) -> Passage:
    """Returns a stored passage of a document."""
    return Passage(
        source=SourceKind.DOCUMENT,
        source_id=fields["source_id"],
        text=fields["text"],
        title=fields.get("title"),
        url=fields.get("url"),
        span=Span(start=fields["start"], end=fields["end"]),
        headings=tuple(fields["headings"]),
    )


def expect_model(made: Sequence[float], probe: NDArray[np.float32], place: str, remedy: str) -> None:
    """Raises `StoreError` when the stored vector of `PROBE` is not the embedder's."""
    import numpy as np

    if len(made) != len(probe) or float(np.array(made, np.float32) @ probe) < _SAME_MODEL:
        raise StoreError(
            f"the documents in {place} were embedded by another model (dimension {len(made)}, not {len(probe)}). "
            f"{remedy}, and add the documents again"
        )


def reads_of(embedder: Embedder) -> Callable[[str], int] | None:
    """Returns the embedder's `reads`; None for an embedder without it."""
    return embedder.reads if isinstance(embedder, BoundedEmbedder) else None


def cut(document: Document, embedder: Embedder) -> tuple[Passage, ...]:
    """Cuts a document into passages that the embedder reads to their end, each with the headings above it.

    Keeps the first of equal passages: a thousand alike choke Chroma's index.
    """
    first: dict[str, Passage] = {}
    for passage in passages(document, reads=reads_of(embedder)):
        first.setdefault(passage.text, passage)
    starts = [passage.span.start if passage.span else 0 for passage in first.values()]
    over = headings_over(document.text, starts)
    return tuple(
        passage.model_copy(update={"headings": headings}) if headings else passage
        for passage, headings in zip(first.values(), over, strict=True)
    )


def version_of(document: Document, passages: Sequence[Passage]) -> str:
    """Changes with whatever the passages show of the document: its title, its address, its text, and where they end."""
    ends = [passage.span and passage.span.end for passage in passages]
    content = f"{document.title}\x1f{document.text}\x1f{document.url}\x1f{ends}"
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def search_text(text: str, title: str | None, headings: Sequence[str]) -> str:
    """The text of a passage that word search reads: its title, its headings and its own words."""
    return "\n".join([title or "", *headings, text])


def neighbour_keys(found: Sequence[Passage], count: int) -> dict[str, Retrieval]:
    """Keys of the passages beside those found, with their `Retrieval`. Keys end in `:` and the passage's number."""
    known = {passage.key for passage in found}
    keys: dict[str, Retrieval] = {}
    for origin, retrieval in ((passage.key, passage.found) for passage in found):
        if origin is None or retrieval is None:
            continue
        owner, _, number = origin.rpartition(":")
        for step in (step for distance in range(1, count + 1) for step in (-distance, distance)):
            key = f"{owner}:{int(number) + step:06}"
            if int(number) + step >= 0 and key not in known:
                keys.setdefault(key, Retrieval(by=("neighbour",), rank=retrieval.rank))
    return keys


def best_of(scores: Mapping[str, float], limit: int) -> Ranking:
    """The best scores of several collections; ties by key."""
    return sorted(((score, key) for key, score in scores.items()), key=lambda pair: (-pair[0], pair[1]))[:limit]


def join_rankings(vectors: Ranking, words: Ranking, limit: int) -> dict[str, Retrieval]:
    """Joins the rankings by vectors and by words; returns the best keys, best first, with their `Retrieval`."""
    cosines, scores = ({key: score for score, key in ranking} for ranking in (vectors, words))
    best = fused([list(cosines), list(scores)])[:limit]
    return {
        key: Retrieval(
            by=tuple(way for way, ranking in (("vectors", cosines), ("words", scores)) if key in ranking),
            rank=rank,
            cosine=cosines.get(key),
            bm25=scores.get(key),
        )
        for rank, key in enumerate(best, 1)
    }


DOCUMENTS_AT_ONCE, CHARACTERS_AT_ONCE = 50, 100_000
"""Stored together: a call of Chroma takes as long as the passages of a short document, and what was stored survives a kill."""


def is_full(batch: Sequence[Document]) -> bool:
    """True if the documents are enough to be stored together."""
    return len(batch) >= DOCUMENTS_AT_ONCE or sum(len(document.text) for document in batch) > CHARACTERS_AT_ONCE


@dataclass(frozen=True)
class Written:
    """The result of storing documents.

    Attributes:
        passages: number of passages stored.
        replaced: the versions whose place was taken, by id.
        outdone: ids whose place a later writer took meanwhile; nothing of these is stored.
    """

    passages: int = 0
    replaced: Mapping[str, ListedDocument] = field(default_factory=dict)
    outdone: frozenset[str] = frozenset()

    @classmethod
    def of_all(cls, parts: Sequence[Written]) -> Written:
        """Joins what several calls did."""
        replaced = {name: document for part in parts for name, document in part.replaced.items()}
        return cls(sum(part.passages for part in parts), replaced, frozenset().union(*(part.outdone for part in parts)))


@dataclass(frozen=True)
class StoredVersion:
    """A version of a document, as a store without transactions has it: `stamp` is the time of its writer, `row` its first row."""

    stamp: int
    row: Mapping[str, Any]
    keys: tuple[str, ...] = ()


Versions = Mapping[str, StoredVersion]
"""The versions of a document by name. Writers without transactions may leave several for a moment."""


ATTEMPTS = 5
"""Times that a document is added anew because somebody else removed parts of it meanwhile."""


def next_stamp(found: Iterable[Versions]) -> int:
    """A stamp later than all that were found, however the writers' clocks differ: nanoseconds since 1970."""
    return max(time_ns(), 1 + max((version.stamp for versions in found for version in versions.values()), default=0))


def is_outdone(versions: Versions, stamp: int, version: str) -> bool:
    """True if another version is newer. Of two with one stamp every writer chooses the same."""
    return any((other.stamp, name) > (stamp, version) for name, other in versions.items() if name != version)


class SearchedDocuments(ABC):
    """Base of the document stores: joins rankings, and reads the best passages by key."""

    def __init__(self, embedder: Embedder, search: SearchMode) -> None:
        self._embedder = embedder
        self.search_mode = search

    async def add(self, documents: Sequence[Document]) -> int:
        """Adds or replaces documents; returns the number of passages. Readers see the old ones, the new ones, or briefly both."""
        return (await self.put(documents)).passages

    async def put(self, documents: Sequence[Document]) -> Written:
        """Adds or replaces documents; returns the versions replaced. The last writer of a document wins, whole."""
        done, batch = list[Written](), list[Document]()
        for document in {document.id: document for document in documents}.values():
            batch.append(document)
            if is_full(batch):
                done.append(await self._replace_all(batch))
                batch = []
        return Written.of_all([*done, *([await self._replace_all(batch)] if batch else [])])

    async def search(self, query: str, limit: int) -> Sequence[Passage]:
        """Returns the passages nearest to the query; of equal ones, always the same come first."""
        if limit <= 0:
            return ()
        depth = max(DEPTH, 2 * limit) if self.search_mode == "hybrid" else limit
        return await self._read(join_rankings(*await self._rankings(query, depth), limit))

    async def neighbours(self, found: Sequence[Passage], count: int = 1) -> Sequence[Passage]:
        """Returns the passages that stand up to `count` places beside those found, and are not among them."""
        return await self._read(neighbour_keys(found, count))

    @abstractmethod
    async def delete(self, document_id: str) -> int:
        """Deletes a document; returns its number of passages."""

    async def stored(self) -> Sequence[ListedDocument]:
        """Lists the documents that were added completely, by id."""
        return tuple(sorted(await self._listed(), key=lambda document: document.id))

    @abstractmethod
    async def _listed(self) -> Iterable[ListedDocument]: ...

    @abstractmethod
    async def _replace(self, document: Document) -> Written:
        """Stores a document in place of its older version."""

    @abstractmethod
    async def _rankings(self, query: str, depth: int) -> tuple[Ranking, Ranking]:
        """Rankings by vectors and by words; empty where `search_mode` leaves one out."""

    @abstractmethod
    async def _passages(self, keys: list[str]) -> Mapping[str, Passage]:
        """The existing passages of these keys, by key."""

    async def _read(self, found: Mapping[str, Retrieval]) -> Sequence[Passage]:
        passages = await self._passages(list(found)) if found else {}
        # One may be deleted since.
        return tuple(
            passages[key].model_copy(update={"found": how, "key": key}) for key, how in found.items() if key in passages
        )

    async def _replace_all(self, documents: Sequence[Document]) -> Written:
        """Stores documents with different ids."""
        return Written.of_all([await self._replace(document) for document in documents])

    async def _query_vector(self, query: str) -> NDArray[np.float32] | None:
        return None if self.search_mode == "words" else await asyncio.to_thread(query_vector, self._embedder, query)

    async def _cut(self, document: Document) -> tuple[Sequence[Passage], NDArray[np.float32]]:
        """The document's passages and their vectors."""
        passages = await asyncio.to_thread(cut, document, self._embedder)
        return passages, await asyncio.to_thread(self._embedder.embed, [passage.text for passage in passages])

    async def _probe(self) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = (await asyncio.to_thread(self._embedder.embed, [PROBE]))[0]
        return vector


DIMENSION = 384

MAX_TOKENS = 128
"""Tokens of a text that the model reads; it was trained on no more."""

_MAX_CHARS = 4096
"""Characters of a text that the tokenizer reads: far above `MAX_TOKENS`, and it saves tokenising megabytes to drop them."""


class VectorCache:
    """The vectors of the `size` texts used last. Safe to share between threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def vectors(
        self, texts: Sequence[str], embed: Callable[[list[str]], NDArray[np.float32]], dimension: int
    ) -> NDArray[np.float32]:
        """One row per text, in order; calls `embed` for texts that are not cached."""
        import numpy as np

        wanted = {_key(text): text for text in texts}
        with self._lock:
            known = {key: self._vectors[key] for key in wanted if key in self._vectors}
            for key in known:
                self._vectors.move_to_end(key)
        missing = [key for key in wanted if key not in known]
        if missing:
            rows = embed([wanted[key] for key in missing])
            fresh = {key: row.copy() for key, row in zip(missing, rows, strict=True)}
            known |= fresh
            with self._lock:
                self._vectors.update(fresh)
                while len(self._vectors) > self._size:
                    self._vectors.popitem(last=False)
        return np.stack([known[_key(text)] for text in texts]) if texts else np.empty((0, dimension), np.float32)


class OnnxEmbedder:
    """The shipped sentence encoder behind a cache of the `cache_size` texts used last (1.6 kB each).

    The model is loaded with the first text. Safe to share between threads.
    """

    def __init__(self, *, cache_size: int = 8192) -> None:
        self._cache = VectorCache(cache_size)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (texts, 384), in order. Only the first 128 tokens of a text count.

        Raises:
            ConfigError: the weights are missing or damaged.
        """

        def run(missing: list[str]) -> NDArray[np.float32]:
            return shared_encoder("embedder", MAX_TOKENS).run([storable(text[:_MAX_CHARS]) for text in missing])

        return self._cache.vectors(texts, run, DIMENSION)

    def reads(self, text: str) -> int:
        """Characters of the text, from its start, that `embed` reads."""
        (tokens,) = shared_encoder("embedder", MAX_TOKENS).tokens([storable(text[:_MAX_CHARS])])
        return int(tokens.offsets[-2][1]) if tokens.overflowing else min(len(text), _MAX_CHARS)


def query_vector(embedder: Embedder, text: str) -> NDArray[np.float32]:
    """The vector of a query, by `embed_queries` where the embedder has it."""
    rows = embedder.embed_queries([text]) if isinstance(embedder, QueryEmbedder) else embedder.embed([text])
    vector: NDArray[np.float32] = rows[0]
    return vector


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


DOCUMENTS = "vista_guard.documents"
"""The collection of the documents that belong to no tenant."""


@dataclass(frozen=True)
class ListedDocument:
    """A stored document without its text: its number of passages and the metadata that it was added with."""

    id: str
    title: str | None
    passages: int
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    version: str = field(default="", compare=False)
    """Changes with its text and with how it is cut; empty where the store does not say."""


def listed_document(row: Mapping[str, Any]) -> ListedDocument:
    """Returns a document from the fields of its first passage, once those of the whole document are there."""
    about = json.loads(row.get("about", "{}"))
    return ListedDocument(row["source_id"], row.get("title"), row.get("passages", 0), about, row["version"])
