"""The turns that the lab looks at: read once, kept without texts, shared by those who see the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final

from vista_guard.dashboard.parts.filters import Filters
from vista_guard.dashboard.reports.scoped import ScopedReports
from vista_guard.evaluation.whatif.cases import Case, case_of, without_texts
from vista_guard.evaluation.whatif.standing import fit_of
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import JudgeInfo

BATCH: Final = 200
KEPT: Final = 4
"""Samples that are kept at once: ten thousand turns take some fifty megabytes."""

AGE_S: Final = 600.0

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Sample:
    """Stored turns, newest first. `unreadable` is how many reports this version cannot read, `at` when it was read."""

    cases: tuple[Case, ...]
    fits: Mapping[JudgeInfo, TurnRisk | None]
    unreadable: int
    at: datetime
    more: bool
    """Whether there are older turns behind these."""

    @property
    def judges(self) -> tuple[JudgeInfo, ...]:
        """Who judged them."""
        return tuple(self.fits)


@dataclass
class Samples:
    """The last few samples, by what they were asked by."""

    _kept: dict[object, Sample] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: object) -> Sample | None:
        """The sample, while it is fresh."""
        with self._lock:
            found = self._kept.get(key)
        fresh = found is not None and (datetime.now(UTC) - found.at).total_seconds() < AGE_S
        return found if fresh else None

    def keep(self, key: object, sample: Sample) -> Sample:
        """Keeps it in the place of the oldest."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = sample
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
        return sample

    def drop(self, key: object) -> None:
        """Forgets it."""
        with self._lock:
            self._kept.pop(key, None)


@cache
def samples() -> Samples:
    """Those of this process."""
    return Samples()


def read(reports: ScopedReports, filters: Filters, size: int, table: Path | None, progress: Progress) -> Sample:
    """The newest turns that pass the filters, without their texts.

    Args:
        reports: the viewer's.
        filters: which turns.
        size: how many at most.
        table: the risk table of the settings, as `Settings.risk_table`.
        progress: is told how many were read so far.

    Raises:
        StoreError: the database cannot be read.
    """
    cases: list[Case] = []
    fits: dict[JudgeInfo, TurnRisk | None] = {}
    unreadable, after = 0, None
    while True:
        page = reports.page(filters, after=after, limit=min(BATCH, size - len(cases) - unreadable))
        whole = reports.turns([row.id for row in page.rows])
        for row in page.rows:
            found = whole.get(row.id)
            if found is None or isinstance(found, str):
                unreadable += isinstance(found, str)
                continue
            judge = found.report.judge
            if judge not in fits:
                fits[judge] = fit_of(judge, table)
            cases.append(without_texts(case_of(found.report, fits[judge])))
        progress(len(cases) + unreadable)
        after = page.next
        if after is None or len(cases) + unreadable >= size:
            return Sample(tuple(cases), fits, unreadable, datetime.now(UTC), after is not None)
