"""Annotation: tasks in batches, drafts that are saved while people work, and what they agreed on.

Nobody's work comes out of here for anybody else before all annotators of its task have submitted: `complete` is the only way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

import sqlalchemy as sql

from vista_guard.errors import InputError
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.people.tables import ANNOTATION_CLAIMS, ANNOTATIONS, CONSENSUS, TASKS
from vista_guard.stores.reviews import work
from vista_guard.stores.reviews.records import (
    AnnotatedClaim,
    Annotation,
    Batch,
    CompleteTask,
    Condition,
    Consensus,
    ConsensusClaim,
    Method,
    Task,
)
from vista_guard.stores.reviews.scope import find_report, person, visible, written

T = TypeVar("T")

MOST_TASKS = 2000
"""Tasks of a batch that are read at once."""

MOST_ANNOTATORS = 20
MOST_CLAIMS = 500


class Annotations:
    """The annotations of a database of reports. Every method is synchronous and safe to call from any thread.

    Args:
        database: a SQLAlchemy URL, an engine, or the `Database` of a store.
        tenants: whose turns are seen, by every method; None for all.

    Raises:
        ConfigError: the URL is malformed, or its driver is not installed.

    Every method raises `StoreError` when the database cannot be read or written, and `InputError` for a task or a report that
    there is none of, or that is another tenant's.

    Example:
        >>> annotations = Annotations("sqlite:///reports.sqlite")
        >>> annotations.create("pilot", [report.id for report in reports], wanted=2, who="ada")
        >>> mine = annotations.start(annotations.tasks("pilot", "ada")[0].id, "ada")
        >>> mine = annotations.save(mine, claims, notes="", seconds=40.0)
        >>> annotations.submit(mine)
    """

    def __init__(self, database: str | sql.Engine | Database, *, tenants: Sequence[str] | None = None) -> None:
        self._database = database if isinstance(database, Database) else Database(database, create=False)
        self._tenants = tenants

    def of_tenants(self, tenants: Sequence[str] | None) -> Self:
        """The annotations of these tenants' turns only."""
        return type(self)(self._database, tenants=tenants)

    def create(self, batch: str, report_ids: Sequence[str], *, wanted: int = 2, who: str) -> int:
        """Makes a task of each report; how many are new. One that is in the batch already stays as it is.

        Args:
            batch: its name, 1 to 200 printable characters. One that is there already grows.
            report_ids: which turns.
            wanted: how many annotators each turn gets.
            who: who makes it.

        Raises:
            InputError: a name or a number that makes no sense, or an id of no report.
        """
        name, maker = person(batch), person(who)
        if not 1 <= wanted <= MOST_ANNOTATORS:
            raise InputError(f"{wanted} annotators for each turn; ask for 1 to {MOST_ANNOTATORS}")

        def make(connection: sql.Connection) -> int:
            reports = [find_report(connection, one, self._tenants) for one in dict.fromkeys(report_ids)]
            there = set(connection.execute(sql.select(TASKS.c.report).where(TASKS.c.batch == name)).scalars())
            same = {"batch": name, "wanted": wanted, "created_at": datetime.now(UTC), "created_by": maker}
            new = [{"report": one.id, "tenant": one.tenant, **same} for one in reports if one.id not in there]
            if new:
                connection.execute(sql.insert(TASKS), new)
            return len(new)

        return self._write(make)

    def batches(self) -> tuple[Batch, ...]:
        """All batches, the newest first."""
        return self._read(lambda connection: work.batches(connection, self._visible()))

    def tasks(self, batch: str, annotator: str) -> tuple[Task, ...]:
        """The tasks of a batch as one annotator sees them, in the order in which they were made; at most 2,000."""
        query = work.tasks(annotator).where(TASKS.c.batch == batch, self._visible())
        rows = self._read(lambda connection: connection.execute(query.limit(MOST_TASKS)).all())
        return tuple(map(work.task, rows))

    def start(self, task: int, annotator: str, *, condition: Condition = Condition.BLIND) -> Annotation:
        """The annotator's work on a task: what they have begun, or a new draft.

        Raises:
            InputError: as many annotators as are wanted have begun already.
        """
        name = person(annotator)

        def begin(connection: sql.Connection) -> Annotation:
            found = self._locked(connection, task)
            mine = work.annotation_of(connection, task, name)
            if mine is not None:
                return mine
            count = sql.select(sql.func.count()).where(ANNOTATIONS.c.task == task)
            if connection.execute(count).scalar_one() >= found.wanted:
                raise InputError(f"task {task} has the {found.wanted} annotators that it wants; take another one")
            connection.execute(sql.insert(ANNOTATIONS).values(**work.fresh(task, found.report, name, condition)))
            return work.needed(work.annotation_of(connection, task, name))

        return self._write(begin)

    def save(
        self,
        annotation: Annotation,
        claims: Sequence[AnnotatedClaim],
        *,
        notes: str = "",
        seconds: float = 0.0,
        condition: Condition | None = None,
    ) -> Annotation:
        """Keeps a draft in the place of the one it was made from.

        Args:
            annotation: the state that was worked on.
            claims: all of them, in order, deleted ones included.
            notes: the annotator's justification.
            seconds: the time spent on it in all. It never goes down.
            condition: what they saw of the judge; once it was `SUGGESTIONS` it stays so.

        Raises:
            InputError: it was submitted, or saved from elsewhere meanwhile: read it again with `start`.
        """
        said = written(notes, "the notes", needed=False)
        if len(claims) > MOST_CLAIMS:
            raise InputError(f"{len(claims):,} claims for one turn; at most {MOST_CLAIMS} are kept")
        seen = Condition.SUGGESTIONS in (condition, annotation.condition)
        told = {
            "version": annotation.version + 1,
            "condition": (Condition.SUGGESTIONS if seen else Condition.BLIND).value,
            "seconds": max(float(seconds), annotation.seconds),
            "notes": said,
            "saved_at": datetime.now(UTC),
        }

        def keep(connection: sql.Connection) -> Annotation:
            found = self._locked(connection, annotation.task)
            _advance(connection, annotation, told)
            connection.execute(sql.delete(ANNOTATION_CLAIMS).where(ANNOTATION_CLAIMS.c.annotation == annotation.id))
            rows = work.claim_rows(claims, annotation.id, found.report)
            if rows:
                connection.execute(sql.insert(ANNOTATION_CLAIMS), rows)
            return work.needed(work.annotation_of(connection, annotation.task, annotation.annotator))

        return self._write(keep)

    def submit(self, annotation: Annotation) -> Annotation:
        """Ends the work on a task. It cannot be changed any more.

        Raises:
            InputError: a claim has no label or no text, or the draft was saved from elsewhere meanwhile.
        """
        for number, claim in enumerate(annotation.claims, 1):
            if claim.kept and (claim.label is None or not claim.text.strip()):
                lacks = "label" if claim.label is None else "text"
                raise InputError(f"claim {number} has no {lacks}; give it one, or delete the claim")
        now = datetime.now(UTC)
        done = {"state": "submitted", "version": annotation.version + 1, "submitted_at": now, "saved_at": now}

        def end(connection: sql.Connection) -> Annotation:
            self._locked(connection, annotation.task)
            _advance(connection, annotation, done)
            return work.needed(work.annotation_of(connection, annotation.task, annotation.annotator))

        return self._write(end)

    def complete(self, batch: str | None = None, *, task: int | None = None) -> tuple[CompleteTask, ...]:
        """Tasks that all wanted annotators have submitted, with their work and the consensus, where there is one."""
        query = work.complete_tasks().where(self._visible())
        if batch is not None:
            query = query.where(TASKS.c.batch == batch)
        if task is not None:
            query = query.where(TASKS.c.id == task)
        return self._read(lambda connection: work.completed(connection, query.limit(MOST_TASKS)))

    def settle(self, task: int, claims: Sequence[ConsensusClaim], *, method: Method, who: str) -> Consensus:
        """Writes down what a task's annotators agreed on, in place of what was settled before.

        Raises:
            InputError: the task is not complete.
        """
        name = person(who)

        def write(connection: sql.Connection) -> Consensus:
            found = self._locked(connection, task)
            if not connection.execute(work.complete_tasks().where(TASKS.c.id == task)).first():
                raise InputError(f"task {task} is not complete: all of its annotators must have submitted")
            connection.execute(sql.delete(CONSENSUS).where(CONSENSUS.c.task == task))
            row = work.consensus_row(task, found.report, claims, method, name)
            connection.execute(sql.insert(CONSENSUS).values(**row))
            return work.needed(work.completed(connection, work.complete_tasks().where(TASKS.c.id == task))[0].consensus)

        return self._write(write)

    def close(self) -> None:
        """Closes the connections."""
        self._database.close()

    def _locked(self, connection: sql.Connection, task: int) -> sql.Row[Any]:
        """The task, which nobody else writes to before this transaction ends: to change it is to hold it, on every database."""
        mine = sql.and_(TASKS.c.id == task, self._visible())
        connection.execute(sql.update(TASKS).where(mine).values(wanted=TASKS.c.wanted))
        row = connection.execute(sql.select(TASKS).where(mine)).first()
        if row is None:
            raise InputError(f"there is no annotation task {task}; its turn may have been deleted")
        return row

    def _visible(self) -> sql.ColumnElement[bool]:
        return visible(TASKS.c.tenant, self._tenants)

    def _read(self, of: Callable[[sql.Connection], T]) -> T:
        return self._database.run("read annotations", of)

    def _write(self, of: Callable[[sql.Connection], T]) -> T:
        return self._database.write("write annotations", of)


def _advance(connection: sql.Connection, annotation: Annotation, values: dict[str, Any]) -> None:
    """Changes the annotation's row, if it is still at the version that was worked on."""
    same = ANNOTATIONS.c.id == annotation.id, ANNOTATIONS.c.version == annotation.version
    draft = sql.update(ANNOTATIONS).where(*same, ANNOTATIONS.c.state == "draft")
    if not connection.execute(draft.values(**values)).rowcount:
        raise InputError(
            f"{annotation.annotator}'s work on this turn was changed or submitted in another window; load it anew"
        )
