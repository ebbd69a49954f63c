"""Counts by the hour, added up as reports are written. They hold no text and name no conversation.

Counts by the minute are taken from the turns' rows, for the last hours only: they have neither tokens nor costs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from math import inf
from typing import Any, Final, Literal, TypeVar

import sqlalchemy as sql

from vista_guard.stores.reports.filters import ReportFilter, same_columns, utc
from vista_guard.stores.reports.tables import (
    BOUNDS_MS,
    BUCKETS,
    CLAIMS_HOUR,
    FAILURES,
    FAILURES_HOUR,
    LABELS,
    TURNS,
    TURNS_HOUR,
    UNCHECKED_HOUR,
    upserting,
)
from vista_guard.types import Finding, PartFailure, TurnReport, label_of

Step = Literal["minute", "hour", "day"]

_FILTERED = ("tenant", "policy", "rules", "judge", "gate")

Count = TypeVar("Count")


@dataclass(frozen=True)
class TurnCount:
    """Turns of one hour or day, of one tenant, judge, policy, gate and action.

    `score_sum` is over the `scored` turns, `milliseconds` over all. `latency` counts turns by bucket: see `BOUNDS_MS`.
    """

    at: datetime
    tenant: str
    judge: str
    policy: str
    rules: str
    gate: str
    action: str
    turns: int
    evidence_missing: int
    scored: int
    score_sum: float
    milliseconds: float
    input_tokens: int
    output_tokens: int
    cost: float
    unpriced_calls: int
    latency: tuple[int, ...]


@dataclass(frozen=True)
class ClaimCount:
    """Claims of one label, `UNCHECKED` among them. `confidence_sum` is over all of them, 0 where they were not judged."""

    at: datetime
    tenant: str
    judge: str
    policy: str
    gate: str
    action: str
    label: str
    claims: int
    confidence_sum: float


@dataclass(frozen=True)
class UncheckedCount:
    """Claims that could not be judged for one reason: the beginning of the judge's error, without numbers."""

    at: datetime
    tenant: str
    judge: str
    reason: str
    claims: int


@dataclass(frozen=True)
class FailureCount:
    """Failures of one part and kind, as in `types.PartFailure`."""

    at: datetime
    tenant: str
    part: str
    kind: str
    failures: int


@dataclass(frozen=True)
class Maker:
    """A judge and a policy at work for a tenant in an hour or on a day."""

    at: datetime
    tenant: str
    judge: str
    policy: str
    rules: str


@dataclass(frozen=True)
class CountQuery:
    """A request for counts from the hour of `start` to before `end`. Keys missing from `keys` are summed over; None keeps all.

    `claim_keys` are those of claims, where they are not those of the turns.
    """

    start: datetime
    end: datetime
    by: Step
    filter: ReportFilter
    keys: frozenset[str] | None = None
    claim_keys: frozenset[str] | None = None


@dataclass(frozen=True)
class Rollup:
    """Counts for hours or days, in order of time."""

    turns: tuple[TurnCount, ...]
    claims: tuple[ClaimCount, ...]
    unchecked: tuple[UncheckedCount, ...]
    failures: tuple[FailureCount, ...] = ()


def percentile(latency: Iterable[int], share: float) -> float | None:
    """Milliseconds within which this share (in [0, 1]) of the turns finished, interpolated in its bucket; None without turns.

    Where the share includes turns beyond the last bound, returns that bound.
    """
    counts = list(latency)
    wanted, below = share * sum(counts), 0
    if not sum(counts):
        return None
    low = 0.0
    for count, high in zip(counts, BOUNDS_MS, strict=False):
        if count and below + count >= wanted:
            return low + (high - low) * (wanted - below) / count
        below, low = below + count, float(high)
    return low


REASON_CHARS: Final = 80
"""Most characters of a reason; a reason of as many was cut."""


def reason_of(error: str) -> str:
    """Reduces an error to a reason: its beginning, with digits and quoted words left out."""
    start = re.sub(r"['\"“‘].*?['\"”’]", "…", error.partition(":")[0])
    return re.sub(r"\d+", "N", start).strip()[:REASON_CHARS]


def rollup_rows(report: TurnReport) -> dict[sql.Table, list[dict[str, Any]]]:
    """The rows that a report adds to the roll-ups, in the order of their keys: so two writers never wait for each other."""
    hour = report.created_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    base = {"hour": hour, "tenant": report.tenant or "", "judge": judge_name(report)}
    way = {**base, "policy": report.policy, "gate": report.gate or "", "action": report.decision.action.value}
    return {
        TURNS_HOUR: [{**way, "rules": report.rules or "", **_turn_counts(report)}],
        CLAIMS_HOUR: [{**way, **counts} for counts in _claim_counts(report)],
        UNCHECKED_HOUR: [
            {**base, "reason": reason, "claims": count}
            for reason, count in sorted(Counter(reason_of(outcome.error) for outcome in report.unchecked).items())
        ],
    }


def failure_count(failure: PartFailure) -> dict[str, Any]:
    """Returns the row that a failure adds to the roll-ups."""
    hour = failure.at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return {"hour": hour, "tenant": failure.tenant or "", "part": failure.part, "kind": failure.kind, "failures": 1}


def judge_name(report: TurnReport) -> str:
    """Returns the judge's name and version, as rows have it."""
    return f"{report.judge.name} {report.judge.version}"


def _turn_counts(report: TurnReport) -> dict[str, float]:
    total = report.timings.total
    bucket = next((n for n, bound in enumerate(BOUNDS_MS) if total <= bound), len(BOUNDS_MS))
    return {
        "turns": 1,
        "evidence_missing": int(report.evidence_missing),
        "scored": int(report.score is not None),
        "score_sum": report.score or 0.0,
        "milliseconds": total,
        "input_tokens": report.usage.input_tokens,
        "output_tokens": report.usage.output_tokens,
        "cost": report.usage.cost,
        "unpriced_calls": report.usage.unpriced_calls,
        **{name: int(n == bucket) for n, name in enumerate(BUCKETS)},
    }


def _claim_counts(report: TurnReport) -> list[dict[str, Any]]:
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for outcome in report.outcomes:
        label = label_of(outcome)
        counts[label] += 1
        sums[label] += outcome.confidence if isinstance(outcome, Finding) else 0  # type: ignore[assignment]  # a sum of floats
    return [{"label": label, "claims": counts[label], "confidence_sum": sums[label]} for label in sorted(counts)]


def add(connection: sql.Connection, rows_of: Mapping[sql.Table, Sequence[Mapping[str, Any]]]) -> None:
    """Adds rows to the roll-ups, in the caller's transaction."""
    for table, rows in rows_of.items():
        if rows:
            connection.execute(_upsert(connection.dialect.name, table), list(rows))


@cache  # building a statement costs more than running it
def _upsert(dialect_name: str, table: sql.Table) -> Any:
    insert = upserting(table, dialect_name)
    more = {column.name: column + insert.excluded[column.name] for column in table.c if not column.primary_key}
    return insert.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=more)


def read(connection: sql.Connection, asked: CountQuery) -> Rollup:
    """Reads the requested counts."""
    if asked.by == "minute":
        return _by_minute(connection, asked)
    of_claims = asked if asked.claim_keys is None else replace(asked, keys=asked.claim_keys)
    return Rollup(
        turns=_rows(connection, TURNS_HOUR, TurnCount, asked),
        claims=_rows(connection, CLAIMS_HOUR, ClaimCount, of_claims),
        unchecked=_rows(connection, UNCHECKED_HOUR, UncheckedCount, asked),
        failures=_rows(connection, FAILURES_HOUR, FailureCount, asked),
    )


def _by_minute(connection: sql.Connection, asked: CountQuery) -> Rollup:
    """Counts the turns' rows by minute and action. Reasons of unchecked claims are known by the hour only."""
    at, action = _at(connection, TURNS, "minute"), TURNS.c.action
    has_score = sql.case((TURNS.c.score.is_not(None), 1), else_=0)
    labelled = (TURNS.c[label.lower()] for label in LABELS)
    figures = [sql.literal(1), MISSING, has_score, TURNS.c.score, TURNS.c.duration_ms, *labelled, *LATENCIES]
    query = sql.select(at, action, *map(sql.func.sum, figures)).group_by(at, action).order_by(at, action)
    query = query.where(TURNS.c.created_at >= utc(asked.start), TURNS.c.created_at < utc(asked.end))
    turns: list[TurnCount] = []
    claims: list[ClaimCount] = []
    for minute, done, *sums in connection.execute(query.where(*_filter_conditions(TURNS, asked.filter))):
        known = [value or 0 for value in sums]
        counts, labels, latencies = known[:5], known[5 : 5 + len(LABELS)], map(int, known[5 + len(LABELS) :])
        count, missing, scored, score, spent = counts
        key, usage = (_moment(minute), "", "", ""), (0, 0, 0.0, 0)
        turns.append(TurnCount(*key, "", "", done, count, missing, scored, score, spent, *usage, tuple(latencies)))
        label_counts = [
            pair for pair in zip(LABELS, labels, strict=True) if pair[1] and pair[0] in (asked.filter.labels or LABELS)
        ]
        claims += [ClaimCount(*key, "", done, label, n, 0.0) for label, n in label_counts]
    unchecked = _rows(connection, UNCHECKED_HOUR, UncheckedCount, replace(asked, by="hour"))
    return Rollup(tuple(turns), tuple(claims), unchecked, _failures_by_minute(connection, asked))


def _failures_by_minute(connection: sql.Connection, asked: CountQuery) -> tuple[FailureCount, ...]:
    at = _at(connection, FAILURES, "minute")
    keys = (at, FAILURES.c.part, FAILURES.c.kind)
    query = sql.select(*keys, sql.func.count()).group_by(*keys).order_by(*keys)
    query = query.where(FAILURES.c.at >= utc(asked.start), FAILURES.c.at < utc(asked.end))
    rows = connection.execute(query.where(*_filter_conditions(FAILURES, asked.filter)))
    return tuple(FailureCount(_moment(minute), "", part, kind, count) for minute, part, kind, count in rows)


MISSING: sql.ColumnElement[Any] = sql.case((TURNS.c.evidence_missing, 1), else_=0)

LATENCIES: tuple[sql.ColumnElement[Any], ...] = tuple(
    sql.case((sql.and_(TURNS.c.duration_ms > low, TURNS.c.duration_ms <= high), 1), else_=0)
    for low, high in pairwise([-inf, *BOUNDS_MS, inf])
)
"""For each latency bucket 1 where a turn belongs to it, else 0."""


def makers(connection: sql.Connection, asked: CountQuery) -> tuple[Maker, ...]:
    """Returns the judge and policy of each hour or day."""
    table = TURNS_HOUR
    at = _at(connection, table, asked.by)
    who = (table.c.tenant, table.c.judge, table.c.policy, table.c.rules)
    query: sql.Select[Any] = sql.select(at, *who).where(*_time_conditions(table, asked))
    query = query.distinct().order_by(at, *who)
    return tuple(Maker(**same_columns(row, Maker) | {"at": _moment(row.at)}) for row in connection.execute(query))


def _rows(connection: sql.Connection, table: sql.Table, kind: type[Count], asked: CountQuery) -> tuple[Count, ...]:
    counts = []
    for row in connection.execute(_counts(connection, table, asked)):
        values = same_columns(row, kind) | {"at": _moment(row.at)}
        if table is TURNS_HOUR:
            values["latency"] = tuple(int(getattr(row, name)) for name in BUCKETS)
        counts.append(kind(**values))
    return tuple(counts)


def _counts(connection: sql.Connection, table: sql.Table, asked: CountQuery) -> sql.Select[Any]:
    at = _at(connection, table, asked.by)
    keys = [column for column in table.c if column.primary_key and column.name != "hour"]
    named = {key.name for key in keys} if asked.keys is None else asked.keys
    grouped = [key for key in keys if key.name in named]
    columns = [key if key.name in named else sql.literal_column("''").label(key.name) for key in keys]
    sums = [
        sql.cast(sql.func.sum(column), column.type).label(column.name) for column in table.c if not column.primary_key
    ]
    query = sql.select(at, *columns, *sums).where(*_time_conditions(table, asked))
    return query.group_by(at, *grouped).order_by(at, *grouped)


def _at(connection: sql.Connection, table: sql.Table, by: Step) -> sql.ColumnElement[Any]:
    """The beginning of a row's minute, hour or day, in UTC."""
    time = table.c.hour if by != "minute" else table.c.at if table is FAILURES else table.c.created_at
    if by != "hour" and connection.dialect.name == "postgresql":
        return sql.func.date_trunc(by, sql.func.timezone("UTC", time)).label("at")
    if by != "hour":
        return sql.func.substr(sql.cast(time, sql.String), 1, 10 if by == "day" else 16).label("at")
    return time.label("at")


def _moment(at: datetime | str) -> datetime:
    return utc(datetime.fromisoformat(at) if isinstance(at, str) else at)


def _time_conditions(table: sql.Table, asked: CountQuery) -> list[sql.ColumnElement[bool]]:
    since = utc(asked.start).replace(minute=0, second=0, microsecond=0)
    return [table.c.hour >= since, table.c.hour < utc(asked.end), *_filter_conditions(table, asked.filter)]


def _filter_conditions(table: sql.Table, filter: ReportFilter) -> list[sql.ColumnElement[bool]]:
    wanted = {name: getattr(filter, name) for name in _FILTERED if name in table.c}
    conditions = [table.c[name] == value for name, value in wanted.items() if value is not None]
    if filter.actions and "action" in table.c:
        conditions.append(table.c.action.in_([action.value for action in filter.actions]))
    if filter.labels and "label" in table.c:
        conditions.append(table.c.label.in_(filter.labels))
    return conditions


def choices(connection: sql.Connection, tenant: str | None) -> dict[str, tuple[str, ...]]:
    """Returns the values of each key of the roll-ups."""
    values = {}
    for name in ("tenant", "policy", "judge", "gate"):
        query = sql.select(TURNS_HOUR.c[name]).distinct().order_by(TURNS_HOUR.c[name])
        if tenant is not None:
            query = query.where(TURNS_HOUR.c.tenant == tenant)
        values[name] = tuple(connection.execute(query).scalars())
    return values
