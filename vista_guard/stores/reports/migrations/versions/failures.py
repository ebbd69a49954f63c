"""Schema 0006: tables of what broke. Failures of earlier reports are not looked for.

Alone because Alembic wants a file for each revision.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Creates both tables."""
    op.create_table(
        "vista_guard_failures",
        sa.Column("id", _BIG, primary_key=True),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("part", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("conversation_key", sa.String(32)),
        sa.Column("conversation_id", sa.Text),
        sa.Column("report", _BIG),
    )
    newest = [sa.text("at DESC"), sa.text("id DESC")]
    op.create_index("vista_guard_failures_newest", "vista_guard_failures", newest)
    op.create_index("vista_guard_failures_report", "vista_guard_failures", ["report"])
    op.create_index("vista_guard_failures_conversation", "vista_guard_failures", ["conversation_key"])
    op.create_table(
        "vista_guard_failures_hour",
        sa.Column("hour", _TIME, primary_key=True),
        *(sa.Column(name, sa.Text, primary_key=True) for name in ("tenant", "part", "kind")),
        sa.Column("failures", sa.BigInteger, nullable=False),
    )
