"""Recall at k: the share of the relevant passages among the first k (LLM-OASIS, section 7.1, equation 10). Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vista_lab.metrics.intervals import mean_interval

DEPTH = 100
"""The deepest k of the paper's Figure 2."""


@dataclass(frozen=True)
class RecallCurve:
    """R@k of some queries for k = 1, 2, …, `depth`: each query's share, shape (queries, depth)."""

    shares: NDArray[np.float64]
    groups: tuple[str, ...]
    """The document of each query: queries of one document are drawn together for an interval."""

    @property
    def depth(self) -> int:
        return int(self.shares.shape[1])

    def at(self, k: int) -> float:
        """R@k, the mean over queries; not a number without any.

        Raises ValueError: k is 0, or deeper than the ranking went.
        """
        if not 1 <= k <= self.depth:
            raise ValueError(f"R@{k} is not known; k lies between 1 and {self.depth}")
        return float(self.shares[:, k - 1].mean()) if len(self.shares) else float("nan")

    def interval(self, k: int) -> tuple[float, float]:
        """95 % interval of R@k, over documents."""
        return mean_interval(self.groups, self.shares[:, k - 1].tolist())


def recall(ranked: Sequence[Hashable], relevant: Collection[Hashable], depth: int = DEPTH) -> NDArray[np.float64]:
    """R@k of one query for k = 1, …, `depth`: the share of the relevant passages among the first k.

    Raises:
        ValueError: nothing is relevant, or the ranking has a passage twice.

    Examples:
        >>> recall(["c", "a", "b"], {"a", "b"}, depth=4)
        array([0. , 0.5, 1. , 1. ])
    """
    if not relevant:
        raise ValueError("recall is the share of relevant passages, and the query has none")
    if len(set(ranked)) != len(ranked):
        raise ValueError("the ranking has a passage twice")
    hits = np.zeros(depth)
    for place, passage in enumerate(ranked[:depth]):
        hits[place] = passage in relevant
    return hits.cumsum() / len(set(relevant))


def recall_curve(
    ranked: Sequence[Sequence[Hashable]],
    relevant: Sequence[Collection[Hashable]],
    groups: Sequence[str],
    depth: int = DEPTH,
) -> RecallCurve:
    """R@k over queries, each with its passages (nearest first), the relevant ones, and its document."""
    rows = [recall(ranking, right, depth) for ranking, right in zip(ranked, relevant, strict=True)]
    return RecallCurve(np.array(rows).reshape(len(rows), depth), tuple(groups))
