"""Folders and files that hold conversations: made for their owner alone. What exists keeps its rights.

A folder with the set-group-ID bit (`chmod 2770`) is shared with its group on purpose: what is made in it follows the umask.
Alone because judges and stores use it, which never import each other.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Makes the folder and its parents where they are missing; the folder is its owner's.

    Raises:
        OSError: it cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o777 if _is_shared(folder.parent) else 0o700, exist_ok=True)


def make_file(file: Path) -> None:
    """Makes an empty file of its owner where there is none. Whoever opens it says why that failed."""
    with suppress(OSError):
        os.close(private(str(file), os.O_CREAT | os.O_EXCL))


def private(file: str, flags: int) -> int:
    """An `opener` of files that are their owner's."""
    return os.open(file, flags, 0o666 if _is_shared(Path(file).parent) else 0o600)


def _is_shared(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_ISGID)
