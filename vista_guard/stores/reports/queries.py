"""SQL queries for reports, and rows converted to values. Pure, except `summary`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from vista_guard.errors import InputError
from vista_guard.policy.explanations import WORST
from vista_guard.stores.entries import digest
from vista_guard.stores.reports.filters import (
    EVERYTHING,
    ConversationRow,
    FailureRow,
    FindingRow,
    Order,
    ReportFilter,
    Summary,
    TurnRow,
    same_columns,
    to_cursor,
    utc,
)
from vista_guard.stores.reports.rollups import LATENCIES, MISSING
from vista_guard.stores.reports.tables import CONVERSATIONS, FAILURES, FINDINGS, LABELS, TURNS
from vista_guard.types import Action, Span

MOST_WORDS = 8
"""Most words of a search that count."""

_NOBODY = "\x1f"
"""A tenant that no turn has: no name holds a control character."""


def narrow(filter: ReportFilter, tenant: str | None) -> ReportFilter:
    """Restricts the filter to one tenant. A filter for another tenant then matches nothing."""
    if tenant is None:
        return filter
    return replace(filter, tenant=tenant if filter.tenant in (None, tenant) else _NOBODY)


def owned_by(table: sql.Table, tenant: str) -> sql.ColumnElement[bool]:
    """Selects the tenant's rows. Early builds stored no tenant: there the conversation id's prefix decides."""
    by_prefix = table.c.conversation_id.startswith(f"{tenant}/", autoescape=True)
    return sql.or_(table.c.tenant == tenant, sql.and_(table.c.tenant == "", by_prefix))


def turns(filter: ReportFilter) -> sql.Select[Any]:
    """Selects thin rows."""
    return sql.select(TURNS).where(*conditions(filter))


_MEASURES = {"risk": TURNS.c.risk, "latency": TURNS.c.duration_ms, "cost": TURNS.c.cost}


def by(order: Order) -> tuple[sql.ColumnElement[Any], ...]:
    """Returns the columns that sort turns. Of equal ones, those with more contradicted claims come first, then newer ones."""
    newest = TURNS.c.created_at.desc(), TURNS.c.id.desc()
    if order == "time":
        return newest
    return _MEASURES[order].desc().nulls_last(), TURNS.c.contradicted.desc(), *newest


def conditions(filter: ReportFilter) -> list[sql.ColumnElement[bool]]:
    """Translates the filter to conditions on `TURNS`.

    Raises:
        InputError: an unknown label.
    """
    parts: list[sql.ColumnElement[bool]] = []
    for name in ("tenant", "policy", "rules", "judge", "gate", "evidence_missing"):
        wanted = getattr(filter, name)
        if wanted is not None:
            parts.append(TURNS.c[name] == wanted)
    if filter.conversation_id is not None:
        parts.append(TURNS.c.conversation_key == digest(filter.conversation_id))
    parts += _during(TURNS.c.created_at, filter)
    if filter.actions:
        parts.append(TURNS.c.action.in_([action.value for action in filter.actions]))
        if Action.ALLOW not in filter.actions:
            parts.append(TURNS.c.action != "ALLOW")  # so that the partial index applies
    if filter.labels:
        parts.append(sql.or_(*(TURNS.c[_column(label)] > 0 for label in filter.labels)))
    if filter.failed:
        parts.append(TURNS.c.id.in_(sql.select(FAILURES.c.report).where(*_failed(filter))))
    parts += [_has(word, filter.withheld) for word in (filter.words or "").split()[:MOST_WORDS]]
    return parts


def _failed(filter: ReportFilter) -> list[sql.ColumnElement[bool]]:
    """Translates the filter to conditions on `FAILURES`, which know parts, times, tenants and conversations."""
    parts = _during(FAILURES.c.at, filter)
    if filter.failed:
        parts.append(FAILURES.c.part.in_(filter.failed))
    if filter.tenant is not None:
        parts.append(FAILURES.c.tenant == filter.tenant)
    if filter.conversation_id is not None:
        parts.append(FAILURES.c.conversation_key == digest(filter.conversation_id))
    return parts


def failures(filter: ReportFilter) -> sql.Select[Any]:
    """Selects what broke, newest first."""
    query = sql.select(FAILURES, TURNS.c.report_id).outerjoin(TURNS, TURNS.c.id == FAILURES.c.report)
    return query.where(*_failed(filter)).order_by(FAILURES.c.at.desc(), FAILURES.c.id.desc())


def read_failure(row: sql.Row[Any]) -> FailureRow:
    """Converts a row of `failures`."""
    return FailureRow(**same_columns(row, FailureRow) | {"number": row.id, "tenant": row.tenant or None})


def _during(column: sql.Column[Any], filter: ReportFilter) -> list[sql.ColumnElement[bool]]:
    start = [] if filter.start is None else [column >= utc(filter.start)]
    return start + ([] if filter.end is None else [column < utc(filter.end)])


def _has(word: str, withheld: bool) -> sql.ColumnElement[bool]:
    """Selects turns whose question, conversation id or claims have the word."""
    # By a list of reports, not row by row: three times as fast on SQLite.
    in_claims = TURNS.c.id.in_(sql.select(FINDINGS.c.report).where(_contains(FINDINGS.c.claim, word)))
    delivered = sql.true() if withheld else TURNS.c.action.in_((Action.ALLOW, Action.FLAG))
    return sql.or_(
        _contains(TURNS.c.question, word), _contains(TURNS.c.conversation_id, word), sql.and_(delivered, in_claims)
    )


def _contains(column: sql.Column[str], word: str) -> sql.ColumnElement[bool]:
    # SQLite folds the case of ASCII letters alone: other words are searched in their usual cases.
    forms = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    patterns = (re.sub(r"([/%_])", r"/\1", form) for form in sorted(forms))
    return sql.or_(*(_Like(column, sql.literal(f"%{pattern}%")) for pattern in patterns))


class _Like(FunctionElement[bool]):
    """LIKE that folds case. SQLite's own does; SQLAlchemy's `ilike` lower-cases both sides there, which takes twice as long."""

    type = sql.Boolean()
    inherit_cache = True


@compiles(_Like)
def _like(element: _Like, compiler: Any, **options: Any) -> str:
    column, pattern = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} {'LIKE' if compiler.dialect.name == 'sqlite' else 'ILIKE'} {pattern} ESCAPE '/'"


def highlights(keys: Sequence[str], tenant: str | None) -> tuple[sql.Select[Any], sql.Select[Any]]:
    """Selects the first question and the worst claim of each of these conversations."""
    places = (TURNS.c.created_at, TURNS.c.id)
    first = sql.func.row_number().over(partition_by=TURNS.c.conversation_key, order_by=places).label("place")
    own = sql.and_(TURNS.c.conversation_key.in_(keys), *conditions(ReportFilter(tenant=tenant)))
    questions = sql.select(TURNS.c.conversation_key, TURNS.c.question, first).where(own)
    gravity = sql.case({label: place for place, label in enumerate(WORST)}, value=FINDINGS.c.label, else_=len(WORST))
    worst = sql.func.row_number().over(
        partition_by=TURNS.c.conversation_key,
        order_by=(gravity, FINDINGS.c.confidence.desc(), FINDINGS.c.report, FINDINGS.c.n),
    )
    columns = (TURNS.c.conversation_key, TURNS.c.action, FINDINGS.c.claim, FINDINGS.c.label, worst.label("place"))
    claims = sql.select(*columns).join(FINDINGS, FINDINGS.c.report == TURNS.c.id).where(own)
    return _first_of(questions), _first_of(claims)


def _first_of(ranked: sql.Select[Any]) -> sql.Select[Any]:
    rows = ranked.subquery()
    return sql.select(rows).where(rows.c.place == 1)


def _column(label: str) -> str:
    if label not in LABELS:
        raise InputError(f"unknown label {label[:40]!r}; the labels are {', '.join(LABELS)}")
    return label.lower()


def findings(filter: ReportFilter) -> sql.Select[Any]:
    """Selects claims with their turns, newest first."""
    turn = TURNS.c.report_id, TURNS.c.conversation_id, TURNS.c.turn_index, TURNS.c.action
    query = sql.select(FINDINGS, *turn).join(TURNS, TURNS.c.id == FINDINGS.c.report)
    query = query.where(*conditions(replace(filter, labels=(), start=None, end=None)))
    query = query.where(*_during(FINDINGS.c.created_at, filter))
    if filter.labels:
        for label in filter.labels:
            _column(label)
        query = query.where(FINDINGS.c.label.in_(filter.labels))
    # The same order, by the table whose index finds the rows.
    place = (FINDINGS.c.created_at, FINDINGS.c.report) if filter.labels else (TURNS.c.created_at, TURNS.c.id)
    return query.order_by(*(column.desc() for column in place), FINDINGS.c.n.desc())


def sources(filter: ReportFilter, newest: int) -> sql.Select[Any]:
    """Selects the sources of the newest matching claims, the most frequent first."""
    claims = findings(filter).with_only_columns(FINDINGS.c.source, FINDINGS.c.source_id).limit(newest).subquery()
    amount = sql.func.count().label("claims")
    query = sql.select(claims.c.source, claims.c.source_id, amount).where(claims.c.source_id.is_not(None))
    return query.group_by(claims.c.source, claims.c.source_id).order_by(amount.desc(), claims.c.source_id)


def conversations(filter: ReportFilter) -> sql.Select[Any]:
    """Selects named conversations, newest first. Reads turns only when the filter has more than a tenant."""
    query = sql.select(CONVERSATIONS)
    if filter.tenant is not None:
        query = query.where(CONVERSATIONS.c.tenant == filter.tenant)
    if filter.start is not None and not filter.failed:
        query = query.where(CONVERSATIONS.c.last_at >= utc(filter.start))
    if filter.failed:
        failed = sql.select(FAILURES.c.conversation_key).where(
            *_failed(filter), FAILURES.c.conversation_key.is_not(None)
        )
        query = query.where(CONVERSATIONS.c.conversation_key.in_(failed))
        filter = replace(filter, failed=(), start=None, end=None)  # a failure may have no turn: its time counts
    if replace(filter, tenant=None, withheld=True) != EVERYTHING:
        same = TURNS.c.conversation_key == CONVERSATIONS.c.conversation_key
        matching = sql.select(TURNS.c.conversation_key).where(*conditions(filter))
        by_words = CONVERSATIONS.c.conversation_key.in_(matching)
        query = query.where(by_words if filter.words else sql.exists().where(same, *conditions(filter)))
    return query.order_by(CONVERSATIONS.c.last_at.desc(), CONVERSATIONS.c.conversation_key.desc())


def sorted_conversations(filter: ReportFilter, order: Order) -> sql.Select[Any]:
    """Selects named conversations by the first of their matching turns in this order, which is not that of time."""
    measure, key = _MEASURES[order], TURNS.c.conversation_key
    first = sql.func.row_number().over(partition_by=key, order_by=by(order)).label("first")
    turn = (key, TURNS.c.report_id.label("worst"), measure.label("value"), TURNS.c.contradicted, TURNS.c.created_at)
    ranked = sql.select(*turn, first).where(key.is_not(None), *conditions(filter)).subquery()
    query = sql.select(CONVERSATIONS, ranked.c.worst, ranked.c.value)
    query = query.join(ranked, ranked.c.conversation_key == CONVERSATIONS.c.conversation_key)
    place = ranked.c.value.desc().nulls_last(), ranked.c.contradicted.desc(), ranked.c.created_at.desc()
    return query.where(ranked.c.first == 1).order_by(*place, ranked.c.conversation_key)


def summary(connection: sql.Connection, filter: ReportFilter) -> Summary:
    """Counts the matching turns."""
    where = conditions(filter)
    actions = sql.select(TURNS.c.action, sql.func.count()).where(*where).group_by(TURNS.c.action)
    names = [label.lower() for label in LABELS]
    figures = [*(TURNS.c[name] for name in names), MISSING, *LATENCIES]
    sums = map(sql.func.sum, figures)
    broken = sql.select(FAILURES.c.part, sql.func.count()).where(*_failed(replace(filter, failed=())))
    newest, *counts = connection.execute(sql.select(sql.func.max(TURNS.c.created_at), *sums).where(*where)).one()
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
        failures={part: int(count) for part, count in connection.execute(broken.group_by(FAILURES.c.part))},
    )


def read_turn(row: sql.Row[Any]) -> TurnRow:
    """Converts a row of `TURNS`."""
    counts = {label: getattr(row, label.lower()) for label in LABELS}
    values = same_columns(row, TurnRow) | {
        "id": row.report_id,
        "number": row.id,
        "tenant": row.tenant or None,
        "rules": row.rules or None,
        "gate": row.gate or None,
        "action": Action(row.action),
        "first_action": Action(row.first_action),
        "labels": {label: count for label, count in counts.items() if count},
    }
    return TurnRow(**values)


def read_finding(row: sql.Row[Any]) -> FindingRow:
    """Converts a row of `findings`."""
    values = same_columns(row, FindingRow) | {
        "span": None if row.span_start is None else Span(start=row.span_start, end=row.span_end),
        "action": Action(row.action),
        "cursor": to_cursor(utc(row.created_at), f"{row.report}_{row.n}"),
    }
    return FindingRow(**values)


def read_conversation(row: sql.Row[Any]) -> ConversationRow:
    """Converts a row of `CONVERSATIONS`."""
    values = same_columns(row, ConversationRow) | {"key": row.conversation_key, "tenant": row.tenant or None}
    return ConversationRow(**values)
