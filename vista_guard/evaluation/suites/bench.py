"""What every protocol shares: the product, the data folder, and thresholds that development sets choose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from vista_guard.evaluation.suites import loaders
from vista_guard.evaluation.suites.judged import Judged, judge_given, three_way
from vista_guard.evaluation.suites.product import Product, progress
from vista_guard.guard import Guard

FEVER_DEV = "train/fever/dev.jsonl.gz"
REFUTED_ROWS = 1200
"""Rows of FEVER dev, evenly spaced, that the three-way threshold is chosen on."""

Row = TypeVar("Row")
Answer = TypeVar("Answer")


@dataclass
class Bench:
    """A product under test. `limit` is the most rows of a set that are judged; 0 for all."""

    product: Product
    data: Path
    limit: int = 0
    without_knowledge: bool = False
    """Whether replays are repeated without what conversations establish."""

    def some(self, rows: Sequence[Row], cap: int = 0) -> list[Row]:
        """At most `limit` (and `cap`) rows, evenly spaced: files are often sorted by label or source."""
        most = min((count for count in (self.limit, cap) if count), default=0)
        if not most or len(rows) <= most:
            return list(rows)
        return [rows[index * len(rows) // most] for index in range(most)]

    def each(
        self,
        rows: Sequence[Row],
        judge: Callable[[Product, Guard, Row], Coroutine[Any, Any, Answer]],
        task: str,
        guard: Guard | None = None,
    ) -> list[Answer]:
        """The rows one by one through a guard."""
        door = guard or self.product.guard()

        async def run() -> list[Answer]:
            return [await judge(self.product, door, row) for row in progress(rows, task)]

        return asyncio.run(run())

    @cached_property
    def refuted(self) -> float:
        """P(contradicted) from which an unsupported claim counts as refuted: best three-way macro-F1 on FEVER dev."""
        from vista_guard.evaluation.metrics.arrays import macro_f1

        gold, judged = self.fever_dev
        limits = [step / 100 for step in range(10, 96, 5)]
        return max(limits, key=lambda limit: macro_f1(gold, [three_way(claim, limit) for claim in judged]))

    @cached_property
    def fever_dev(self) -> tuple[list[str], list[Judged]]:
        """Gold labels and judged claims of some rows of FEVER dev."""
        rows = self.some(loaders.fever(self.data / FEVER_DEV), REFUTED_ROWS)
        return [row.gold for row in rows], self.each(rows, judge_given, "fever_dev through the guard")
