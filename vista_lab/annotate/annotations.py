"""Annotation of guarded turns: tasks in batches, drafts that are saved while people work, and their consensus.

The rows are in the database of reports; deleting a report deletes them. Nobody sees
another annotator's work before all annotators of its task have submitted: `complete` is the only way to read it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

import sqlalchemy as sql

from vista_guard.errors import InputError
from vista_guard.stores.reports import store
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.filters import utc
from vista_guard.stores.reports.tables import CONSENSUS, TURNS
from vista_guard.stores.reviewed import ConsensusClaim, Op, clean_name
from vista_guard.stores.reviews.queue import SETTLED_CLAIMS, clean_text, find_report, visible
from vista_guard.types import Label, Span, TurnReport, TurnTexts
from vista_lab.annotate.forms import MOST_CLAIMS
from vista_lab.annotate.tables import ANNOTATION_CLAIMS, ANNOTATIONS, TASKS, are_made, make_tables
from vista_lab.metrics.agreement import AnnotatedClaim, Method

T = TypeVar("T")

_IN_ONE_QUERY = 500


class Condition(StrEnum):
    """The annotator's view: the text alone, or the judge's labels too."""

    BLIND = "blind"
    SUGGESTIONS = "suggestions"
    """The judge's labels, since they asked for them."""


@dataclass(frozen=True)
class Annotation:
    """An annotator's work on a turn. Each save increments `version`; `seconds` is the time spent."""

    id: int
    task: int
    annotator: str
    version: int
    submitted: bool
    condition: Condition
    seconds: float
    notes: str
    claims: tuple[AnnotatedClaim, ...]
    saved_at: datetime

    @property
    def kept(self) -> tuple[AnnotatedClaim, ...]:
        """The claims without deleted ones."""
        return tuple(claim for claim in self.claims if claim.kept)


@dataclass(frozen=True)
class AnnotationTask:
    """A turn to annotate. `mine` is the viewer's state: `free`, `draft`, `submitted`, or `full`
    when enough others have begun. `submitted` counts annotators who are done."""

    id: int
    report_id: str
    batch: str
    wanted: int
    submitted: int
    mine: str
    settled: bool


@dataclass(frozen=True)
class AnnotationBatch:
    """Tasks created together. `complete` counts those that enough annotators submitted, `settled` those with consensus."""

    name: str
    tasks: int
    complete: int
    settled: int
    wanted: int


@dataclass(frozen=True)
class CompleteTask:
    """A task that enough annotators submitted, so that their work may be compared."""

    id: int
    report_id: str
    batch: str
    annotations: Sequence[Annotation]
    consensus: Consensus | None = None


@dataclass(frozen=True)
class Consensus:
    """The consensus on a task: its claims, the method, and who settled it."""

    task: int
    report_id: str
    claims: tuple[ConsensusClaim, ...]
    method: Method
    by: str
    at: datetime


def require_row(found: T | None) -> T:
    """Requires a row that was just written.

    Raises:
        InputError: the row is gone, since somebody deleted its turn at the same time.
    """
    if found is None:
        raise InputError("the turn of this task was deleted meanwhile")
    return found


def _submitted_count() -> sql.ScalarSelect[Any]:
    done = sql.select(sql.func.count()).where(ANNOTATIONS.c.task == TASKS.c.id, ANNOTATIONS.c.state == "submitted")
    return done.correlate(TASKS).scalar_subquery()


def _is_settled() -> sql.Exists:
    return sql.exists().where(CONSENSUS.c.task == TASKS.c.id)


def batches(connection: sql.Connection, visible: sql.ColumnElement[bool]) -> tuple[AnnotationBatch, ...]:
    """Counts by batch, the newest batch first."""
    query = sql.select(
        TASKS.c.id,
        TASKS.c.batch,
        TASKS.c.wanted,
        sql.case((_submitted_count() >= TASKS.c.wanted, 1), else_=0).label("complete"),
        sql.case((_is_settled(), 1), else_=0).label("settled"),
    ).where(visible)
    tasks = query.subquery()
    sums = (sql.func.sum(tasks.c[name]) for name in ("complete", "settled"))
    counts = sql.select(tasks.c.batch, sql.func.count(), *sums, sql.func.max(tasks.c.wanted))
    ordered = counts.group_by(tasks.c.batch).order_by(sql.func.max(tasks.c.id).desc())
    return tuple(AnnotationBatch(name, *map(int, numbers)) for name, *numbers in connection.execute(ordered))


def tasks(annotator: str) -> sql.Select[Any]:
    """Tasks with their state for one annotator."""
    own = sql.select(ANNOTATIONS.c.state).where(ANNOTATIONS.c.task == TASKS.c.id, ANNOTATIONS.c.annotator == annotator)
    begun = sql.select(sql.func.count()).where(ANNOTATIONS.c.task == TASKS.c.id)
    return (
        sql.select(
            TASKS,
            TURNS.c.report_id,
            _submitted_count().label("submitted"),
            own.correlate(TASKS).scalar_subquery().label("own"),
            begun.correlate(TASKS).scalar_subquery().label("begun"),
            _is_settled().label("settled"),
        )
        .join(TURNS, TURNS.c.id == TASKS.c.report)
        .order_by(TASKS.c.id)
    )


def task(row: sql.Row[Any]) -> AnnotationTask:
    """The task of a row of `tasks`."""
    mine = row.own or ("free" if row.begun < row.wanted else "full")
    return AnnotationTask(row.id, row.report_id, row.batch, row.wanted, int(row.submitted), mine, bool(row.settled))


def fresh_row(task: int, report: int, annotator: str, condition: Condition) -> dict[str, Any]:
    """Returns the row of a new draft."""
    now = datetime.now(UTC)
    names = {"task": task, "report": report, "annotator": annotator, "condition": condition.value}
    return {**names, "version": 0, "state": "draft", "seconds": 0.0, "notes": "", "started_at": now, "saved_at": now}


def claim_rows(claims: Sequence[AnnotatedClaim], annotation: int, report: int) -> list[dict[str, Any]]:
    """Returns the rows of an annotation's claims, in order."""
    return [
        {
            "annotation": annotation,
            "n": n,
            "report": report,
            "source_claim_id": claim.source_claim_id,
            "op": claim.op.value,
            "text": clean_text(claim.text, "a claim", needed=False),
            "span_start": claim.span.start if claim.span else None,
            "span_end": claim.span.end if claim.span else None,
            "label": claim.label.value if claim.label and claim.kept else None,
        }
        for n, claim in enumerate(claims)
    ]


def annotation_of(connection: sql.Connection, task: int, annotator: str) -> Annotation | None:
    """Returns one annotator's work on a task."""
    mine = ANNOTATIONS.c.task == task, ANNOTATIONS.c.annotator == annotator
    found = _annotations(connection, sql.select(ANNOTATIONS).where(*mine))
    return found[0] if found else None


def complete_tasks() -> sql.Select[Any]:
    """Tasks that enough annotators submitted."""
    joined = sql.select(TASKS, TURNS.c.report_id).join(TURNS, TURNS.c.id == TASKS.c.report)
    return joined.where(_submitted_count() >= TASKS.c.wanted).order_by(TASKS.c.id)


def read_complete(connection: sql.Connection, query: sql.Select[Any]) -> tuple[CompleteTask, ...]:
    """The tasks that a query finds, with their annotations and consensus."""
    rows = connection.execute(query).all()
    names = {row.id: row.report_id for row in rows}
    work, agreed = _work(connection, list(names)), _consensus_by_task(connection, names)
    return tuple(CompleteTask(row.id, row.report_id, row.batch, work[row.id], agreed.get(row.id)) for row in rows)


def consensus_row(task: int, report: int, claims: Sequence[ConsensusClaim], method: Method, who: str) -> dict[str, Any]:
    """A row of `CONSENSUS`."""
    text = SETTLED_CLAIMS.dump_json(tuple(claims)).decode()
    settled = {"method": method.value, "settled_by": who, "settled_at": datetime.now(UTC)}
    return {"task": task, "report": report, "claims": text, **settled}


def _work(connection: sql.Connection, tasks: list[int]) -> dict[int, list[Annotation]]:
    by_task: dict[int, list[Annotation]] = defaultdict(list)
    for start in range(0, len(tasks), _IN_ONE_QUERY):
        some = ANNOTATIONS.c.task.in_(tasks[start : start + _IN_ONE_QUERY])
        query = sql.select(ANNOTATIONS).where(some, ANNOTATIONS.c.state == "submitted")
        for annotation in _annotations(connection, query.order_by(ANNOTATIONS.c.annotator)):
            by_task[annotation.task].append(annotation)
    return by_task


def _consensus_by_task(connection: sql.Connection, reports: dict[int, str]) -> dict[int, Consensus]:
    task_ids, consensus = list(reports), {}
    for start in range(0, len(task_ids), _IN_ONE_QUERY):
        some = CONSENSUS.c.task.in_(task_ids[start : start + _IN_ONE_QUERY])
        for row in connection.execute(sql.select(CONSENSUS).where(some)):
            claims, at = SETTLED_CLAIMS.validate_json(row.claims), utc(row.settled_at)
            name = reports[row.task]
            consensus[row.task] = Consensus(row.task, name, claims, Method(row.method), row.settled_by, at)
    return consensus


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


MOST_TASKS = 2000
"""Tasks of a batch that are read at once."""

MOST_ANNOTATORS = 20


class Annotations:
    """The annotations of a database of reports. Every method is synchronous and safe to call from any thread.

    Args:
        database: a SQLAlchemy URL, an engine, or the `Database` of a store.
        tenants: restricts every method to the turns of these tenants; None for all.

    Raises:
        ConfigError: the URL is malformed, or its driver is not installed.

    Every method raises `StoreError` when the database cannot be read or written, and `InputError` for a task or a report that
    does not exist, or that is another tenant's.

    Examples:
        >>> from vista_guard.stores.reports.database import Database
        >>> annotations = Annotations(Database("sqlite://"))
        >>> annotations.batches()
        ()
    """

    def __init__(self, database: str | sql.Engine | Database, *, tenants: Sequence[str] | None = None) -> None:
        self._database = database if isinstance(database, Database) else Database(database, create=False)
        self._tenants = tenants

    def create(self, batch: str, report_ids: Sequence[str], *, wanted: int = 2, who: str) -> int:
        """Creates a task for each report; returns the number of new ones. Tasks that the batch has already stay.

        Args:
            batch: its name, 1 to 200 printable characters. An existing batch gets the new tasks.
            report_ids: the turns to annotate.
            wanted: annotators per turn.
            who: the creator of the tasks.

        Raises:
            InputError: a name or a number is invalid, or a report does not exist.
        """
        name, maker = clean_name(batch), clean_name(who)
        if not 1 <= wanted <= MOST_ANNOTATORS:
            raise InputError(f"{wanted} annotators for each turn; ask for 1 to {MOST_ANNOTATORS}")

        def make(connection: sql.Connection) -> int:
            reports = [find_report(connection, one, self._tenants) for one in dict.fromkeys(report_ids)]
            existing = set(connection.execute(sql.select(TASKS.c.report).where(TASKS.c.batch == name)).scalars())
            same = {"batch": name, "wanted": wanted, "created_at": datetime.now(UTC), "created_by": maker}
            new = [
                {"report": report.id, "tenant": report.tenant, **same}
                for report in reports
                if report.id not in existing
            ]
            if new:
                connection.execute(sql.insert(TASKS), new)
            return len(new)

        return self._write(make)

    def batches(self) -> tuple[AnnotationBatch, ...]:
        """Returns all batches, newest first."""
        return self._read(lambda connection: batches(connection, self._visible()))

    def tasks(self, batch: str, annotator: str) -> tuple[AnnotationTask, ...]:
        """Returns up to 2,000 tasks of a batch, oldest first, with their state for one annotator."""
        query = tasks(annotator).where(TASKS.c.batch == batch, self._visible())
        rows = self._read(lambda connection: tuple(connection.execute(query.limit(MOST_TASKS))))
        return tuple(map(task, rows))

    def start(self, task: int, annotator: str, *, condition: Condition = Condition.BLIND) -> Annotation:
        """Returns the annotator's work on a task: their draft, or a new one.

        Raises:
            InputError: enough annotators have begun already.
        """
        name = clean_name(annotator)

        def begin(connection: sql.Connection) -> Annotation:
            task_row = self._lock_task(connection, task)
            mine = annotation_of(connection, task, name)
            if mine is not None:
                return mine
            count = sql.select(sql.func.count()).where(ANNOTATIONS.c.task == task)
            if connection.execute(count).scalar_one() >= task_row.wanted:
                raise InputError(f"task {task} has the {task_row.wanted} annotators that it wants; take another one")
            connection.execute(sql.insert(ANNOTATIONS).values(**fresh_row(task, task_row.report, name, condition)))
            return require_row(annotation_of(connection, task, name))

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
        """Saves a draft in place of the version that it was made from.

        Args:
            annotation: the version that the annotator edited.
            claims: all of them, in order, deleted ones included.
            notes: the annotator's justification.
            seconds: the total time spent. It never goes down.
            condition: the annotator's view; once it was `SUGGESTIONS` it stays so.

        Raises:
            InputError: it was submitted, or saved in another window meanwhile: read it again with `start`.
        """
        text = clean_text(notes, "the notes", needed=False)
        if len(claims) > MOST_CLAIMS:
            raise InputError(f"{len(claims):,} claims for one turn; at most {MOST_CLAIMS} are kept")
        saw_labels = Condition.SUGGESTIONS in (condition, annotation.condition)
        values = {
            "version": annotation.version + 1,
            "condition": (Condition.SUGGESTIONS if saw_labels else Condition.BLIND).value,
            "seconds": max(float(seconds), annotation.seconds),
            "notes": text,
            "saved_at": datetime.now(UTC),
        }

        def keep(connection: sql.Connection) -> Annotation:
            task_row = self._lock_task(connection, annotation.task)
            _advance(connection, annotation, values)
            connection.execute(sql.delete(ANNOTATION_CLAIMS).where(ANNOTATION_CLAIMS.c.annotation == annotation.id))
            rows = claim_rows(claims, annotation.id, task_row.report)
            if rows:
                connection.execute(sql.insert(ANNOTATION_CLAIMS), rows)
            return require_row(annotation_of(connection, annotation.task, annotation.annotator))

        return self._write(keep)

    def submit(self, annotation: Annotation) -> Annotation:
        """Submits the work on a task. It cannot be changed afterwards.

        Raises:
            InputError: a claim has no label or no text, or the draft was saved in another window meanwhile.
        """
        for number, claim in enumerate(annotation.claims, 1):
            if claim.kept and (claim.label is None or not claim.text.strip()):
                lacks = "label" if claim.label is None else "text"
                raise InputError(f"claim {number} has no {lacks}; give it one, or delete the claim")
        now = datetime.now(UTC)
        done = {"state": "submitted", "version": annotation.version + 1, "submitted_at": now, "saved_at": now}

        def end(connection: sql.Connection) -> Annotation:
            self._lock_task(connection, annotation.task)
            _advance(connection, annotation, done)
            return require_row(annotation_of(connection, annotation.task, annotation.annotator))

        return self._write(end)

    def complete(self, batch: str | None = None, *, task: int | None = None) -> tuple[CompleteTask, ...]:
        """Returns the tasks that all their annotators submitted, with the work and the consensus, if any."""
        query = complete_tasks().where(self._visible())
        if batch is not None:
            query = query.where(TASKS.c.batch == batch)
        if task is not None:
            query = query.where(TASKS.c.id == task)
        return self._read(lambda connection: read_complete(connection, query.limit(MOST_TASKS)))

    def settle(self, task: int, claims: Sequence[ConsensusClaim], *, method: Method, who: str) -> Consensus:
        """Stores the annotators' consensus on a task, in place of an earlier one.

        Raises:
            InputError: the task is not complete.
        """
        name = clean_name(who)

        def write(connection: sql.Connection) -> Consensus:
            task_row = self._lock_task(connection, task)
            if not connection.execute(complete_tasks().where(TASKS.c.id == task)).first():
                raise InputError(f"task {task} is not complete: all of its annotators must have submitted")
            connection.execute(sql.delete(CONSENSUS).where(CONSENSUS.c.task == task))
            row = consensus_row(task, task_row.report, claims, method, name)
            connection.execute(sql.insert(CONSENSUS).values(**row))
            return require_row(read_complete(connection, complete_tasks().where(TASKS.c.id == task))[0].consensus)

        return self._write(write)

    def close(self) -> None:
        """Closes the connections."""
        self._database.close()

    def _lock_task(self, connection: sql.Connection, task: int) -> sql.Row[Any]:
        """Locks the task's row until the transaction ends, on every database by updating it."""
        mine = sql.and_(TASKS.c.id == task, self._visible())
        connection.execute(sql.update(TASKS).where(mine).values(wanted=TASKS.c.wanted))
        row = connection.execute(sql.select(TASKS).where(mine)).first()
        if row is None:
            raise InputError(f"there is no annotation task {task}; its turn may have been deleted")
        return row

    def _visible(self) -> sql.ColumnElement[bool]:
        return visible(TASKS.c.tenant, self._tenants)

    def _read(self, operation: Callable[[sql.Connection], tuple[T, ...]]) -> tuple[T, ...]:
        return self._database.run("read annotations", lambda to: operation(to) if are_made(to) else ())

    def _write(self, operation: Callable[[sql.Connection], T]) -> T:
        def make_and_write(connection: sql.Connection) -> T:
            if not are_made(connection):
                make_tables(connection)
            return operation(connection)

        return self._database.write("write annotations", make_and_write)


def _advance(connection: sql.Connection, annotation: Annotation, values: dict[str, Any]) -> None:
    """Updates the annotation's row, if it is still at the version that the annotator edited."""
    same = ANNOTATIONS.c.id == annotation.id, ANNOTATIONS.c.version == annotation.version
    draft = sql.update(ANNOTATIONS).where(*same, ANNOTATIONS.c.state == "draft")
    if not connection.execute(draft.values(**values)).rowcount:
        raise InputError(
            f"{annotation.annotator}'s work on this turn was changed or submitted in another window; load it anew"
        )


@dataclass(frozen=True)
class FinishedTurn:
    """A turn with its report and texts, and each annotator's claims and notes."""

    report: TurnReport
    texts: TurnTexts
    by: Mapping[str, tuple[Sequence[AnnotatedClaim], str]]


def take_in(
    database: Database, batch: str, turns: Sequence[FinishedTurn], *, who: str, condition: Condition = Condition.BLIND
) -> int:
    """Imports a batch of finished work, in one transaction. Reports that the database has already stay as they are.

    `who` imports it; `condition` was the annotators' view.

    Returns:
        The number of new reports.

    Raises:
        InputError: the batch exists already, or a name or a text cannot be stored.
        StoreError: the database cannot be written; nothing was imported.
    """
    name, maker = clean_name(batch), clean_name(who)

    def take(connection: sql.Connection) -> int:
        make_tables(connection)
        if connection.execute(sql.select(TASKS.c.id).where(TASKS.c.batch == name).limit(1)).first():
            raise InputError(f"there is a batch {name!r} already; name another with --batch")
        new = 0
        for turn in turns:
            number, fresh = _insert_report(connection, turn)
            new += fresh
            row = {"report": number, "tenant": turn.report.tenant or "", "batch": name, "wanted": len(turn.by)}
            insert = sql.insert(TASKS).values(**row, created_at=datetime.now(UTC), created_by=maker)
            task = _primary_key(connection.execute(insert))
            for annotator, (claims, notes) in turn.by.items():
                _insert_annotation(connection, fresh_row(task, number, clean_name(annotator), condition), claims, notes)
        return new

    return database.write("import annotations", take)


def _insert_report(connection: sql.Connection, turn: FinishedTurn) -> tuple[int, bool]:
    row_id = connection.execute(sql.select(TURNS.c.id).where(TURNS.c.report_id == turn.report.id)).scalar()
    if row_id is not None:
        return int(row_id), False
    return store.insert(connection, turn.report, turn.texts, None), True


def _insert_annotation(
    connection: sql.Connection, fresh: Mapping[str, Any], claims: Sequence[AnnotatedClaim], notes: str
) -> None:
    done = {"state": "submitted", "version": 1, "submitted_at": datetime.now(UTC)}
    row = {**fresh, **done, "notes": clean_text(notes, "the notes", needed=False)}
    number = _primary_key(connection.execute(sql.insert(ANNOTATIONS).values(**row)))
    rows = claim_rows(claims, number, int(fresh["report"]))
    if rows:
        connection.execute(sql.insert(ANNOTATION_CLAIMS), rows)


def _primary_key(inserted: sql.CursorResult[Any]) -> int:
    key = inserted.inserted_primary_key
    assert key is not None  # each of these tables has one
    return int(key[0])
