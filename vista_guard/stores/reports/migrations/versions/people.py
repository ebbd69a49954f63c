"""Reviews with their trail, annotations, and what annotators agreed on, beside the reports."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Makes the tables. Reports that are there already are not queued: nobody would get through them."""
    _reviews()
    _annotations()
    _consensus()


def _reviews() -> None:
    op.create_table(
        "vista_guard_reviews",
        sa.Column("report", _BIG, autoincrement=False, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("reason", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("queued_at", _TIME, nullable=False),
        sa.Column("assignee", sa.Text(), nullable=True),
        sa.Column("reserved_until", _TIME, nullable=True),
        sa.Column("verdict", sa.String(length=12), nullable=True),
        sa.Column("verdict_reason", sa.Text(), nullable=True),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("decided_at", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("report"),
    )
    op.create_index("vista_guard_reviews_queue", "vista_guard_reviews", ["state", "queued_at", "report"])
    op.create_index("vista_guard_reviews_tenant", "vista_guard_reviews", ["tenant", "state", "queued_at", "report"])
    op.create_table(
        "vista_guard_review_events",
        sa.Column("id", _BIG, nullable=False),
        sa.Column("report", _BIG, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("vista_guard_review_events_report", "vista_guard_review_events", ["report", "id"])


def _annotations() -> None:
    op.create_table(
        "vista_guard_annotation_tasks",
        sa.Column("id", _BIG, nullable=False),
        sa.Column("report", _BIG, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("batch", sa.String(length=200), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "vista_guard_annotation_tasks_batch", "vista_guard_annotation_tasks", ["batch", "report"], unique=True
    )
    op.create_index("vista_guard_annotation_tasks_report", "vista_guard_annotation_tasks", ["report"])
    op.create_table(
        "vista_guard_annotations",
        sa.Column("id", _BIG, nullable=False),
        sa.Column("task", _BIG, nullable=False),
        sa.Column("report", _BIG, nullable=False),
        sa.Column("annotator", sa.String(length=200), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("condition", sa.String(length=12), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("started_at", _TIME, nullable=False),
        sa.Column("saved_at", _TIME, nullable=False),
        sa.Column("submitted_at", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("vista_guard_annotations_task", "vista_guard_annotations", ["task", "annotator"], unique=True)
    op.create_index("vista_guard_annotations_report", "vista_guard_annotations", ["report"])
    op.create_table(
        "vista_guard_annotation_claims",
        sa.Column("annotation", _BIG, autoincrement=False, nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("report", _BIG, nullable=False),
        sa.Column("source_claim_id", sa.Text(), nullable=True),
        sa.Column("op", sa.String(length=8), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("span_start", sa.Integer(), nullable=True),
        sa.Column("span_end", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(length=16), nullable=True),
        sa.PrimaryKeyConstraint("annotation", "n"),
    )
    op.create_index("vista_guard_annotation_claims_report", "vista_guard_annotation_claims", ["report"])


def _consensus() -> None:
    op.create_table(
        "vista_guard_consensus",
        sa.Column("task", _BIG, autoincrement=False, nullable=False),
        sa.Column("report", _BIG, nullable=False),
        sa.Column("claims", sa.Text(), nullable=False),
        sa.Column("method", sa.String(length=12), nullable=False),
        sa.Column("settled_by", sa.Text(), nullable=False),
        sa.Column("settled_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("task"),
    )
    op.create_index("vista_guard_consensus_report", "vista_guard_consensus", ["report"])
