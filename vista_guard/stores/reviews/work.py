"""Rows of annotation as what they mean, and the questions that give them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sql
from pydantic import TypeAdapter

from vista_guard.errors import InputError
from vista_guard.stores.reports.filters import utc
from vista_guard.stores.reports.people.tables import ANNOTATION_CLAIMS, ANNOTATIONS, CONSENSUS, TASKS
from vista_guard.stores.reports.tables import TURNS
from vista_guard.stores.reviews.records import (
    AnnotatedClaim,
    Annotation,
    Batch,
    CompleteTask,
    Condition,
    Consensus,
    ConsensusClaim,
    Method,
    Op,
    Task,
)
from vista_guard.stores.reviews.scope import written
from vista_guard.types import Label, Span

T = TypeVar("T")

_CLAIMS = TypeAdapter(tuple[ConsensusClaim, ...])
_IN_ONE_QUERY = 500


def needed(found: T | None) -> T:
    """What must be there, since it was just written.

    Raises:
        InputError: it is gone: somebody deleted its turn at the same time.
    """
    if found is None:
        raise InputError("the turn of this task was deleted meanwhile")
    return found


def _submitted() -> sql.ScalarSelect[Any]:
    done = sql.select(sql.func.count()).where(ANNOTATIONS.c.task == TASKS.c.id, ANNOTATIONS.c.state == "submitted")
    return done.correlate(TASKS).scalar_subquery()


def _settled() -> sql.Exists:
    return sql.exists().where(CONSENSUS.c.task == TASKS.c.id)


def batches(connection: sql.Connection, visible: sql.ColumnElement[bool]) -> tuple[Batch, ...]:
    """Counts by batch, the newest batch first."""
    one = sql.select(
        TASKS.c.id,
        TASKS.c.batch,
        TASKS.c.wanted,
        sql.case((_submitted() >= TASKS.c.wanted, 1), else_=0).label("complete"),
        sql.case((_settled(), 1), else_=0).label("settled"),
    ).where(visible)
    tasks = one.subquery()
    sums = (sql.func.sum(tasks.c[name]) for name in ("complete", "settled"))
    counts = sql.select(tasks.c.batch, sql.func.count(), *sums, sql.func.max(tasks.c.wanted))
    ordered = counts.group_by(tasks.c.batch).order_by(sql.func.max(tasks.c.id).desc())
    return tuple(Batch(name, *map(int, numbers)) for name, *numbers in connection.execute(ordered))


def tasks(annotator: str) -> sql.Select[Any]:
    """Tasks with the state that one annotator finds them in."""
    own = sql.select(ANNOTATIONS.c.state).where(ANNOTATIONS.c.task == TASKS.c.id, ANNOTATIONS.c.annotator == annotator)
    begun = sql.select(sql.func.count()).where(ANNOTATIONS.c.task == TASKS.c.id)
    return (
        sql.select(
            TASKS,
            TURNS.c.report_id,
            _submitted().label("submitted"),
            own.correlate(TASKS).scalar_subquery().label("own"),
            begun.correlate(TASKS).scalar_subquery().label("begun"),
            _settled().label("settled"),
        )
        .join(TURNS, TURNS.c.id == TASKS.c.report)
        .order_by(TASKS.c.id)
    )


def task(row: sql.Row[Any]) -> Task:
    """A row of `tasks`."""
    mine = row.own or ("free" if row.begun < row.wanted else "full")
    return Task(row.id, row.report_id, row.batch, row.wanted, int(row.submitted), mine, bool(row.settled))


def fresh(task: int, report: int, annotator: str, condition: Condition) -> dict[str, Any]:
    """A new draft's row."""
    now = datetime.now(UTC)
    names = {"task": task, "report": report, "annotator": annotator, "condition": condition.value}
    return {**names, "version": 0, "state": "draft", "seconds": 0.0, "notes": "", "started_at": now, "saved_at": now}


def claim_rows(claims: Sequence[AnnotatedClaim], annotation: int, report: int) -> list[dict[str, Any]]:
    """Rows of an annotation's claims, in order."""
    return [
        {
            "annotation": annotation,
            "n": n,
            "report": report,
            "source_claim_id": claim.source_claim_id,
            "op": claim.op.value,
            "text": written(claim.text, "a claim", needed=False),
            "span_start": claim.span.start if claim.span else None,
            "span_end": claim.span.end if claim.span else None,
            "label": claim.label.value if claim.label and claim.kept else None,
        }
        for n, claim in enumerate(claims)
    ]


def annotation_of(connection: sql.Connection, task: int, annotator: str) -> Annotation | None:
    """One annotator's work on a task."""
    mine = ANNOTATIONS.c.task == task, ANNOTATIONS.c.annotator == annotator
    found = _annotations(connection, sql.select(ANNOTATIONS).where(*mine))
    return found[0] if found else None


def complete_tasks() -> sql.Select[Any]:
    """Tasks that as many submitted as are wanted."""
    joined = sql.select(TASKS, TURNS.c.report_id).join(TURNS, TURNS.c.id == TASKS.c.report)
    return joined.where(_submitted() >= TASKS.c.wanted).order_by(TASKS.c.id)


def completed(connection: sql.Connection, query: sql.Select[Any]) -> tuple[CompleteTask, ...]:
    """The tasks that a query finds, with all that is known of them."""
    rows = connection.execute(query).all()
    names = {row.id: row.report_id for row in rows}
    work, agreed = _work(connection, list(names)), _agreed(connection, names)
    return tuple(CompleteTask(row.id, row.report_id, row.batch, work[row.id], agreed.get(row.id)) for row in rows)


def consensus_row(task: int, report: int, claims: Sequence[ConsensusClaim], method: Method, who: str) -> dict[str, Any]:
    """A row of `CONSENSUS`."""
    text = _CLAIMS.dump_json(tuple(claims)).decode()
    told = {"method": method.value, "settled_by": who, "settled_at": datetime.now(UTC)}
    return {"task": task, "report": report, "claims": text, **told}


def _work(connection: sql.Connection, tasks: list[int]) -> dict[int, list[Annotation]]:
    by_task: dict[int, list[Annotation]] = defaultdict(list)
    for start in range(0, len(tasks), _IN_ONE_QUERY):
        some = ANNOTATIONS.c.task.in_(tasks[start : start + _IN_ONE_QUERY])
        query = sql.select(ANNOTATIONS).where(some, ANNOTATIONS.c.state == "submitted")
        for one in _annotations(connection, query.order_by(ANNOTATIONS.c.annotator)):
            by_task[one.task].append(one)
    return by_task


def _agreed(connection: sql.Connection, reports: dict[int, str]) -> dict[int, Consensus]:
    names, found = list(reports), {}
    for start in range(0, len(names), _IN_ONE_QUERY):
        some = CONSENSUS.c.task.in_(names[start : start + _IN_ONE_QUERY])
        for row in connection.execute(sql.select(CONSENSUS).where(some)):
            claims, method = _CLAIMS.validate_json(row.claims), Method(row.method)
            found[row.task] = Consensus(
                row.task, reports[row.task], claims, method, row.settled_by, utc(row.settled_at)
            )
    return found


def _annotations(connection: sql.Connection, query: sql.Select[Any]) -> list[Annotation]:
    rows = connection.execute(query).all()
    chosen = sql.select(ANNOTATION_CLAIMS).where(ANNOTATION_CLAIMS.c.annotation.in_([row.id for row in rows]))
    claims: dict[int, list[AnnotatedClaim]] = defaultdict(list)
    for row in connection.execute(chosen.order_by(ANNOTATION_CLAIMS.c.annotation, ANNOTATION_CLAIMS.c.n)):
        claims[row.annotation].append(_claim(row))
    return [
        Annotation(
            id=row.id,
            task=row.task,
            annotator=row.annotator,
            version=row.version,
            submitted=row.state == "submitted",
            condition=Condition(row.condition),
            seconds=row.seconds,
            notes=row.notes,
            claims=tuple(claims[row.id]),
            saved_at=utc(row.saved_at),
        )
        for row in rows
    ]


def _claim(row: sql.Row[Any]) -> AnnotatedClaim:
    placed = row.span_start is not None
    return AnnotatedClaim(
        text=row.text,
        op=Op(row.op),
        label=None if row.label is None else Label(row.label),
        source_claim_id=row.source_claim_id,
        span=Span(start=row.span_start, end=row.span_end) if placed else None,
    )
