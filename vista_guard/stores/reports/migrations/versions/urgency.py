"""Schema 0005: the review queue is ordered by risk.

Alone because Alembic wants a file for each revision.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

ABOVE_ALL = 1_000_001
"""Added for a complaint."""


def upgrade() -> None:
    """Adds the column, fills it from the turns' risk, and replaces the indexes."""
    op.add_column("vista_guard_reviews", sa.Column("urgency", sa.Integer, nullable=False, server_default="0"))
    turns = sa.table("vista_guard_turns", sa.column("id"), sa.column("risk", sa.Float))
    reviews = sa.table("vista_guard_reviews", *map(sa.column, ("report", "reason", "urgency")))
    millionths = sa.cast(sa.func.round(1_000_000 * sa.func.coalesce(turns.c.risk, 0)), sa.Integer)
    risk = sa.select(millionths).where(turns.c.id == reviews.c.report).scalar_subquery()
    complaint = sa.case((reviews.c.reason == "complaint", ABOVE_ALL), else_=0)
    op.execute(sa.update(reviews).values(urgency=sa.func.coalesce(risk, 0) + complaint))
    for name in ("queue", "tenant"):
        op.drop_index(f"vista_guard_reviews_{name}", "vista_guard_reviews")
    riskiest = sa.text("urgency DESC")
    op.create_index("vista_guard_reviews_urgent", "vista_guard_reviews", ["state", riskiest, "queued_at", "report"])
    op.create_index(
        "vista_guard_reviews_of_tenant", "vista_guard_reviews", ["tenant", "state", riskiest, "queued_at", "report"]
    )
