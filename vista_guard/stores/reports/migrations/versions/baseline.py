"""Schema 0007, the oldest that this package opens.

A new database gets the tables of `tables.py` and the newest revision at once (`database.upgrade`), so this revision creates
nothing. A later change to `tables.py` adds a revision beside this one that alters databases which exist already.
Alone because Alembic wants a file for each revision.
"""

from __future__ import annotations

revision = "0007"
down_revision = None


def upgrade() -> None:
    """Does nothing: a database of this revision has its tables."""
