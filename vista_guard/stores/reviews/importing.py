"""Annotations that were made elsewhere, taken in whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sql

from vista_guard.errors import InputError
from vista_guard.stores.reports import store
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.tables import ANNOTATION_CLAIMS, ANNOTATIONS, TASKS, TURNS
from vista_guard.stores.reviews import annotation
from vista_guard.stores.reviews.queue import person, written
from vista_guard.stores.reviews.records import AnnotatedClaim, Condition
from vista_guard.types import TurnReport, TurnTexts


@dataclass(frozen=True)
class FinishedTurn:
    """A turn with its report and texts, and what each annotator made of it: their claims, and their notes."""

    report: TurnReport
    texts: TurnTexts
    by: Mapping[str, tuple[Sequence[AnnotatedClaim], str]]


def take_in(
    database: Database, batch: str, turns: Sequence[FinishedTurn], *, who: str, condition: Condition = Condition.BLIND
) -> int:
    """Makes a batch of finished work, in one transaction. Reports that the database has already stay as they are.

    Args:
        database: of reports.
        batch: the name of a new batch.
        turns: what it holds.
        who: who takes it in.
        condition: what the annotators saw of the judge.

    Returns:
        How many reports were new.

    Raises:
        InputError: there is such a batch, or a name or a text that is not stored.
        StoreError: the database cannot be written; nothing of it was.
    """
    name, maker = person(batch), person(who)

    def take(connection: sql.Connection) -> int:
        if connection.execute(sql.select(TASKS.c.id).where(TASKS.c.batch == name).limit(1)).first():
            raise InputError(f"there is a batch {name!r} already; name another with --batch")
        new = 0
        for turn in turns:
            number, fresh = _report(connection, turn)
            new += fresh
            row = {"report": number, "tenant": turn.report.tenant or "", "batch": name, "wanted": len(turn.by)}
            made = sql.insert(TASKS).values(**row, created_at=datetime.now(UTC), created_by=maker)
            task = _number(connection.execute(made))
            for annotator, (claims, notes) in turn.by.items():
                _annotation(connection, annotation.fresh(task, number, person(annotator), condition), claims, notes)
        return new

    return database.write("import annotations", take)


def _report(connection: sql.Connection, turn: FinishedTurn) -> tuple[int, bool]:
    found = connection.execute(sql.select(TURNS.c.id).where(TURNS.c.report_id == turn.report.id)).scalar()
    if found is not None:
        return int(found), False
    return store.insert(connection, turn.report, turn.texts, None), True


def _annotation(
    connection: sql.Connection, fresh: Mapping[str, Any], claims: Sequence[AnnotatedClaim], notes: str
) -> None:
    done = {"state": "submitted", "version": 1, "submitted_at": datetime.now(UTC)}
    row = {**fresh, **done, "notes": written(notes, "the notes", needed=False)}
    number = _number(connection.execute(sql.insert(ANNOTATIONS).values(**row)))
    rows = annotation.claim_rows(claims, number, int(fresh["report"]))
    if rows:
        connection.execute(sql.insert(ANNOTATION_CLAIMS), rows)


def _number(inserted: sql.CursorResult[Any]) -> int:
    key = inserted.inserted_primary_key
    assert key is not None  # each of these tables has one
    return int(key[0])
