"""Annotations: tasks, each person's own work on them, saved as they go, and submitted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sql

from vista_guard.errors import InputError
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.filters import utc
from vista_guard.stores.reports.tables import ANNOTATED_CLAIMS, ANNOTATIONS, CONSENSUS, TASKS, TURNS
from vista_guard.stores.reviews.types import AnnotatedClaim, Annotation, AnnotationTask, Batch, Condition
from vista_guard.types import Label, Span

T = TypeVar("T")


class Annotations:
    """Annotation tasks in a database of reports. Synchronous, safe from any thread; several processes may share it.

    People are blind to each other: `of_task` gives others' work only to who submitted their own, or adjudicates.

    Args:
        database: a SQLAlchemy URL, an engine or a `Database`.
        tenant: whose turns are seen; None for all.

    Every method raises `StoreError` when the database cannot be read or written.
    """

    def __init__(self, database: str | sql.Engine | Database, *, tenant: str | None = None) -> None:
        self._database = database if isinstance(database, Database) else Database(database, create=False)
        self._tenant = tenant

    def create(self, report_ids: Sequence[str], batch: str, *, wanted: int = 2) -> int:
        """Makes a task of each turn that is not in the batch yet; how many are new.

        Args:
            report_ids: of turns; those that there are no reports of any more are left out.
            batch: the name of the round.
            wanted: how many people should annotate each.
        """

        def work(connection: sql.Connection) -> int:
            known = sql.select(TASKS.c.report_id).where(TASKS.c.batch == batch)
            new = sql.select(TURNS).where(TURNS.c.report_id.in_(report_ids), TURNS.c.report_id.not_in(known))
            if self._tenant is not None:
                new = new.where(TURNS.c.tenant == self._tenant)
            rows = [
                {"report": turn.id, "report_id": turn.report_id, "tenant": turn.tenant}
                for turn in connection.execute(new.order_by(TURNS.c.id))
            ]
            if rows:
                same = {"batch": batch, "wanted": wanted, "created_at": _now()}
                connection.execute(sql.insert(TASKS), [{**row, **same} for row in rows])
            return len(rows)

        return self._write(work)

    def batches(self) -> tuple[Batch, ...]:
        """The rounds and how far they are, the newest first."""
        submitted = sql.select(sql.func.count()).where(_of_task(), ANNOTATIONS.c.state == "submitted").scalar_subquery()
        agreed = sql.select(sql.func.count()).where(CONSENSUS.c.task_id == TASKS.c.id).scalar_subquery()
        each = self._visible(sql.select(TASKS.c.batch, TASKS.c.id, TASKS.c.wanted, submitted, agreed)).subquery()
        batch, number, *counts = each.c
        sums = [sql.func.sum(count) for count in counts]
        query = sql.select(batch, sql.func.count(), *sums).group_by(batch).order_by(sql.func.max(number).desc())
        return self._read(lambda c: tuple(Batch(name, *map(int, counts)) for name, *counts in c.execute(query)))

    def tasks(self, batch: str, *, limit: int = 100, offset: int = 0) -> tuple[AnnotationTask, ...]:
        """The tasks of a round, in the order in which they were made."""
        query = self._visible(sql.select(TASKS)).where(TASKS.c.batch == batch).order_by(TASKS.c.id)
        return self._read(lambda c: tuple(map(_task, c.execute(query.limit(limit).offset(offset)))))

    def task(self, task_id: int) -> AnnotationTask | None:
        """The task, when there is one."""
        query = self._visible(sql.select(TASKS)).where(TASKS.c.id == task_id)
        return self._read(lambda c: next(map(_task, c.execute(query)), None))

    def next_task(self, batch: str, annotator: str) -> AnnotationTask | None:
        """The next task for this person: one they began, else one that too few people are at; None when they are done."""
        own = sql.select(ANNOTATIONS.c.state).where(_of_task(), ANNOTATIONS.c.annotator == annotator)
        begun = own.where(ANNOTATIONS.c.state == "draft").exists()
        taken = sql.select(sql.func.count()).where(_of_task()).scalar_subquery()
        query = self._visible(sql.select(TASKS)).where(TASKS.c.batch == batch)
        query = query.where(sql.or_(begun, sql.and_(~own.exists(), taken < TASKS.c.wanted)))
        query = query.order_by(sql.case((begun, 0), else_=1), TASKS.c.id).limit(1)
        return self._read(lambda c: next(map(_task, c.execute(query)), None))

    def open(self, task_id: int, annotator: str, *, condition: Condition = "blind") -> Annotation:
        """This person's annotation of the task, begun when it was not yet.

        Raises:
            InputError: there is no such task here.
        """

        def work(connection: sql.Connection) -> None:
            found = self._visible(sql.select(TASKS.c.id)).where(TASKS.c.id == task_id)
            if connection.execute(found).first() is None:
                raise InputError(f"there is no annotation task {task_id} here; its turn may have been deleted since")
            mine = sql.select(ANNOTATIONS.c.id).where(
                ANNOTATIONS.c.task_id == task_id, ANNOTATIONS.c.annotator == annotator
            )
            if connection.execute(mine).first() is None:
                row = {
                    "task_id": task_id,
                    "annotator": annotator,
                    "version": 0,
                    "state": "draft",
                    "condition": condition,
                }
                connection.execute(
                    sql.insert(ANNOTATIONS).values(row | {"seconds": 0, "notes": "", "updated_at": _now()})
                )

        self._write(work)
        return self._mine(task_id, annotator)

    def save(
        self,
        task_id: int,
        annotator: str,
        claims: Sequence[AnnotatedClaim],
        *,
        version: int,
        seconds: float,
        notes: str = "",
        condition: Condition | None = None,
    ) -> Annotation:
        """Saves what the person has by now, in place of what was saved before.

        Args:
            task_id, annotator: whose, of what.
            claims: all of them, in order.
            version: of the annotation that the page shows; the new one has the next.
            seconds: spent on it in all.
            notes: on the whole turn.
            condition: `suggestions` from when the person asked for them.

        Raises:
            InputError: it was submitted, or saved from another window since.
        """

        def work(connection: sql.Connection) -> None:
            mine = sql.and_(ANNOTATIONS.c.task_id == task_id, ANNOTATIONS.c.annotator == annotator)
            current = sql.and_(mine, ANNOTATIONS.c.version == version, ANNOTATIONS.c.state == "draft")
            values = {"version": version + 1, "seconds": seconds, "notes": notes, "updated_at": _now()}
            shown = {} if condition is None else {"condition": condition}
            changed = sql.update(ANNOTATIONS).where(current).values(**values, **shown).returning(ANNOTATIONS.c.id)
            number = connection.execute(changed).scalar()
            if number is None:
                raise InputError(
                    f"the annotation of task {task_id} by {annotator} was submitted, or saved in another window: load it again"
                )
            connection.execute(sql.delete(ANNOTATED_CLAIMS).where(ANNOTATED_CLAIMS.c.annotation_id == number))
            if claims:
                connection.execute(
                    sql.insert(ANNOTATED_CLAIMS), [_claim_row(number, n, one) for n, one in enumerate(claims)]
                )

        self._write(work)
        return self._mine(task_id, annotator)

    def submit(self, task_id: int, annotator: str) -> Annotation:
        """Says that the person is done. From then on it is not changed, and they may see others' work.

        Raises:
            InputError: a claim that is not deleted has no label.
        """
        mine = self._mine(task_id, annotator)
        bare = [claim.text for claim in mine.claims if claim.op != "delete" and claim.label is None]
        if bare:
            raise InputError(
                f"{len(bare)} claims have no label yet, the first is {bare[0][:60]!r}: give each one of the five"
            )
        done = sql.update(ANNOTATIONS).where(ANNOTATIONS.c.id == mine.id).values(state="submitted", updated_at=_now())
        self._write(lambda connection: connection.execute(done))
        return self._mine(task_id, annotator)

    def of_task(self, task_id: int, annotator: str, *, adjudicating: bool = False) -> tuple[Annotation, ...]:
        """The task's annotations that this person may see, their own first: before they submitted it that is all there is.

        Args:
            task_id: of the task.
            annotator: who looks.
            adjudicating: sees what all others submitted; the page says who may.
        """
        found = self._annotations(ANNOTATIONS.c.task_id == task_id)
        own = tuple(one for one in found if one.annotator == annotator)
        if not adjudicating and not any(one.state == "submitted" for one in own):
            return own
        return own + tuple(one for one in found if one.annotator != annotator and one.state == "submitted")

    def submitted(self, batch: str) -> tuple[Annotation, ...]:
        """All that was submitted in a round, by task: what agreement is counted over."""
        tasks = self._visible(sql.select(TASKS.c.id)).where(TASKS.c.batch == batch)
        return self._annotations(sql.and_(ANNOTATIONS.c.task_id.in_(tasks), ANNOTATIONS.c.state == "submitted"))

    def _mine(self, task_id: int, annotator: str) -> Annotation:
        found = self._annotations(sql.and_(ANNOTATIONS.c.task_id == task_id, ANNOTATIONS.c.annotator == annotator))
        if not found:
            raise InputError(f"{annotator} has no annotation of task {task_id}; open it first")
        return found[0]

    def _annotations(self, which: sql.ColumnElement[bool]) -> tuple[Annotation, ...]:
        query = sql.select(ANNOTATIONS).where(which).order_by(ANNOTATIONS.c.task_id, ANNOTATIONS.c.id)
        if self._tenant is not None:
            query = query.where(ANNOTATIONS.c.task_id.in_(self._visible(sql.select(TASKS.c.id))))

        def work(connection: sql.Connection) -> tuple[Annotation, ...]:
            rows = connection.execute(query).all()
            claims: dict[int, list[AnnotatedClaim]] = {row.id: [] for row in rows}
            said = sql.select(ANNOTATED_CLAIMS).where(ANNOTATED_CLAIMS.c.annotation_id.in_(claims))
            for row in connection.execute(said.order_by(ANNOTATED_CLAIMS.c.annotation_id, ANNOTATED_CLAIMS.c.n)):
                claims[row.annotation_id].append(_claim(row))
            return tuple(_annotation(row, claims[row.id]) for row in rows)

        return self._read(work)

    def _visible(self, query: sql.Select[Any]) -> sql.Select[Any]:
        return query if self._tenant is None else query.where(TASKS.c.tenant == self._tenant)

    def _read(self, work: Callable[[sql.Connection], T]) -> T:
        return self._database.run("read annotations", work)

    def _write(self, work: Callable[[sql.Connection], T]) -> T:
        return self._database.write("write annotations", work)


def _of_task() -> sql.ColumnElement[bool]:
    return ANNOTATIONS.c.task_id == TASKS.c.id


def _task(row: sql.Row[Any]) -> AnnotationTask:
    made = utc(row.created_at)
    return AnnotationTask(row.id, row.report_id, row.tenant or None, row.batch, row.wanted, made)


def _annotation(row: sql.Row[Any], claims: Sequence[AnnotatedClaim]) -> Annotation:
    same = ("id", "task_id", "annotator", "version", "state", "condition", "seconds", "notes")
    return Annotation(
        **{name: getattr(row, name) for name in same}, updated_at=utc(row.updated_at), claims=tuple(claims)
    )


def _claim_row(annotation_id: int, n: int, claim: AnnotatedClaim) -> dict[str, Any]:
    span = claim.span
    return {
        **claim.model_dump(include={"source_claim_id", "op", "text", "note"}),
        "annotation_id": annotation_id,
        "n": n,
        "label": None if claim.label is None else claim.label.value,
        "span_start": None if span is None else span.start,
        "span_end": None if span is None else span.end,
    }


def _claim(row: sql.Row[Any]) -> AnnotatedClaim:
    return AnnotatedClaim(
        op=row.op,
        text=row.text,
        label=None if row.label is None else Label(row.label),
        span=None if row.span_start is None else Span(start=row.span_start, end=row.span_end),
        source_claim_id=row.source_claim_id,
        note=row.note,
    )


def _now() -> datetime:
    return datetime.now(UTC)
