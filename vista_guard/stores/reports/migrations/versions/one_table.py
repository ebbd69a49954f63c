"""Versions up to 0.2.0: reports in one table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Makes the table of a new database."""
    op.create_table(
        "vista_guard_reports",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("conversation_key", sa.String(32)),
        sa.Column("conversation_id", sa.Text),
        sa.Column("turn_index", sa.Integer, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("score", sa.Float),
        sa.Column("schema_version", sa.String(16), nullable=False),
        sa.Column("report", sa.Text, nullable=False),
    )
    op.create_index("vista_guard_reports_conversation", "vista_guard_reports", ["conversation_key", "created_at"])
    op.create_index("vista_guard_reports_created_at", "vista_guard_reports", ["created_at"])
