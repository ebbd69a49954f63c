"""Deletion of reports, by conversation, by tenant and by age, and the commands of `vista-guard db`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sql

from vista_guard._aio import run
from vista_guard.protocols import KnowledgeStore
from vista_guard.stores.entries import digest
from vista_guard.stores.reports.database import Database, Schema, look, truncate_log, upgrade
from vista_guard.stores.reports.queries import owned_by
from vista_guard.stores.reports.tables import (
    CHANNEL,
    CLAIMS_HOUR,
    CONVERSATIONS,
    FAILURES,
    FAILURES_HOUR,
    METADATA,
    NUMBERS,
    OF_A_REPORT,
    PEOPLE_ON_A_REPORT,
    PREFIX,
    REPORTS,
    TEXTS,
    TURNS,
    TURNS_HOUR,
    UNCHECKED_HOUR,
)

BATCH = 500
"""Reports deleted in one transaction."""


def forget(connection: sql.Connection, conversation_id: str) -> int:
    """Deletes one conversation and returns its number of reports. Roll-ups stay: they name no conversation."""
    key = digest(conversation_id)
    deleted = _delete(connection, sql.select(REPORTS.c.id).where(REPORTS.c.conversation_key == key))
    for table in (CONVERSATIONS, FAILURES):
        connection.execute(sql.delete(table).where(table.c.conversation_key == key))
    return deleted


def forget_tenant(connection: sql.Connection, tenant: str) -> int:
    """Deletes everything of a tenant, roll-ups and facts about its chat included, and returns its number of reports."""
    deleted = _delete(connection, sql.select(TURNS.c.id).where(owned_by(TURNS, tenant)))
    connection.execute(sql.delete(CONVERSATIONS).where(owned_by(CONVERSATIONS, tenant)))
    for table in (TURNS_HOUR, CLAIMS_HOUR, UNCHECKED_HOUR, FAILURES, FAILURES_HOUR, CHANNEL):
        connection.execute(sql.delete(table).where(table.c.tenant == tenant))
    return deleted


def prune(
    connection: sql.Connection, now: datetime, report_days: float | None, *, most: int = BATCH
) -> tuple[int, int]:
    """Deletes one batch each of reports older than `report_days`, oldest first, and of expired texts; returns both numbers."""
    expired = sql.select(TEXTS.c.report).where(TEXTS.c.expires_at <= now).limit(most)
    connection.execute(sql.update(TURNS).where(TURNS.c.id.in_(expired)).values(question=None))
    texts = connection.execute(sql.delete(TEXTS).where(TEXTS.c.report.in_(expired))).rowcount
    if report_days is None:
        return 0, texts
    cutoff = now - timedelta(days=report_days)
    old = sql.select(REPORTS.c.id).where(REPORTS.c.created_at < cutoff).order_by(REPORTS.c.created_at).limit(most)
    keys = sql.select(REPORTS.c.conversation_key).where(REPORTS.c.id.in_(old), REPORTS.c.conversation_key.is_not(None))
    connection.execute(sql.delete(FAILURES).where(FAILURES.c.at < cutoff))
    touched = connection.execute(keys.distinct()).scalars().all()
    reports = _delete(connection, old)
    if touched:
        _recount(connection, list(touched))
    return reports, texts


def outdated(connection: sql.Connection, now: datetime, report_days: float, *, most: int = BATCH) -> list[str]:
    """The ids of conversations all of whose reports are older than `report_days`; all those that `prune`, called next, drops."""
    last = CONVERSATIONS.c.last_at
    old = sql.select(CONVERSATIONS.c.conversation_id).where(last < now - timedelta(days=report_days))
    return list(connection.execute(old.order_by(last).limit(most)).scalars())


def prune_with_knowledge(
    database: Database, now: datetime, report_days: float | None, knowledge: KnowledgeStore | None
) -> tuple[int, int]:
    """Like `prune`; first forgets what the conversations established that go: only their reports know their ids. Blocks."""
    operation = "delete old reports"
    if knowledge is not None and report_days is not None:
        ids = database.run(operation, lambda connection: outdated(connection, now, report_days))

        async def forget_all() -> None:
            for conversation_id in ids:
                await knowledge.forget(conversation_id)

        run(forget_all())
    return database.write(operation, lambda connection: prune(connection, now, report_days))


def _delete(connection: sql.Connection, numbers: sql.Select[Any]) -> int:
    ids = connection.execute(numbers).scalars().all()
    if ids:
        above = sql.case((NUMBERS.c.highest < max(ids), max(ids)), else_=NUMBERS.c.highest)
        connection.execute(sql.update(NUMBERS).values(highest=above))
    with_a_report = [*OF_A_REPORT, *PEOPLE_ON_A_REPORT, *(_of_others(connection) if ids else ())]
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        for table, column in with_a_report:
            connection.execute(sql.delete(table).where(column.in_(batch)))
        connection.execute(sql.delete(REPORTS).where(REPORTS.c.id.in_(batch)))
    return len(ids)


def _of_others(connection: sql.Connection) -> Iterator[tuple[sql.TableClause, sql.ColumnElement[Any]]]:
    """Tables of other packages with people's work on a report, as `tables.PREFIX` says."""
    there = sql.inspect(connection)
    for name in there.get_table_names():
        foreign = name.startswith(PREFIX) and name not in METADATA.tables
        if foreign and any(column["name"] == "report" for column in there.get_columns(name)):
            table = sql.table(name, sql.column("report"))
            yield table, table.c.report


def _recount(connection: sql.Connection, keys: list[str]) -> None:
    """Counts the remaining turns of these conversations anew; drops empty ones."""
    remaining = sql.select(sql.func.count()).where(TURNS.c.conversation_key == CONVERSATIONS.c.conversation_key)
    affected = CONVERSATIONS.c.conversation_key.in_(keys)
    actions = {"flagged": "FLAG", "repaired": "REPAIR", "blocked": "BLOCK"}
    counts: dict[str, Any] = {
        name: remaining.where(TURNS.c.action == action).scalar_subquery() for name, action in actions.items()
    }
    same = TURNS.c.conversation_key == CONVERSATIONS.c.conversation_key
    for name in ("contradicted", "unchecked"):
        counts[name] = sql.select(sql.func.coalesce(sql.func.sum(TURNS.c[name]), 0)).where(same).scalar_subquery()
    first = sql.select(sql.func.min(TURNS.c.created_at)).where(same).scalar_subquery()
    counts["first_at"] = sql.func.coalesce(first, CONVERSATIONS.c.first_at)
    connection.execute(sql.update(CONVERSATIONS).where(affected).values(turns=remaining.scalar_subquery(), **counts))
    connection.execute(sql.delete(CONVERSATIONS).where(affected, CONVERSATIONS.c.turns == 0))


def state(url: str) -> tuple[str, Schema, int]:
    """Reads a database's name, schema and number of reports, and changes nothing.

    Raises:
        StoreError: the database is missing or cannot be read.
    """
    database = Database(url, create=False)

    def read(connection: sql.Connection) -> tuple[str, Schema, int]:
        schema, count = look(connection), 0
        if schema.revision is not None:
            count = int(connection.execute(sql.select(sql.func.count()).select_from(REPORTS)).scalar_one())
        return database.name, schema, count

    with closing(database):
        return database.look("look at the tables", read)


def bring_up_to_date(url: str) -> Schema:
    """Upgrades the tables and returns the schema that was there before.

    Raises:
        StoreError: the database cannot be written, or this version cannot read its schema.
    """
    with closing(Database(url)) as database, database.translating_errors("upgrade the tables"):
        return upgrade(database.engine)


def prune_all(url: str, report_days: float | None, knowledge: KnowledgeStore | None = None) -> tuple[int, int]:
    """Deletes all reports older than `report_days` unless None, and all expired texts, in batches; returns both numbers.

    `knowledge` forgets the conversations of which no report is left.
    """
    now, reports, texts = datetime.now(UTC), 0, 0
    with closing(Database(url, create=False)) as database:
        while any(deleted := prune_with_knowledge(database, now, report_days, knowledge)):
            reports, texts = reports + deleted[0], texts + deleted[1]
        if database.is_sqlite:
            database.write("delete old reports", truncate_log)
    return reports, texts
