"""What is asked of stored reports, and the rows that come back. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, TypeVar

from vista_guard.errors import InputError
from vista_guard.types import Action, Span, TurnReport, TurnTexts

Row = TypeVar("Row")

_CURSOR = re.compile(r"(\d{8}T\d{6}\d{6})-(\w{1,32})", re.ASCII)
_FORMAT = "%Y%m%dT%H%M%S%f"


@dataclass(frozen=True)
class ReportFilter:
    """Which turns. What is left at its default is not looked at.

    Args:
        start, end: when the report was made: from `start` on, before `end`. Times without a zone are UTC.
        tenant: whose turn; "" for those of no tenant.
        policy: its name. rules: the fingerprint of its rules.
        judge: name and version with a blank between them, as rows have it.
        gate: turn, sentence or none.
        actions: what was done with the turn in the end.
        labels: turns with at least one claim of any of these labels; `UNCHECKED` for claims that could not be judged.
        evidence_missing: whether there was nothing to verify against.
        conversation_id: as the store has it, which is `tenant/id` for the proxy's.
    """

    start: datetime | None = None
    end: datetime | None = None
    tenant: str | None = None
    policy: str | None = None
    rules: str | None = None
    judge: str | None = None
    gate: str | None = None
    actions: tuple[Action, ...] = ()
    labels: tuple[str, ...] = ()
    evidence_missing: bool | None = None
    conversation_id: str | None = None


EVERYTHING = ReportFilter()

ATTENTION = (Action.FLAG, Action.REPAIR, Action.BLOCK)
"""`actions` of the turns that somebody may have to look at."""


@dataclass(frozen=True)
class TurnRow:
    """One report as lists show it: no text of the conversation in it. `id` is the report's.

    `action` is the decision's, `first_action` that of the first draft. `labels` counts claims by label, `UNCHECKED` among them,
    without zeros. `lowest_confidence` is that of the least sure finding. `duration_ms` is the guard's whole time for the turn.
    """

    id: str
    number: int
    """The place in the order of writing."""
    conversation_id: str | None
    turn_index: int
    created_at: datetime
    tenant: str | None
    judge: str
    policy: str
    rules: str | None
    gate: str | None
    trace_id: str | None
    span_id: str | None
    turn_key: str | None
    action: Action
    first_action: Action
    score: float | None
    risk: float | None
    lowest_confidence: float | None
    duration_ms: float
    evidence_missing: bool
    labels: Mapping[str, int]

    @property
    def cursor(self) -> str:
        """What `after` takes to go on behind this row."""
        return to_cursor(self.created_at, str(self.number))


@dataclass(frozen=True)
class SourceCount:
    """How many claims have their first piece of evidence in one source: a document by its id, with the source `document`, say."""

    source: str
    source_id: str
    claims: int


@dataclass(frozen=True)
class FindingRow:
    """One claim with what became of it, and the turn it is from. One that was not judged is `UNCHECKED`, without confidence.

    `source` and `source_id` are those of its first piece of evidence.
    """

    report_id: str
    claim_id: str
    claim: str
    claim_key: str
    label: str
    confidence: float | None
    span: Span | None
    source: str | None
    source_id: str | None
    created_at: datetime
    conversation_id: str | None
    turn_index: int
    action: Action
    cursor: str


@dataclass(frozen=True)
class ConversationRow:
    """One named conversation. Counts are of its turns that are kept; `contradicted` and `unchecked` count claims."""

    conversation_id: str
    key: str
    tenant: str | None
    first_at: datetime
    last_at: datetime
    turns: int
    flagged: int
    repaired: int
    blocked: int
    contradicted: int
    unchecked: int

    @property
    def cursor(self) -> str:
        """What `after` takes to go on behind this row."""
        return to_cursor(self.last_at, self.key)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows, newest first, and what `after` takes for those behind them: None when these were the last."""

    rows: tuple[Row, ...]
    next: str | None


@dataclass(frozen=True)
class KeptTurn:
    """A whole report with the texts that were kept beside it: None when none were, or when they expired."""

    report: TurnReport
    texts: TurnTexts | None


@dataclass(frozen=True)
class LiveCursor:
    """How far a reader of `since` has come. `seen` holds rows of the last seconds, by number, with when each was seen first."""

    floor: int
    seen: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class News:
    """Rows that were written since, oldest first, and the cursor for the next time."""

    rows: tuple[TurnRow, ...]
    cursor: LiveCursor


@dataclass(frozen=True)
class Summary:
    """What `summary` counts over thin rows: for minutes, not for months.

    `claims` counts by label, `UNCHECKED` among them. `latency` counts turns by bucket (`tables.BOUNDS_MS`).
    """

    turns: int
    actions: Mapping[str, int]
    claims: Mapping[str, int]
    evidence_missing: int
    latency: tuple[int, ...]
    newest: datetime | None


def to_cursor(moment: datetime, key: str) -> str:
    """A place in an order of time: fit for a URL."""
    return f"{moment.astimezone(UTC).strftime(_FORMAT)}-{key}"


def from_cursor(cursor: str) -> tuple[datetime, str]:
    """The moment and the key of a place.

    Raises:
        InputError: it is no cursor.
    """
    found = _CURSOR.fullmatch(cursor)
    try:
        if found is None:
            raise ValueError
        return datetime.strptime(found[1], _FORMAT).replace(tzinfo=UTC), found[2]
    except ValueError:
        raise InputError(f"{cursor[:80]!r} is no place in a list; take `next` of the page before it") from None


def number_of(key: str) -> int:
    """The number in a cursor of turns.

    Raises:
        InputError: it is none.
    """
    if not key.isdecimal():
        raise InputError(f"{key!r} is no place in a list of turns; take `next` of the page before it")
    return int(key)


def utc(moment: datetime) -> datetime:
    """The moment with its zone. SQLite gives times back without."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
