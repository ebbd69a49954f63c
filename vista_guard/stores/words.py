"""BM25 over passages in memory, and rankings fused by reciprocal rank: codes, names and figures are found by their words.

Not bm25s, which computes every score when it indexes: 70 µs a passage after each change, here 6 µs (docs/design/stores.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from math import log
from threading import Lock
from typing import TYPE_CHECKING

from vista_guard.reading.passages import UNSPACED, UNSPACED_CHARACTER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1, B = 1.2, 0.75
"""BM25's saturation of repeated words and its discount for long passages, as in Lucene."""
RRF = 5
"""The constant of reciprocal rank fusion (Cormack et al., 2009, have 60): with theirs, a passage that one ranking alone
has, in first place, ranks behind all that both have in thirtieth."""
DEPTH = 50
"""Least places of each ranking to fuse."""

_WORD = re.compile(rf"[^\W_{UNSPACED}]+|[{UNSPACED}]+")
_JOINED = re.compile(rf"[^\W_{UNSPACED}]+(?:[-./:_,'’][^\W_{UNSPACED}]+)+")
_STEM = 6
"""Letters of a word that count. A word with a digit counts whole: it is a code or a figure."""


def terms(text: str) -> Iterator[str]:
    """Yields the words of a text, stems of plain ones, joined forms of codes and figures, pairs of characters without spaces.

    >>> list(terms("Published: unit ZX-4410, 1,850 pieces"))
    ['publis', 'unit', 'zx', '4410', '1', '850', 'pieces', 'zx4410', '1850']
    """
    text = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    for word in _WORD.findall(text):
        if UNSPACED_CHARACTER.match(word):
            yield from (word[at : at + 2] for at in range(max(len(word) - 1, 1)))
        else:
            yield word[:_STEM] if word.isalpha() else word
    for word in _JOINED.findall(text):
        if any(letter.isdigit() for letter in word):
            yield re.sub(r"[\W_]", "", word)


class WordRanking:
    """Passages ranked by the words that they share with a query (BM25). Safe to share between threads.

    The scores depend on the passages alone, not on the order in which they came: every process ranks alike.
    """

    def __init__(self) -> None:
        self._vocabulary: dict[str, int] = {}
        self._rows: dict[str, NDArray[np.int32]] = {}  # of each passage the numbers of its words
        self._ids: list[str] = []
        self._postings: _Postings | None = None  # until the next change
        self._lock = Lock()

    @property
    def ids(self) -> Collection[str]:
        """Ids of the ranked passages."""
        return self._rows.keys()

    def update(self, ids: Collection[str], text: Callable[[str], str]) -> None:
        """Ranks exactly these passages from now on; calls `text` for new ids. An id always names the same text."""
        import numpy as np

        wanted = set(ids)
        with self._lock:
            gone, missing = self._rows.keys() - wanted, [key for key in ids if key not in self._rows]
            if not gone and not missing:
                return
            self._rows = {key: row for key, row in self._rows.items() if key in wanted}
            number = self._vocabulary.setdefault
            for key in missing:
                self._rows[key] = np.array([number(term, len(self._vocabulary)) for term in terms(text(key))], np.int32)
            self._postings = None

    def best(self, query: str, limit: int) -> list[tuple[float, str]]:
        """Returns scores and ids of the passages that share most with the query, best first; ties by id."""
        with self._lock:
            if not self._rows or limit <= 0:
                return []
            if self._postings is None:
                self._ids = list(self._rows)
                self._postings = _Postings(list(self._rows.values()), len(self._vocabulary))
            postings, ids = self._postings, self._ids
            wanted = [self._vocabulary[term] for term in dict.fromkeys(terms(query)) if term in self._vocabulary]
        return [(score, ids[row]) for score, row in postings.best(wanted, limit, ids)]


class _Postings:
    """For each word the passages that have it, and what it adds to their scores before its rarity is weighed."""

    def __init__(self, rows: Sequence[NDArray[np.int32]], words: int) -> None:
        import numpy as np

        lengths = np.array([len(row) for row in rows], np.float64)
        passage = np.repeat(np.arange(len(rows), dtype=np.int64), lengths.astype(np.int64))
        # One number for a passage's word, so that sorting brings equal ones together, word by word.
        pairs, counts = np.unique(np.concatenate(rows).astype(np.int64) * len(rows) + passage, return_counts=True)
        self._passages = (pairs % len(rows)).astype(np.int32)
        self._starts = np.searchsorted(pairs // len(rows), np.arange(words + 1))
        discount = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        self._weights = (counts / (counts + discount[self._passages])).astype(np.float32)
        self._size = len(rows)

    def best(self, words: Sequence[int], limit: int, ids: Sequence[str]) -> list[tuple[float, int]]:
        import numpy as np

        scores = np.zeros(self._size)
        for word in words:
            start, end = self._starts[word], self._starts[word + 1]
            if end > start:
                rarity = log(1 + (self._size - (end - start) + 0.5) / (end - start + 0.5))
                scores[self._passages[start:end]] += rarity * self._weights[start:end]
        # Rounded before they are compared: the last digits depend on the machine.
        scores = np.round(scores, 5)
        floor = np.partition(scores, -limit)[-limit] if limit < self._size else 0.0
        rows = np.flatnonzero((scores >= floor) & (scores > 0))
        return sorted(((float(scores[row]), int(row)) for row in rows), key=lambda hit: (-hit[0], ids[hit[1]]))[:limit]


def fused(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Returns one ranking by the sum of reciprocal ranks; ties by id.

    >>> fused([["a", "b"], ["b", "c"]])
    ['b', 'a', 'c']
    """
    scores = defaultdict[str, float](float)
    for ranking in rankings:
        for rank, key in enumerate(ranking, 1):
            scores[key] += 1 / (RRF + rank)
    return sorted(scores, key=lambda key: (-round(scores[key], 9), key))
