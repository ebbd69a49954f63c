"""The filter for stored reports, the rows that reading returns, and their cursors. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from vista_guard.errors import InputError
from vista_guard.types import Action, FailedPart, Span, TurnReport, TurnTexts

if TYPE_CHECKING:
    import sqlalchemy as sql

Row = TypeVar("Row")

_CURSOR = re.compile(r"(\d{8}T\d{6}\d{6})-(\w{1,32})", re.ASCII)
_FORMAT = "%Y%m%dT%H%M%S%f"


@dataclass(frozen=True)
class ReportFilter:
    """Selects turns. Fields at their default do not filter.

    Args:
        start, end: when the report was made: from `start` on, before `end`. Times without a zone are UTC.
        tenant: whose turn; "" for those of no tenant.
        policy: its name. rules: the fingerprint of its rules.
        judge: name and version separated by a space, as in rows.
        gate: turn, sentence or none.
        actions: the final decisions on a turn.
        labels: turns with at least one claim of any of these labels; `UNCHECKED` for claims that could not be judged.
        evidence_missing: whether there was nothing to verify against.
        conversation_id: as the store has it, which is `tenant/id` for the proxy's.
        words: turns whose question, claims or conversation id have all of these words, in any order and case.
        failed: turns in which one of these parts failed; for conversations also those in which a call to upstream did.
        withheld: whether `words` are also looked for in claims of turns that were not delivered as drafted.
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
    words: str | None = None
    failed: tuple[FailedPart, ...] = ()
    withheld: bool = True


EVERYTHING = ReportFilter()

Order = Literal["time", "risk", "latency", "cost"]
"""The order of a list: newest first, or the largest first. Turns without a risk or a cost come last."""

ATTENTION = (Action.FLAG, Action.REPAIR, Action.BLOCK)
"""`actions` of turns that may need a person's attention."""


@dataclass(frozen=True)
class TurnRow:
    """A report as lists show it. `id` is the report's, `question` the beginning of what the user asked, where that is kept.

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
    question: str | None = None
    cost: float | None = None

    @property
    def cursor(self) -> str:
        """The `after` that continues behind this row."""
        return to_cursor(self.created_at, str(self.number))


@dataclass(frozen=True)
class SourceCount:
    """Number of claims whose first piece of evidence comes from this source. A document's `source` is `document`."""

    source: str
    source_id: str
    claims: int


@dataclass(frozen=True)
class FindingRow:
    """A claim with its outcome and its turn. An unjudged one has the label `UNCHECKED` and no confidence.

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
class FailureRow:
    """Something that broke, as in `types.PartFailure`. `report_id` is its turn's; None where there was no turn."""

    part: str
    kind: str
    at: datetime
    number: int
    tenant: str | None
    conversation_id: str | None
    report_id: str | None

    @property
    def cursor(self) -> str:
        """The `after` that continues behind this row."""
        return to_cursor(self.at, str(self.number))


@dataclass(frozen=True)
class ConversationRow:
    """A named conversation. Counts cover the kept turns; `contradicted` and `unchecked` count claims.

    In a list that is not sorted by time, `worst` is the report of the turn that put it there, and `value` that turn's risk,
    milliseconds or cost.
    """

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
    worst: str | None = None
    value: float | None = None

    @property
    def cursor(self) -> str:
        """The `after` that continues behind this row."""
        return to_cursor(self.last_at, self.key)


@dataclass(frozen=True)
class Highlight:
    """A conversation's summary in a list: its first question, and its worst claim with the action on its turn."""

    question: str | None = None
    claim: str | None = None
    label: str | None = None
    action: Action = Action.ALLOW


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows, newest first, and the `after` for the rows behind them: None on the last page."""

    rows: tuple[Row, ...]
    next: str | None


@dataclass(frozen=True)
class KeptTurn:
    """A whole report with its texts: None when none were kept, or when they expired."""

    report: TurnReport
    texts: TurnTexts | None


@dataclass(frozen=True)
class LiveCursor:
    """The position of a reader of `since`. `seen` maps numbers of the last seconds' rows to the time each was first seen."""

    floor: int
    seen: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class News:
    """The rows written since the cursor, oldest first, and the next cursor."""

    rows: tuple[TurnRow, ...]
    cursor: LiveCursor


@dataclass(frozen=True)
class Summary:
    """Counts over thin rows, for minutes rather than months.

    `claims` counts by label, `UNCHECKED` among them. `latency` counts turns by bucket (`tables.BOUNDS_MS`).
    """

    turns: int
    actions: Mapping[str, int]
    claims: Mapping[str, int]
    evidence_missing: int
    latency: tuple[int, ...]
    newest: datetime | None
    failures: Mapping[str, int] = field(default_factory=dict)
    """By part."""


def to_cursor(moment: datetime, key: str) -> str:
    """Formats a position in time order for a URL."""
    return f"{moment.astimezone(UTC).strftime(_FORMAT)}-{key}"


def from_cursor(cursor: str) -> tuple[datetime, str]:
    """Parses a cursor to its moment and key.

    Raises:
        InputError: it is no cursor.
    """
    match = _CURSOR.fullmatch(cursor)
    try:
        if match is None:
            raise ValueError
        return datetime.strptime(match[1], _FORMAT).replace(tzinfo=UTC), match[2]
    except ValueError:
        raise InputError(f"{cursor[:80]!r} is no cursor; use `next` of the previous page") from None


def number_of(key: str) -> int:
    """Parses the number in a cursor of turns.

    Raises:
        InputError: it is not a number.
    """
    if not key.isdecimal():
        raise InputError(f"{key!r} is no cursor of turns; use `next` of the previous page")
    return int(key)


def utc(moment: datetime) -> datetime:
    """Returns the moment with its zone. SQLite returns times without."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def same_columns(row: sql.Row[Any], kind: type[Any]) -> dict[str, Any]:
    """The row's columns that are fields of a dataclass; times get their zone."""
    values = {field.name: row._mapping[field.name] for field in fields(kind) if field.name in row._mapping}
    return {name: utc(value) if isinstance(value, datetime) else value for name, value in values.items()}
