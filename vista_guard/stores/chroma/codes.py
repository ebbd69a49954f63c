"""A collection's rows in memory: words, and vectors as floats or, for a large collection, as byte codes of faiss.

Above `EXACT` passages floats take too much memory and time, and Chroma's own index (HNSW) misses outliers and finds other
passages in each process. A scan of byte codes misses nothing and takes 4 ms for 100,000 passages on one core; the exact
cosines of the nearest come from Chroma. docs/design/stores.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from vista_guard.stores.entries import best_rows, search_text
from vista_guard.stores.words import WordRanking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vista_guard.stores.chroma.client import AnyCollection

CANDIDATES = 4
"""Candidates to rescore exactly, for each passage wanted."""
FEWEST, MOST = 100, 4096
"""Fewest and most candidates to rescore exactly; the most where very many are equal."""
_ERROR = 0.002
"""Largest error of a cosine computed from codes."""
_FETCHED = 1_000
LISTED = 10_000
"""Rows per call: above some 32,000 Chroma has too many SQL variables."""


def headings_of(about: Mapping[str, Any]) -> tuple[str, ...]:
    """The headings above a row."""
    return tuple(str(about.get("headings") or "").splitlines())


def can_encode() -> bool:
    """True where faiss is installed, by the extra `search`."""
    return find_spec("faiss") is not None


class LoadedRows:
    """The rows of a collection, brought up to date step by step. Safe to share between threads.

    With `words`, passages are also ranked by words. Subclasses hold vectors, too.
    """

    holds_vectors = False
    first_fetches = 1
    """Calls made in the first step."""

    def __init__(self, words: WordRanking | None = None) -> None:
        self.words = words
        self._texts: dict[str, str] = {}  # of rows whose words are not ranked yet
        self._ids: list[str] = []
        self._state: tuple[object, int] | None = None
        self._loading: Iterator[bool] | None = None
        self._lock = Lock()

    def step(self, collection: AnyCollection, count: int) -> bool:
        """Fetches some missing rows; True once all rows stored when the first step began are loaded."""
        with self._lock:
            loading, self._loading = self._loading or self._load(collection, count), None  # anew after an error
            if next(loading, False):
                self._loading = loading
            return self._loading is None

    def nearest(self, collection: AnyCollection, vector: NDArray[Any], limit: int) -> list[tuple[float, str]]:
        """Returns the cosines and ids of the nearest rows, best first; by Chroma's index."""
        rows = collection.query(query_embeddings=[vector], n_results=limit, include=["distances"])
        return [(1 - far, key) for far, key in zip((rows["distances"] or [[]])[0], rows["ids"][0], strict=True)]

    def __len__(self) -> int:
        return len(self._ids)

    def _load(self, collection: AnyCollection, count: int) -> Iterator[bool]:
        """Lists the ids, drops deleted rows and fetches missing ones; yields after each call of Chroma."""
        # A writer changes the token between adding and deleting rows, so any change shows in one of the two.
        state = ((collection.metadata or {}).get("changed"), count)
        if state == self._state:
            return
        listed = list[str]()
        more = True
        while more:
            page = collection.get(include=[], limit=LISTED, offset=len(listed))["ids"]
            listed += page
            more = len(page) == LISTED
            yield True
        if gone := set(self._ids).difference(listed):
            self._drop(gone)
        # Sorted, so that the range of a byte is the same in every process.
        missing = sorted(set(listed).difference(self._ids), reverse=True)
        while missing:
            self._fetch(collection, missing)
            yield True
        self._finish()
        if self.words is not None:
            self.words.update(self._ids, self._texts.__getitem__)
        self._texts.clear()
        self._state = state

    def _fetch(self, collection: AnyCollection, missing: list[str]) -> None:
        import numpy as np

        texts = [] if self.words is None else ["documents", "metadatas"]
        include: Any = [*(["embeddings"] if self.holds_vectors else []), *texts]
        ids: list[str] = []
        vectors: list[NDArray[np.float32]] = []
        for _ in range(1 if self._ids else self.first_fetches):
            batch = missing[-_FETCHED:]
            del missing[-_FETCHED:]
            rows = collection.get(ids=batch, include=include) if batch else {"ids": []}
            if rows["ids"]:  # some may be deleted since
                ids += rows["ids"]
                parts = (rows["ids"], rows.get("documents") or [], rows.get("metadatas") or [])
                for key, text, metadata in zip(*parts, strict=False):
                    self._texts[key] = search_text(text, metadata.get("title"), headings_of(metadata))
                if self.holds_vectors:
                    vectors.append(np.asarray(rows["embeddings"], np.float32))
        if ids:
            self._add(ids, np.concatenate(vectors) if vectors else None)

    def _add(self, ids: list[str], _vectors: NDArray[np.float32] | None) -> None:
        self._ids += ids

    def _drop(self, gone: set[str]) -> None:
        self._ids = [key for key in self._ids if key not in gone]

    def _finish(self) -> None:
        """Called once all rows are loaded."""


class ExactVectors(LoadedRows):
    """Vectors as floats, each compared with a query."""

    holds_vectors = True

    def __init__(self, words: WordRanking | None = None) -> None:
        super().__init__(words)
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._matrix: tuple[list[str], NDArray[np.float32]] | None = None

    def nearest(self, _collection: AnyCollection, vector: NDArray[np.float32], limit: int) -> list[tuple[float, str]]:
        """Returns the cosines and ids of the nearest rows, best first; of equal ones by id."""
        with self._lock:
            if self._matrix is None:
                return []
            ids, matrix = self._matrix
        return [(score, ids[row]) for score, row in best_rows(matrix, vector, limit)]

    def _add(self, ids: list[str], vectors: NDArray[np.float32] | None) -> None:
        super()._add(ids, vectors)
        if vectors is not None:
            self._rows |= zip(ids, vectors, strict=True)

    def _finish(self) -> None:
        import numpy as np

        ids = sorted(self._ids)
        matrix = np.stack([self._rows[key] for key in ids]) if ids else np.empty((0, 0), np.float32)
        self._rows = dict(zip(ids, matrix, strict=True))  # views: no vector is held twice
        self._matrix = (ids, matrix) if ids else None


class CodedVectors(LoadedRows):
    """Vectors at one byte per number, each roughly compared with a query."""

    holds_vectors = True
    first_fetches = 10  # these vectors set the range of a byte; those that come later are cut to it
    _index: Any = None

    def nearest(self, collection: AnyCollection, vector: NDArray[np.float32], limit: int) -> list[tuple[float, str]]:
        """Returns the cosines and ids of the nearest rows, best first; those near by byte codes are compared exactly."""
        import numpy as np

        result = collection.get(ids=self._candidates(vector, limit), include=["embeddings"])
        keys = np.array(result["ids"])
        order = np.argsort(keys)  # of equal ones always the same come first
        matrix = np.asarray(result["embeddings"], np.float32)[order]
        return [(score, str(keys[order[row]])) for score, row in best_rows(matrix, vector, limit)]

    def _candidates(self, vector: NDArray[np.float32], limit: int) -> list[str]:
        """The ids of the nearest rows by byte codes; more than `limit`."""
        import faiss

        # Of this thread alone: for one query more threads would only wait for each other.
        faiss.omp_set_num_threads(1)
        with self._lock:
            count = min(max(FEWEST, CANDIDATES * limit), len(self._ids))
            while count:
                scores, places = self._index.search(vector[None], count)
                # The last candidate must be farther than the last that is wanted, or an equal one may stand behind it.
                if count in (len(self._ids), MOST) or scores[0, -1] < scores[0, limit - 1] - 2 * _ERROR:
                    return [self._ids[place] for place in places[0].tolist()]
                count = min(2 * count, len(self._ids), MOST)
            return []

    def _add(self, ids: list[str], vectors: NDArray[np.float32] | None) -> None:
        import faiss

        if vectors is None:
            return
        if self._index is None:
            kind = faiss.ScalarQuantizer.QT_8bit
            self._index = faiss.IndexScalarQuantizer(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
            self._index.train(vectors)
        self._index.add(vectors)
        super()._add(ids, vectors)

    def _drop(self, gone: set[str]) -> None:
        import numpy as np

        self._index.remove_ids(np.array([place for place, key in enumerate(self._ids) if key in gone], np.int64))
        super()._drop(gone)
