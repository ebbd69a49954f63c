"""How far two sets of claims are one: Jaccard and F1, pooled over turns (VISTA, Table 6 and App. D.1). Pure but for the embedder.

Two claims match where they read the same, or where the cosine of their embeddings is above 0.9. The paper does not say how claims
pair: here each has one partner at most, and as many find one as can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vista_guard.protocols import Embedder

Counts = NDArray[np.float64]

COSINE = 0.9
"""Above which two claims are one (VISTA, §5)."""


@dataclass(frozen=True)
class SetAgreement:
    """Claims of two sides, and how many of them have a partner. Summed over turns, so that each claim weighs alike."""

    first: float
    second: float
    shared: float

    @property
    def jaccard(self) -> float | None:
        """Shared claims over all that either side has, in [0, 1]. None without claims."""
        return _known(jaccard(self.first, self.second, self.shared))

    @property
    def f1(self) -> float | None:
        """Twice the shared claims over both sides' sizes, in [0, 1]; it is 2J / (1 + J). None without claims."""
        return _known(f1(self.first, self.second, self.shared))


def maximum_matching(edges: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """As many pairs as there can be, one for each number at most (Kuhn's algorithm); nearer partners are tried first.

    Example:
        >>> maximum_matching({0: [0, 1], 1: [0]})
        {1: 0, 0: 1}
    """
    taken: dict[int, int] = {}

    def find(one: int, seen: set[int]) -> bool:
        for other in edges[one]:
            if other in seen:
                continue
            seen.add(other)
            if other not in taken or find(taken[other], seen):
                taken[other] = one
                return True
        return False

    for one in edges:
        find(one, set())
    return {one: other for other, one in taken.items()}


def plain(text: str) -> str:
    """A claim's words, without what tells no two claims apart: case, blanks, the last point."""
    return " ".join(text.casefold().split()).rstrip(".!")


def jaccard(first: ArrayLike, second: ArrayLike, shared: ArrayLike) -> Counts:
    """Shared claims over those that either side has; not a number of no claims. Arrays are taken one by one."""
    return _ratio(shared, np.add(first, second) - np.asarray(shared))


def f1(first: ArrayLike, second: ArrayLike, shared: ArrayLike) -> Counts:
    """Twice the shared claims over the sizes of both sides; not a number of no claims. Arrays are taken one by one."""
    return _ratio(np.multiply(2, shared), np.add(first, second))


def _ratio(part: ArrayLike, whole: ArrayLike) -> Counts:
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    shares: Counts = np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    return shares


def _known(value: Counts) -> float | None:
    return None if np.isnan(value) else float(value)


def set_agreement(
    turns: Iterable[tuple[Sequence[str], Sequence[str]]], embedder: Embedder | None = None
) -> SetAgreement:
    """Pools the claims of turns, each with both sides' texts. Without an embedder only equal texts match."""
    first = second = shared = 0
    for one, other in turns:
        first += len(one)
        second += len(other)
        shared += len(partners(one, other, embedder))
    return SetAgreement(first, second, shared)


def partners(one: Sequence[str], other: Sequence[str], embedder: Embedder | None = None) -> dict[int, int]:
    """For places of `one` the place of `other` that says the same; each place at most once, and as many as there can be.

    Example:
        >>> partners(["The pier is long.", "It is old."], ["it is old"])
        {1: 0}
    """
    near = _cosines(one, other, embedder)
    words = [plain(text) for text in other]
    edges = {
        at: sorted(
            (to for to, said in enumerate(words) if said == plain(text) or near[at, to] > COSINE),
            key=lambda to: (words[to] != plain(text), -near[at, to], to),
        )
        for at, text in enumerate(one)
    }
    return maximum_matching(edges)


def _cosines(one: Sequence[str], other: Sequence[str], embedder: Embedder | None) -> np.ndarray:
    if embedder is None or not one or not other:
        return np.zeros((len(one), len(other)))
    vectors = embedder.embed([*one, *other])
    return np.asarray(vectors[: len(one)] @ vectors[len(one) :].T, float)
