"""Schema 0008: a table of the facts about the chat itself that reviewers add.

Alone because Alembic wants a file for each revision.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "vista_guard_channel",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tenant", "text")),
        sa.Column("text_key", sa.String(32), nullable=False),
        sa.Column("claim_key", sa.String(32)),
        sa.Column("report_id", sa.String(64)),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("vista_guard_channel_once", "vista_guard_channel", ["tenant", "text_key"], unique=True)
