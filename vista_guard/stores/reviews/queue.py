"""The review queue: which turns people should look at, who is at which, and what they decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sql

from vista_guard.errors import InputError
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.filters import ReportFilter, TurnRow, utc
from vista_guard.stores.reports.reading import ReportReader
from vista_guard.stores.reports.tables import REVIEWS, TURNS
from vista_guard.stores.reviews.types import Reason, Review, Verdict
from vista_guard.types import Action

DUE: dict[Reason, timedelta] = {
    "complaint": timedelta(hours=4),
    "blocked": timedelta(days=1),
    "disagreement": timedelta(days=2),
    "low_confidence": timedelta(days=3),
    "sample": timedelta(days=7),
}
"""How soon each kind should be decided."""


class ReviewQueue:
    """Reviews in a database of reports. Synchronous, safe from any thread; several processes may share it.

    Args:
        database: a SQLAlchemy URL, an engine or a `Database`.
        tenant: whose turns are seen; None for all.

    Every method raises `StoreError` when the database cannot be read or written.
    """

    def __init__(self, database: str | sql.Engine | Database, *, tenant: str | None = None) -> None:
        self._database = database if isinstance(database, Database) else Database(database, create=False)
        self._tenant = tenant

    def add(
        self, report_id: str, reason: Reason, *, note: str = "", claim_id: str | None = None, by: str | None = None
    ) -> Review:
        """Puts a turn into the queue. One that waits there for the same reason already is not put in twice, but for complaints.

        Args:
            report_id: the turn's report.
            reason: why.
            note: what the reviewer should know, such as the words of a complaint.
            claim_id: the claim it is about; the whole turn when None.
            by: who asked.

        Raises:
            InputError: there is no such report, or it is another tenant's.
        """

        def work(connection: sql.Connection) -> int:
            turn = _turn(connection, report_id, self._tenant)
            waiting = sql.select(REVIEWS.c.id).where(
                REVIEWS.c.report_id == report_id, REVIEWS.c.reason == reason, REVIEWS.c.verdict.is_(None)
            )
            known = connection.execute(waiting).scalar()
            if known is not None and reason != "complaint":
                return int(known)
            row = {**_new(turn, reason), "note": note, "claim_id": claim_id, "asked_by": by}
            return int(connection.execute(sql.insert(REVIEWS).values(row).returning(REVIEWS.c.id)).scalar_one())

        return self._one(self._database.write("add to the review queue", work))

    def fill(
        self, start: datetime, end: datetime, *, low_confidence: float = 0.6, share: float = 0.01, limit: int = 1000
    ) -> int:
        """Puts what deserves a look into the queue; how many turns are new, at most `limit`.

        Args:
            start, end: of when the turns were said. All that were blocked are put in.
            low_confidence: so are those whose least sure claim is below this.
            share: of those that were let through; always the same ones.
            limit: most to put in.
        """
        reader = ReportReader(self._database, tenant=self._tenant)
        new = 0
        for reason, rows in (
            ("blocked", _pages(reader, ReportFilter(start=start, end=end, actions=(Action.BLOCK,)))),
            ("low_confidence", _pages(reader, ReportFilter(start=start, end=end))),
            ("sample", _pages(reader, ReportFilter(start=start, end=end, actions=(Action.ALLOW,)))),
        ):
            chosen = [row.id for row in rows if _deserves(row, reason, low_confidence, share)]
            new += self._add_new(chosen, reason, limit - new)  # type: ignore[arg-type]  # one of the three
        return new

    def queue(
        self, *, reasons: Sequence[Reason] = (), open_only: bool = True, limit: int = 50, offset: int = 0
    ) -> tuple[Review, ...]:
        """Reviews, the one that is due first at first; those that were decided, the newest first, with `open_only=False`."""
        query = self._visible(sql.select(REVIEWS))
        if reasons:
            query = query.where(REVIEWS.c.reason.in_(reasons))
        if open_only:
            query = query.where(REVIEWS.c.verdict.is_(None)).order_by(REVIEWS.c.due_at, REVIEWS.c.id)
        else:
            query = query.where(REVIEWS.c.verdict.is_not(None)).order_by(REVIEWS.c.decided_at.desc(), REVIEWS.c.id)
        return self._many(query.limit(limit).offset(offset))

    def of_report(self, report_id: str) -> tuple[Review, ...]:
        """All reviews of a turn, the oldest first."""
        return self._many(
            self._visible(sql.select(REVIEWS)).where(REVIEWS.c.report_id == report_id).order_by(REVIEWS.c.id)
        )

    def get(self, review_id: int) -> Review | None:
        """The review, when there is one."""
        return next(iter(self._many(self._visible(sql.select(REVIEWS)).where(REVIEWS.c.id == review_id))), None)

    def counts(self) -> dict[str, int]:
        """How many wait, by reason; those that are past their time as `overdue`."""
        waiting = self._visible(sql.select(REVIEWS.c.reason, sql.func.count())).where(REVIEWS.c.verdict.is_(None))
        late = self._visible(sql.select(sql.func.count())).where(REVIEWS.c.verdict.is_(None), REVIEWS.c.due_at < _now())

        def work(connection: sql.Connection) -> dict[str, int]:
            found = {reason: int(count) for reason, count in connection.execute(waiting.group_by(REVIEWS.c.reason))}
            return {**found, "overdue": int(connection.execute(late).scalar_one())}

        return self._database.run("count reviews", work)

    def reserve(
        self, who: str, *, review_id: int | None = None, reasons: Sequence[Reason] = (), minutes: float = 15
    ) -> Review | None:
        """Reserves the review with this id, else the next that nobody has; None when there is none, or another has it.

        A reservation ends by itself after so many minutes; who has it may reserve it again, which gives more time.
        """
        now = _now()
        mine = sql.or_(REVIEWS.c.assignee.is_(None), REVIEWS.c.reserved_until <= now, REVIEWS.c.assignee == who)
        free = self._visible(sql.select(REVIEWS.c.id)).where(REVIEWS.c.verdict.is_(None), mine)
        if review_id is not None:
            free = free.where(REVIEWS.c.id == review_id)
        if reasons:
            free = free.where(REVIEWS.c.reason.in_(reasons))
        free = free.order_by(REVIEWS.c.due_at, REVIEWS.c.id).limit(1).with_for_update(skip_locked=True)
        taken = sql.update(REVIEWS).where(REVIEWS.c.id == free.scalar_subquery())
        taken = taken.values(assignee=who, reserved_until=now + timedelta(minutes=minutes))

        def work(connection: sql.Connection) -> int | None:
            number = connection.execute(taken.returning(REVIEWS.c.id)).scalar()
            return None if number is None else int(number)

        number = self._database.write("reserve a review", work)
        return None if number is None else self._one(number)

    def release(self, review_id: int, who: str) -> None:
        """Gives a reservation back."""
        mine = sql.update(REVIEWS).where(REVIEWS.c.id == review_id, REVIEWS.c.assignee == who)
        self._change(mine.values(assignee=None, reserved_until=None))

    def decide(self, review_id: int, who: str, verdict: Verdict, reason: str) -> Review:
        """Writes down what the reviewer says of the decision, and why.

        Raises:
            InputError: no reason was given, there is no such review, somebody decided already, or another has it reserved.
        """
        if not reason.strip():
            raise InputError(
                f"review {review_id} needs a reason for its verdict: say in a sentence why it is {verdict}"
            )
        now = _now()
        free = sql.or_(REVIEWS.c.assignee.is_(None), REVIEWS.c.assignee == who, REVIEWS.c.reserved_until <= now)
        decided = sql.update(REVIEWS).where(REVIEWS.c.id == review_id, REVIEWS.c.verdict.is_(None), free)
        if self._tenant is not None:
            decided = decided.where(REVIEWS.c.tenant == self._tenant)
        values = {"verdict": verdict, "verdict_reason": reason, "decided_by": who, "decided_at": now}
        if not self._change(decided.values(**values, assignee=None, reserved_until=None)):
            raise InputError(_why_not(self.get(review_id), review_id))
        return self._one(review_id)

    def _add_new(self, report_ids: Sequence[str], reason: Reason, most: int) -> int:
        """Of these, the ones that were never in the queue for this reason."""

        def work(connection: sql.Connection) -> int:
            known = sql.select(REVIEWS.c.report_id).where(
                REVIEWS.c.reason == reason, REVIEWS.c.report_id.in_(report_ids)
            )
            seen = set(connection.execute(known).scalars())
            fresh = [one for one in report_ids if one not in seen][: max(most, 0)]
            turns = connection.execute(sql.select(TURNS).where(TURNS.c.report_id.in_(fresh))).all()
            rows = [{**_new(turn, reason), "note": "", "claim_id": None, "asked_by": None} for turn in turns]
            if rows:
                connection.execute(sql.insert(REVIEWS), rows)
            return len(rows)

        return self._database.write("add to the review queue", work) if report_ids else 0

    def _visible(self, query: sql.Select[Any]) -> sql.Select[Any]:
        return query if self._tenant is None else query.where(REVIEWS.c.tenant == self._tenant)

    def _many(self, query: sql.Select[Any]) -> tuple[Review, ...]:
        return self._database.run("read reviews", lambda c: tuple(_review(row) for row in c.execute(query)))

    def _one(self, review_id: int) -> Review:
        return self._many(sql.select(REVIEWS).where(REVIEWS.c.id == review_id))[0]

    def _change(self, statement: sql.Update) -> int:
        change: Callable[[sql.Connection], int] = lambda connection: connection.execute(statement).rowcount  # noqa: E731
        return self._database.write("write a review", change)


def _pages(reader: ReportReader, filter: ReportFilter) -> Iterable[TurnRow]:
    after: str | None = None
    while True:
        page = reader.page(filter, after=after, limit=500)
        yield from page.rows
        after = page.next
        if after is None:
            return


def _deserves(row: TurnRow, reason: str, low_confidence: float, share: float) -> bool:
    if reason == "low_confidence":
        return row.lowest_confidence is not None and row.lowest_confidence < low_confidence
    # The last digits of an id are as good as a die, and fall the same way each time.
    return reason == "blocked" or sum(map(ord, row.id[-4:])) * 2654435761 % 10_000 < share * 10_000


def _turn(connection: sql.Connection, report_id: str, tenant: str | None) -> sql.Row[Any]:
    query = sql.select(TURNS).where(TURNS.c.report_id == report_id)
    turn = connection.execute(query if tenant is None else query.where(TURNS.c.tenant == tenant)).first()
    if turn is None:
        raise InputError(f"there is no report {report_id[:64]!r} here; it may have been deleted since")
    return turn


def _new(turn: sql.Row[Any], reason: Reason) -> dict[str, Any]:
    now = _now()
    same = {"report": turn.id, "report_id": turn.report_id, "tenant": turn.tenant}
    return {**same, "reason": reason, "created_at": now, "due_at": now + DUE[reason]}


def _why_not(review: Review | None, review_id: int) -> str:
    if review is None:
        return f"there is no review {review_id} here; its turn may have been deleted since"
    if review.verdict is not None:
        return f"review {review_id} was decided by {review.decided_by} already: {review.verdict}"
    return f"review {review_id} is reserved by {review.assignee}; choose another, or wait until it is free again"


def _review(row: sql.Row[Any]) -> Review:
    times = {name: getattr(row, name) for name in ("created_at", "due_at", "reserved_until", "decided_at")}
    zoned: dict[str, Any] = {name: None if moment is None else utc(moment) for name, moment in times.items()}
    same = (
        "id",
        "report_id",
        "reason",
        "note",
        "claim_id",
        "asked_by",
        "assignee",
        "verdict",
        "verdict_reason",
        "decided_by",
    )
    return Review(**{name: getattr(row, name) for name in same}, tenant=row.tenant or None, **zoned)


def _now() -> datetime:
    return datetime.now(UTC)
