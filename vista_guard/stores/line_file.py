"""A file of lines, such as one `TurnReport` a line, which survives a kill at any moment and can be resumed.

A separate file describes how the lines were made, so that every line is of one kind.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from pydantic import BaseModel

from vista_guard.errors import ConfigError, StoreError, first_problem

ANOTHER_OUT = "Choose another --out"

Line = TypeVar("Line", bound=BaseModel)


class HowMade(Protocol):
    """How lines are made. `LineFile.open` calls `claim` once, under its lock, before anything is written."""

    def claim(self, path: Path, *, empty: bool) -> None:
        """Describes a new file; checks that an older one was made in the same way.

        Raises:
            ConfigError: the lines were made in another way, or the description cannot be written.
        """
        ...


def differing_fields(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Both values by name, where they differ; `-` where only one has such a field."""
    names = dict.fromkeys((*first, *second))
    pairs = {name: (first.get(name, "-"), second.get(name, "-")) for name in names}
    return {name: (one, other) for name, (one, other) in pairs.items() if one != other}


def refuse_differences(path: Path, made: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Checks that reports were made as they would be made now.

    Raises:
        ConfigError: they were not; names each field with both values.
    """
    differing = [f"{name} {old} instead of {new}" for name, (old, new) in differing_fields(made, now).items()]
    if differing:
        raise ConfigError(f"{path} was made with {', '.join(differing)}. {ANOTHER_OUT}, or run with the same")


def reason(error: OSError, path: Path) -> str:
    """Why a file cannot be written, with what to do. Only a full disk is called full."""
    advice = {
        errno.ENOSPC: f" ({space_left(path)}: free some space)",
        errno.EDQUOT: f" ({space_left(path)}: free some space of this user's)",
        errno.EFBIG: " (the largest size for this process or file system: see ulimit -f)",
        errno.EROFS: " (the disk is mounted read-only)",
        errno.EIO: f" ({space_left(path)}: check that it is still connected, and the system's log)",
    }
    return f"{error.strerror}{advice.get(error.errno or 0, '')}"


def space_left(path: Path) -> str:
    """The free space on the disk of a file or folder, which may not exist yet."""
    folder = next((place for place in (path, *path.parents) if place.is_dir()), Path())
    try:
        return f"the disk of {folder} has {shutil.disk_usage(folder).free / 1e6:,.1f} MB left"
    except OSError as exc:
        return f"the disk of {folder} does not answer: {exc.strerror}"


def write_whole(path: Path, text: str, otherwise: str = ANOTHER_OUT) -> None:
    """Writes a file atomically.

    Raises:
        ConfigError: the file cannot be written; says what to do.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {reason(exc, path)}. {otherwise}") from exc


SYNC_SECONDS = 1.0
"""At most so much work is lost when the machine loses power. A killed process loses nothing that was written."""


@dataclass(frozen=True)
class LineKind(Generic[Line]):
    """A kind of line: its model, its group and its key."""

    model: type[Line]
    noun: str
    """Noun for a line in errors: `report`."""
    group: Callable[[Line], str]
    """Lines of one group are read together: the reports on a conversation."""
    key: Callable[[Line], Hashable]
    """Unique key of a line."""
    again: Callable[[Line], str]
    """Phrase for a second line with the same key: `reports on turn 3 of conversation a again`."""

    def read(self, path: Path, line: bytes, number: int = 0) -> Line:
        """Parses one line of the file.

        Raises:
            ConfigError: it is cut off or something else; names file and line.
        """
        try:
            if not line.endswith(b"\n"):
                raise ValueError("the line is cut off")
            return self.model.model_validate_json(line)
        except ValueError as exc:
            where = f"line {number}" if number else "a line"
            raise ConfigError(
                f"{path}: {where} is not a {self.noun} ({first_problem(exc)}): {line[:80]!r}. Remove it and run the same command "
                "again, which makes it anew, or choose another --out"
            ) from exc

    def twice(self, path: Path, number: int, line: Line) -> str:
        """The message about a line whose key another line has."""
        return f"{path}, line {number} {self.again(line)}, which would be counted twice. Remove that line"


class LineFile(Generic[Line]):
    """A file of lines, open for adding. Holds an exclusive lock: two runs never write into one file.

    Keeps where each group's lines lie, not their texts, so memory stays flat.
    """

    def __init__(self, path: Path, kind: LineKind[Line], file: FileIO) -> None:
        self.path = path
        self._kind = kind
        self._file = file
        self._index: dict[str, list[int]] = {}
        self._end = self._lines = 0
        self._synced = time.monotonic()
        self._place = threading.Lock()
        """Guards the file position: one thread may read lines while another adds some."""

    @classmethod
    def open(cls, path: Path, kind: LineKind[Line], made: HowMade) -> Self:
        """Opens or creates the file; a last line that was cut off in the middle of writing is dropped.

        Raises:
            ConfigError: it was made in another way, holds something else, is in use, or cannot be opened.
        """
        try:
            if path.exists() and not path.is_file():
                raise ConfigError(f"{path} is not a regular file. Choose another --out")
            file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644), "r+")
        except OSError as exc:
            raise ConfigError(f"{path} cannot be written: {reason(exc, path)}. {ANOTHER_OUT}") from exc
        try:
            _lock(path, file)
            made.claim(path, empty=os.fstat(file.fileno()).st_size == 0)
            opened = cls(path, kind, file)
            opened._scan()
            file.truncate(opened._end)
        except BaseException:
            file.close()
            raise
        return opened

    @property
    def lines(self) -> int:
        """Number of lines safely in the file."""
        return self._lines

    def groups(self) -> Iterator[str]:
        """The groups that had lines when the file was opened."""
        return iter(self._index)

    def of_group(self, group: str) -> list[Line]:
        """The lines of a group when the file was opened, in the order of writing."""
        return [self._kind.read(self.path, self._line_at(offset)) for offset in self._index.get(group, ())]

    def append(self, line: Line) -> None:
        """Writes one line. Nothing of it stays when that fails.

        Raises:
            StoreError: the disk is full or gone; says how many lines are safe.
        """
        encoded = line.model_dump_json().encode() + b"\n"
        try:
            with self._place:
                self._file.seek(self._end)
                rest = memoryview(encoded)
                while rest:
                    rest = rest[self._file.write(rest) or 0 :]
            if time.monotonic() - self._synced >= SYNC_SECONDS:
                self._sync()
        except OSError as exc:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise self._write_error(exc) from exc
        self._end += len(encoded)
        self._lines += 1

    def close(self) -> None:
        """Flushes everything to disk and releases the lock.

        Raises:
            StoreError: the disk refused.
        """
        try:
            self._sync()
        except OSError as exc:
            raise self._write_error(exc) from exc
        finally:
            self._file.close()

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def _scan(self) -> None:
        """Finds where the lines of each group lie, and where the last whole line ends."""
        seen: set[Hashable] = set()
        with open(self._file.fileno(), "rb", closefd=False) as reader:
            lines = iter(reader)
            for number, text in enumerate(lines, 1):
                try:
                    line = self._kind.read(self.path, text, number)
                except ConfigError:
                    if next(lines, None) is not None:
                        raise
                    break
                if (key := self._kind.key(line)) in seen:
                    raise ConfigError(self._kind.twice(self.path, number, line))
                seen.add(key)
                self._index.setdefault(self._kind.group(line), []).append(self._end)
                self._end += len(text)
                self._lines += 1

    def _line_at(self, offset: int) -> bytes:
        line = b""
        with self._place:
            self._file.seek(offset)
            while not line.endswith(b"\n") and (block := self._file.read(65_536)):
                line += block[: block.index(b"\n") + 1] if b"\n" in block else block
        return line

    def _write_error(self, error: OSError) -> StoreError:
        return StoreError(
            f"{self.path} cannot be written: {reason(error, self.path)}. {self._lines} {self._kind.noun}s are "
            f"safe in it: run the same command again to resume, or move it to another disk and give it as --out"
        )


def _lock(path: Path, file: FileIO) -> None:
    """Locks the file until the process ends, however it ends. Does nothing on Windows and on disks without locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        raise ConfigError(f"{path} is being written by another run. Choose another --out, or wait for it") from exc
    except OSError:  # Some network file systems.
        return
