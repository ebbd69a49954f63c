"""People's reviews, in the database of the reports: the queue of turns to review, and people's verdicts on turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, Self

import sqlalchemy as sql
from pydantic import TypeAdapter

from vista_guard.errors import InputError
from vista_guard.policy.turn_risk import SAFE
from vista_guard.stores.entries import digest
from vista_guard.stores.reports.channel import (
    ChatFact,
    add_fact,
    clean_fact,
    read_facts,
    remove_facts,
)
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.filters import Page, from_cursor, number_of, same_columns, to_cursor, utc
from vista_guard.stores.reports.rows import plain
from vista_guard.stores.reports.store import Reason, review_row
from vista_guard.stores.reports.tables import CHANNEL, CONSENSUS, EVENTS, FINDINGS, REVIEWS, TURNS, upserting
from vista_guard.stores.reviewed import LONGEST_TEXT, ConsensusClaim, Op, clean_name
from vista_guard.types import Action


class ReviewVerdict(StrEnum):
    """A reviewer's verdict on the guard's decision."""

    UPHELD = "upheld"
    """It was right: what was let through is fine, what was flagged, repaired or blocked is not."""
    OVERTURNED = "overturned"
    """It was wrong."""


@dataclass(frozen=True)
class Review:
    """A turn that waits for review, or was reviewed. `report_id` is the report's.

    `assignee` holds it until `reserved_until`; after that anybody may take it. `verdict`, `verdict_reason`, `decided_by` and
    `decided_at` are None until somebody decided.
    """

    report_id: str
    number: int
    tenant: str | None
    conversation_id: str | None
    turn_index: int
    action: str
    reason: Reason
    open: bool
    queued_at: datetime
    urgency: int = 0
    assignee: str | None = None
    reserved_until: datetime | None = None
    verdict: ReviewVerdict | None = None
    verdict_reason: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None

    def held_by(self, now: datetime) -> str | None:
        """Returns the reviewer who has the turn now, or None."""
        until = self.reserved_until
        return self.assignee if until is not None and until > now else None


@dataclass(frozen=True)
class ReviewEvent:
    """An event of a turn's trail.

    `what`: queued, complaint, reserved, released, upheld, overturned, reopened or comment; channel, where `text` became a fact
    about the chat, and removed, where it is none any more.
    """

    at: datetime
    who: str
    what: str
    text: str


SETTLED_CLAIMS = TypeAdapter(tuple[ConsensusClaim, ...])
"""Parses and writes the claims of a consensus, stored as JSON."""


@dataclass(frozen=True)
class Word:
    """People's word on one turn and, by id, on the judge's claims: True where fine."""

    report_id: str
    fine: bool
    claims: dict[str, bool]


class AddedFacts(NamedTuple):
    """Ids of the facts about the chat that were new, and the turns decided with them."""

    facts: tuple[int, ...]
    decided: tuple[str, ...]


class FoundReport(NamedTuple):
    """A report's number, its tenant, "" for no tenant, and the turn's risk."""

    id: int
    tenant: str
    risk: float | None


def visible(column: sql.ColumnElement[str], tenants: Sequence[str] | None) -> sql.ColumnElement[bool]:
    """Selects these tenants' rows; all rows for None."""
    return sql.true() if tenants is None else column.in_(list(tenants))


def find_report(connection: sql.Connection, report_id: str, tenants: Sequence[str] | None) -> FoundReport:
    """Number, tenant and risk of a report.

    Raises:
        InputError: no visible report has this id.
    """
    query = sql.select(TURNS.c.id, TURNS.c.tenant, TURNS.c.risk).where(TURNS.c.report_id == report_id)
    row = connection.execute(query.where(visible(TURNS.c.tenant, tenants))).first()
    if row is None:
        raise InputError(
            f"there is no report {report_id[:80]!r}; find the id in the report, or in the dashboard's address"
        )
    return FoundReport(row.id, row.tenant, row.risk)


def clean_text(text: str, what: str) -> str:
    """Returns a person's text, trimmed.

    Raises:
        InputError: it is empty, or too long.
    """
    trimmed = plain(text).strip()
    if not trimmed:
        raise InputError(f"{what} is empty; say in a few words why")
    if len(trimmed) > LONGEST_TEXT:
        raise InputError(f"{what} has {len(trimmed):,} characters; at most {LONGEST_TEXT:,} are kept")
    return trimmed


RESERVED_FOR = timedelta(minutes=30)
"""Time for which a turn is reserved for one reviewer."""

MOST_ROWS = 200

MOST_COMPARED = 5000
"""Most open reviews that are compared to find equal drafts."""


class Reviews:
    """The review queue of a database of reports. Every method is synchronous and safe to call from any thread.

    Args:
        database: a SQLAlchemy URL, an engine, or the `Database` of a store.
        tenants: restricts every method to these tenants' turns; None for all.

    Raises:
        ConfigError: the URL is malformed, or its driver is not installed.

    Every method raises `StoreError` when the database cannot be read or written, and `InputError` for a report
    that is missing or another tenant's.

    Examples:
        >>> from vista_guard.stores.reports.database import Database
        >>> reviews = Reviews(Database("sqlite://"))
        >>> reviews.take_next("ada@example.com") is None
        True
    """

    def __init__(self, database: str | sql.Engine | Database, *, tenants: Sequence[str] | None = None) -> None:
        self._database = database if isinstance(database, Database) else Database(database, create=False)
        self._tenants = tenants

    @property
    def database(self) -> Database:
        """The database of the reviews, and of the reports."""
        return self._database

    def of_tenants(self, tenants: Sequence[str] | None) -> Self:
        """Returns the queue restricted to these tenants' turns."""
        return type(self)(self._database, tenants=tenants)

    def queue(
        self,
        reason: Reason | None = None,
        *,
        open: bool = True,
        tenant: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Review]:
        """Returns a page of open reviews or of decided ones, newest first. `after` is a page's `next`.

        Open ones: complaints first, then by risk, the highest first; of equal risk the one that waits longest.
        """
        query = self._reviews(open).limit(max(0, min(limit, MOST_ROWS)) + 1)
        if reason is not None:
            query = query.where(REVIEWS.c.reason == reason.value)
        if tenant is not None:
            query = query.where(REVIEWS.c.tenant == tenant)
        if after is not None:
            query = query.where(_behind(after, open))
        rows = tuple(map(_review, self._rows(query)))
        return Page(rows[:limit], _place(rows[limit - 1]) if len(rows) > limit else None)

    def decided(self) -> tuple[Review, ...]:
        """Returns all decided reviews, newest first."""
        return tuple(map(_review, self._rows(self._reviews(False))))

    def counts(self) -> Mapping[Reason, int]:
        """Counts the open reviews by reason."""
        query = sql.select(REVIEWS.c.reason, sql.func.count()).where(REVIEWS.c.state == "open", self._visible())
        rows = self._rows(query.group_by(REVIEWS.c.reason))
        return {Reason(reason): int(count) for reason, count in rows}

    def get(self, report_id: str) -> Review | None:
        """Returns the review of a report; None when it was never queued."""
        return self._database.run("read reviews", lambda c: self._get(c, report_id))

    def trail(self, report_id: str) -> tuple[ReviewEvent, ...]:
        """Returns everything done about a report, oldest first."""
        query = sql.select(EVENTS).join(TURNS, TURNS.c.id == EVENTS.c.report).where(TURNS.c.report_id == report_id)
        query = query.where(visible(TURNS.c.tenant, self._tenants)).order_by(EVENTS.c.id)
        rows = self._rows(query)
        return tuple(ReviewEvent(**same_columns(row, ReviewEvent)) for row in rows)

    def consensus(self) -> Mapping[str, tuple[ConsensusClaim, ...]]:
        """Returns the claims that annotators agreed on, by report id; those of the oldest batch of several."""
        query = sql.select(TURNS.c.report_id, CONSENSUS.c.claims).join(TURNS, TURNS.c.id == CONSENSUS.c.report)
        query = query.where(visible(TURNS.c.tenant, self._tenants)).order_by(CONSENSUS.c.item.desc())

        def read(connection: sql.Connection) -> Mapping[str, tuple[ConsensusClaim, ...]]:
            there = sql.inspect(connection).has_table(CONSENSUS.name)
            rows = connection.execute(query) if there else ()
            return {report_id: SETTLED_CLAIMS.validate_json(claims) for report_id, claims in rows}

        return self._database.run("read the consensus", read)

    def reserve(self, report_id: str, who: str, *, time: timedelta = RESERVED_FOR) -> Review:
        """Reserves the turn for one reviewer. Reserving again extends the time.

        Raises:
            InputError: it is not open, or another has it.
        """
        name = clean_name(who)

        def reserve(connection: sql.Connection, number: int) -> None:
            _expect_taken(connection, number, name, time)
            _record_event(connection, number, name, "reserved")

        return self._write(report_id, reserve)

    def take_next(self, who: str, reason: Reason | None = None, *, time: timedelta = RESERVED_FOR) -> Review | None:
        """Reserves the most urgent turn that is free, or returns None."""
        name = clean_name(who)

        def take(connection: sql.Connection) -> Review | None:
            while True:
                free = self._reviews(True).where(_free(datetime.now(UTC))).limit(1)
                free = free if reason is None else free.where(REVIEWS.c.reason == reason.value)
                row = connection.execute(free).first()
                if row is None:
                    return None
                if _take(connection, row.report, name, time):
                    _record_event(connection, row.report, name, "reserved")
                    return self._get(connection, row.report_id)

        return self._database.write("reserve a review", take)

    def release(self, report_id: str, who: str) -> Review:
        """Gives the reviewer's turn back."""
        name = clean_name(who)
        mine = sql.update(REVIEWS).where(REVIEWS.c.state == "open", REVIEWS.c.assignee == name)

        def release(connection: sql.Connection, number: int) -> None:
            freed = mine.where(REVIEWS.c.report == number).values(assignee=None, reserved_until=None)
            if connection.execute(freed).rowcount:
                _record_event(connection, number, name, "released")

        return self._write(report_id, release)

    def decide(self, report_id: str, who: str, verdict: ReviewVerdict, reason: str) -> Review:
        """Records the reviewer's verdict and reason; the turn leaves the queue.

        Raises:
            InputError: no reason; the turn is not open, or another has it.
        """
        text, name, chosen = clean_text(reason, "the reason"), clean_name(who), ReviewVerdict(verdict)

        def decide(connection: sql.Connection, number: int) -> None:
            _expect_taken(connection, number, name, timedelta())
            _record_verdict(connection, number, name, chosen, text)

        return self._write(report_id, decide)

    def add_facts(
        self,
        report_ids: Sequence[str],
        who: str,
        facts: Mapping[str, str],
        *,
        verdict: ReviewVerdict | None = None,
    ) -> AddedFacts:
        """Adds what a turn says of its own chat to the facts of its tenant's chat.

        Args:
            report_ids: the turn, which must be open and which nobody else has; then turns with an equal draft.
            who: the reviewer.
            facts: by the text of the claim, the sentence that holds in every conversation: that text, or a better one.
            verdict: decides the turn, and the free ones of the others that are its tenant's, with the facts as the reason; None
                leaves them open.

        Raises:
            InputError: no fact, an empty or too long one, or too many; the turn is not open, or another has it.
        """
        report_id, *others = report_ids
        name, texts = clean_name(who), {claim: clean_fact(text) for claim, text in facts.items()}
        if not texts:
            raise InputError("no sentence was chosen; choose one that is about the chat itself")
        added: list[int] = []

        def add(connection: sql.Connection, number: int) -> None:
            added.clear()
            _expect_taken(connection, number, name, RESERVED_FOR if verdict is None else timedelta())
            tenant = find_report(connection, report_id, self._tenants).tenant
            for claim, text in texts.items():
                fact = add_fact(connection, tenant, text, name, report_id=report_id, claim=claim)
                added.extend([] if fact is None else [fact])
                _record_event(connection, number, name, "channel", text)
            if verdict is not None:
                _record_verdict(connection, number, name, verdict, about_chat(texts.values()))

        tenant = self._write(report_id, add).tenant
        if verdict is None:
            return AddedFacts(tuple(added), ())
        same = [other for other in others if (review := self.get(other)) is not None and review.tenant == tenant]
        decided = self._decide_free(same, name, verdict, about_chat(texts.values()))
        return AddedFacts(tuple(added), (report_id, *decided))

    def facts(self) -> tuple[ChatFact, ...]:
        """Returns the facts about the chats of these tenants that people added, the oldest first."""
        return self._database.run("read facts about the chat", lambda c: read_facts(c, self._tenants))

    def add_fact(self, text: str, who: str, tenant: str | None = None) -> bool:
        """Adds a fact about a tenant's chat, for no turn in particular; returns False where it is known already.

        Raises:
            InputError: it is empty, too long, or one too many; the tenant is not one of these.
        """
        fact, name = clean_fact(text), clean_name(who)
        if self._tenants is not None and (tenant or "") not in self._tenants:
            raise InputError(f"tenant {tenant or ''!r} is none of yours: {', '.join(self._tenants)}")
        added = self._database.write("add a fact about the chat", lambda c: add_fact(c, tenant or "", fact, name))
        return added is not None

    def remove_facts(self, facts: Sequence[int], who: str) -> int:
        """Removes facts about the chat by their ids; returns the number of those that were there."""
        name = clean_name(who)
        return self._database.write(
            "remove a fact about the chat", lambda c: remove_facts(c, facts, name, self._tenants)
        )

    def decide_all(self, report_ids: Sequence[str], who: str, verdict: ReviewVerdict, reason: str) -> tuple[str, ...]:
        """Records one verdict on the first of these turns and on the others that nobody else has; returns those decided.

        Raises:
            InputError: the first turn cannot be decided, see `decide`.
        """
        self.decide(report_ids[0], who, verdict, reason)
        return (report_ids[0], *self._decide_free(report_ids[1:], who, verdict, reason))

    def _decide_free(self, report_ids: Sequence[str], who: str, verdict: ReviewVerdict, reason: str) -> Iterator[str]:
        for name in report_ids:
            with suppress(InputError):  # somebody took or decided it meanwhile
                self.decide(name, who, verdict, reason)
                yield name

    def undo(self, report_ids: Sequence[str], who: str, *, facts: Sequence[int] = ()) -> int:
        """Takes the reviewer's own verdicts on these turns back: they are open again; returns their number.

        `facts` are the ids of facts about the chat that came with them: they are removed.
        """
        name = clean_name(who)
        cleared = {"state": "open", **dict.fromkeys(_DECISION)}

        def undo(connection: sql.Connection) -> int:
            undone = 0
            remove_facts(connection, facts, name, self._tenants)
            for report_id in report_ids:
                number = self._number(connection, report_id)
                own = REVIEWS.c.report == number, REVIEWS.c.state == "decided", REVIEWS.c.decided_by == name
                if connection.execute(sql.update(REVIEWS).where(*own).values(**cleared)).rowcount:
                    _record_event(connection, number, name, "reopened")
                    undone += 1
            return undone

        return self._database.write("undo a review", undo)

    def draft_keys(self, reviews: Sequence[Review]) -> Mapping[str, str]:
        """Fingerprints of drafts, by report id: equal for a tenant's drafts with the same claims, labels and action.

        None without claims.
        """
        numbers = {review.number: review for review in reviews}
        query = sql.select(FINDINGS.c.report, FINDINGS.c.claim_key, FINDINGS.c.label)
        query = query.where(FINDINGS.c.report.in_(list(numbers))).order_by(FINDINGS.c.report, FINDINGS.c.n)
        claims: dict[int, list[str]] = {}
        for number, key, label in self._rows(query):
            claims.setdefault(number, []).append(f"{key} {label}")
        return {
            numbers[number].report_id: digest(" ".join((numbers[number].action, *parts, numbers[number].tenant or "")))
            for number, parts in claims.items()
        }

    def equal(self, report_id: str) -> tuple[Review, ...]:
        """Returns the other open reviews of drafts equal to this report's, the most urgent first."""
        own = self.get(report_id)
        return () if own is None else self.grouped([own])[0][1:]

    def grouped(self, reviews: Sequence[Review]) -> tuple[tuple[Review, ...], ...]:
        """Groups the reviews by equal drafts, each with the other open ones of the whole queue that are equal to it."""
        numbers = [review.number for review in reviews]
        first = sql.select(FINDINGS.c.claim_key).where(FINDINGS.c.report.in_(numbers), FINDINGS.c.n == 0)
        same = sql.exists().where(
            FINDINGS.c.report == REVIEWS.c.report, FINDINGS.c.n == 0, FINDINGS.c.claim_key.in_(first)
        )
        rows = map(_review, self._rows(self._reviews(True).where(same).limit(MOST_COMPARED)))
        known = {review.number: review for review in (*reviews, *rows)}
        keys = self.draft_keys(list(known.values()))
        groups: dict[str, list[Review]] = {}
        for review in known.values():
            groups.setdefault(keys.get(review.report_id, review.report_id), []).append(review)
        of_these = dict.fromkeys(keys.get(review.report_id, review.report_id) for review in reviews)
        return tuple(tuple(groups[key][: MOST_ROWS + 1]) for key in of_these)

    def claims_on_chat(self) -> Mapping[str, tuple[str, ...]]:
        """Returns the claims of decided turns that became facts about the chat: their ids, by report id."""
        same = sql.and_(CHANNEL.c.claim_key == FINDINGS.c.claim_key, CHANNEL.c.tenant == REVIEWS.c.tenant)
        query = sql.select(TURNS.c.report_id, FINDINGS.c.claim_id).join(REVIEWS, REVIEWS.c.report == TURNS.c.id)
        query = query.join(FINDINGS, FINDINGS.c.report == REVIEWS.c.report).join(CHANNEL, same)
        claims: dict[str, tuple[str, ...]] = {}
        for report_id, claim_id in self._rows(query.where(REVIEWS.c.state == "decided", self._visible())):
            claims[report_id] = (*claims.get(report_id, ()), claim_id)
        return claims

    def comment(self, report_id: str, who: str, text: str) -> None:
        """Adds a comment to the trail of any report, queued or not."""
        content = clean_text(text, "the comment")
        name = clean_name(who)
        self._database.write(
            "write a comment", lambda c: _record_event(c, self._number(c, report_id), name, "comment", content)
        )

    def complain(self, report_id: str, reason: str, who: str = "user") -> Review:
        """Queues a turn whose verdict somebody disputes, again if it was decided.

        Raises:
            InputError: no reason, or no such report.
        """
        text, name = clean_text(reason, "the complaint"), clean_name(who)

        def complain(connection: sql.Connection, number: int) -> None:
            found = find_report(connection, report_id, self._tenants)
            fresh = review_row(number, found.tenant, Reason.COMPLAINT, datetime.now(UTC), found.risk)
            row = upserting(REVIEWS, connection.dialect.name).values(**fresh)
            again = {**fresh, **dict.fromkeys(_DECISION)}
            connection.execute(row.on_conflict_do_update(index_elements=[REVIEWS.c.report], set_=again))
            _record_event(connection, number, name, "complaint", text)

        return self._write(report_id, complain, queued=False)

    def close(self) -> None:
        """Closes the connections."""
        self._database.close()

    def _write(self, report_id: str, work: Callable[[sql.Connection, int], None], *, queued: bool = True) -> Review:
        def write(connection: sql.Connection) -> Review:
            number = self._number(connection, report_id)
            if not queued or self._get(connection, report_id) is not None:
                work(connection, number)
            review = self._get(connection, report_id)
            if review is None:
                raise InputError(f"report {report_id[:80]!r} is not in the review queue; put it there with a complaint")
            return review

        return self._database.write("write a review", write)

    def _rows(self, query: sql.Select[Any]) -> Sequence[Any]:
        return self._database.run("read reviews", lambda c: c.execute(query).all())

    def _number(self, connection: sql.Connection, report_id: str) -> int:
        return find_report(connection, report_id, self._tenants).id

    def _get(self, connection: sql.Connection, report_id: str) -> Review | None:
        row = connection.execute(self._reviews(None).where(TURNS.c.report_id == report_id)).first()
        return None if row is None else _review(row)

    def _reviews(self, open: bool | None) -> sql.Select[Any]:
        turn = TURNS.c.report_id, TURNS.c.conversation_id, TURNS.c.turn_index, TURNS.c.action
        query = sql.select(REVIEWS, *turn).join(TURNS, TURNS.c.id == REVIEWS.c.report).where(self._visible())
        if open is None:
            return query
        query = query.where(REVIEWS.c.state == ("open" if open else "decided"))
        if open:
            return query.order_by(REVIEWS.c.urgency.desc(), REVIEWS.c.queued_at, REVIEWS.c.report)
        return query.order_by(REVIEWS.c.decided_at.desc(), REVIEWS.c.report.desc())

    def _visible(self) -> sql.ColumnElement[bool]:
        return visible(REVIEWS.c.tenant, self._tenants)


_DECISION = ("verdict", "verdict_reason", "decided_by", "decided_at")


def _behind(cursor: str, open: bool) -> sql.ColumnElement[bool]:
    """Selects the reviews behind a page's last one, in the order of `_reviews`."""
    moment, key = from_cursor(cursor)
    report, _, urgent = key.partition("_")
    place = sql.tuple_(moment, number_of(report))
    if not open:
        return sql.tuple_(REVIEWS.c.decided_at, REVIEWS.c.report) < place
    least = number_of(urgent)
    later = sql.tuple_(REVIEWS.c.queued_at, REVIEWS.c.report) > place
    return sql.or_(REVIEWS.c.urgency < least, sql.and_(REVIEWS.c.urgency == least, later))


def _free(now: datetime) -> sql.ColumnElement[bool]:
    return sql.or_(REVIEWS.c.assignee.is_(None), REVIEWS.c.reserved_until <= now)


def _take(connection: sql.Connection, number: int, who: str, time: timedelta) -> bool:
    """Takes the review in one statement: of two reviewers who ask at once, one gets it."""
    now = datetime.now(UTC)
    mine = sql.or_(_free(now), REVIEWS.c.assignee == who)
    taken = sql.update(REVIEWS).where(REVIEWS.c.report == number, REVIEWS.c.state == "open", mine)
    return connection.execute(taken.values(assignee=who, reserved_until=now + time)).rowcount == 1


def _expect_taken(connection: sql.Connection, number: int, who: str, time: timedelta) -> None:
    """Takes the review, or raises `InputError` with who has it, or who decided it."""
    if _take(connection, number, who, time):
        return
    row = connection.execute(sql.select(REVIEWS).where(REVIEWS.c.report == number)).one()
    if row.state != "open":
        raise InputError(f"this turn was decided by {row.decided_by}: {row.verdict}. A complaint opens it again")
    until = utc(row.reserved_until).strftime("%H:%M UTC")
    raise InputError(f"{row.assignee} is reviewing this turn, until {until} at the latest. Take another one")


def about_chat(facts: Iterable[str]) -> str:
    """The reason of a verdict on a turn whose sentences are about the chat.

    Example:
        >>> about_chat(["There is a button below the chat."])
        'about our chat: There is a button below the chat.'
    """
    return f"about our chat: {' '.join(facts)}"


def _record_verdict(connection: sql.Connection, number: int, who: str, verdict: ReviewVerdict, reason: str) -> None:
    values = {"verdict": verdict.value, "verdict_reason": reason, "decided_by": who, "decided_at": datetime.now(UTC)}
    row = sql.update(REVIEWS).where(REVIEWS.c.report == number)
    connection.execute(row.values(state="decided", assignee=None, reserved_until=None, **values))
    _record_event(connection, number, who, verdict.value, reason)


def _record_event(connection: sql.Connection, number: int, who: str, what: str, text: str = "") -> None:
    row = {"report": number, "at": datetime.now(UTC), "who": who, "what": what, "text": text}
    connection.execute(sql.insert(EVENTS).values(**row))


def _review(row: sql.Row[Any]) -> Review:
    values = same_columns(row, Review) | {
        "number": row.report,
        "tenant": row.tenant or None,
        "reason": Reason(row.reason),
        "open": row.state == "open",
        "verdict": None if row.verdict is None else ReviewVerdict(row.verdict),
    }
    return Review(**values)


def _place(review: Review) -> str:
    if review.open or review.decided_at is None:
        return to_cursor(review.queued_at, f"{review.number}_{review.urgency}")
    return to_cursor(review.decided_at, str(review.number))


def words(reviews: Reviews) -> dict[str, Word]:
    """People's word on turns, by report id.

    A verdict covers the turn: with an upheld one an allowed turn is fine, and any other is not. Its claims that became facts
    about the chat are fine. A consensus covers the turn and the judge's claims that annotators confirmed: claims VERIFIED,
    OUT_OF_SCOPE or ABSTENTION are fine. Where both cover a turn, the consensus of several outweighs the one reviewer.
    """
    by_report: dict[str, Word] = {}
    on_chat = reviews.claims_on_chat()
    for review in reviews.decided():
        upheld = review.verdict is ReviewVerdict.UPHELD
        fine, claims = upheld == (review.action == Action.ALLOW.value), on_chat.get(review.report_id, ())
        by_report[review.report_id] = Word(review.report_id, fine, dict.fromkeys(claims, True))
    return by_report | {report: _consensus_word(report, claims) for report, claims in reviews.consensus().items()}


def _consensus_word(report_id: str, consensus: Sequence[ConsensusClaim]) -> Word:
    claims: dict[str, bool] = {}
    for claim in consensus:
        # An edited claim says nothing of the judge's own words.
        if claim.source_claim_id is not None and claim.op is Op.CONFIRM:
            claims[claim.source_claim_id] = claim.label in SAFE and claims.get(claim.source_claim_id, True)
    return Word(report_id, all(claim.label in SAFE for claim in consensus), claims)
