"""Reports in a database, a SQLite file or Postgres: what is kept of turns, and how it is read, exported and deleted."""

from vista_guard.stores.reports.database import Database  # first: it says what is missing where something is
from vista_guard.stores.reports.filters import (
    ATTENTION,
    ConversationRow,
    FindingRow,
    KeptTurn,
    LiveCursor,
    News,
    Page,
    ReportFilter,
    SourceCount,
    Summary,
    TurnRow,
)
from vista_guard.stores.reports.reading import ReportReader
from vista_guard.stores.reports.rollups import ClaimCount, Maker, Rollup, TurnCount, UncheckedCount, percentile
from vista_guard.stores.reports.store import SqlReports

__all__ = [
    "ATTENTION",
    "ClaimCount",
    "ConversationRow",
    "Database",
    "FindingRow",
    "KeptTurn",
    "LiveCursor",
    "Maker",
    "News",
    "Page",
    "ReportFilter",
    "ReportReader",
    "Rollup",
    "SourceCount",
    "SqlReports",
    "Summary",
    "TurnCount",
    "TurnRow",
    "UncheckedCount",
    "percentile",
]
