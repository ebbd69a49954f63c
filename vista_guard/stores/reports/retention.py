"""What is deleted, and when: conversations and tenants on request, reports and texts when their time is over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sql

from vista_guard.stores.entries import digest
from vista_guard.stores.reports.found import owned_by
from vista_guard.stores.reports.people.tables import SAID_OF_A_REPORT
from vista_guard.stores.reports.tables import (
    BACKFILL,
    CLAIMS_HOUR,
    CONVERSATIONS,
    OF_A_REPORT,
    REPORTS,
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
