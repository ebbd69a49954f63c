"""The sentences of a document that a claim is read beside."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vista_lab.oasis.rewriters.carrier import stems


@dataclass(frozen=True)
class Window:
    """Neighbouring sentences: those before, those that share most with the query, those after; ``share`` is how much."""

    before: tuple[str, ...]
    best: tuple[str, ...]
    after: tuple[str, ...]
    share: float

    @property
    def text(self) -> str:
        """The whole stretch."""
        return " ".join((*self.before, *self.best, *self.after))


def rarity(units: Sequence[str]) -> dict[str, float]:
    """Inverse document frequency of stems over ``units``."""
    seen = Counter(s for unit in units for s in stems(unit))
    return {s: math.log((1 + len(units)) / n) for s, n in seen.items()}


def best_sentences(document: Sequence[str], query: str, words: int = 180, core: int = 3) -> Window:
    """The up to ``core`` neighbouring sentences nearest to ``query``, widened to about ``words`` words."""
    weight, query_stems = rarity(document), stems(query)
    overlaps = [stems(s) & query_stems for s in document]
    ceiling = math.fsum(weight.get(s, 4.0) for s in query_stems) or 1.0  # exact: sets have no order

    def score(start: int, width: int) -> float:
        shared = set().union(*overlaps[start : start + width])
        return math.fsum(weight[s] for s in shared) - 0.15 * (width - 1)

    spans = [(i, w) for w in range(1, core + 1) for i in range(max(1, len(document) - w + 1))]
    start, width = max(spans, key=lambda span: score(*span))
    left, right = widen(document, start, start + width, words)
    return Window(
        tuple(document[left:start]),
        tuple(document[start : start + width]),
        tuple(document[start + width : right]),
        (score(start, width) + 0.15 * (width - 1)) / ceiling,
    )


def widen(document: Sequence[str], left: int, right: int, words: int) -> tuple[int, int]:
    """Grow a span of sentences on both sides while it stays below ``words`` words."""
    size = sum(len(s.split()) for s in document[left:right])
    grew = True
    while grew:
        grew = False
        for step in (-1, 1):
            index = left - 1 if step < 0 else right
            if 0 <= index < len(document) and size + len(document[index].split()) <= words:
                size += len(document[index].split())
                left, right = (left - 1, right) if step < 0 else (left, right + 1)
                grew = True
    return left, right
