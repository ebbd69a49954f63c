"""Reports that an older version wrote, brought into the tables that it did not know, a batch at a time.

Each batch is a transaction of its own: a process that is killed loses none, and the next opening goes on behind the last one.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC
from typing import Any

import sqlalchemy as sql

from vista_guard.stores.reports import store
from vista_guard.stores.reports.tables import BACKFILL, LABELS, REPORTS, TURNS
from vista_guard.types import TurnReport

logger = logging.getLogger("vista_guard")

BATCH = 200
"""Reports in one transaction: a tenth of a second in which nobody else writes to a SQLite file."""


def step(connection: sql.Connection, batch: int = BATCH) -> int:
    """Brings over the next batch; how many there were, 0 when nothing is left."""
    # A write first: the transaction has the lock before it reads, and two processes never take the same batch.
    connection.execute(sql.update(BACKFILL).values(upto=BACKFILL.c.upto))
    upto = connection.execute(sql.select(BACKFILL.c.upto)).scalar_one()
    numbers = connection.execute(_missing(upto).order_by(REPORTS.c.id).limit(batch)).scalars().all()
    if not numbers:
        newest = connection.execute(sql.select(sql.func.max(REPORTS.c.id))).scalar() or 0
        connection.execute(sql.update(BACKFILL).values(upto=max(newest, upto)))
        return 0
    stored = connection.execute(sql.select(REPORTS).where(REPORTS.c.id.in_(numbers)).order_by(REPORTS.c.id)).all()
    readable = [(row.id, report) for row in stored if (report := _report(row)) is not None]
    _bring(connection, readable)
    missed = [row for row in stored if row.id not in {number for number, _ in readable}]
    for row in missed:
        logger.warning(
            "report %s cannot be read (schema %s): lists show it without its claims", row.id, row.schema_version
        )
        connection.execute(sql.insert(TURNS).values(_bare(row)))
    connection.execute(sql.update(BACKFILL).values(upto=numbers[-1]))
    return len(stored)


def left(connection: sql.Connection) -> int:
    """How many reports wait."""
    upto = connection.execute(sql.select(BACKFILL.c.upto)).scalar_one()
    return int(connection.execute(sql.select(sql.func.count()).select_from(_missing(upto).subquery())).scalar_one())


def _missing(upto: int) -> sql.Select[Any]:
    known = sql.select(TURNS.c.id).where(TURNS.c.id == REPORTS.c.id).exists()
    return sql.select(REPORTS.c.id).where(REPORTS.c.id > upto, ~known)


def _bring(connection: sql.Connection, numbered: list[tuple[int, TurnReport]]) -> None:
    """Two reports may have one content, and so one id: the later one is named by its number."""
    if not numbered:
        return
    ids = [report.id for _, report in numbered]
    known = set(connection.execute(sql.select(TURNS.c.report_id).where(TURNS.c.report_id.in_(ids))).scalars())
    fresh = []
    for number, report in numbered:
        name = f"row{number}" if report.id in known else report.id
        known.add(name)
        fresh.append((number, report.model_copy(update={"id": name})))
    store.spread(connection, fresh)


def _report(row: sql.Row[Any]) -> TurnReport | None:
    try:
        return TurnReport.model_validate(json.loads(row.report))
    except ValueError:  # another version's, or damaged: who asks for it is told
        return None


def _bare(row: sql.Row[Any]) -> dict[str, Any]:
    """All that the report's own row tells of it."""
    made = row.created_at if row.created_at.tzinfo else row.created_at.replace(tzinfo=UTC)
    same = {name: getattr(row, name) for name in ("id", "conversation_key", "conversation_id", "turn_index", "score")}
    unknown = dict.fromkeys(("tenant", "judge", "policy", "rules", "gate"), "")
    counts = {label.lower(): 0 for label in LABELS}
    known = {"report_id": f"row{row.id}", "created_at": made, "action": row.action, "first_action": row.action}
    return {**same, **unknown, **counts, **known, "duration_ms": 0.0, "evidence_missing": False}
