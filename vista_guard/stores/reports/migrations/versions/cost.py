"""Schema 0007: a turn's row has its cost, so that lists are sorted by it. Earlier turns keep none.

Alone because Alembic wants a file for each revision.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Adds the column."""
    op.add_column("vista_guard_turns", sa.Column("cost", sa.Float))
