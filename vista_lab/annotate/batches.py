"""Batches of any form in the dashboard's database: items with their texts, drafts that are saved while people work, and answers.

Turns of guarded conversations use the paper's form, and `people.annotations` stores them with their reports. This module stores
the items of all other forms; they belong to no report and to no tenant. Nobody sees another annotator's work before all
annotators of its item have submitted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sql
from pydantic import TypeAdapter

from vista_guard.errors import InputError
from vista_guard.stores.reports import Database
from vista_guard.stores.reviewed import clean_name
from vista_lab.annotate.agreement import Discussed
from vista_lab.annotate.annotations import MOST_ANNOTATORS
from vista_lab.annotate.forms import Answers, Form, Item, Level, Value, check_values
from vista_lab.annotate.tables import ANSWERS, BATCHES, ITEMS, SETTLED, make_tables

_ITEM, _ANSWERS, _VALUE = TypeAdapter(Item), TypeAdapter(Answers), TypeAdapter[Value](Value)
NOTHING = Answers({}, {})


@dataclass(frozen=True)
class FormBatch:
    """Items of one form. Enough annotators submitted `complete` of them."""

    name: str
    form: Form
    about: str
    wanted: int
    items: int
    complete: int


@dataclass(frozen=True)
class FormTask:
    """One item of a batch. `mine` is `free`, `draft`, `submitted`, or `full` where enough others have begun."""

    n: int
    item: Item
    mine: str


@dataclass(frozen=True)
class FormDraft:
    """One annotator's work on an item. `version` grows with each save."""

    batch: str
    n: int
    annotator: str
    version: int
    submitted: bool
    answers: Answers
    seconds: float


class FormBatches:
    """The batches of forms in a database of reports. Safe to call from any thread.

    Every method raises `StoreError` when the database cannot be read or written, and `InputError` if the batch does not exist.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[FormBatch]:
        def read(connection: sql.Connection) -> list[FormBatch]:
            if not sql.inspect(connection).has_table(BATCHES.name):
                return []
            rows = connection.execute(sql.select(BATCHES).order_by(BATCHES.c.created_at.desc())).all()
            return [self._batch(connection, row) for row in rows]

        return self._database.run("read batches", read)

    def find(self, name: str) -> FormBatch | None:
        """The batch of this name; None where there is none."""
        return next((batch for batch in self.all() if batch.name == name), None)

    def create(
        self,
        name: str,
        form: Form,
        items: Sequence[Item],
        *,
        wanted: int,
        who: str,
        about: str,
        finished: Mapping[str, Mapping[str, Answers]] | None = None,
    ) -> int:
        """Creates a batch, whole or not at all; `finished` is work that was done in sheets, by annotator and item.

        Raises:
            InputError: the batch exists already, or a name or number is invalid.
        """
        batch, maker = clean_name(name), clean_name(who)
        if not 1 <= wanted <= MOST_ANNOTATORS or not items:
            raise InputError(
                f"batch of {len(items)} items for {wanted} annotators; give at least one item and 1-{MOST_ANNOTATORS} annotators"
            )
        now = datetime.now(UTC)

        def write(connection: sql.Connection) -> int:
            make_tables(connection)
            if connection.execute(sql.select(BATCHES.c.name).where(BATCHES.c.name == batch)).first():
                raise InputError(f"batch {batch!r} exists already; give another name with --batch")
            row = {"name": batch, "form": form.model_dump_json(), "about": about, "wanted": wanted}
            connection.execute(sql.insert(BATCHES).values(**row, created_by=maker, created_at=now))
            rows = [{"batch": batch, "n": n, "item": json.dumps(asdict(item))} for n, item in enumerate(items)]
            connection.execute(sql.insert(ITEMS), rows)
            done = [
                _row(FormDraft(batch, n, clean_name(annotator), 1, True, answers[item.id], 0.0))
                for annotator, answers in (finished or {}).items()
                for n, item in enumerate(items)
                if item.id in answers
            ]
            if done:
                connection.execute(sql.insert(ANSWERS), done)
            return len(items)

        return self._database.write("write a batch", write)

    def tasks(self, batch: str, annotator: str) -> list[FormTask]:
        """The items of a batch, with their state for one annotator."""
        form_batch = self._require_batch(batch)

        def read(connection: sql.Connection) -> list[FormTask]:
            states: dict[int, dict[str, bool]] = defaultdict(dict)
            for row in connection.execute(sql.select(ANSWERS).where(ANSWERS.c.batch == batch)):
                states[row.n][row.annotator] = row.submitted
            return [
                FormTask(n, item, _state(states[n], annotator, _wanted(item, form_batch.wanted)))
                for n, item in self._items(connection, batch)
                if item.is_for(annotator)
            ]

        return self._database.run("read a batch", read)

    def start(self, batch: str, n: int, annotator: str) -> FormDraft:
        """The annotator's draft of an item; an empty one if they have not begun."""
        who = clean_name(annotator)

        def read(connection: sql.Connection) -> FormDraft:
            mine = ANSWERS.c.batch == batch, ANSWERS.c.n == n, ANSWERS.c.annotator == who
            row = connection.execute(sql.select(ANSWERS).where(*mine)).first()
            return FormDraft(batch, n, who, 0, False, NOTHING, 0.0) if row is None else _draft(row)

        return self._database.run("read an annotation", read)

    def save(self, draft: FormDraft, answers: Answers, *, seconds: float = 0.0, submit: bool = False) -> FormDraft:
        """Saves the work in place of the draft that it was made from; after `submit` it cannot be changed.

        Raises:
            InputError: it was submitted or saved in another window, enough others have begun, or a mark is missing on
                submitting: names it.
        """
        batch = self._require_batch(draft.batch)

        def write(connection: sql.Connection) -> FormDraft:
            item = next((item for n, item in self._items(connection, batch.name) if n == draft.n), None)
            if item is None:
                raise InputError(f"batch {batch.name!r} has no item {draft.n}")
            if not item.is_for(draft.annotator):
                raise InputError(
                    f"this {batch.form.item} is for {', '.join(item.annotators)}, not for {draft.annotator}; open another one"
                )
            if submit:
                check_answers(batch.form, item, answers)
            saved = replace(
                draft, version=draft.version + 1, submitted=submit, answers=answers, seconds=max(seconds, draft.seconds)
            )
            self._replace(connection, draft, saved, _wanted(item, batch.wanted))
            return saved

        return self._database.write("write an annotation", write)

    def answers(self, batch: str) -> tuple[list[Item], dict[str, dict[str, Answers]]]:
        """Items that enough annotators have submitted, and each annotator's answers by item."""
        form_batch = self._require_batch(batch)

        def read(connection: sql.Connection) -> tuple[list[Item], dict[str, dict[str, Answers]]]:
            by_item: dict[int, dict[str, Answers]] = defaultdict(dict)
            done = sql.select(ANSWERS).where(ANSWERS.c.batch == batch, ANSWERS.c.submitted)
            for row in connection.execute(done):
                by_item[row.n][row.annotator] = _ANSWERS.validate_json(row.answers)
            complete = [
                (n, item)
                for n, item in self._items(connection, batch)
                if len(by_item[n]) >= _wanted(item, form_batch.wanted)
            ]
            by: dict[str, dict[str, Answers]] = defaultdict(dict)
            for n, item in complete:
                for who, answers in by_item[n].items():
                    by[who][item.id] = answers
            return [item for _, item in complete], dict(by)

        return self._database.run("read a batch", read)

    def settle(self, batch: str, answers: Discussed, *, who: str) -> None:
        """Stores the decisions of a discussion, in place of earlier ones."""
        name = clean_name(who)

        def write(connection: sql.Connection) -> None:
            places = {item.id: n for n, item in self._items(connection, batch)}
            for (item, part, mark), value in answers.items():
                same = {"batch": batch, "n": places[item], "part": part, "mark": mark}
                connection.execute(sql.delete(SETTLED).where(*(SETTLED.c[key] == one for key, one in same.items())))
                decision = {"value": json.dumps(value), "settled_by": name, "settled_at": datetime.now(UTC)}
                connection.execute(sql.insert(SETTLED).values(**same, **decision))

        self._database.write("settle an item", write)

    def settled(self, batch: str) -> Discussed:
        """Decisions of the discussion."""

        def read(connection: sql.Connection) -> Discussed:
            names = {n: item.id for n, item in self._items(connection, batch)}
            rows = connection.execute(sql.select(SETTLED).where(SETTLED.c.batch == batch))
            return {(names[row.n], row.part, row.mark): _VALUE.validate_json(row.value) for row in rows}

        return self._database.run("read a batch", read)

    def remove(self, batch: str) -> None:
        """Deletes a batch with its texts and all work on it."""
        self._require_batch(batch)

        def write(connection: sql.Connection) -> None:
            for table in (SETTLED, ANSWERS, ITEMS):
                connection.execute(sql.delete(table).where(table.c.batch == batch))
            connection.execute(sql.delete(BATCHES).where(BATCHES.c.name == batch))

        self._database.write("remove a batch", write)

    def _batch(self, connection: sql.Connection, row: sql.Row[Any]) -> FormBatch:
        count = sql.select(sql.func.count()).select_from(ITEMS).where(ITEMS.c.batch == row.name)
        per_item = sql.select(ANSWERS.c.n, sql.func.count()).where(ANSWERS.c.batch == row.name, ANSWERS.c.submitted)
        done, assigned = connection.execute(per_item.group_by(ANSWERS.c.n)).all(), self._assigned(connection, row.name)
        complete = sum(submitted >= assigned.get(n, row.wanted) for n, submitted in done)
        items = connection.execute(count).scalar_one()
        return FormBatch(row.name, Form.model_validate_json(row.form), row.about, row.wanted, items, complete)

    def _assigned(self, connection: sql.Connection, batch: str) -> dict[int, int]:
        """Number of annotators of each item that names its own. Other items are not parsed: every list calls this."""
        has_annotators = ITEMS.c.item.contains('"annotators": ["', autoescape=True)
        rows = connection.execute(sql.select(ITEMS).where(ITEMS.c.batch == batch, has_annotators))
        return {row.n: len(_ITEM.validate_json(row.item).annotators) for row in rows}

    def _items(self, connection: sql.Connection, batch: str) -> list[tuple[int, Item]]:
        rows = connection.execute(sql.select(ITEMS).where(ITEMS.c.batch == batch).order_by(ITEMS.c.n))
        return [(row.n, _ITEM.validate_json(row.item)) for row in rows]

    def _replace(self, connection: sql.Connection, draft: FormDraft, saved: FormDraft, wanted: int) -> None:
        here = ANSWERS.c.batch == draft.batch, ANSWERS.c.n == draft.n
        if draft.version:
            same = ANSWERS.c.annotator == draft.annotator, ANSWERS.c.version == draft.version, ~ANSWERS.c.submitted
            if connection.execute(sql.update(ANSWERS).where(*here, *same).values(**_row(saved))).rowcount:
                return
            raise InputError(f"{draft.annotator} changed or submitted this item in another window; reload it")
        begun = set(connection.execute(sql.select(ANSWERS.c.annotator).where(*here)).scalars())
        if draft.annotator in begun:
            raise InputError(f"{draft.annotator} started this item in another window; reload it")
        if len(begun) >= wanted:
            raise InputError(f"this item already has its {wanted} annotators; open another one")
        connection.execute(sql.insert(ANSWERS).values(**_row(saved)))

    def _require_batch(self, batch: str) -> FormBatch:
        found = self.find(batch)
        if found is None:
            names = ", ".join(one.name for one in self.all()) or "none"
            raise InputError(f"batch {batch!r} of a form does not exist; there are {names}")
        return found


def check_answers(form: Form, item: Item, answers: Answers) -> None:
    """Checks that an item has all its marks.

    Raises:
        InputError: a mark is missing, or does not apply: names the part and the mark.
    """
    check_values(form.marks_of(Level.ITEM), answers.item, f"{form.item} {item.id}")
    for part in item.parts:
        assert form.parts is not None  # the item has parts
        own, name = answers.parts.get(part.id, {}), f"{form.parts.unit} {part.id}"
        check_values(form.marks_of(Level.PART), own, name, answers.item)


def _wanted(item: Item, usual: int) -> int:
    return len(item.annotators) or usual


def _row(draft: FormDraft) -> dict[str, Any]:
    key = {"batch": draft.batch, "n": draft.n, "annotator": draft.annotator, "version": draft.version}
    work = {"submitted": draft.submitted, "answers": json.dumps(asdict(draft.answers)), "seconds": draft.seconds}
    return {**key, **work, "saved_at": datetime.now(UTC)}


def _draft(row: sql.Row[Any]) -> FormDraft:
    answers = _ANSWERS.validate_json(row.answers)
    return FormDraft(row.batch, row.n, row.annotator, row.version, row.submitted, answers, row.seconds)


def _state(states: Mapping[str, bool], annotator: str, wanted: int) -> str:
    if annotator in states:
        return "submitted" if states[annotator] else "draft"
    return "free" if len(states) < wanted else "full"
