"""SQL queries for reports, and rows converted to values. Pure, except `summary`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import sqlalchemy as sql

from vista_guard.errors import InputError
from vista_guard.stores.entries import digest
from vista_guard.stores.reports.filters import (
    EVERYTHING,
    ConversationRow,
    FindingRow,
    ReportFilter,
    Summary,
    TurnRow,
    to_cursor,
    utc,
)
from vista_guard.stores.reports.tables import BOUNDS_MS, CONVERSATIONS, FINDINGS, LABELS, TURNS
from vista_guard.types import Action, Span

_NOBODY = "\x1f"
"""A tenant that no turn has: no name holds a control character."""


def narrowed(filter: ReportFilter, tenant: str | None) -> ReportFilter:
    """Restricts the filter to one tenant. A filter for another tenant then matches nothing."""
    if tenant is None:
        return filter
    return replace(filter, tenant=tenant if filter.tenant in (None, tenant) else _NOBODY)


def owned_by(table: sql.Table, tenant: str) -> sql.ColumnElement[bool]:
    """Selects the tenant's rows. Early builds stored no tenant: there the conversation id's prefix decides."""
    before = table.c.conversation_id.startswith(f"{tenant}/", autoescape=True)
    return sql.or_(table.c.tenant == tenant, sql.and_(table.c.tenant == "", before))


def turns(filter: ReportFilter) -> sql.Select[Any]:
    """Selects thin rows."""
    return sql.select(TURNS).where(*conditions(filter))


def conditions(filter: ReportFilter) -> list[sql.ColumnElement[bool]]:
    """Translates the filter to conditions on `TURNS`.

    Raises:
        InputError: a label that there is none of.
    """
    found: list[sql.ColumnElement[bool]] = []
    for name in ("tenant", "policy", "rules", "judge", "gate", "evidence_missing"):
        wanted = getattr(filter, name)
        if wanted is not None:
            found.append(TURNS.c[name] == wanted)
    if filter.conversation_id is not None:
        found.append(TURNS.c.conversation_key == digest(filter.conversation_id))
    if filter.start is not None:
        found.append(TURNS.c.created_at >= utc(filter.start))
    if filter.end is not None:
        found.append(TURNS.c.created_at < utc(filter.end))
    if filter.actions:
        found.append(_in(filter.actions))
    if filter.labels:
        found.append(sql.or_(*(TURNS.c[_column(label)] > 0 for label in filter.labels)))
    return found


def _in(actions: tuple[Action, ...]) -> sql.ColumnElement[bool]:
    """Words the condition so that the partial index applies."""
    chosen = TURNS.c.action.in_([action.value for action in actions])
    return chosen if Action.ALLOW in actions else sql.and_(TURNS.c.action != "ALLOW", chosen)


def _column(label: str) -> str:
    if label not in LABELS:
        raise InputError(f"unknown label {label[:40]!r}; the labels are {', '.join(LABELS)}")
    return label.lower()


def findings(filter: ReportFilter) -> sql.Select[Any]:
    """Selects claims with their turns, newest first."""
    turn = TURNS.c.report_id, TURNS.c.conversation_id, TURNS.c.turn_index, TURNS.c.action
    query = sql.select(FINDINGS, *turn).join(TURNS, TURNS.c.id == FINDINGS.c.report)
    query = query.where(*conditions(replace(filter, labels=(), start=None, end=None)))
    if filter.start is not None:
        query = query.where(FINDINGS.c.created_at >= utc(filter.start))
    if filter.end is not None:
        query = query.where(FINDINGS.c.created_at < utc(filter.end))
    if filter.labels:
        for label in filter.labels:
            _column(label)
        query = query.where(FINDINGS.c.label.in_(filter.labels))
    # The same order, said of the table whose index the rows are found by.
    place = (FINDINGS.c.created_at, FINDINGS.c.report) if filter.labels else (TURNS.c.created_at, TURNS.c.id)
    return query.order_by(*(column.desc() for column in place), FINDINGS.c.n.desc())


def sources(filter: ReportFilter, newest: int) -> sql.Select[Any]:
    """Selects the sources of the newest matching claims, the most frequent first."""
    claims = findings(filter).with_only_columns(FINDINGS.c.source, FINDINGS.c.source_id).limit(newest).subquery()
    amount = sql.func.count().label("claims")
    query = sql.select(claims.c.source, claims.c.source_id, amount).where(claims.c.source_id.is_not(None))
    return query.group_by(claims.c.source, claims.c.source_id).order_by(amount.desc(), claims.c.source_id)


def conversations(filter: ReportFilter) -> sql.Select[Any]:
    """Selects named conversations, newest first. Reads turns only for more than a tenant."""
    query = sql.select(CONVERSATIONS)
    if filter.tenant is not None:
        query = query.where(CONVERSATIONS.c.tenant == filter.tenant)
    if filter.start is not None:
        query = query.where(CONVERSATIONS.c.last_at >= utc(filter.start))
    if replace(filter, tenant=None) != EVERYTHING:
        same = TURNS.c.conversation_key == CONVERSATIONS.c.conversation_key
        query = query.where(sql.exists().where(same, *conditions(filter)))
    return query.order_by(CONVERSATIONS.c.last_at.desc(), CONVERSATIONS.c.conversation_key.desc())


def summary(connection: sql.Connection, filter: ReportFilter) -> Summary:
    """Counts the matching turns."""
    where = conditions(filter)
    actions = sql.select(TURNS.c.action, sql.func.count()).where(*where).group_by(TURNS.c.action)
    names = [label.lower() for label in LABELS]
    sums: list[sql.ColumnElement[Any]] = [sql.func.sum(TURNS.c[name]) for name in names]
    sums.append(sql.func.sum(sql.case((TURNS.c.evidence_missing, 1), else_=0)))
    sums += [sql.func.sum(sql.case((_slower(low, high), 1), else_=0)) for low, high in _latencies()]
    row = connection.execute(sql.select(sql.func.max(TURNS.c.created_at), *sums).where(*where)).one()
    newest, *counts = row
    numbers = [int(count or 0) for count in counts]
    by_action = {action: int(count) for action, count in connection.execute(actions)}
    claims = {label: count for label, count in zip(LABELS, numbers, strict=False) if count}
    return Summary(
        turns=sum(by_action.values()),
        actions=by_action,
        claims=claims,
        evidence_missing=numbers[len(LABELS)],
        latency=tuple(numbers[len(LABELS) + 1 :]),
        newest=None if newest is None else utc(newest),
    )


def _latencies() -> Iterator[tuple[float | None, float | None]]:
    bounds = [None, *BOUNDS_MS, None]
    return pairwise(bounds)


def _slower(low: float | None, high: float | None) -> sql.ColumnElement[bool]:
    """Selects turns that took more than `low` and at most `high` milliseconds."""
    parts = [] if low is None else [TURNS.c.duration_ms > low]
    return sql.and_(sql.true(), *parts, *([] if high is None else [TURNS.c.duration_ms <= high]))


def turn_row(row: sql.Row[Any]) -> TurnRow:
    """Converts a row of `TURNS`."""
    counts = {label: getattr(row, label.lower()) for label in LABELS}
    return TurnRow(
        id=row.report_id,
        number=row.id,
        conversation_id=row.conversation_id,
        turn_index=row.turn_index,
        created_at=utc(row.created_at),
        tenant=row.tenant or None,
        judge=row.judge,
        policy=row.policy,
        rules=row.rules or None,
        gate=row.gate or None,
        trace_id=row.trace_id,
        span_id=row.span_id,
        turn_key=row.turn_key,
        action=Action(row.action),
        first_action=Action(row.first_action),
        score=row.score,
        risk=row.risk,
        lowest_confidence=row.lowest_confidence,
        duration_ms=row.duration_ms,
        evidence_missing=row.evidence_missing,
        labels={label: count for label, count in counts.items() if count},
    )


def finding_row(row: sql.Row[Any]) -> FindingRow:
    """Converts a row of `findings`."""
    placed = row.span_start is not None
    return FindingRow(
        report_id=row.report_id,
        claim_id=row.claim_id,
        claim=row.claim,
        claim_key=row.claim_key,
        label=row.label,
        confidence=row.confidence,
        span=Span(start=row.span_start, end=row.span_end) if placed else None,
        source=row.source,
        source_id=row.source_id,
        created_at=utc(row.created_at),
        conversation_id=row.conversation_id,
        turn_index=row.turn_index,
        action=Action(row.action),
        cursor=to_cursor(utc(row.created_at), f"{row.report}_{row.n}"),
    )


def conversation_row(row: sql.Row[Any]) -> ConversationRow:
    """A row of `CONVERSATIONS`."""
    return ConversationRow(
        conversation_id=row.conversation_id,
        key=row.conversation_key,
        tenant=row.tenant or None,
        first_at=utc(row.first_at),
        last_at=utc(row.last_at),
        turns=row.turns,
        flagged=row.flagged,
        repaired=row.repaired,
        blocked=row.blocked,
        contradicted=row.contradicted,
        unchecked=row.unchecked,
    )


def place(row: sql.Row[Any]) -> str:
    """The cursor of a row with `created_at` and `number`."""
    return to_cursor(utc(row.created_at), str(row.number))
