"""Where this package keeps its files."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile

from vista_guard.errors import ConfigError

DATA_DIR_VARIABLE = "VISTA_GUARD_DATA_DIR"
DOCUMENTS = "vista_guard.documents"
"""The collection of the documents that belong to no tenant."""


def documents_added(chroma: Path) -> bool:
    """Whether documents of no tenant were ever added to the Chroma folder. Opening it would take a second, this a millisecond.

    True also for a folder that cannot be read, opening it will say why, and where Chroma is loaded: there is no time to be won.
    """
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


def data_dir(explicit: str | Path | None = None) -> Path:
    """The folder of the stores, created when missing: `explicit`, else VISTA_GUARD_DATA_DIR, else the user's data folder.

    Raises:
        ConfigError: the folder cannot be created or written to, or none is given and the user has no home.
    """
    folder = Path(explicit).expanduser() if explicit else default_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):  # permission bits lie on read-only mounts and for root
            pass
    except OSError as exc:
        raise ConfigError(
            f"data folder {folder} cannot be written: {exc.strerror}. Give another one, or set {DATA_DIR_VARIABLE}"
        ) from exc
    return folder


def default_dir() -> Path:
    """The folder where none is given: VISTA_GUARD_DATA_DIR, else the user's data folder. It may not exist yet.

    Raises:
        ConfigError: the user has no home.
    """
    from platformdirs import user_data_dir

    try:
        return Path(os.environ.get(DATA_DIR_VARIABLE) or user_data_dir("vista-guard", appauthor=False)).expanduser()
    except RuntimeError as exc:
        raise ConfigError(
            f"there is no data folder, as the user has no home: set {DATA_DIR_VARIABLE}, or HOME"
        ) from exc
