"""Whether two systems differ: McNemar's exact test over the same cases. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Below which probability a difference has which stars (VISTA, Tables 8 to 11)."""

NOT_SIGNIFICANT = "ns"


@dataclass(frozen=True)
class Discordant:
    """Cases on which one of two systems is right: `first` alone, or `second` alone; of `n` cases that both answered."""

    first: int
    second: int
    n: int

    @classmethod
    def of(cls, right: Iterable[tuple[bool, bool]]) -> Discordant:
        """Counts cases by whether the first and the second system are right."""
        known = list(right)
        return cls(known.count((True, False)), known.count((False, True)), len(known))

    @property
    def difference(self) -> float | None:
        """Accuracy of the first less that of the second, in [-1, 1]. None without cases."""
        return (self.first - self.second) / self.n if self.n else None

    @property
    def p(self) -> float:
        """Of McNemar's test."""
        return mcnemar(self.first, self.second)

    @property
    def stars(self) -> str:
        """As the paper prints `p`."""
        return stars(self.p)


def mcnemar(better: int, worse: int) -> float:
    """The exact two-sided test on discordant pairs: the binomial probability, in [0, 1], of a split at least as uneven.

    Example:
        >>> mcnemar(1, 9)
        0.021484375
    """
    n, least = better + worse, min(better, worse)
    # Sums of integers: a float of 2 ** n overflows beyond a thousand pairs.
    tail = sum(math.comb(n, k) for k in range(least + 1))
    return min(1.0, 2 * tail / 2**n) if n < 1000 else min(1.0, 2 * _ratio(tail, n))


def stars(p: float) -> str:
    """`***` below .001, `**` below .01, `*` below .05, else `ns`."""
    return next((mark for limit, mark in STARS if p < limit), NOT_SIGNIFICANT)


def _ratio(part: int, n: int) -> float:
    shift = max(part.bit_length() - 64, 0)
    return math.ldexp(part >> shift, shift - n)
