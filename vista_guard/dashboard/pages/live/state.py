"""What one reader's Live page has seen so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vista_guard.dashboard.parts.filters import Filters
from vista_guard.dashboard.reports.scoped import ROWS, ScopedReports
from vista_guard.dashboard.reports.turns import GuardedTurn
from vista_guard.stores.reports import LiveCursor, TurnRow

MOST = 200
"""Turns that one look reads at most: a hundred a second."""


@dataclass
class Seen:
    """Rows, newest first, and what they say; kept between two looks, so that each look reads only what is new.

    `asked` is what the rows were asked by: with other filters the page begins anew.
    """

    asked: tuple[Filters, bool]
    rows: list[TurnRow] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    fresh: frozenset[str] = frozenset()
    pinned: tuple[TurnRow, ...] = ()
    cursor: LiveCursor | None = None
    at: datetime | None = None

    def look(self, reports: ScopedReports, now: datetime) -> None:
        """Reads what came since the last look."""
        filters, attention = self.asked
        first = self.cursor is None
        news = reports.since(self.cursor, filters, attention=attention, limit=0 if first else MOST)
        self.cursor = news.cursor
        # The cursor comes before the page: what is written between them is new at the next look, and never lost.
        found = reports.page(filters, attention=attention).rows if first else news.rows
        known = {row.id for row in self.rows}
        came = [row for row in found if row.id not in known]
        self.fresh = frozenset() if first else frozenset(row.id for row in came)
        self.rows = sorted([*came, *self.rows], key=lambda row: (row.created_at, row.number), reverse=True)[:ROWS]
        self.at = now
        self._read(reports)

    def pin(self, reports: ScopedReports, names: Sequence[str]) -> None:
        """Makes these the pinned rows; those that are nowhere in the list are read."""
        here = {row.id: row for row in (*self.pinned, *self.rows)}
        found = (here.get(name) or reports.row(name) for name in names)
        self.pinned = tuple(row for row in found if row is not None)
        self._read(reports)

    def _read(self, reports: ScopedReports) -> None:
        shown = [row.id for row in (*self.pinned, *self.rows)]
        missing = [name for name in shown if name not in self.said]
        if missing:
            found = reports.turns(missing)
            self.said |= {name: one.report.response for name, one in found.items() if isinstance(one, GuardedTurn)}
        self.said = {name: self.said[name] for name in shown if name in self.said}
