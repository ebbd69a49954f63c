"""A report on its way into the tables, all of them in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite

from vista_guard.stores.reports import rollups, rows
from vista_guard.stores.reports.people import queueing
from vista_guard.stores.reports.tables import BACKFILL, CONVERSATIONS, FINDINGS, REPORTS, TEXTS, TURNS
from vista_guard.types import TurnReport, TurnTexts


def insert(connection: sql.Connection, report: TurnReport, texts: TurnTexts | None, days: float | None) -> int:
    """Writes one report everywhere; its number."""
    made = connection.execute(_numbered(connection.dialect.name), rows.report_row(report))
    number = int(made.scalar_one())
    spread(connection, [(number, report)])
    queueing.queue(connection, report, number)
    if texts is not None:
        connection.execute(_INTO[TEXTS], rows.text_row(report, texts, number, days))
    return number


def spread(connection: sql.Connection, numbered: Sequence[tuple[int, TurnReport]]) -> None:
    """Writes all but the reports themselves: thin rows, claims, conversations, roll-ups."""
    connection.execute(_INTO[TURNS], [rows.turn_row(report, number) for number, report in numbered])
    findings = [row for number, report in numbered for row in rows.finding_rows(report, number)]
    if findings:
        connection.execute(_INTO[FINDINGS], findings)
    joined = [rows.conversation_row(report) for _, report in numbered if report.conversation_id is not None]
    if joined:
        # In one order, so that two writers never wait for each other.
        joined.sort(key=lambda row: (row["conversation_key"], row["last_at"]))
        connection.execute(_joining(connection.dialect.name), joined)
    rollups.add(connection, rollups.summed(rollups.added(report) for _, report in numbered))


_INTO = {table: sql.insert(table) for table in (TURNS, FINDINGS, TEXTS)}
_COUNTS = ("turns", "flagged", "repaired", "blocked", "contradicted", "unchecked")


@cache  # building a statement costs more than running it
def _numbered(dialect_name: str) -> Any:
    """Inserts a report and gives its number: on SQLite one that no report ever had; elsewhere sequences see to it."""
    statement = sql.insert(REPORTS)
    if dialect_name == "sqlite":
        newest = sql.select(sql.func.coalesce(sql.func.max(REPORTS.c.id), 0)).scalar_subquery()
        next_number = sql.func.max(newest, sql.select(BACKFILL.c.highest).scalar_subquery()) + 1
        own = {
            column.name: sql.bindparam(column.name, type_=column.type) for column in REPORTS.c if column.name != "id"
        }
        statement = statement.values(id=next_number, **own)
    return statement.returning(REPORTS.c.id)


@cache
def _joining(dialect_name: str) -> Any:
    """Adds a report to its conversation."""
    dialect: Any = postgresql if dialect_name == "postgresql" else sqlite
    statement = dialect.insert(CONVERSATIONS)
    old, new = CONVERSATIONS.c, statement.excluded
    changed = {
        "first_at": sql.case((new.first_at < old.first_at, new.first_at), else_=old.first_at),
        "last_at": sql.case((new.last_at > old.last_at, new.last_at), else_=old.last_at),
        **{name: old[name] + new[name] for name in _COUNTS},
    }
    return statement.on_conflict_do_update(index_elements=[old.conversation_key], set_=changed)
