"""Reads stored reports: lists, news, single turns, conversations, claims. No list reads a report's text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar

import sqlalchemy as sql

from vista_guard.errors import StoreError, first_problem
from vista_guard.stores.reports import queries, rollups
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.filters import (
    EVERYTHING,
    ConversationRow,
    FailureRow,
    FindingRow,
    Highlight,
    KeptTurn,
    LiveCursor,
    News,
    Order,
    Page,
    ReportFilter,
    SourceCount,
    Summary,
    TurnRow,
    from_cursor,
    number_of,
    to_cursor,
    utc,
)
from vista_guard.stores.reports.rollups import Maker, Rollup, Step
from vista_guard.stores.reports.tables import CONVERSATIONS, FAILURES, FINDINGS, REPORTS, TEXTS, TURNS
from vista_guard.types import Action, TurnReport, TurnTexts

T = TypeVar("T")
P = TypeVar("P", TurnRow, ConversationRow, FindingRow, FailureRow)

SETTLING_S = 10.0
"""Seconds that a row may stay uncommitted behind one with a higher number, on databases with several writers."""

MOST_ROWS = 1000
"""Most rows of a page."""

MOST_SKIPPED = 1_000_000_000

_AT_ONCE = 200
"""Whole reports read at once."""


class ReportReader:
    """The read side of a database of reports. Every method is synchronous and safe to call from any thread.

    Args:
        database: a SQLAlchemy URL (`sqlite:///FILE`, `postgresql+psycopg://…`), an engine, or the `Database` of a store. A
            SQLite file of an older version is brought up to date when it is first read; a read-only one of this version is
            read as it is.
        tenant: restricts every method to this tenant's turns; None for all.

    Raises:
        ConfigError: the URL is malformed, or its driver is not installed.

    Every method raises `StoreError` when the database is missing, cannot be read, is locked, or has a schema that this version
    does not know; the message says what to do. `InputError` for an invalid cursor.
    """

    def __init__(self, database: str | sql.Engine | Database, *, tenant: str | None = None) -> None:
        self._database = database if isinstance(database, Database) else Database(database, create=False)
        self._tenant = tenant

    def of_tenant(self, tenant: str) -> Self:
        """Returns a reader restricted to this tenant's turns."""
        return type(self)(self._database, tenant=tenant)

    def page(
        self,
        filter: ReportFilter = EVERYTHING,
        *,
        after: str | None = None,
        limit: int = 50,
        order: Order = "time",
    ) -> Page[TurnRow]:
        """Returns a page of turns, newest first unless `order` says otherwise, behind `after` (`Page.next`) if given.

        Newest first, a `TurnRow.cursor` also serves as `after`.
        """
        query = queries.turns(self._own_filter(filter)).order_by(*queries.by(order))
        if order != "time":
            return self._counted_page(query, after, limit, queries.read_turn)
        if after is not None:
            moment, key = from_cursor(after)
            query = query.where(sql.tuple_(TURNS.c.created_at, TURNS.c.id) < sql.tuple_(moment, number_of(key)))
        return self._page(query, limit, queries.read_turn)

    def since(self, cursor: LiveCursor | None = None, filter: ReportFilter = EVERYTHING, *, limit: int = 200) -> News:
        """Returns the turns written since the cursor, in the order of writing; the newest `limit` without a cursor.

        Ask again with the cursor that came back, and each turn comes once. Where several processes write (Postgres), a row may be
        committed after one with a higher number: the last seconds are read again, and what was seen is left out.
        """
        query = queries.turns(self._own_filter(filter))
        if cursor is None:
            rows = self._rows(query.order_by(TURNS.c.id.desc()), limit, queries.read_turn)[::-1]
            numbers = self._numbers(sql.select(TURNS.c.id).order_by(TURNS.c.id.desc()))
            return News(rows, self._next_cursor(LiveCursor(min(numbers, default=0)), numbers))
        # Numbers first: rows committed between the two queries are then read again, never skipped.
        numbers = self._numbers(sql.select(TURNS.c.id).where(TURNS.c.id > cursor.floor).order_by(TURNS.c.id))
        later = query.where(TURNS.c.id.in_(sorted(set(numbers) - set(cursor.seen)))).order_by(TURNS.c.id)
        rows = self._rows(later, limit, queries.read_turn)
        reached = [number for number in numbers if len(rows) < limit or number <= rows[-1].number]
        return News(rows, self._next_cursor(cursor, reached))

    def get(self, report_id: str) -> KeptTurn | None:
        """Returns the whole report with its texts, or None."""
        return self.many([report_id]).get(report_id)

    def many(self, report_ids: Sequence[str]) -> dict[str, KeptTurn]:
        """Returns the existing reports of these ids, by id."""
        found = dict[str, KeptTurn]()
        for start in range(0, len(report_ids), MOST_ROWS):
            query = self._visible(_select_whole().where(TURNS.c.report_id.in_(report_ids[start : start + MOST_ROWS])))
            rows = self._rows(query, MOST_ROWS, lambda row: row)
            found |= {turn.report.id: turn for turn in map(self._kept_turn, rows)}
        return found

    def row(self, report_id: str) -> TurnRow | None:
        """Returns the thin row of a report, or None."""
        query = self._visible(queries.turns(EVERYTHING)).where(TURNS.c.report_id == report_id)
        return next(iter(self._rows(query, 1, queries.read_turn)), None)

    def established_by(self, conversation_id: str, turn_key: str) -> TurnRow | None:
        """Returns the turn that established a piece of knowledge, whose evidence has the `source_id` `turn_key:claim id`."""
        query = queries.turns(self._own_filter(ReportFilter(conversation_id=conversation_id)))
        rows = query.where(TURNS.c.turn_key == turn_key).order_by(TURNS.c.created_at.desc(), TURNS.c.id.desc())
        return next(iter(self._rows(rows, 1, queries.read_turn)), None)

    def conversations(
        self,
        filter: ReportFilter = EVERYTHING,
        *,
        after: str | None = None,
        limit: int = 50,
        order: Order = "time",
    ) -> Page[ConversationRow]:
        """Returns a page of named conversations; a filter on turns keeps those with a match.

        Latest activity first, or by the riskiest, slowest or costliest of the matching turns.
        """
        if order != "time":
            by_turn = queries.sorted_conversations(self._own_filter(filter), order)
            return self._counted_page(by_turn, after, limit, queries.read_conversation)
        query = queries.conversations(self._own_filter(filter))
        if after is not None:
            place = sql.tuple_(CONVERSATIONS.c.last_at, CONVERSATIONS.c.conversation_key)
            query = query.where(place < sql.tuple_(*from_cursor(after)))
        return self._page(query, limit, queries.read_conversation)

    def highlights(self, rows: Sequence[ConversationRow]) -> dict[str, Highlight]:
        """Returns the first question and the worst claim of each of these conversations, by `ConversationRow.key`."""
        questions, claims = queries.highlights([row.key for row in rows], self._tenant)
        first_questions = dict(self._rows(questions, MOST_ROWS, lambda row: (row.conversation_key, row.question)))
        by_key = {key: Highlight(question) for key, question in first_questions.items()}
        for row in self._rows(claims, MOST_ROWS, lambda row: row):
            key = row.conversation_key
            by_key[key] = Highlight(first_questions.get(key), row.claim, row.label, Action(row.action))
        return by_key

    def conversation(self, conversation_id: str, *, after: str | None = None, limit: int = 100) -> Page[KeptTurn]:
        """Returns a page of a conversation's whole turns with their texts, oldest first."""
        own = self._own_filter(ReportFilter(conversation_id=conversation_id))
        query = _select_whole().where(*queries.conditions(own)).order_by(TURNS.c.created_at, TURNS.c.id)
        if after is not None:
            moment, key = from_cursor(after)
            query = query.where(sql.tuple_(TURNS.c.created_at, TURNS.c.id) > sql.tuple_(moment, number_of(key)))
        rows = self._rows(query, limit + 1, lambda row: row)
        last = rows[limit - 1] if len(rows) > limit else None
        following = None if last is None else to_cursor(utc(last.created_at), str(last.number))
        return Page(tuple(map(self._kept_turn, rows[:limit])), following)

    def conversation_ids(self, tenant: str) -> list[str]:
        """Returns the ids of all of a tenant's conversations."""
        owner = queries.narrow(ReportFilter(tenant=tenant), self._tenant).tenant
        query = sql.select(CONVERSATIONS.c.conversation_id).where(queries.owned_by(CONVERSATIONS, owner or ""))
        return self._database.run("read conversations", lambda c: list(c.execute(query).scalars()))

    def findings(
        self, filter: ReportFilter = EVERYTHING, *, after: str | None = None, limit: int = 50
    ) -> Page[FindingRow]:
        """Returns a page of claims of the matching turns, newest first; with `labels` only those claims."""
        query = queries.findings(self._own_filter(filter))
        if after is not None:
            moment, key = from_cursor(after)
            report, _, n = key.partition("_")
            place = sql.tuple_(FINDINGS.c.created_at, FINDINGS.c.report, FINDINGS.c.n)
            query = query.where(place < sql.tuple_(moment, number_of(report), number_of(n)))
        return self._page(query, limit, queries.read_finding)

    def failures(
        self, filter: ReportFilter = EVERYTHING, *, after: str | None = None, limit: int = 50
    ) -> Page[FailureRow]:
        """Returns a page of what broke, newest first; of a filter its `failed`, time, tenant and conversation apply."""
        query = queries.failures(self._own_filter(filter))
        if after is not None:
            moment, key = from_cursor(after)
            query = query.where(sql.tuple_(FAILURES.c.at, FAILURES.c.id) < sql.tuple_(moment, number_of(key)))
        return self._page(query, limit, queries.read_failure)

    def sources(self, filter: ReportFilter = EVERYTHING, *, newest: int = 10_000) -> tuple[SourceCount, ...]:
        """Counts the sources of evidence on the `newest` matching claims; the ten most frequent, first the most frequent.

        With `labels=("CONTRADICTED",)`: the documents that answers contradict most.
        """
        query = queries.sources(self._own_filter(filter), newest)
        return self._rows(query, 10, lambda row: SourceCount(row.source, row.source_id, row.claims))

    def summary(self, filter: ReportFilter) -> Summary:
        """Counts the matching turns from their rows: for the last minutes. `rollup` serves longer times."""
        own = self._own_filter(filter)
        return self._database.run("count reports", lambda connection: queries.summary(connection, own))

    def rollup(
        self,
        start: datetime,
        end: datetime,
        by: Step = "hour",
        filter: ReportFilter = EVERYTHING,
        *,
        keys: Collection[str] | None = None,
        claim_keys: Collection[str] | None = None,
    ) -> Rollup:
        """Returns counts for each hour or day from `start` (rounded down to the hour) to before `end`, from the roll-ups alone.

        Args:
            start, end: the time.
            by: the length of a bucket.
            filter: only its `tenant`, `policy`, `rules`, `judge`, `gate`, `actions` and `labels` apply.
            keys: the keys to group by (`action`, `label`, `policy`, …); the others are summed over, and are "". All of
                them when None: a chart of actions asks for `{"action"}` and gets a row for each action and bucket.
            claim_keys: the keys to group claims by, where they are not those of the turns.

        Conversations that were forgotten and reports that were pruned still count.
        """
        key_sets = [None if names is None else frozenset(names) for names in (keys, claim_keys)]
        request = rollups.CountQuery(start, end, by, self._own_filter(filter), *key_sets)
        return self._database.run("read roll-ups", lambda connection: rollups.read(connection, request))

    def makers(
        self, start: datetime, end: datetime, by: Step = "hour", filter: ReportFilter = EVERYTHING
    ) -> tuple[Maker, ...]:
        """Returns the judges and policies of each hour or day, in order of time, from the roll-ups."""
        request = rollups.CountQuery(start, end, by, self._own_filter(filter))
        return self._database.run("read roll-ups", lambda connection: rollups.makers(connection, request))

    def reports(self, filter: ReportFilter = EVERYTHING) -> Iterator[KeptTurn]:
        """Yields whole turns, newest first, reading a batch at a time."""
        after: str | None = None
        while True:
            page = self.page(filter, after=after, limit=_AT_ONCE)
            whole = self.many([row.id for row in page.rows])
            yield from (whole[row.id] for row in page.rows if row.id in whole)
            after = page.next
            if after is None:
                return

    def choices(self) -> dict[str, tuple[str, ...]]:
        """Returns the values of `tenant`, `policy`, `judge` and `gate`, from the roll-ups."""
        return self._database.run("read roll-ups", lambda connection: rollups.choices(connection, self._tenant))

    def close(self) -> None:
        """Closes the connections."""
        self._database.close()

    def _own_filter(self, filter: ReportFilter) -> ReportFilter:
        return queries.narrow(filter, self._tenant)

    def _visible(self, query: sql.Select[Any]) -> sql.Select[Any]:
        return query if self._tenant is None else query.where(TURNS.c.tenant == self._tenant)

    def _rows(self, query: sql.Select[Any], limit: int, convert: Callable[[sql.Row[Any]], T]) -> tuple[T, ...]:
        limited = query.limit(max(min(limit, MOST_ROWS + 1), 0))
        return self._database.run("read reports", lambda c: tuple(convert(row) for row in c.execute(limited)))

    def _page(self, query: sql.Select[Any], limit: int, convert: Callable[[sql.Row[Any]], P]) -> Page[P]:
        rows = self._rows(query, limit + 1, convert)
        return Page(rows[:limit], rows[limit - 1].cursor if len(rows) > limit else None)

    def _counted_page(
        self, query: sql.Select[Any], after: str | None, limit: int, convert: Callable[[sql.Row[Any]], P]
    ) -> Page[P]:
        """A page of a list that has no cursor: `after` is the number of rows before it."""
        skipped = min(number_of(after or "0"), MOST_SKIPPED)
        rows = self._rows(query.offset(skipped), limit + 1, convert)
        return Page(rows[:limit], str(skipped + limit) if len(rows) > limit else None)

    def _numbers(self, query: sql.Select[Any]) -> list[int]:
        return list(self._rows(query, MOST_ROWS, lambda row: int(row[0])))

    def _kept_turn(self, row: sql.Row[Any]) -> KeptTurn:
        report = parse_report(row.report, row.number, row.schema_version, self._database.name)
        with self._database.translating_errors("read a turn's texts"):
            texts = None if row.texts is None else TurnTexts.model_validate(json.loads(row.texts))
        return KeptTurn(report, texts)

    def _next_cursor(self, cursor: LiveCursor, numbers: Sequence[int]) -> LiveCursor:
        if self._database.is_sqlite:  # one writer at a time: numbers are committed in order
            return LiveCursor(max([cursor.floor, *numbers]))
        now = time.monotonic()
        seen = {**{number: now for number in numbers if number > cursor.floor}, **cursor.seen}
        floor = max([cursor.floor, *(number for number, at in seen.items() if now - at > SETTLING_S)])
        return LiveCursor(floor, {number: at for number, at in seen.items() if number > floor})


def _select_whole() -> sql.Select[Any]:
    columns = REPORTS.c.report, REPORTS.c.schema_version, TURNS.c.id.label("number"), TURNS.c.created_at, TEXTS.c.texts
    joined = TURNS.join(REPORTS, REPORTS.c.id == TURNS.c.id).outerjoin(TEXTS, TEXTS.c.report == TURNS.c.id)
    return sql.select(*columns).select_from(joined)


def parse_report(text: str, number: int, schema_version: str, name: str) -> TurnReport:
    """Parses a stored report.

    Raises:
        StoreError: this version cannot read it.
    """
    try:
        return TurnReport.model_validate(json.loads(text))
    except ValueError as exc:  # not JSON, or not this version's report
        raise StoreError(
            f"report {number} in {name} (schema {schema_version}) cannot be read: {first_problem(exc)}. "
            "Read it with the version of vista-guard that wrote it"
        ) from exc
