"""What a run took: seconds, calls, tokens, money. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vista_guard.types import TurnReport, Usage


@dataclass(frozen=True)
class Spending:
    """Of the turns of one run. Seconds are those of the turn's stages, not of waiting for a place among others."""

    turns: int
    mean: float
    """Seconds a turn."""
    median: float
    p95: float
    """Seconds within which 95 of 100 turns were done."""
    usage: Usage

    @property
    def cost(self) -> float | None:
        """US dollars a turn, an estimate. None where the price of some call is not known: a part is not the cost."""
        return self.usage.cost / self.turns if self.turns and not self.usage.unpriced_calls else None


def spending(reports: Sequence[TurnReport]) -> Spending | None:
    """Sums up. None without reports."""
    if not reports:
        return None
    seconds = np.asarray([report.timings.total / 1000 for report in reports])
    median, p95 = np.quantile(seconds, [0.5, 0.95])
    used = sum((report.usage for report in reports), Usage())
    return Spending(len(reports), float(seconds.mean()), float(median), float(p95), used)
