"""What operators do to a database of reports: look at it, bring it up to date, delete what is past its time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sql

from vista_guard.stores.reports import backfill, retention, schema
from vista_guard.stores.reports.database import Database, truncate_log
from vista_guard.stores.reports.tables import REPORTS


@dataclass(frozen=True)
class State:
    """A database as it is. `revision` is None where there are no tables; `waiting` counts reports of an older version."""

    name: str
    revision: str | None
    newest: str
    reports: int
    waiting: int

    @property
    def is_newest(self) -> bool:
        """Whether nothing has to be done."""
        return self.revision == self.newest


def state(url: str) -> State:
    """Looks, and changes nothing.

    Raises:
        StoreError: the database is missing, cannot be read, or of a newer schema.
    """
    database = Database(url, create=False)
    try:
        return database.look("look at the tables", lambda connection: _state(connection, database.name))
    finally:
        database.close()


def _state(connection: sql.Connection, name: str) -> State:
    found = schema.look(connection)
    count = 0
    if found.revision is not None:
        count = int(connection.execute(sql.select(sql.func.count()).select_from(REPORTS)).scalar_one())
    waiting = backfill.left(connection) if found.is_newest else count
    return State(name, found.revision, found.newest, count, waiting)


def bring_up_to_date(url: str) -> Iterator[int]:
    """Brings tables and reports up to date: yields how many reports came over, batch by batch.

    Raises:
        StoreError: the database cannot be reached or written, or is of a newer schema.
    """
    database = Database(url)
    try:
        with database.translating_errors("bring the tables up to date"):
            schema.upgrade(database.engine)
        while count := database.write("bring older reports over", backfill.step):
            yield count
    finally:
        database.close()


def prune_all(url: str, report_days: float | None) -> retention.Pruned:
    """Deletes all that is past its time, in batches.

    Args:
        url: of the database.
        report_days: how old a report may be; as old as it likes when None. Texts know themselves when they expire.
    """
    database, now = Database(url, create=False), datetime.now(UTC)
    reports = texts = 0
    try:
        while True:
            gone = database.write("delete old reports", lambda c: retention.prune(c, now, report_days))
            reports, texts = reports + gone.reports, texts + gone.texts
            if not gone.reports and not gone.texts:
                break
        if database.is_sqlite:
            database.write("delete old reports", truncate_log)
    finally:
        database.close()
    return retention.Pruned(reports, texts)
