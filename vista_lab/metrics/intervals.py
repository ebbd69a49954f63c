"""Intervals of figures (Wilson's, and by resampling documents), and McNemar's exact test for two systems on the same cases."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

LEVEL = 0.95
"""Confidence level of every interval."""
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
DRAWS = 1000
_SEED = 13
_PLACES = 1_000_000
"""Rows drawn at once."""


@dataclass(frozen=True)
class Share:
    """`hits` of `n`. Printed as a percentage with its interval; nothing of nothing is a dash.

    Examples:
        >>> print(Share(6, 104))
        5.8 % (2.7–12.0)
    """

    hits: int
    n: int

    @classmethod
    def of(cls, held: Iterable[bool]) -> Share:
        """Share of the values that are true."""
        values = list(held)
        return cls(sum(values), len(values))

    @property
    def value(self) -> float:
        """In [0, 1]; not a number when there is nothing to take a share of."""
        return self.hits / self.n if self.n else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval (1927) of 95 %, in [0, 1]: it holds near 0 and 1 too, and for few cases.

        Raises ZeroDivisionError: `n` is 0.
        """
        square = _Z * _Z
        middle = (self.hits / self.n + square / (2 * self.n)) / (1 + square / self.n)
        spread = self.hits * (self.n - self.hits) / self.n**3 + square / (4 * self.n**2)
        reach = _Z / (1 + square / self.n) * math.sqrt(spread)
        return max(0.0, middle - reach), min(1.0, middle + reach)

    @property
    def low(self) -> float:
        return self.interval[0]

    @property
    def high(self) -> float:
        return self.interval[1]

    def __str__(self) -> str:
        return share_text(self.value, self.interval) if self.n else "–"


def wilson(hits: int, n: int) -> Share | None:
    """A share with its interval; None without cases."""
    return Share(hits, n) if n else None


def share_interval(groups: Sequence[str], held: Sequence[bool]) -> tuple[float, float] | None:
    """A share's 95 % interval; None without rows.

    Wilson's where each group has one row. Rows of one group are alike, as turns of one conversation: where there are several,
    whole groups are drawn again, unless all draws come to one figure.

    Args:
        groups: of each row.
        held: True for each row that counts.
    """
    if not held:
        return None
    if len(set(groups)) == len(groups):
        return Share.of(held).interval
    low, high = mean_interval(groups, held)
    return (low, high) if low < high else Share.of(held).interval


def share_text(value: float, interval: tuple[float, float]) -> str:
    """A share in [0, 1] and its interval, for people: 5.8 % (2.7–12.1)."""
    low, high = interval
    return f"{value:.1%} ({100 * low:.1f}–{100 * high:.1f})".replace("%", " %")


def bootstrap_interval(
    groups: Sequence[str], figure: Callable[[np.ndarray], float], draws: int = DRAWS
) -> tuple[float, float]:
    """A figure's 95 % interval by the bootstrap over groups: rows of one document are alike, so documents are drawn.

    Args:
        groups: of each row.
        figure: the figure over rows, given by place; not a number where these rows have none, which draws may come to.
        draws: number of samples, each of as many groups as there are, with replacement.

    Returns:
        The 2.5th and the 97.5th percentile; not numbers where no draw has the figure.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        places[group].append(place)
    rows, rng = [np.array(members) for members in places.values()], np.random.default_rng(_SEED)
    samples = (rng.integers(len(rows), size=len(rows)) for _ in range(draws))
    # Groups of one row each are drawn at once: ten thousand of them need not be put together one by one.
    single = len(rows) == len(groups)
    drawn = (sample if single else np.concatenate([rows[at] for at in sample]) for sample in samples)
    return _percentiles(np.array([figure(sample) for sample in drawn]))


def mean_interval(groups: Sequence[str], values: Sequence[float], draws: int = DRAWS) -> tuple[float, float]:
    """A mean's 95 % interval, by `bootstrap_interval`."""
    array = np.array(values)
    if len(set(groups)) < len(groups):
        return bootstrap_interval(groups, lambda rows: float(array[rows].mean()), draws)
    # The same samples at once, some million places at a time: a call of numpy a sample would cost more than all draws.
    rng, at_once = np.random.default_rng(_SEED), max(1, _PLACES // len(array))
    sizes = [min(at_once, draws - done) for done in range(0, draws, at_once)]
    count = len(array)
    return _percentiles(np.concatenate([array[rng.integers(count, size=(size, count))].mean(axis=1) for size in sizes]))


def _percentiles(values: np.ndarray) -> tuple[float, float]:
    finite = values[~np.isnan(values)]
    if not len(finite):
        return math.nan, math.nan
    low, high = np.percentile(finite, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return float(low), float(high)


STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Stars of a difference whose p is below the limit (VISTA, Tables 8 to 11)."""

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
        pairs = list(right)
        return cls(pairs.count((True, False)), pairs.count((False, True)), len(pairs))

    @property
    def difference(self) -> float | None:
        """Accuracy of the first less that of the second, in [-1, 1]. None without cases."""
        return (self.first - self.second) / self.n if self.n else None

    @property
    def p(self) -> float:
        return mcnemar(self.first, self.second)

    @property
    def stars(self) -> str:
        """Stars for `p`, as the paper prints them."""
        return stars(self.p)


def mcnemar(better: int, worse: int) -> float:
    """The exact two-sided test on discordant pairs: the binomial probability, in [0, 1], of a split at least as uneven.

    Examples:
        >>> mcnemar(1, 9)
        0.021484375
    """
    n, least = better + worse, min(better, worse)
    # Sums of integers: a float of 2 ** n overflows beyond a thousand pairs.
    tail = sum(math.comb(n, k) for k in range(least + 1))
    return min(1.0, 2 * tail / 2**n) if n < 1000 else min(1.0, 2 * _ratio(tail, n))


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected for their number by Holm's step-down method (1979), in the order given.

    Examples:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    p = np.asarray(values, float)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return [float(one) for one in corrected]


def stars(p: float) -> str:
    """`***` below .001, `**` below .01, `*` below .05, else `ns`."""
    return next((mark for limit, mark in STARS if p < limit), NOT_SIGNIFICANT)


def _ratio(part: int, n: int) -> float:
    shift = max(part.bit_length() - 64, 0)
    return math.ldexp(part >> shift, shift - n)
