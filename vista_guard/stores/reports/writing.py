"""A report on its way into the tables, all of them in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite

from vista_guard.stores.reports import rollups, rows
from vista_guard.stores.reports.tables import BACKFILL, CONVERSATIONS, FINDINGS, REPORTS, TEXTS, TURNS
from vista_guard.types import TurnReport, TurnTexts


def insert(connection: sql.Connection, report: TurnReport, texts: TurnTexts | None, days: float | None) -> int:
    """Writes one report everywhere; its number."""
    statement = sql.insert(REPORTS).values({**rows.report_row(report), **_next_number(connection)})
    number = int(connection.execute(statement.returning(REPORTS.c.id)).scalar_one())
    spread(connection, [(number, report)])
    if texts is not None:
        connection.execute(sql.insert(TEXTS).values(rows.text_row(report, texts, number, days)))
    return number


def _next_number(connection: sql.Connection) -> dict[str, Any]:
    """On SQLite, a number that no report ever had; elsewhere sequences see to it."""
    if connection.dialect.name != "sqlite":
        return {}
    newest = sql.select(sql.func.coalesce(sql.func.max(REPORTS.c.id), 0)).scalar_subquery()
    return {"id": sql.func.max(newest, sql.select(BACKFILL.c.highest).scalar_subquery()) + 1}


def spread(connection: sql.Connection, numbered: Sequence[tuple[int, TurnReport]]) -> None:
    """Writes all but the reports themselves: thin rows, claims, conversations, roll-ups."""
    connection.execute(sql.insert(TURNS), [rows.turn_row(report, number) for number, report in numbered])
    findings = [row for number, report in numbered for row in rows.finding_rows(report, number)]
    if findings:
        connection.execute(sql.insert(FINDINGS), findings)
    _join(connection, [report for _, report in numbered if report.conversation_id is not None])
    rollups.add(connection, rollups.summed(rollups.added(report) for _, report in numbered))


def _join(connection: sql.Connection, reports: Iterable[TurnReport]) -> None:
    """Adds the reports to their conversations."""
    added = sorted(map(rows.conversation_row, reports), key=lambda row: (row["conversation_key"], row["last_at"]))
    if not added:
        return
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(CONVERSATIONS)
    old, new = CONVERSATIONS.c, statement.excluded
    changed = {
        "first_at": sql.case((new.first_at < old.first_at, new.first_at), else_=old.first_at),
        "last_at": sql.case((new.last_at > old.last_at, new.last_at), else_=old.last_at),
        **{name: old[name] + new[name] for name in _COUNTS},
    }
    connection.execute(statement.on_conflict_do_update(index_elements=[old.conversation_key], set_=changed), added)


_COUNTS = ("turns", "flagged", "repaired", "blocked", "contradicted", "unchecked")
