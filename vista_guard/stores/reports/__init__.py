"""Reports in a SQL database, SQLite or Postgres.

`SqlReports` (`store`) writes them and `ReportReader` (`reading`) reads them, by the questions in `queries`, the counts in
`rollups` and the filters and rows in `filters`. `tables` and `migrations` are the schema, `database` the connection, `retention`
the deletion. docs/design/observability.md.
"""

from vista_guard.stores.reports.database import Database  # first: it says what is missing where something is
from vista_guard.stores.reports.filters import (
    ATTENTION,
    ConversationRow,
    FailureRow,
    FindingRow,
    Highlight,
    KeptTurn,
    LiveCursor,
    News,
    Order,
    Page,
    ReportFilter,
    SourceCount,
    Summary,
    TurnRow,
)
from vista_guard.stores.reports.reading import ReportReader
from vista_guard.stores.reports.rollups import (
    ClaimCount,
    FailureCount,
    Maker,
    Rollup,
    TurnCount,
    UncheckedCount,
    percentile,
)
from vista_guard.stores.reports.store import SqlReports

__all__ = [
    "ATTENTION",
    "ClaimCount",
    "ConversationRow",
    "Database",
    "FailureCount",
    "FailureRow",
    "FindingRow",
    "Highlight",
    "KeptTurn",
    "LiveCursor",
    "Maker",
    "News",
    "Order",
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
