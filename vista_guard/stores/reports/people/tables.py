"""The tables of what people said of reports: reviews with their trail, annotations, and what annotators agreed on.

Each has the report's number, so that whatever deletes a report deletes what people wrote about it.
"""

from __future__ import annotations

import sqlalchemy as sql

from vista_guard.stores.reports.tables import METADATA

_BIG = sql.BigInteger().with_variant(sql.Integer, "sqlite")
_TIME = sql.DateTime(timezone=True)

REVIEWS = sql.Table(
    "vista_guard_reviews",
    METADATA,
    sql.Column("report", _BIG, primary_key=True, autoincrement=False),
    sql.Column("tenant", sql.Text, nullable=False),  # "" where there is none, as in `TURNS`
    sql.Column("reason", sql.String(16), nullable=False),
    sql.Column("state", sql.String(8), nullable=False),
    sql.Column("queued_at", _TIME, nullable=False),
    sql.Column("assignee", sql.Text),
    sql.Column("reserved_until", _TIME),
    sql.Column("verdict", sql.String(12)),
    sql.Column("verdict_reason", sql.Text),
    sql.Column("decided_by", sql.Text),
    sql.Column("decided_at", _TIME),
)
sql.Index("vista_guard_reviews_queue", REVIEWS.c.state, REVIEWS.c.queued_at, REVIEWS.c.report)
sql.Index("vista_guard_reviews_tenant", REVIEWS.c.tenant, REVIEWS.c.state, REVIEWS.c.queued_at, REVIEWS.c.report)

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

TASKS = sql.Table(
    "vista_guard_annotation_tasks",
    METADATA,
    sql.Column("id", _BIG, primary_key=True),
    sql.Column("report", _BIG, nullable=False),
    sql.Column("tenant", sql.Text, nullable=False),
    sql.Column("batch", sql.String(200), nullable=False),
    sql.Column("wanted", sql.Integer, nullable=False),
    sql.Column("created_at", _TIME, nullable=False),
    sql.Column("created_by", sql.Text, nullable=False),
)
sql.Index("vista_guard_annotation_tasks_batch", TASKS.c.batch, TASKS.c.report, unique=True)
sql.Index("vista_guard_annotation_tasks_report", TASKS.c.report)

ANNOTATIONS = sql.Table(
    "vista_guard_annotations",
    METADATA,
    sql.Column("id", _BIG, primary_key=True),
    sql.Column("task", _BIG, nullable=False),
    sql.Column("report", _BIG, nullable=False),
    sql.Column("annotator", sql.String(200), nullable=False),
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("state", sql.String(12), nullable=False),
    sql.Column("condition", sql.String(12), nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("notes", sql.Text, nullable=False),
    sql.Column("started_at", _TIME, nullable=False),
    sql.Column("saved_at", _TIME, nullable=False),
    sql.Column("submitted_at", _TIME),
)
sql.Index("vista_guard_annotations_task", ANNOTATIONS.c.task, ANNOTATIONS.c.annotator, unique=True)
sql.Index("vista_guard_annotations_report", ANNOTATIONS.c.report)

ANNOTATION_CLAIMS = sql.Table(
    "vista_guard_annotation_claims",
    METADATA,
    sql.Column("annotation", _BIG, primary_key=True, autoincrement=False),
    sql.Column("n", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("report", _BIG, nullable=False),
    sql.Column("source_claim_id", sql.Text),
    sql.Column("op", sql.String(8), nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("span_start", sql.Integer),
    sql.Column("span_end", sql.Integer),
    sql.Column("label", sql.String(16)),
)
sql.Index("vista_guard_annotation_claims_report", ANNOTATION_CLAIMS.c.report)

CONSENSUS = sql.Table(
    "vista_guard_consensus",
    METADATA,
    sql.Column("task", _BIG, primary_key=True, autoincrement=False),
    sql.Column("report", _BIG, nullable=False),
    sql.Column("claims", sql.Text, nullable=False),  # `ConsensusClaim`s as JSON
    sql.Column("method", sql.String(12), nullable=False),
    sql.Column("settled_by", sql.Text, nullable=False),
    sql.Column("settled_at", _TIME, nullable=False),
)
sql.Index("vista_guard_consensus_report", CONSENSUS.c.report)

SAID_OF_A_REPORT = tuple(
    (table, table.c.report) for table in (REVIEWS, EVENTS, TASKS, ANNOTATIONS, ANNOTATION_CLAIMS, CONSENSUS)
)
"""As `tables.OF_A_REPORT`."""
