"""The report store: writes each report into all tables in one transaction, and deletes what is past its retention.

No answer waits long for the database: reports that it does not take at once are queued in memory and written later. Turns for
review are selected in the same transaction.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from hashlib import sha256
from threading import Condition, Thread
from time import monotonic
from typing import Any, TypeVar

import sqlalchemy as sql

from vista_guard._aio import after_fork, in_daemon_thread
from vista_guard.errors import StoreError
from vista_guard.protocols import KnowledgeStore
from vista_guard.stores.entries import digest
from vista_guard.stores.reports import retention, rollups, rows
from vista_guard.stores.reports.channel import LatestFacts
from vista_guard.stores.reports.database import Database, truncate_log
from vista_guard.stores.reports.reading import ReportReader, parse_report
from vista_guard.stores.reports.tables import (
    CONVERSATIONS,
    EVENTS,
    FAILURES,
    FAILURES_HOUR,
    FINDINGS,
    NUMBERS,
    REPORTS,
    REVIEWS,
    TEXTS,
    TURNS,
    upserting,
)
from vista_guard.types import Action, PartFailure, Record, TurnReport, TurnTexts

LOW_CONFIDENCE = 0.6
"""Turns whose least confident finding is below this are queued for review."""

SAMPLE = 100
"""One in this many delivered turns is queued for review at random, allowed and flagged ones alike."""

GUARD = "vista-guard"
"""Author of the event when the guard itself queues a turn."""


class Reason(StrEnum):
    """Reasons for review, the most urgent first."""

    COMPLAINT = "complaint"
    """Somebody said that the verdict is wrong."""
    BLOCKED = "blocked"
    """It was withheld."""
    FLAGGED = "flagged"
    """It was delivered with a flag, which is a hint for a person."""
    DISAGREEMENT = "disagreement"
    """The judges of an ensemble disagree on one of its claims."""
    LOW_CONFIDENCE = "low_confidence"
    """Its least sure finding is below `LOW_CONFIDENCE`."""
    SAMPLE = "sample"
    """A random sample of what was delivered: the guard's misses show nowhere else."""


def reason_of(report: TurnReport) -> Reason | None:
    """Returns the reason to review the turn, or None."""
    if report.decision.action is Action.BLOCK:
        return Reason.BLOCKED
    if report.decision.action is Action.FLAG:
        return Reason.SAMPLE if is_sampled(report.id) else Reason.FLAGGED
    # An ensemble's confidence is the share of its judges that agree (`judges.composed.ensemble`).
    if report.judge.name.startswith("ensemble:") and any(finding.confidence < 1 for finding in report.findings):
        return Reason.DISAGREEMENT
    if any(finding.confidence < LOW_CONFIDENCE for finding in report.findings):
        return Reason.LOW_CONFIDENCE
    if report.decision.action is Action.ALLOW and is_sampled(report.id):
        return Reason.SAMPLE
    return None


def is_sampled(report_id: str) -> bool:
    """True for a sampled report. A hash of its id decides, so the sample is the same everywhere."""
    return int.from_bytes(sha256(report_id.encode()).digest()[:8]) % SAMPLE == 0


def review_row(number: int, tenant: str, reason: Reason, at: datetime, risk: float | None) -> dict[str, Any]:
    """Returns the row of an open review."""
    place = {"queued_at": at, "urgency": urgency(reason, risk)}
    return {"report": number, "tenant": tenant, "reason": reason.value, "state": "open", **place}


def urgency(reason: Reason, risk: float | None) -> int:
    """Returns a turn's place in the queue: its risk in millionths; somebody's complaint comes before all others.

    Example:
        >>> urgency(Reason.BLOCKED, 0.9), urgency(Reason.COMPLAINT, None)
        (900000, 1000001)
    """
    return round(MILLION * (risk or 0.0)) + (MILLION + 1 if reason is Reason.COMPLAINT else 0)


MILLION = 1_000_000


def insert(connection: sql.Connection, report: TurnReport, texts: TurnTexts | None, days: float | None) -> int:
    """Writes one report into all tables, queues it if it has a reason, and returns its number."""
    result = connection.execute(_insert_report(connection.dialect.name), rows.report_row(report))
    number = int(result.scalar_one())
    insert_derived_rows(connection, number, report, texts)
    reason, at = reason_of(report), report.created_at.astimezone(UTC)
    if reason is not None:
        event = {"report": number, "at": at, "who": GUARD, "what": "queued", "text": reason.value}
        connection.execute(_INTO[REVIEWS], review_row(number, report.tenant or "", reason, at, report.risk))
        connection.execute(_INTO[EVENTS], event)
    if texts is not None:
        connection.execute(_INTO[TEXTS], rows.text_row(report, texts, number, days))
    return number


def insert_derived_rows(connection: sql.Connection, number: int, report: TurnReport, texts: TurnTexts | None) -> None:
    """Writes the rows derived from a report: turn, claims, conversation, roll-ups."""
    connection.execute(_INTO[TURNS], rows.turn_row(report, number, texts))
    if report.outcomes:
        connection.execute(_INTO[FINDINGS], rows.finding_rows(report, number))
    if report.conversation_id is not None:
        connection.execute(_upsert_conversation(connection.dialect.name), rows.conversation_row(report))
    rollups.add(connection, rollups.rollup_rows(report))
    for failure in rows.failures_of(report):
        insert_failure(connection, failure, number)


def insert_failure(connection: sql.Connection, failure: PartFailure, number: int | None = None) -> None:
    """Writes what broke; `number` is its report's."""
    connection.execute(_INTO[FAILURES], rows.failure_row(failure, number))
    rollups.add(connection, {FAILURES_HOUR: [rollups.failure_count(failure)]})


_INTO = {table: sql.insert(table) for table in (TURNS, FINDINGS, TEXTS, FAILURES, REVIEWS, EVENTS)}
_COUNTS = ("turns", "flagged", "repaired", "blocked", "contradicted", "unchecked")


@cache  # building a statement costs more than running it
def _insert_report(dialect_name: str) -> Any:
    """Inserts a report and returns its number. SQLite would reuse a deleted report's number; sequences elsewhere never do."""
    statement = sql.insert(REPORTS)
    if dialect_name == "sqlite":
        newest = sql.select(sql.func.coalesce(sql.func.max(REPORTS.c.id), 0)).scalar_subquery()
        next_number = sql.func.max(newest, sql.select(NUMBERS.c.highest).scalar_subquery()) + 1
        own = {
            column.name: sql.bindparam(column.name, type_=column.type) for column in REPORTS.c if column.name != "id"
        }
        statement = statement.values(id=next_number, **own)
    return statement.returning(REPORTS.c.id)


@cache
def _upsert_conversation(dialect_name: str) -> Any:
    """Upserts a conversation, adding a turn's counts."""
    statement = upserting(CONVERSATIONS, dialect_name)
    old, new = CONVERSATIONS.c, statement.excluded
    changed = {
        "first_at": sql.case((new.first_at < old.first_at, new.first_at), else_=old.first_at),
        "last_at": sql.case((new.last_at > old.last_at, new.last_at), else_=old.last_at),
        **{name: old[name] + new[name] for name in _COUNTS},
    }
    return statement.on_conflict_do_update(index_elements=[old.conversation_key], set_=changed)


T = TypeVar("T")

logger = logging.getLogger("vista_guard")

PRUNE_EVERY_S = 3600.0
"""Seconds between two checks for expired reports and texts."""


PATIENCE_S = 0.5
"""Longest that an answer waits for its report to be written. While the database is slower, no answer waits."""

MOST_WAITING = 1000
MOST_WAITING_CHARS = 50_000_000
"""Most reports, and characters of their texts, queued in memory; a report beyond is lost, and its turn says so."""

_OPENING_S = 5.0
"""Longest that the first answers of a process wait for the tables to be created."""
_RETRY_S = 1.0
_CLOSING_S = 10.0


@dataclass(eq=False)
class _Waiting:
    report: TurnReport | PartFailure
    texts: TurnTexts | None = None
    tried: Future[None] = field(default_factory=Future)
    """Outcome of the first try."""

    @property
    def chars(self) -> int:
        texts = self.texts or TurnTexts()
        pieces = [texts.user_text or "", texts.draft or "", *(document.text for document in texts.documents)]
        response = self.report.response if isinstance(self.report, TurnReport) else ""
        return len(response) + sum(map(len, [*pieces, *(passage.text for passage in texts.evidence)]))


class _Writer:
    """Writes reports in order, in its own thread, and retries while the database fails.

    A killed process loses only the reports queued here.
    """

    def __init__(self, name: str, write: Callable[[TurnReport | PartFailure, TurnTexts | None], None]) -> None:
        self._name, self._write = name, write
        self._reset()
        after_fork(self._reset)

    def _reset(self) -> None:
        # After a fork, only the parent writes the reports queued in it.
        self._changed = Condition()
        self._waiting: deque[_Waiting] = deque()
        self._thread: Thread | None = None
        self._failure: StoreError | None = None
        self._late = self._closed = self._last_try = self._opened = False
        self._progress = 0.0
        self._failed_at = datetime.now(UTC)

    async def put(self, report: TurnReport | PartFailure, texts: TurnTexts | None = None) -> None:
        """Queues a report, or what broke, and waits a moment for it to be written.

        Raises:
            StoreError: it is lost, or the last try failed and it is kept for the next one; the message says which.
        """
        entry = _Waiting(report, texts)
        with self._changed:
            self._expect_room(entry)
            self._progress = self._progress if self._waiting else monotonic()
            self._waiting.append(entry)
            self._changed.notify_all()
            if self._thread is None:
                self._thread = Thread(target=self._run, daemon=True, name="vista-guard-reports")
                self._thread.start()
                atexit.register(self.close)
            late, failure = self._late, self._failure
        if failure is not None:
            raise self._kept_error(failure)
        tried = asyncio.wrap_future(entry.tried)
        try:
            while not (late or self._late) and not (await asyncio.wait([tried], timeout=PATIENCE_S))[0]:
                # Many that come at once are written one after the other: what counts is when the last one was.
                if monotonic() - self._progress > 0.9 * (PATIENCE_S if self._opened else _OPENING_S):
                    self._log_late(logging.INFO, f"no answer in {PATIENCE_S:g} s")
            if tried.done():
                tried.result()
        finally:
            tried.cancel()

    def opened(self) -> None:
        """Notes that the tables exist."""
        if not self._opened:
            self._opened, self._progress = True, monotonic()

    def drop(self, chosen: Callable[[TurnReport | PartFailure], bool]) -> int:
        """Drops what matches in the queue; returns the number of reports."""
        with self._changed:
            dropped = [entry for entry in self._waiting if chosen(entry.report)]
            self._waiting = deque(entry for entry in self._waiting if entry not in dropped)
            return sum(isinstance(entry.report, TurnReport) for entry in dropped)

    def close(self) -> None:
        """Writes queued reports, for at most a few seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        atexit.unregister(self.close)
        if self._thread is not None:
            self._thread.join(_CLOSING_S)
        if self._waiting:
            logger.error("%s reports were not written in %s and are lost", len(self._waiting), self._name)

    def _expect_room(self, entry: _Waiting) -> None:
        chars = sum(waiting.chars for waiting in self._waiting) + entry.chars if self._waiting else 0
        if self._closed or len(self._waiting) >= MOST_WAITING or chars > MOST_WAITING_CHARS:
            why = "the store is closed" if self._closed else f"{len(self._waiting)} reports wait for it already"
            raise StoreError(
                f"cannot write a report in {self._name}: {why}. This one is lost; see that it can be written"
            )

    def _run(self) -> None:
        while (entry := self._next()) is not None:
            try:
                self._write(entry.report, entry.texts)
            except Exception as exc:
                self._handle_failure(entry, exc)
            else:
                self._finish(entry)

    def _next(self) -> _Waiting | None:
        with self._changed:
            if self._failure is not None and not self._closed:
                self._changed.wait(_RETRY_S)
            while not self._waiting and not self._closed:
                self._changed.wait()
            if self._last_try and self._failure is not None:
                return None
            self._last_try = self._closed  # what waits is tried once more when the store closes
            return self._waiting[0] if self._waiting else None

    def _finish(self, entry: _Waiting, exc: Exception | None = None) -> None:
        with self._changed:
            if self._waiting and self._waiting[0] is entry:
                self._waiting.popleft()
            if self._failure is not None:
                logger.warning("%s takes reports again; %s wait", self._name, len(self._waiting))
                self._waiting.appendleft(_Waiting(PartFailure(part="store", kind="reports", at=self._failed_at)))
            self._failure, self._late, self._progress = None, False, monotonic()
        with suppress(InvalidStateError):  # whoever waited for it is gone
            entry.tried.set_exception(exc) if exc else entry.tried.set_result(None)

    def _handle_failure(self, entry: _Waiting, exc: Exception) -> None:
        if not isinstance(exc, StoreError) or _is_of_the_report(exc):
            logger.error("a report was not written and is lost: %s", exc)
            self._finish(entry, exc)
            return
        self._log_late(logging.WARNING, str(exc))
        with self._changed:
            self._failed_at = self._failed_at if self._failure else datetime.now(UTC)
            self._failure = exc
        with suppress(InvalidStateError):
            entry.tried.set_exception(self._kept_error(exc))

    def _log_late(self, level: int, why: str) -> None:
        with self._changed:
            if not self._late or (self._failure is None and level > logging.INFO):
                logger.log(level, "reports wait in memory until %s takes them: %s", self._name, why)
            self._late = True

    def _kept_error(self, failure: StoreError) -> StoreError:
        return StoreError(f"{failure}. It is kept in memory and tried again ({len(self._waiting)} wait)")


def _is_of_the_report(exc: StoreError) -> bool:
    """True if the database refused the report itself; any other failure may pass."""
    cause, passing = exc.__cause__, (sql.exc.OperationalError, sql.exc.InterfaceError, sql.exc.TimeoutError)
    return isinstance(cause, sql.exc.SQLAlchemyError) and not isinstance(cause, passing)


class SqlReports:
    """A `ReportStore` in a SQL database. Several processes may share it, a SQLite file on a local disk included.

    A report is written before its answer goes out, unless the database is late by `PATIENCE_S` or fails: then it waits in memory,
    in a bounded queue, until the database takes it. `reader` reads it back. Closing the store closes the engine's pool.
    The tables: docs/design/observability.md.

    Args:
        database: a SQLAlchemy URL (`sqlite:///reports.sqlite`, `postgresql+psycopg://user@host/name`) or an engine.
        record: `verdicts` keeps reports alone; `delivered` also the user's text, the documents and the knowledge that the turn
            was checked against; `full` also the draft, even a withheld one.
        text_retention_days: deletes those texts after so many days; None keeps them.
        report_retention_days: deletes reports, with all that belongs to them, after so many days; None keeps them.
        knowledge: forgets the conversations of which no report is left then.

    Raises:
        ConfigError: the URL is malformed, or its driver is not installed.
    """

    def __init__(
        self,
        database: str | sql.Engine,
        *,
        record: Record = "verdicts",
        text_retention_days: float | None = None,
        report_retention_days: float | None = None,
        knowledge: KnowledgeStore | None = None,
    ) -> None:
        self.record: Record = record
        self._database = Database(database)
        self._text_days = text_retention_days
        self._report_days = report_retention_days
        self._knowledge = knowledge
        self._pruned = -PRUNE_EVERY_S
        self._writer = _Writer(self._database.name, self._write)
        self._channel = LatestFacts(self._database)

    @property
    def reader(self) -> ReportReader:
        """The read side, on the same connections."""
        return ReportReader(self._database)

    async def write(self, report: TurnReport) -> None:
        """Stores a report without texts (`Sink.write`)."""
        await self._writer.put(report)

    async def write_turn(self, report: TurnReport, texts: TurnTexts) -> None:
        """Stores a report, with its texts unless `record` is `verdicts` (`TextSink.write_turn`)."""
        await self._writer.put(report, None if self.record == "verdicts" else texts)

    async def write_failure(self, failure: PartFailure) -> None:
        """Stores what broke without a report (`FailureSink.write_failure`)."""
        await self._writer.put(failure)

    async def reports(self, conversation_id: str | None = None, *, limit: int = 1000) -> Sequence[TurnReport]:
        """Returns the newest `limit` reports of one conversation or of all, oldest first."""
        newest = sql.select(REPORTS).order_by(REPORTS.c.created_at.desc(), REPORTS.c.id.desc()).limit(max(limit, 0))
        if conversation_id is not None:
            newest = newest.where(REPORTS.c.conversation_key == digest(conversation_id))
        rows = await self._run("read reports", lambda connection: connection.execute(newest).all(), writes=False)
        name = self._database.name
        return tuple(parse_report(row.report, row.id, row.schema_version, name) for row in reversed(rows))

    async def chat_facts(self, tenant: str | None) -> Sequence[str]:
        """Facts about the tenant's chat that people added (`ChatFacts.chat_facts`); the last known while the database fails."""
        return await self._channel.of(tenant or "")

    async def forget(self, conversation_id: str) -> int:
        """Deletes a conversation's reports, texts, claims, reviews and annotations; returns the number of reports."""
        waiting = self._writer.drop(lambda report: report.conversation_id == conversation_id)
        return waiting + await self._delete(lambda connection: retention.forget(connection, conversation_id))

    async def forget_tenant(self, tenant: str) -> int:
        """Deletes everything of a tenant, roll-ups included; returns the number of reports."""
        waiting = self._writer.drop(lambda report: report.tenant == tenant)
        return waiting + await self._delete(lambda connection: retention.forget_tenant(connection, tenant))

    async def aclose(self) -> None:
        """Writes queued reports, for at most a few seconds, and closes the pool of connections."""
        await asyncio.to_thread(self._writer.close)
        await asyncio.to_thread(self._database.close)

    def _write(self, report: TurnReport | PartFailure, texts: TurnTexts | None) -> None:
        with self._database.translating_errors("write a report"):
            self._database.prepare()
        self._writer.opened()
        if isinstance(report, PartFailure):
            self._database.write("write what broke", lambda connection: insert_failure(connection, report))
            return
        self._database.write("write a report", lambda connection: insert(connection, report, texts, self._text_days))
        if (self._text_days or self._report_days) and monotonic() - self._pruned > PRUNE_EVERY_S:
            self._prune()

    def _prune(self) -> None:
        """Deletes one batch of expired rows. While batches come back full, each write deletes another."""
        now = datetime.now(UTC)
        try:
            deleted = retention.prune_with_knowledge(self._database, now, self._report_days, self._knowledge)
        except StoreError as exc:  # the report is written; the next write tries again
            logger.error("old reports were not deleted: %s", exc)
            deleted = (0, 0)
        if not any(deleted):
            self._pruned = monotonic()

    async def _delete(self, work: Callable[[sql.Connection], int]) -> int:
        deleted = await self._run("forget a conversation", work)
        if self._database.is_sqlite:
            await self._run("forget a conversation", truncate_log)
        return deleted

    async def _run(self, operation: str, work: Callable[[sql.Connection], T], *, writes: bool = True) -> T:
        # Not in asyncio's threads, which also judge turns: a database that hangs must not take them all.
        run = self._database.write if writes else self._database.run
        return await asyncio.wrap_future(in_daemon_thread(run, operation, work))
