"""Reviews of verdicts, and annotations by people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "vista_guard_annotation_claims",
        sa.Column("annotation_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("source_claim_id", sa.Text(), nullable=True),
        sa.Column("op", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("span_start", sa.Integer(), nullable=True),
        sa.Column("span_end", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(length=16), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("annotation_id", "n"),
    )
    op.create_table(
        "vista_guard_annotation_tasks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("report", _BIG, nullable=False),
        sa.Column("report_id", sa.String(length=64), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("batch", sa.Text(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("batch", "report_id", name="vista_guard_annotation_tasks_once"),
    )
    op.create_index("vista_guard_annotation_tasks_report", "vista_guard_annotation_tasks", ["report"], unique=False)
    op.create_table(
        "vista_guard_annotations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("condition", sa.String(length=16), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("updated_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("task_id", "annotator", name="vista_guard_annotations_once"),
    )
    op.create_table(
        "vista_guard_consensus",
        sa.Column("task_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("claims", sa.Text(), nullable=False),
        sa.Column("method", sa.String(length=32), nullable=False),
        sa.Column("decided_by", sa.Text(), nullable=False),
        sa.Column("decided_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("task_id"),
    )
    op.create_table(
        "vista_guard_reviews",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("report", _BIG, nullable=False),
        sa.Column("report_id", sa.String(length=64), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("claim_id", sa.Text(), nullable=True),
        sa.Column("asked_by", sa.Text(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("due_at", _TIME, nullable=False),
        sa.Column("assignee", sa.Text(), nullable=True),
        sa.Column("reserved_until", _TIME, nullable=True),
        sa.Column("verdict", sa.String(length=16), nullable=True),
        sa.Column("verdict_reason", sa.Text(), nullable=True),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("decided_at", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("vista_guard_reviews_due", "vista_guard_reviews", ["verdict", "due_at", "id"], unique=False)
    op.create_index("vista_guard_reviews_report", "vista_guard_reviews", ["report"], unique=False)
    op.create_index("vista_guard_reviews_report_id", "vista_guard_reviews", ["report_id", "reason"], unique=False)
