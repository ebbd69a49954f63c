"""The tables of reports and reviews. `migrations` alters older databases to match.

`vista_guard_reports` holds whole reports as JSON, `vista_guard_turns` one narrow row for each, so that lists never read a
report's text, and the roll-ups one row an hour, so that charts read neither. Reviews carry the report's number, so that deleting
a report deletes them too; so do the tables of other packages. Times are UTC.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import sqlalchemy as sql

from vista_guard.types import UNCHECKED, Label

METADATA = sql.MetaData()


def upserting(table: sql.Table, dialect_name: str) -> Any:
    """An `INSERT` that takes `on_conflict_do_update`, of `sqlite` or `postgresql`. Loads that dialect alone."""
    return import_module(f"sqlalchemy.dialects.{dialect_name}").insert(table)


LABELS = (*(label.value for label in Label), UNCHECKED)

BOUNDS_MS = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000)
"""Upper bounds of the latency buckets, in milliseconds; one more bucket holds slower turns."""

BUCKETS = tuple(f"latency_{number}" for number in range(len(BOUNDS_MS) + 1))

_BIG = sql.BigInteger().with_variant(sql.Integer, "sqlite")
_TIME = sql.DateTime(timezone=True)

REPORTS = sql.Table(
    "vista_guard_reports",
    METADATA,
    sql.Column("id", sql.Integer, primary_key=True),
    # A hash, since no index takes ids of any length and characters.
    sql.Column("conversation_key", sql.String(32)),
    sql.Column("conversation_id", sql.Text),
    sql.Column("turn_index", sql.Integer, nullable=False),
    sql.Column("created_at", _TIME, nullable=False),
    sql.Column("action", sql.String(16), nullable=False),
    sql.Column("score", sql.Float),
    sql.Column("schema_version", sql.String(16), nullable=False),
    sql.Column("report", sql.Text, nullable=False),
    sql.Index("vista_guard_reports_conversation", "conversation_key", "created_at"),
    sql.Index("vista_guard_reports_created_at", "created_at"),
)

TURNS = sql.Table(
    "vista_guard_turns",
    METADATA,
    sql.Column("id", _BIG, primary_key=True, autoincrement=False),
    sql.Column("report_id", sql.String(64), nullable=False),
    sql.Column("conversation_key", sql.String(32)),
    sql.Column("conversation_id", sql.Text),
    sql.Column("turn_index", sql.Integer, nullable=False),
    sql.Column("created_at", _TIME, nullable=False),
    sql.Column("tenant", sql.Text, nullable=False),  # "" where there is none, as in the roll-ups
    sql.Column("judge", sql.Text, nullable=False),
    sql.Column("policy", sql.Text, nullable=False),
    sql.Column("rules", sql.String(16), nullable=False),
    sql.Column("gate", sql.String(16), nullable=False),
    sql.Column("trace_id", sql.String(32)),
    sql.Column("span_id", sql.String(16)),
    sql.Column("turn_key", sql.String(16)),
    sql.Column("action", sql.String(16), nullable=False),
    sql.Column("first_action", sql.String(16), nullable=False),
    sql.Column("score", sql.Float),
    sql.Column("risk", sql.Float),
    sql.Column("lowest_confidence", sql.Float),
    sql.Column("duration_ms", sql.Float, nullable=False),
    sql.Column("evidence_missing", sql.Boolean, nullable=False),
    *(sql.Column(label.lower(), sql.Integer, nullable=False) for label in LABELS),
    sql.Column("cost", sql.Float),  # of the judge's calls, in US dollars; none before schema 0007
    sql.Column("question", sql.Text),  # the beginning of what the user asked, where texts are kept
)
sql.Index("vista_guard_turns_report_id", TURNS.c.report_id, unique=True)
sql.Index("vista_guard_turns_newest", TURNS.c.created_at.desc(), TURNS.c.id.desc())
sql.Index("vista_guard_turns_tenant", TURNS.c.tenant, TURNS.c.created_at.desc(), TURNS.c.id.desc())
sql.Index("vista_guard_turns_conversation", TURNS.c.conversation_key, TURNS.c.created_at, TURNS.c.id)
_ATTENTION = sql.Index(
    "vista_guard_turns_attention",
    TURNS.c.created_at.desc(),
    TURNS.c.id.desc(),
    sqlite_where=TURNS.c.action != "ALLOW",
)


@sql.event.listens_for(METADATA, "before_create")
def _leave_out_allowed(_metadata: object, connection: sql.Connection, **_options: object) -> None:
    """The same for Postgres, whose dialect no SQLite file needs: it takes 80 ms to load."""
    if connection.dialect.name == "postgresql":
        _ATTENTION.dialect_kwargs["postgresql_where"] = TURNS.c.action != "ALLOW"


FINDINGS = sql.Table(
    "vista_guard_findings",
    METADATA,
    sql.Column("report", _BIG, primary_key=True, autoincrement=False),
    sql.Column("n", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("claim_id", sql.Text, nullable=False),
    sql.Column("claim_key", sql.String(32), nullable=False),
    sql.Column("label", sql.String(16), nullable=False),
    sql.Column("confidence", sql.Float),
    sql.Column("span_start", sql.Integer),
    sql.Column("span_end", sql.Integer),
    sql.Column("source", sql.String(16)),
    sql.Column("source_id", sql.Text),
    sql.Column("created_at", _TIME, nullable=False),
    sql.Column("claim", sql.Text, nullable=False),
)
sql.Index("vista_guard_findings_label", FINDINGS.c.label, FINDINGS.c.created_at.desc(), FINDINGS.c.report.desc())

CONVERSATIONS = sql.Table(
    "vista_guard_conversations",
    METADATA,
    sql.Column("conversation_key", sql.String(32), primary_key=True),
    sql.Column("conversation_id", sql.Text, nullable=False),
    sql.Column("tenant", sql.Text, nullable=False),
    sql.Column("first_at", _TIME, nullable=False),
    sql.Column("last_at", _TIME, nullable=False),
    sql.Column("turns", sql.Integer, nullable=False),
    *(sql.Column(name, sql.Integer, nullable=False) for name in ("flagged", "repaired", "blocked")),
    sql.Column("contradicted", sql.Integer, nullable=False),
    sql.Column("unchecked", sql.Integer, nullable=False),
)
sql.Index("vista_guard_conversations_newest", CONVERSATIONS.c.last_at.desc(), CONVERSATIONS.c.conversation_key.desc())
sql.Index(
    "vista_guard_conversations_tenant",
    CONVERSATIONS.c.tenant,
    CONVERSATIONS.c.last_at.desc(),
    CONVERSATIONS.c.conversation_key.desc(),
)

TEXTS = sql.Table(
    "vista_guard_turn_texts",
    METADATA,
    sql.Column("report", _BIG, primary_key=True, autoincrement=False),
    sql.Column("texts", sql.Text, nullable=False),  # `TurnTexts` as JSON
    sql.Column("expires_at", _TIME),
)
sql.Index("vista_guard_turn_texts_expires", TEXTS.c.expires_at)


def _key(name: str, size: type[sql.Text] = sql.Text) -> sql.Column[str]:
    return sql.Column(name, size, primary_key=True)


def _sum(name: str, of: type[sql.Float[float]] | type[sql.BigInteger] = sql.BigInteger) -> sql.Column[float]:
    return sql.Column(name, of, nullable=False)


TURNS_HOUR = sql.Table(
    "vista_guard_turns_hour",
    METADATA,
    sql.Column("hour", _TIME, primary_key=True),
    *map(_key, ("tenant", "judge", "policy", "rules", "gate", "action")),
    *map(_sum, ("turns", "evidence_missing", "scored", "input_tokens", "output_tokens", "unpriced_calls")),
    *(_sum(name, sql.Float) for name in ("score_sum", "milliseconds", "cost")),
    *map(_sum, BUCKETS),
)
"""Turns by action; `latency_n` counts turns in the n-th latency bucket (`BOUNDS_MS`)."""

CLAIMS_HOUR = sql.Table(
    "vista_guard_claims_hour",
    METADATA,
    sql.Column("hour", _TIME, primary_key=True),
    *map(_key, ("tenant", "judge", "policy", "gate", "action", "label")),
    _sum("claims"),
    _sum("confidence_sum", sql.Float),
)

UNCHECKED_HOUR = sql.Table(
    "vista_guard_unchecked_hour",
    METADATA,
    sql.Column("hour", _TIME, primary_key=True),
    *map(_key, ("tenant", "judge", "reason")),
    _sum("claims"),
)

FAILURES = sql.Table(
    "vista_guard_failures",
    METADATA,
    sql.Column("id", _BIG, primary_key=True),
    sql.Column("at", _TIME, nullable=False),
    sql.Column("part", sql.String(16), nullable=False),
    sql.Column("kind", sql.String(32), nullable=False),
    sql.Column("tenant", sql.Text, nullable=False),
    sql.Column("conversation_key", sql.String(32)),
    sql.Column("conversation_id", sql.Text),
    sql.Column("report", _BIG),
)
"""Failures: a row for each kind of failure of a report, and one for each call to upstream that failed, which has no report."""

sql.Index("vista_guard_failures_newest", FAILURES.c.at.desc(), FAILURES.c.id.desc())
sql.Index("vista_guard_failures_report", FAILURES.c.report)
sql.Index("vista_guard_failures_conversation", FAILURES.c.conversation_key)

FAILURES_HOUR = sql.Table(
    "vista_guard_failures_hour",
    METADATA,
    sql.Column("hour", _TIME, primary_key=True),
    *map(_key, ("tenant", "part", "kind")),
    _sum("failures"),
)

NUMBERS = sql.Table(
    "vista_guard_backfill",
    METADATA,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("upto", _BIG, nullable=False),  # unused
    sql.Column("highest", _BIG, nullable=False),
)
"""One row: the highest report number that was ever deleted. SQLite would assign it again, and a reader that follows the numbers
would take the new report for an old one."""

OF_A_REPORT = (
    (TURNS, TURNS.c.id),
    (FINDINGS, FINDINGS.c.report),
    (TEXTS, TEXTS.c.report),
    (FAILURES, FAILURES.c.report),
)
"""Tables derived from a report, each with its column of report numbers (`vista_guard_reports.id`)."""

REVIEWS = sql.Table(
    "vista_guard_reviews",
    METADATA,
    sql.Column("report", _BIG, primary_key=True, autoincrement=False),
    sql.Column("tenant", sql.Text, nullable=False),  # "" where there is none, as in `TURNS`
    sql.Column("reason", sql.String(16), nullable=False),
    sql.Column("state", sql.String(8), nullable=False),
    sql.Column("queued_at", _TIME, nullable=False),
    # The turn's risk in millionths, complaints above all others: the order of the queue.
    sql.Column("urgency", sql.Integer, nullable=False, server_default="0"),
    sql.Column("assignee", sql.Text),
    sql.Column("reserved_until", _TIME),
    sql.Column("verdict", sql.String(12)),
    sql.Column("verdict_reason", sql.Text),
    sql.Column("decided_by", sql.Text),
    sql.Column("decided_at", _TIME),
)
_QUEUE = (REVIEWS.c.state, REVIEWS.c.urgency.desc(), REVIEWS.c.queued_at, REVIEWS.c.report)
sql.Index("vista_guard_reviews_urgent", *_QUEUE)
sql.Index("vista_guard_reviews_of_tenant", REVIEWS.c.tenant, *_QUEUE)

EVENTS = sql.Table(
    "vista_guard_review_events",
    METADATA,
    sql.Column("id", _BIG, primary_key=True),
    sql.Column("report", _BIG, nullable=False),
    sql.Column("at", _TIME, nullable=False),
    sql.Column("who", sql.Text, nullable=False),
    sql.Column("what", sql.String(16), nullable=False),
    sql.Column("text", sql.Text, nullable=False),
)
sql.Index("vista_guard_review_events_report", EVENTS.c.report, EVENTS.c.id)

CHANNEL = sql.Table(
    "vista_guard_channel",
    METADATA,
    sql.Column("id", _BIG, primary_key=True),
    sql.Column("tenant", sql.Text, nullable=False),  # "" where there is none, as in `TURNS`
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("text_key", sql.String(32), nullable=False),
    sql.Column("claim_key", sql.String(32)),  # of the claim it was added for, as in `FINDINGS`
    sql.Column("report_id", sql.String(64)),
    sql.Column("who", sql.Text, nullable=False),
    sql.Column("at", _TIME, nullable=False),
)
"""Facts about the chat itself that people added. They outlive the reports that they were added for."""
sql.Index("vista_guard_channel_once", CHANNEL.c.tenant, CHANNEL.c.text_key, unique=True)

PEOPLE_ON_A_REPORT = tuple((table, table.c.report) for table in (REVIEWS, EVENTS))
"""Tables of people's work on a report, with the same column."""

PREFIX = "vista_guard_"
"""Begins the names of these tables, and of those that other packages add: deleting a report deletes their rows with its number in
a column `report`."""

CONSENSUS = sql.table("vista_guard_annotation_consensus", *map(sql.column, ("item", "report", "claims")))
"""Claims that annotators agreed on, as JSON: a table that the package with their pages adds, once there is a batch."""
