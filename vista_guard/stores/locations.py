"""Where this package keeps its files."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

from vista_guard.errors import ConfigError

DATA_DIR_VARIABLE = "VISTA_GUARD_DATA_DIR"


def data_dir(explicit: str | Path | None = None) -> Path:
    """The folder of the stores, created when missing: `explicit`, else VISTA_GUARD_DATA_DIR, else the user's data folder.

    Raises:
        ConfigError: the folder cannot be created or written to.
    """
    folder = Path(explicit or os.environ.get(DATA_DIR_VARIABLE) or _user_folder()).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):  # permission bits lie on read-only mounts and for root
            pass
    except OSError as exc:
        raise ConfigError(
            f"data folder {folder} cannot be written: {exc.strerror}. Give another one, or set {DATA_DIR_VARIABLE}"
        ) from exc
    return folder


def _user_folder() -> str:
    from platformdirs import user_data_dir

    return user_data_dir("vista-guard", appauthor=False)
