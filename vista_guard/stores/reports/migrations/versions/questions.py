"""Schema 0004: a turn's row has its question, so that lists show it and a search finds it.

Alone because Alembic wants a file for each revision.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from vista_guard.stores.reports.rows import question

revision = "0004"
down_revision = "0003"

BATCH = 500


def upgrade() -> None:
    """Adds the column and fills it from the kept texts."""
    op.add_column("vista_guard_turns", sa.Column("question", sa.Text))
    turns = sa.table("vista_guard_turns", sa.column("id", sa.BigInteger), sa.column("question", sa.Text))
    texts = sa.table("vista_guard_turn_texts", sa.column("report", sa.BigInteger), sa.column("texts", sa.Text))
    connection, last = op.get_bind(), -1
    newest = sa.update(turns).where(turns.c.id == sa.bindparam("report")).values(question=sa.bindparam("asked"))
    while kept := connection.execute(
        sa.select(texts).where(texts.c.report > last).order_by(texts.c.report).limit(BATCH)
    ).all():
        last = kept[-1].report
        asked = [{"report": row.report, "asked": question(json.loads(row.texts).get("user_text"))} for row in kept]
        connection.execute(newest, asked)
