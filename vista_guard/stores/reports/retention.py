"""What is deleted, and when: conversations and tenants on request, reports and texts when their time is over.

What operators do to a database of reports: look at it, bring it up to date, delete what is past its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sql

from vista_guard.stores.entries import digest
from vista_guard.stores.reports import backfill
from vista_guard.stores.reports import database as schema
from vista_guard.stores.reports.database import Database, truncate_log
from vista_guard.stores.reports.queries import owned_by
from vista_guard.stores.reports.tables import (
    BACKFILL,
    CLAIMS_HOUR,
    CONVERSATIONS,
    OF_A_REPORT,
    REPORTS,
    SAID_OF_A_REPORT,
    TEXTS,
    TURNS,
    TURNS_HOUR,
    UNCHECKED_HOUR,
)

BATCH = 500
"""Reports that are deleted in one transaction."""


@dataclass(frozen=True)
class Pruned:
    """How much was deleted for its age."""

    reports: int
    texts: int


def forget(connection: sql.Connection, conversation_id: str) -> int:
    """Deletes one conversation; how many reports that were. Roll-ups stay: they name no conversation."""
    key = digest(conversation_id)
    deleted = _delete(connection, sql.select(REPORTS.c.id).where(REPORTS.c.conversation_key == key))
    connection.execute(sql.delete(CONVERSATIONS).where(CONVERSATIONS.c.conversation_key == key))
    return deleted


def forget_tenant(connection: sql.Connection, tenant: str) -> int:
    """Deletes all of a tenant, with its roll-ups; how many reports that were."""
    deleted = _delete(connection, sql.select(TURNS.c.id).where(owned_by(TURNS, tenant)))
    connection.execute(sql.delete(CONVERSATIONS).where(owned_by(CONVERSATIONS, tenant)))
    for table in (TURNS_HOUR, CLAIMS_HOUR, UNCHECKED_HOUR):
        connection.execute(sql.delete(table).where(table.c.tenant == tenant))
    return deleted


def prune(connection: sql.Connection, now: datetime, report_days: float | None, *, most: int = BATCH) -> Pruned:
    """Deletes texts that expired, and reports that are older than so many days: at most a batch of each, the oldest first."""
    expired = sql.select(TEXTS.c.report).where(TEXTS.c.expires_at <= now).limit(most)
    texts = connection.execute(sql.delete(TEXTS).where(TEXTS.c.report.in_(expired))).rowcount
    if report_days is None:
        return Pruned(0, texts)
    cutoff = now - timedelta(days=report_days)
    old = sql.select(REPORTS.c.id).where(REPORTS.c.created_at < cutoff).order_by(REPORTS.c.created_at).limit(most)
    keys = sql.select(REPORTS.c.conversation_key).where(REPORTS.c.id.in_(old), REPORTS.c.conversation_key.is_not(None))
    touched = connection.execute(keys.distinct()).scalars().all()
    reports = _delete(connection, old)
    if touched:
        _recount(connection, list(touched))
    return Pruned(reports, texts)


def _delete(connection: sql.Connection, numbers: sql.Select[Any]) -> int:
    chosen = connection.execute(numbers).scalars().all()
    if chosen:
        above = sql.case((BACKFILL.c.highest < max(chosen), max(chosen)), else_=BACKFILL.c.highest)
        connection.execute(sql.update(BACKFILL).values(highest=above))
    for start in range(0, len(chosen), BATCH):
        some = chosen[start : start + BATCH]
        for table, column in (*OF_A_REPORT, *SAID_OF_A_REPORT):
            connection.execute(sql.delete(table).where(column.in_(some)))
        connection.execute(sql.delete(REPORTS).where(REPORTS.c.id.in_(some)))
    return len(chosen)


def _recount(connection: sql.Connection, keys: list[str]) -> None:
    """Conversations of which turns were deleted: what is left of them."""
    left = sql.select(sql.func.count()).where(TURNS.c.conversation_key == CONVERSATIONS.c.conversation_key)
    some = CONVERSATIONS.c.conversation_key.in_(keys)
    of = {"flagged": "FLAG", "repaired": "REPAIR", "blocked": "BLOCK"}
    counts: dict[str, Any] = {
        name: left.where(TURNS.c.action == action).scalar_subquery() for name, action in of.items()
    }
    same = TURNS.c.conversation_key == CONVERSATIONS.c.conversation_key
    for name in ("contradicted", "unchecked"):
        counts[name] = sql.select(sql.func.coalesce(sql.func.sum(TURNS.c[name]), 0)).where(same).scalar_subquery()
    first = sql.select(sql.func.min(TURNS.c.created_at)).where(same).scalar_subquery()
    counts["first_at"] = sql.func.coalesce(first, CONVERSATIONS.c.first_at)
    connection.execute(sql.update(CONVERSATIONS).where(some).values(turns=left.scalar_subquery(), **counts))
    connection.execute(sql.delete(CONVERSATIONS).where(some, CONVERSATIONS.c.turns == 0))


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


def prune_all(url: str, report_days: float | None) -> Pruned:
    """Deletes all that is past its time, in batches.

    Args:
        url: of the database.
        report_days: how old a report may be; as old as it likes when None. Texts know themselves when they expire.
    """
    database, now = Database(url, create=False), datetime.now(UTC)
    reports = texts = 0
    try:
        while True:
            gone = database.write("delete old reports", lambda c: prune(c, now, report_days))
            reports, texts = reports + gone.reports, texts + gone.texts
            if not gone.reports and not gone.texts:
                break
        if database.is_sqlite:
            database.write("delete old reports", truncate_log)
    finally:
        database.close()
    return Pruned(reports, texts)
