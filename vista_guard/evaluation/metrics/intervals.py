"""Intervals around shares. Pure."""

from __future__ import annotations

import math
from typing import NamedTuple

Z95 = 1.959963984540054
"""Standard deviations of a normal distribution that hold 95 % of it."""


class Share(NamedTuple):
    """`hits` of `n`, with the bounds between which the share lies with 95 % confidence; all shares in [0, 1]."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.hits / self.n


def wilson(hits: int, n: int, z: float = Z95) -> Share | None:
    """Wilson's score interval (1927), which stays in [0, 1] and holds for few cases too. None of no cases.

    Example:
        >>> wilson(8, 10)
        Share(hits=8, n=10, low=0.490..., high=0.943...)
    """
    if not n:
        return None
    share, square = hits / n, z * z
    middle = (share + square / (2 * n)) / (1 + square / n)
    reach = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return Share(hits, n, max(0.0, middle - reach), min(1.0, middle + reach))
