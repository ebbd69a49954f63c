"""Reports as one viewer may see them. Pages read the store only through this module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from vista_guard.dashboard.access import Viewer
from vista_guard.dashboard.elements.address import Choices, Filters
from vista_guard.dashboard.elements.looks import PARTS
from vista_guard.dashboard.settings import Permission
from vista_guard.errors import ConfigError, StoreError
from vista_guard.stores.reports import (
    ATTENTION,
    ConversationRow,
    FailureRow,
    FindingRow,
    Highlight,
    KeptTurn,
    LiveCursor,
    Maker,
    News,
    Order,
    Page,
    ReportFilter,
    ReportReader,
    Rollup,
    SourceCount,
    Summary,
    TurnRow,
)
from vista_guard.stores.reports.rollups import Step
from vista_guard.types import (
    Action,
    Attempt,
    Claim,
    Finding,
    Label,
    Outcome,
    Span,
    TurnReport,
    TurnTexts,
    label_of,
)

HIDDEN: Final = "(withheld: this was not delivered, and your role does not include drafts)"


@dataclass(frozen=True)
class GuardedTurn:
    """A report with its kept texts, or None. `hidden` means that words were removed for this viewer."""

    report: TurnReport
    texts: TurnTexts | None = None
    hidden: bool = False

    @property
    def draft(self) -> str | None:
        """The draft that was judged last, where it is known: it was kept, or all of it was delivered."""
        if self.texts is not None and self.texts.draft is not None:
            return self.texts.draft
        return self.report.response if delivered_whole(self.report) else None

    @property
    def question(self) -> str | None:
        """The user's question, where it was kept."""
        return None if self.texts is None else self.texts.user_text

    def without_documents(self) -> GuardedTurn:
        """Returns the turn without its documents, for lists that keep many."""
        if self.texts is None:
            return self
        return replace(self, texts=self.texts.model_copy(update={"documents": (), "evidence": ()}))

    def delivered(self, claim: Claim) -> tuple[Span, ...]:
        """Returns the claim's spans in the delivered text; none when it was withheld or has no place."""
        return () if claim.span is None else self.report.delivered_spans(claim.span)


def delivered_whole(report: TurnReport) -> bool:
    """True when the user read the judged draft word for word."""
    return report.delivered_spans(Span(start=0, end=len(report.response))) == (Span(start=0, end=len(report.response)),)


def without_withheld(turn: GuardedTurn) -> GuardedTurn:
    """Removes the words that the user never read: the draft, its undelivered claims, and quotes of them.

    Labels, confidences, places, evidence and figures stay: they show why a turn was withheld, not what it said.
    """
    report = turn.report
    outcomes = tuple(_cover_outcome(outcome, turn) for outcome in report.outcomes)
    attempts = tuple(_cover_attempt(attempt) for attempt in report.attempts)
    if outcomes == report.outcomes and not attempts and (turn.texts is None or turn.texts.draft is None):
        return turn
    decision = report.decision.model_copy(update={"reason": _label_counts(report.outcomes)})
    texts = None if turn.texts is None else turn.texts.model_copy(update={"draft": None})
    covered = report.model_copy(
        update={"outcomes": outcomes, "attempts": attempts, "decision": decision, "warnings": ()}
    )
    return replace(turn, report=covered, texts=texts, hidden=True)


def _cover_outcome(outcome: Outcome, turn: GuardedTurn) -> Outcome:
    # A claim without a place was somewhere in the draft: it was read only where all of the draft was.
    read = turn.delivered(outcome.claim) if outcome.claim.span else delivered_whole(turn.report)
    if not read:
        return _hide(outcome)
    if outcome.claim.steps is None or delivered_whole(turn.report):
        return outcome
    # How its sentence was taken apart may quote sentences that were not delivered.
    return outcome.model_copy(update={"claim": outcome.claim.model_copy(update={"steps": None})})


def _cover_attempt(attempt: Attempt) -> Attempt:
    decision = attempt.decision.model_copy(update={"reason": _label_counts(attempt.outcomes)})
    return attempt.model_copy(update={"outcomes": tuple(map(_hide, attempt.outcomes)), "decision": decision})


def _hide(outcome: Outcome) -> Outcome:
    claim = outcome.claim.model_copy(update={"text": HIDDEN, "steps": None})
    if isinstance(outcome, Finding):
        return outcome.model_copy(update={"claim": claim, "reason": HIDDEN})
    return outcome.model_copy(update={"claim": claim, "error": HIDDEN, "raw": None})


def _label_counts(outcomes: Iterable[Outcome]) -> str:
    counts = Counter(map(label_of, outcomes))
    parts = [f"{count} {name.replace('_', ' ').lower()}" for name, count in counts.items()]
    return f"claims of the draft: {', '.join(parts) or 'none'}"


T = TypeVar("T")

CHOICES_S: Final = 60.0
_CHOICES: WeakKeyDictionary[ReportReader, dict[str | None, tuple[float, Mapping[str, tuple[str, ...]]]]] = (
    WeakKeyDictionary()
)
"""By database, then by tenant: one tenant's names never appear among another's choices."""

ROWS: Final = 50
"""Rows of a page of a list."""

CLAIMS: Final = 500
"""Claims read at once."""

WINDOW: Final = 100
"""Most turns of a conversation shown at once."""

BEFORE: Final = 20
"""Of these, the number before the turn that a link names."""


@dataclass(frozen=True)
class Window:
    """Turns of one conversation, oldest first. `after` is the cursor before them, `next` that of later ones.

    `unreadable` are reports that this version cannot read: id and what is wrong with them.
    """

    turns: tuple[GuardedTurn, ...]
    after: str | None = None
    next: str | None = None
    unreadable: tuple[tuple[str, str], ...] = ()


class ScopedReports:
    """The reports that one viewer may see.

    A viewer of one tenant always gets that tenant's reader. A viewer of several sees one at a time: the one that the
    filter names, else the first. Every method raises `StoreError` when the database cannot be read.
    """

    def __init__(self, reader: ReportReader, viewer: Viewer) -> None:
        self._reader, self._viewer = reader, viewer

    def choices(self, filters: Filters | None = None) -> Choices:
        """Returns the values to filter by that the viewer may see."""
        values = self._cached_choices(self._of(filters or Filters()), filters)
        tenants = values["tenant"] if self._viewer.tenants is None else self._viewer.tenants
        return Choices(
            tenants=tuple(name for name in tenants if name),
            policies=values["policy"],
            judges=values["judge"],
            all_tenants=self._viewer.tenants is None,
        )

    def page(
        self,
        filters: Filters,
        *,
        after: str | None = None,
        attention: bool = False,
        limit: int = ROWS,
        order: Order = "time",
    ) -> Page[TurnRow]:
        """Turns in this order; `attention` leaves out those that were simply allowed."""
        report_filter = self._report_filter(filters, attention)
        return self._of(filters).page(report_filter, after=after, limit=limit, order=order)

    def since(self, cursor: LiveCursor | None, filters: Filters, *, attention: bool = False, limit: int = ROWS) -> News:
        """Turns written since the cursor; see `ReportReader.since`."""
        return self._of(filters).since(cursor, self._report_filter(filters, attention), limit=limit)

    def summary(self, filters: Filters, start: datetime) -> Summary:
        """Counts over the turns of some minutes."""
        return self._of(filters).summary(replace(self._report_filter(filters), start=start))

    def rollup(self, filters: Filters, start: datetime, end: datetime, by: Step = "hour") -> Rollup:
        """Counts by the hour or the day, of any length of time: turns by action, claims by label, unchecked ones by reason.

        Filters without a column in the roll-ups are ignored.
        """
        keys = {"keys": ("action", "reason", "part", "kind"), "claim_keys": ("label",)}
        return self._of(filters).rollup(start, end, by, self._report_filter(filters), **keys)

    def makers(self, filters: Filters, start: datetime, end: datetime, by: Step = "hour") -> tuple[Maker, ...]:
        """The judges and policies of these hours or days."""
        return self._of(filters).makers(start, end, by, self._report_filter(filters))

    def contradicted_sources(self, filters: Filters) -> tuple[SourceCount, ...]:
        """Counts the sources that the newest contradicted claims contradict, the most frequent first."""
        return self._of(filters).sources(replace(self._report_filter(filters), labels=(Label.CONTRADICTED.value,)))

    def conversations(
        self, filters: Filters, *, after: str | None = None, order: Order = "time"
    ) -> Page[ConversationRow]:
        """Conversations in this order, by latest activity or by their first turn in it."""
        return self._of(filters).conversations(self._report_filter(filters), after=after, limit=ROWS, order=order)

    def failures(self, filters: Filters) -> Page[FailureRow]:
        """Failures of parts, newest first; of the filters tenant, time and part apply."""
        return self._of(filters).failures(self._report_filter(filters), limit=ROWS)

    def highlights(self, filters: Filters, rows: Sequence[ConversationRow]) -> dict[str, Highlight]:
        """Returns the first question and the worst claim of each of these conversations, by their `key`."""
        by_key = self._of(filters).highlights(rows)
        if self._viewer.allows(Permission.DRAFTS):
            return by_key
        withheld = {key for key, one in by_key.items() if one.claim and one.action in (Action.REPAIR, Action.BLOCK)}
        return {key: replace(one, claim=HIDDEN) if key in withheld else one for key, one in by_key.items()}

    def findings(self, filters: Filters, conversation_id: str) -> Iterator[FindingRow]:
        """Claims of a conversation with their outcomes, without reading whole reports."""
        report_filter, after = replace(self._report_filter(filters), conversation_id=conversation_id), None
        while True:
            page = self._of(filters).findings(report_filter, after=after, limit=CLAIMS)
            yield from page.rows
            after = page.next
            if after is None:
                return

    def turn(self, report_id: str) -> GuardedTurn | None:
        """The turn of a report; None when it is missing or another tenant's.

        Raises:
            StoreError: the report cannot be read by this version.
        """
        kept = self._first(lambda reader: reader.get(report_id))
        return None if kept is None else self._allowed_turn(kept)

    def row(self, report_id: str) -> TurnRow | None:
        """The thin row of a report."""
        return self._first(lambda reader: reader.row(report_id))

    def turns(self, report_ids: Sequence[str]) -> dict[str, GuardedTurn | str]:
        """The turns of reports, by id; the error message in place of one that cannot be read."""
        turns: dict[str, GuardedTurn | str] = {}
        for reader in self._readers():
            turns |= _each(reader, [name for name in report_ids if name not in turns], self._allowed_turn)
        return turns

    def turn_or_problem(self, report_id: str) -> GuardedTurn | str | None:
        """The turn of a report; why it cannot be read; None when it is missing or another tenant's."""
        return self.turns([report_id]).get(report_id)

    def conversation(
        self, conversation_id: str, *, around: GuardedTurn | None = None, after: str | None = None
    ) -> Window:
        """The turns of a conversation: all of them, or `WINDOW` behind a cursor, or those around one turn."""
        for reader in self._readers():
            window = self._window(reader, conversation_id, around, after)
            if window.turns or window.unreadable:
                return window
        return Window(())

    def established_by(self, conversation_id: str, turn_key: str) -> TurnRow | None:
        """The turn that established a piece of knowledge."""
        return self._first(lambda reader: reader.established_by(conversation_id, turn_key))

    def _window(self, reader: ReportReader, name: str, around: GuardedTurn | None, after: str | None) -> Window:
        whole = ReportFilter(conversation_id=name)
        if after is None and around is not None:
            after = _before(reader, whole, around)
        try:
            page = reader.conversation(name, after=after, limit=WINDOW)
        except StoreError:  # one that cannot be read must not hide the others
            rows = reader.page(whole, limit=WINDOW).rows
            turns = _each(reader, [row.id for row in reversed(rows)], self._allowed_turn)
            problems = tuple((key, problem) for key, problem in turns.items() if isinstance(problem, str))
            return Window(tuple(turn for turn in turns.values() if isinstance(turn, GuardedTurn)), unreadable=problems)
        return Window(tuple(map(self._allowed_turn, page.rows)), after, page.next)

    def _cached_choices(self, reader: ReportReader, filters: Filters | None) -> Mapping[str, tuple[str, ...]]:
        """Returns the values to filter by, at most a minute old: every run of a page asks, and they seldom change."""
        cache = _CHOICES.setdefault(self._reader, {})
        tenant = None if self._viewer.tenants is None else self._tenant(filters or Filters())
        at, values = cache.get(tenant, (0.0, {}))
        if not values or monotonic() - at > CHOICES_S:
            cache[tenant] = (monotonic(), values := reader.choices())
        return values

    def _tenant(self, filters: Filters) -> str:
        tenants = self._viewer.tenants or ("",)
        return filters.tenant if filters.tenant in tenants else tenants[0]

    def _of(self, filters: Filters) -> ReportReader:
        """The reader for the filters' tenant; never one that the viewer may not see."""
        readers, tenants = self._readers(), self._viewer.tenants
        return readers[0] if tenants is None else readers[tenants.index(self._tenant(filters))]

    def _report_filter(self, filters: Filters, attention: bool = False) -> ReportFilter:
        actions: Iterable[Action] = ATTENTION if attention else ()
        if filters.action is not None:
            actions = [filters.action]
        start, end = filters.period(datetime.now(UTC))
        return ReportFilter(
            start=start,
            end=end,
            words=filters.words,
            withheld=self._viewer.allows(Permission.DRAFTS),
            tenant=filters.tenant if self._viewer.tenants is None else None,  # others' is in their reader
            policy=filters.policy,
            judge=filters.judge,
            actions=tuple(actions),
            labels=() if filters.label is None else (filters.label,),
            evidence_missing=filters.evidence_missing,
            failed=tuple(part for part in PARTS if filters.failed in ("any", part)),
        )

    def _readers(self) -> list[ReportReader]:
        tenants = self._viewer.tenants
        if tenants is None:
            return [self._reader]
        if not tenants:
            raise ConfigError(
                f"the settings give {self._viewer.name} no tenant to look at; name some in dashboard.people"
            )
        return [self._reader.of_tenant(name) for name in tenants]

    def _first(self, find: Callable[[ReportReader], T | None]) -> T | None:
        return next((result for reader in self._readers() if (result := find(reader)) is not None), None)

    def _allowed_turn(self, kept: KeptTurn) -> GuardedTurn:
        turn = GuardedTurn(kept.report, kept.texts)
        return turn if self._viewer.allows(Permission.DRAFTS) else without_withheld(turn)


def _before(reader: ReportReader, whole: ReportFilter, turn: GuardedTurn) -> str | None:
    """The cursor before a window that contains the turn; None where all of the conversation fits."""
    earlier = reader.page(replace(whole, end=turn.report.created_at), limit=WINDOW - 1).rows
    return earlier[BEFORE].cursor if len(earlier) == WINDOW - 1 else None


def _each(
    reader: ReportReader, names: Sequence[str], show: Callable[[KeptTurn], GuardedTurn]
) -> dict[str, GuardedTurn | str]:
    try:
        return {name: show(kept) for name, kept in reader.many(names).items()}
    except StoreError:
        turns: dict[str, GuardedTurn | str] = {}
    for name in names:
        try:
            kept = reader.get(name)
        except StoreError as exc:
            turns[name] = str(exc)
        else:
            if kept is not None:
                turns[name] = show(kept)
    return turns
