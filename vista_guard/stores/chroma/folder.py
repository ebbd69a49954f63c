"""A look into a Chroma folder's tables.

Alone because it is asked before Chroma is loaded, which takes a second.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path


def documents_added(chroma: Path) -> bool:
    """True when the Chroma folder holds documents of no tenant. Takes a millisecond; opening the folder takes a second.

    Also True for an unreadable folder, since opening it says why, and where this process has loaded Chroma.
    """
    from vista_guard.stores.entries import DOCUMENTS

    file = chroma / "chroma.sqlite3"
    if not file.is_file():
        return False
    if "chromadb" in sys.modules:  # It has an SQLite of its own, and two in one process undo each other's locks.
        return True
    # Chroma notes the dimension of a collection's vectors with the first of them.
    filled = "SELECT count(*) FROM collections WHERE name = ? AND dimension IS NOT NULL"
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return bool(database.execute(filled, [DOCUMENTS]).fetchone()[0])
    except sqlite3.Error:
        return True
