"""The vectors of a large collection as one byte a number, by faiss: every query is compared with all of them.

Above `EXACT` passages floats take too much memory and time, and Chroma's own index (HNSW) misses outliers and finds other
passages in each process. A scan of bytes misses nothing and takes 4 ms for 100,000 passages on one core; of the nearest the
exact cosines are taken from Chroma. docs/design/stores.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from vista_guard.stores.entries import searched
from vista_guard.stores.words import WordRanking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vista_guard.stores.chroma.client import AnyCollection

CANDIDATES = 4
"""Passages whose exact cosine is taken, for each that is wanted."""
FEWEST, MOST = 100, 4096
"""Passages whose exact cosine is taken, at least and, where very many are equal, at most."""
_ERROR = 0.002
"""What a cosine by codes may lack of the exact one."""
_FETCHED = 1_000
_LISTED = 10_000
"""Rows for one call: with more than some 32,000 at once Chroma has too many SQL variables."""
_TRAINED = 10_000
"""Vectors by which the range of a byte is set; those that come later are cut to it."""


def included(words: WordRanking | None, vectors: bool = True) -> Any:
    """What a collection is asked for: vectors, and the texts where words are ranked."""
    return [*(["embeddings"] if vectors else []), *(["documents", "metadatas"] if words is not None else [])]


def texts_of(rows: Mapping[str, Any]) -> dict[str, str]:
    """The text by which each row is found; nothing where texts were not asked for."""
    parts = (rows["ids"], rows.get("documents") or [], rows.get("metadatas") or [])
    return {
        key: searched(text, about.get("title"), headings_of(about)) for key, text, about in zip(*parts, strict=False)
    }


def headings_of(about: Mapping[str, Any]) -> tuple[str, ...]:
    """The headings that a row stands under."""
    return tuple(str(about.get("headings") or "").splitlines())


def can_encode() -> bool:
    """True where faiss is installed, by the extra `search`."""
    return find_spec("faiss") is not None


class CodedVectors:
    """Codes of a collection's vectors, brought up to date step by step. Safe to share between threads.

    With `words`, the words of its passages are ranked too; without `vectors`, nothing else is.
    """

    def __init__(self, words: WordRanking | None = None, *, vectors: bool = True) -> None:
        self.words = words
        self._coded = vectors
        self._texts: dict[str, str] = {}  # of passages whose words are not ranked yet
        self._ids: list[str] = []
        self._index: Any = None
        self._state: tuple[object, int] | None = None
        self._target: tuple[object, int] | None = None
        self._listed: set[str] = set()
        self._offset = 0
        self._missing: list[str] | None = None
        self._lock = Lock()

    def step(self, collection: AnyCollection, count: int) -> bool:
        """Fetches some of what is missing; True once everything is there that was stored when the first step began."""
        with self._lock:
            if self._target is None:
                # A writer changes the token between adding and deleting rows, so any change shows in one of the two.
                state = ((collection.metadata or {}).get("changed"), count)
                if state == self._state:
                    return True
                self._target, self._listed, self._offset, self._missing = state, set(), 0, None
            if self._missing is None:
                self._list(collection)
                return False
            if self._missing:
                self._fetch(collection)
                return False
            if self.words is not None:
                self.words.update(self._ids, self._texts.__getitem__)
                self._texts.clear()
            self._state, self._target, self._listed = self._target, None, set()
            return True

    def candidates(self, vector: NDArray[np.float32], limit: int) -> list[str]:
        """The ids of the nearest rows, as far as bytes tell; more than `limit`."""
        import faiss

        # Of this thread alone: for one query more threads would only wait for each other.
        faiss.omp_set_num_threads(1)
        with self._lock:
            most = min(max(FEWEST, CANDIDATES * limit), len(self._ids))
            while most:
                scores, places = self._index.search(vector[None], most)
                # The last candidate must be farther than the last that is wanted, or an equal one may stand behind it.
                if most in (len(self._ids), MOST) or scores[0, -1] < scores[0, limit - 1] - 2 * _ERROR:
                    return [self._ids[place] for place in places[0].tolist()]
                most = min(2 * most, len(self._ids), MOST)
            return []

    def __len__(self) -> int:
        return len(self._ids)

    def _list(self, collection: AnyCollection) -> None:
        """A page of ids; after the last one it is known what is gone and what is missing."""
        page = collection.get(include=[], limit=_LISTED, offset=self._offset)["ids"]
        self._listed.update(page)
        self._offset += len(page)
        if len(page) == _LISTED:
            return
        known = set(self._ids)
        self._drop(known - self._listed)
        # Sorted, so that the range of a byte is the same in every process.
        self._missing = sorted(self._listed - known, reverse=True)

    def _fetch(self, collection: AnyCollection) -> None:
        """The codes of some missing rows."""
        import numpy as np

        assert self._missing is not None
        most = _FETCHED if self._index is not None else _TRAINED
        wanted, self._missing = self._missing[-most:], self._missing[:-most]
        ids: list[str] = []
        rows: list[NDArray[np.float32]] = []
        for start in range(0, len(wanted), _FETCHED):
            found = collection.get(ids=wanted[start : start + _FETCHED], include=included(self.words, self._coded))
            if found["ids"]:  # some may be deleted since
                ids += found["ids"]
                self._texts |= texts_of(found)
                if self._coded:
                    rows.append(np.asarray(found["embeddings"], np.float32))
        if rows:
            self._add(np.concatenate(rows))
        self._ids += ids

    def _add(self, vectors: NDArray[np.float32]) -> None:
        import faiss

        if self._index is None:
            kind = faiss.ScalarQuantizer.QT_8bit
            self._index = faiss.IndexScalarQuantizer(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
            self._index.train(vectors)
        self._index.add(vectors)

    def _drop(self, gone: set[str]) -> None:
        if not gone:
            return
        import numpy as np

        places = np.array([place for place, one in enumerate(self._ids) if one in gone], np.int64)
        if self._coded:
            self._index.remove_ids(places)
        self._ids = [one for one in self._ids if one not in gone]
