"""Batches in the dashboard's database: items of a form, drafts that are saved while people work, and what they settled.

The items of a batch are turns of guarded conversations, whose texts are in their reports, or of a file, whose texts are here.
Nobody sees another annotator's work before all annotators of an item have submitted: `complete` is the only way to read it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

import sqlalchemy as sql
from pydantic import TypeAdapter

from vista_guard.errors import InputError
from vista_guard.stores.reports import store
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.filters import utc
from vista_guard.stores.reports.reading import parse_report
from vista_guard.stores.reports.tables import REPORTS, TURNS
from vista_guard.stores.reviewed import ConsensusClaim, clean_name
from vista_guard.stores.reviews.queue import SETTLED_CLAIMS, find_report, visible
from vista_guard.types import TurnReport, TurnTexts
from vista_lab.annotate.agreement import FormResults
from vista_lab.annotate.claims import claims_of
from vista_lab.annotate.forms import MOST_CLAIMS, Answers, Form, Item, Value, check_answers, load_form
from vista_lab.annotate.study import claim_part
from vista_lab.annotate.tables import ANSWERS, BATCHES, CONSENSUS, ITEMS, are_made, make_tables
from vista_lab.metrics.agreement import AnnotatedClaim, Method

T = TypeVar("T")

_ITEM, _ANSWERS = TypeAdapter(Item), TypeAdapter(Answers)
_MARKS = TypeAdapter(list[tuple[str, str, Value]])

_IN_ONE_QUERY = 500

MOST_ANNOTATORS = 20


class Condition(StrEnum):
    """The annotator's view: the text alone, or the judge's labels too."""

    BLIND = "blind"
    SUGGESTIONS = "suggestions"
    """The judge's labels, since they asked for them."""


@dataclass(frozen=True)
class FormBatch:
    """Items of one form, created together. `complete` counts those that enough annotators submitted, `settled` those that
    people settled. `of_turns`: the items are turns of guarded conversations."""

    name: str
    form: Form
    about: str
    items: int
    complete: int
    settled: int
    wanted: int
    of_turns: bool


@dataclass(frozen=True)
class AnnotationTask:
    """An item to annotate. `mine` is the viewer's state: `free`, `draft`, `submitted`, or `full` when enough others have
    begun. `report_id` is that of a turn's report."""

    id: int
    item: Item
    report_id: str | None
    wanted: int
    submitted: int
    mine: str


@dataclass(frozen=True)
class Draft:
    """An annotator's work on an item. Each save increments `version`; `seconds` is the time spent."""

    task: int
    annotator: str
    version: int
    submitted: bool
    condition: Condition
    seconds: float
    answers: Answers


@dataclass(frozen=True)
class Consensus:
    """The consensus on an item: the claims of a turn, or a discussion's marks by part and mark; how, and who did."""

    claims: tuple[ConsensusClaim, ...]
    marks: Mapping[tuple[str, str], Value]
    method: Method
    by: str
    at: datetime


@dataclass(frozen=True)
class CompleteTask:
    """An item that enough annotators submitted, so that their work may be compared."""

    id: int
    item: Item
    form: Form
    report_id: str | None
    drafts: Sequence[Draft]
    consensus: Consensus | None = None

    @cached_property
    def claims(self) -> Mapping[str, tuple[AnnotatedClaim, ...]]:
        """Each annotator's claims of a turn, deleted ones included."""
        return {draft.annotator: claims_of(draft.answers, self.item, self.form) for draft in self.drafts}

    @property
    def blind(self) -> bool:
        """True if nobody saw the judge's labels."""
        return all(draft.condition is Condition.BLIND for draft in self.drafts)


def turn_item(report: TurnReport) -> Item:
    """A guarded turn as an item of VISTA's form: the judge's claims without its labels (VISTA, App. C)."""
    parts = tuple(claim_part(outcome.claim) for outcome in report.outcomes)
    return Item(report.id, {}, parts, report.conversation_id or report.id)


class Batches:
    """The batches in a database of reports. Every method is synchronous and safe to call from any thread.

    Args:
        database: a SQLAlchemy URL, an engine, or the `Database` of a store.
        tenants: restricts every method to the turns of these tenants; None for all, and for items that are no turns.

    Raises:
        ConfigError: the URL is malformed, or its driver is not installed.

    Every method raises `StoreError` when the database cannot be read or written, and `InputError` for a batch, an item or a
    report that does not exist, or that is another tenant's.

    Examples:
        >>> from vista_guard.stores.reports.database import Database
        >>> Batches(Database("sqlite://")).all()
        ()
    """

    def __init__(self, database: str | sql.Engine | Database, *, tenants: Sequence[str] | None = None) -> None:
        self._database = database if isinstance(database, Database) else Database(database, create=False)
        self._tenants = tenants

    def all(self) -> tuple[FormBatch, ...]:
        """All batches, newest first."""
        complete = sql.case((_submitted() >= ITEMS.c.wanted, 1), else_=0)
        settled = sql.case((sql.exists().where(CONSENSUS.c.item == ITEMS.c.id), 1), else_=0)
        named = ITEMS.c.batch, ITEMS.c.wanted, ITEMS.c.id, ITEMS.c.report
        items = (
            sql.select(*named, complete.label("complete"), settled.label("settled")).where(self._visible()).subquery()
        )
        sums = (sql.func.sum(items.c[name]) for name in ("complete", "settled"))
        numbers = sql.func.count(), *sums, sql.func.max(items.c.wanted), sql.func.count(items.c.report)
        counts = sql.select(items.c.batch, sql.func.max(items.c.id).label("newest"), *numbers).group_by(items.c.batch)

        def read(connection: sql.Connection) -> tuple[FormBatch, ...]:
            known = {row.name: row for row in connection.execute(sql.select(BATCHES))}
            rows = connection.execute(counts.order_by(sql.desc("newest"))).all()
            return tuple(_batch(known[name], *map(int, figures)) for name, _, *figures in rows)

        return self._read(read)

    def find(self, name: str) -> FormBatch | None:
        """The batch of this name; None where there is none."""
        return next((batch for batch in self.all() if batch.name == name), None)

    def create(
        self,
        name: str,
        form: Form,
        items: Sequence[Item],
        *,
        wanted: int | None,
        who: str,
        about: str,
        finished: Mapping[str, Mapping[str, Answers]] | None = None,
        condition: Condition = Condition.BLIND,
        turns: Mapping[str, tuple[TurnReport, TurnTexts]] | None = None,
    ) -> int:
        """Creates a batch, whole or not at all; returns the number of new reports.

        Args:
            name: of the batch, 1 to 200 printable characters.
            form: of the items.
            items: at least one.
            wanted: annotators for each item that is not assigned; None: those who finished it.
            who: the creator.
            about: how the items were drawn.
            finished: work that was done in sheets, by annotator and item.
            condition: the view of those annotators.
            turns: reports and texts of items that are turns, by item. Reports that the database has stay as they are.

        Raises InputError: the batch exists already, or a name, a number or a text cannot be stored.
        """
        if not items:
            raise InputError(f"batch {name!r} has no items; give at least one")
        batch, maker = clean_name(name), clean_name(who)
        if wanted is not None:
            _check_wanted(wanted)
        done = {clean_name(annotator): answers for annotator, answers in (finished or {}).items()}

        def write(connection: sql.Connection) -> int:
            _insert_batch(connection, batch, form, about, maker)
            new = 0
            for item in items:
                by = {annotator: answers[item.id] for annotator, answers in done.items() if item.id in answers}
                place, fresh = ({}, False) if turns is None else _insert_report(connection, *turns[item.id])
                task = _insert_item(connection, batch, item, len(item.annotators) or wanted or len(by), **place)
                _insert_done(connection, task, by, place.get("report"), condition)
                new += fresh
            return new

        return self._write(write)

    def create_of_turns(self, name: str, report_ids: Sequence[str], *, wanted: int = 2, who: str) -> int:
        """Creates an item of VISTA's form for each report; returns the number of new ones. Those of the batch stay.

        Args:
            name: of the batch, 1 to 200 printable characters. An existing batch of turns gets the new items.
            report_ids: the turns to annotate.
            wanted: annotators per turn.
            who: the creator.

        Raises:
            InputError: a name or a number is invalid, a report does not exist, or the batch has another form.
        """
        batch, maker = clean_name(name), clean_name(who)
        _check_wanted(wanted)

        def write(connection: sql.Connection) -> int:
            reports = [find_report(connection, one, self._tenants) for one in dict.fromkeys(report_ids)]
            known = connection.execute(sql.select(ITEMS.c.report).where(ITEMS.c.batch == batch)).scalars().all()
            if not known:
                _insert_batch(connection, batch, load_form("vista"), "", maker)
            elif None in known:
                raise InputError(f"batch {batch!r} exists already, with items of a form; give another name")
            new = [found for found in reports if found.id not in known]
            for found in new:
                row = connection.execute(sql.select(REPORTS).where(REPORTS.c.id == found.id)).one()
                item = turn_item(parse_report(row.report, row.id, row.schema_version, self._database.name))
                _insert_item(connection, batch, item, wanted, report=found.id, tenant=found.tenant)
            return len(new)

        return self._write(write)

    def tasks(self, batch: str, annotator: str) -> tuple[AnnotationTask, ...]:
        """The items of a batch that are for one annotator, oldest first, with their state for them."""
        states = sql.select(ANSWERS.c.item, ANSWERS.c.annotator, ANSWERS.c.submitted).join(
            ITEMS, ITEMS.c.id == ANSWERS.c.item
        )
        here = ITEMS.c.batch == batch, self._visible()

        def read(connection: sql.Connection) -> tuple[AnnotationTask, ...]:
            by_item: dict[int, dict[str, bool]] = defaultdict(dict)
            for row in connection.execute(states.where(*here)):
                by_item[row.item][row.annotator] = row.submitted
            tasks = (_task(row, by_item[row.id], annotator) for row in connection.execute(_items().where(*here)))
            return tuple(task for task in tasks if task.item.is_for(annotator))

        return self._read(read)

    def start(self, task: int, annotator: str) -> Draft:
        """Returns the annotator's work on an item: their draft, or a new one.

        Raises InputError: enough annotators have begun already, or the item is for others.
        """
        name = clean_name(annotator)

        def begin(connection: sql.Connection) -> Draft:
            row = self._lock(connection, task)
            mine = connection.execute(sql.select(ANSWERS).where(*_of(task, name))).first()
            if mine is not None:
                return _draft(mine)
            item = _ITEM.validate_json(row.item)
            if not item.is_for(name):
                raise InputError(
                    f"item {item.id} is for {', '.join(item.annotators)}, not for {name}; open another one"
                )
            count = sql.select(sql.func.count()).where(ANSWERS.c.item == task)
            if connection.execute(count).scalar_one() >= row.wanted:
                raise InputError(f"item {item.id} has the {row.wanted} annotators that it wants; take another one")
            draft = Draft(task, name, 0, False, Condition.BLIND, 0.0, NOTHING)
            connection.execute(sql.insert(ANSWERS).values(**_row(draft), report=row.report))
            return draft

        return self._write(begin)

    def save(
        self,
        draft: Draft,
        answers: Answers,
        *,
        seconds: float = 0.0,
        condition: Condition | None = None,
        submit: bool = False,
    ) -> Draft:
        """Saves the work in place of the draft that it was made from; after `submit` it cannot be changed.

        Args:
            draft: the version that the annotator edited.
            answers: all of them.
            seconds: the total time spent. It never goes down.
            condition: the annotator's view; once it was `SUGGESTIONS` it stays so.
            submit: True to end the work.

        Raises:
            InputError: it was submitted or saved in another window meanwhile, or a mark is missing on submitting: names it.
        """
        if len(answers.parts) > MOST_CLAIMS:
            raise InputError(f"{len(answers.parts):,} parts of one item; at most {MOST_CLAIMS} are kept")
        saved = replace(
            draft,
            version=draft.version + 1,
            submitted=submit,
            condition=Condition.SUGGESTIONS if condition is Condition.SUGGESTIONS else draft.condition,
            seconds=max(float(seconds), draft.seconds),
            answers=answers,
        )

        def keep(connection: sql.Connection) -> Draft:
            row = self._lock(connection, draft.task)
            if submit:
                named = sql.select(BATCHES.c.form).where(BATCHES.c.name == row.batch)
                form = Form.model_validate_json(connection.execute(named).scalar_one())
                check_answers(form, _ITEM.validate_json(row.item), answers)
            same = *_of(draft.task, draft.annotator), ANSWERS.c.version == draft.version, ~ANSWERS.c.submitted
            if not connection.execute(sql.update(ANSWERS).where(*same).values(**_row(saved))).rowcount:
                raise InputError(
                    f"{draft.annotator}'s work on this item was changed or submitted in another window; load it anew"
                )
            return saved

        return self._write(keep)

    def complete(self, batch: str | None = None, *, task: int | None = None) -> tuple[CompleteTask, ...]:
        """The items that all their annotators submitted, with the work and the consensus, if any."""
        query = _items().where(_submitted() >= ITEMS.c.wanted, self._visible())
        if batch is not None:
            query = query.where(ITEMS.c.batch == batch)
        if task is not None:
            query = query.where(ITEMS.c.id == task)
        return self._read(lambda connection: _complete(connection, connection.execute(query).all()))

    def settle(
        self,
        task: int,
        claims: Sequence[ConsensusClaim] = (),
        marks: Mapping[tuple[str, str], Value] | None = None,
        *,
        method: Method = Method.DISCUSSION,
        who: str,
    ) -> Consensus:
        """Stores the consensus on an item: its claims, or a discussion's marks, in place of earlier ones of the same mark.

        Raises InputError: the item is not complete.
        """
        name, now = clean_name(who), datetime.now(UTC)

        def write(connection: sql.Connection) -> Consensus:
            row = self._lock(connection, task)
            rows = connection.execute(_items().where(ITEMS.c.id == task, _submitted() >= ITEMS.c.wanted)).all()
            if not rows:
                raise InputError(f"item {task} is not complete: all of its annotators must have submitted")
            (complete,) = _complete(connection, rows)
            before = {} if complete.consensus is None else complete.consensus.marks
            settled = Consensus(tuple(claims), {**before, **(marks or {})}, method, name, now)
            connection.execute(sql.delete(CONSENSUS).where(CONSENSUS.c.item == task))
            texts = {
                "claims": SETTLED_CLAIMS.dump_json(settled.claims).decode(),
                "marks": json.dumps([(*place, value) for place, value in settled.marks.items()]),
            }
            values = {**texts, "method": method.value, "settled_by": name, "settled_at": now}
            connection.execute(sql.insert(CONSENSUS).values(item=task, report=row.report, **values))
            return settled

        return self._write(write)

    def remove(self, batch: str) -> None:
        """Deletes a batch of a form's items, with its texts and all work on it."""
        found = self.find(batch)
        forms = [one.name for one in self.all() if not one.of_turns]
        if found is None or found.of_turns:
            raise InputError(f"batch {batch!r} of a form does not exist; there are {', '.join(forms) or 'none'}")

        def write(connection: sql.Connection) -> None:
            items = sql.select(ITEMS.c.id).where(ITEMS.c.batch == batch)
            for table in (CONSENSUS, ANSWERS):
                connection.execute(sql.delete(table).where(table.c.item.in_(items)))
            connection.execute(sql.delete(ITEMS).where(ITEMS.c.batch == batch))
            connection.execute(sql.delete(BATCHES).where(BATCHES.c.name == batch))

        self._write(write)

    def close(self) -> None:
        """Closes the connections."""
        self._database.close()

    def _lock(self, connection: sql.Connection, task: int) -> sql.Row[Any]:
        """Locks the item's row until the transaction ends, on every database by updating it."""
        mine = sql.and_(ITEMS.c.id == task, self._visible())
        connection.execute(sql.update(ITEMS).where(mine).values(wanted=ITEMS.c.wanted))
        row = connection.execute(sql.select(ITEMS).where(mine)).first()
        if row is None:
            raise InputError(f"there is no item {task} to annotate; its turn or its batch may have been deleted")
        return row

    def _visible(self) -> sql.ColumnElement[bool]:
        return visible(ITEMS.c.tenant, self._tenants)

    def _read(self, operation: Callable[[sql.Connection], tuple[T, ...]]) -> tuple[T, ...]:
        return self._database.run("read annotations", lambda to: operation(to) if are_made(to) else ())

    def _write(self, operation: Callable[[sql.Connection], T]) -> T:
        def make_and_write(connection: sql.Connection) -> T:
            if not are_made(connection):
                make_tables(connection)
            return operation(connection)

        return self._database.write("write annotations", make_and_write)


NOTHING = Answers({}, {})


def answers_by_annotator(tasks: Sequence[CompleteTask]) -> dict[str, dict[str, Answers]]:
    """Each annotator's answers, by item."""
    by: dict[str, dict[str, Answers]] = defaultdict(dict)
    for task in tasks:
        for draft in task.drafts:
            by[draft.annotator][task.item.id] = draft.answers
    return dict(by)


def results_of(batch: FormBatch, tasks: Sequence[CompleteTask], *notes: str) -> FormResults:
    """Results of the items of a batch that all their annotators submitted, with the marks that a discussion decided."""
    settled = ((task.item.id, task.consensus.marks) for task in tasks if task.consensus is not None)
    discussed = {(item, *place): value for item, marks in settled for place, value in marks.items()}
    items = [task.item for task in tasks]
    return FormResults(batch.form, items, answers_by_annotator(tasks), [batch.about, *notes], discussed)


def _check_wanted(wanted: int) -> None:
    if not 1 <= wanted <= MOST_ANNOTATORS:
        raise InputError(f"{wanted} annotators for each item; ask for 1 to {MOST_ANNOTATORS}")


def _insert_batch(connection: sql.Connection, name: str, form: Form, about: str, who: str) -> None:
    if connection.execute(sql.select(ITEMS.c.id).where(ITEMS.c.batch == name).limit(1)).first():
        raise InputError(f"batch {name!r} exists already; give another name with --batch")
    connection.execute(sql.delete(BATCHES).where(BATCHES.c.name == name))  # all of its turns were deleted
    row = {"name": name, "form": form.model_dump_json(), "about": about}
    connection.execute(sql.insert(BATCHES).values(**row, created_by=who, created_at=datetime.now(UTC)))


def _insert_item(connection: sql.Connection, batch: str, item: Item, wanted: int, **place: Any) -> int:
    row = {"batch": batch, "wanted": wanted, "item": json.dumps(asdict(item)), **place}
    key = connection.execute(sql.insert(ITEMS).values(**row)).inserted_primary_key
    assert key is not None  # the table has one
    return int(key[0])


def _insert_done(
    connection: sql.Connection, task: int, by: Mapping[str, Answers], report: int | None, condition: Condition
) -> None:
    rows = [_row(Draft(task, who, 1, True, condition, 0, answers)) | {"report": report} for who, answers in by.items()]
    if rows:
        connection.execute(sql.insert(ANSWERS), rows)


def _insert_report(connection: sql.Connection, report: TurnReport, texts: TurnTexts) -> tuple[dict[str, Any], bool]:
    """The place of an item that is a turn, and True if its report was new."""
    known = connection.execute(sql.select(TURNS.c.id).where(TURNS.c.report_id == report.id)).scalar()
    number = store.insert(connection, report, texts, None) if known is None else known
    return {"report": number, "tenant": report.tenant or ""}, known is None


def _submitted() -> sql.ScalarSelect[Any]:
    done = sql.select(sql.func.count()).where(ANSWERS.c.item == ITEMS.c.id, ANSWERS.c.submitted)
    return done.correlate(ITEMS).scalar_subquery()


def _items() -> sql.Select[Any]:
    return sql.select(ITEMS, TURNS.c.report_id).outerjoin(TURNS, TURNS.c.id == ITEMS.c.report).order_by(ITEMS.c.id)


def _of(task: int, annotator: str) -> tuple[sql.ColumnElement[bool], sql.ColumnElement[bool]]:
    return ANSWERS.c.item == task, ANSWERS.c.annotator == annotator


def _complete(connection: sql.Connection, rows: Sequence[sql.Row[Any]]) -> tuple[CompleteTask, ...]:
    drafts: dict[int, list[Draft]] = defaultdict(list)
    settled: dict[int, Consensus] = {}
    for start in range(0, len(rows), _IN_ONE_QUERY):
        ids = [row.id for row in rows[start : start + _IN_ONE_QUERY]]
        done = sql.select(ANSWERS).where(ANSWERS.c.item.in_(ids), ANSWERS.c.submitted).order_by(ANSWERS.c.annotator)
        for row in connection.execute(done):
            drafts[row.item].append(_draft(row))
        for row in connection.execute(sql.select(CONSENSUS).where(CONSENSUS.c.item.in_(ids))):
            settled[row.item] = _consensus(row)
    names = {row.batch for row in rows}
    named = connection.execute(sql.select(BATCHES).where(BATCHES.c.name.in_(names)))
    forms = {row.name: Form.model_validate_json(row.form) for row in named}
    items = [(row.id, _ITEM.validate_json(row.item), forms[row.batch], row.report_id) for row in rows]
    return tuple(CompleteTask(*item, drafts[item[0]], settled.get(item[0])) for item in items)


def _batch(row: sql.Row[Any], items: int, complete: int, settled: int, wanted: int, turns: int) -> FormBatch:
    form = Form.model_validate_json(row.form)
    return FormBatch(row.name, form, row.about, items, complete, settled, wanted, of_turns=turns > 0)


def _task(row: sql.Row[Any], states: Mapping[str, bool], annotator: str) -> AnnotationTask:
    mine = "free" if len(states) < row.wanted else "full"
    if annotator in states:
        mine = "submitted" if states[annotator] else "draft"
    return AnnotationTask(row.id, _ITEM.validate_json(row.item), row.report_id, row.wanted, sum(states.values()), mine)


def _row(draft: Draft) -> dict[str, Any]:
    row = {name: value for name, value in vars(draft).items() if name not in ("task", "answers")}
    answers = json.dumps(asdict(draft.answers))
    return {**row, "item": draft.task, "answers": answers, "saved_at": datetime.now(UTC)}


def _draft(row: sql.Row[Any]) -> Draft:
    condition, answers = Condition(row.condition), _ANSWERS.validate_json(row.answers)
    return Draft(row.item, row.annotator, row.version, row.submitted, condition, row.seconds, answers)


def _consensus(row: sql.Row[Any]) -> Consensus:
    marks = {(part, mark): value for part, mark, value in _MARKS.validate_json(row.marks)}
    claims = SETTLED_CLAIMS.validate_json(row.claims)
    return Consensus(claims, marks, Method(row.method), row.settled_by, utc(row.settled_at))
