"""The folder of the stores, what is in it before it is opened, and advice where its disk fails."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryFile

from vista_guard._private import make_folder
from vista_guard.errors import ConfigError
from vista_guard.settings.sources import Settings

DATA_DIR_VARIABLE = "VISTA_GUARD_DATA_DIR"


def data_dir(explicit: str | Path | None = None) -> Path:
    """Returns the folder of the stores, created when missing: `explicit`, else VISTA_GUARD_DATA_DIR, else the user's data folder.

    Raises:
        ConfigError: the folder cannot be created or written to, or none is given and the user has no home.
    """
    folder = Path(explicit).expanduser() if explicit else default_dir()
    try:
        make_folder(folder)
        with TemporaryFile(dir=folder):  # permission bits lie on read-only mounts and for root
            pass
    except OSError as exc:
        raise ConfigError(
            f"data folder {folder} cannot be written: {exc.strerror}. Use another one, or set {DATA_DIR_VARIABLE}"
        ) from exc
    return folder


def default_dir() -> Path:
    """Returns the default folder: VISTA_GUARD_DATA_DIR, else the user's data folder. It may not exist yet.

    Raises:
        ConfigError: the user has no home.
    """
    from platformdirs import user_data_dir

    try:
        return Path(os.environ.get(DATA_DIR_VARIABLE) or user_data_dir("vista-guard", appauthor=False)).expanduser()
    except RuntimeError as exc:
        raise ConfigError(f"no data folder: the user has no home. Set {DATA_DIR_VARIABLE}, or HOME") from exc


def reports_url(settings: Settings) -> str | None:
    """The URL of the database that the settings name for reports; None where they name none."""
    if settings.reports != "sqlite":
        return settings.reports
    return f"sqlite:///{data_dir(settings.data_dir) / 'reports.sqlite'}"


def documents_added(chroma: Path) -> bool:
    """True when the Chroma folder holds documents of no tenant. Takes a millisecond; opening the folder takes a second.

    Also True for an unreadable folder, since opening it says why, and where this process has loaded Chroma.
    """
    import sqlite3
    from contextlib import closing

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


def disk_advice(why: object, file: Path) -> str | None:
    """Says what to do where SQLite failed at its disk, which names no file; None for any other failure."""
    if not any(sign in str(why) for sign in ("disk I/O error", "disk is full")):
        return None
    return (
        f"The disk did not read or write {file}, or the -wal and -shm files beside it. Free space there (quotas and limits on a "
        f"file's size count), or take a data folder on a local disk, as network folders fail so: --data-dir, {DATA_DIR_VARIABLE}"
    )
