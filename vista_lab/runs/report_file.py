"""A file of reports, one `TurnReport` a line, which survives a kill at any moment and can be resumed.

How they were made stands in a file of its own (`runs.folder.Manifest`), so that every line is a report.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Protocol, Self

from vista_guard.errors import ConfigError, StoreError
from vista_guard.types import TurnReport
from vista_lab.systems.protocol import SystemInfo

ANOTHER_OUT = "Choose another --out"


class HowMade(Protocol):
    """How reports are made. A file of reports asks once, under its lock, before anything is written."""

    def claim(self, path: Path, *, empty: bool) -> None:
        """Describes a new file of reports; checks that an older one was made in the same way.

        Raises:
            ConfigError: the reports were made in another way, or the description cannot be written.
        """
        ...


def system_fields(system: SystemInfo) -> dict[str, str]:
    """How a system judges, as texts by name."""
    nested: Mapping[str, Mapping[str, object]] = {
        "option": system.options,
        "prompt": system.prompts,
        "shots": system.shots,
    }
    texts = {f"{kind} {name}": str(value) for kind, values in nested.items() for name, value in values.items()}
    return {"system": system.name, "judge": f"{system.judge.name} {system.judge.version}", **texts}


def differing_fields(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Both values by name, where they differ; `-` where only one has such a field."""
    names = dict.fromkeys((*first, *second))
    pairs = {name: (first.get(name, "-"), second.get(name, "-")) for name in names}
    return {name: (one, other) for name, (one, other) in pairs.items() if one != other}


def refuse_differences(path: Path, made: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Passes when reports were made as they would be made now.

    Raises:
        ConfigError: they were not; names each field with both values.
    """
    differing = [f"{name} {old} instead of {new}" for name, (old, new) in differing_fields(made, now).items()]
    if differing:
        raise ConfigError(f"{path} was made with {', '.join(differing)}. {ANOTHER_OUT}, or run with the same")


def write_whole(path: Path, text: str, otherwise: str = ANOTHER_OUT) -> None:
    """Writes a file that is there as a whole or not at all.

    Raises:
        ConfigError: the disk refuses; says what to do then.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror}. {otherwise}") from exc


SYNC_SECONDS = 1.0
"""At most so much work is lost when the machine loses power. A killed process loses nothing that was written."""


class ReportFile:
    """Reports of one run, open for adding. Holds an exclusive lock: two runs never write into one file."""

    def __init__(self, path: Path, file: FileIO, index: dict[str, list[int]], end: int) -> None:
        self.path = path
        self._file = file
        self._index = index
        self._end = end
        self._lines = sum(map(len, index.values()))
        self._synced = time.monotonic()

    @classmethod
    def open(cls, path: Path, identity: HowMade) -> Self:
        """Opens or creates the file; a last line that was cut off in the middle of writing is dropped.

        Raises:
            ConfigError: it was made in another way, holds something else, is in use, or cannot be opened.
        """
        try:
            if path.exists() and not path.is_file():
                raise ConfigError(f"{path} is not a regular file. Choose another --out")
            file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644), "r+")
        except OSError as exc:
            raise ConfigError(f"{path} cannot be written: {exc.strerror}. Choose another --out") from exc
        try:
            _lock(path, file)
            identity.claim(path, empty=os.fstat(file.fileno()).st_size == 0)
            index, end = _scan(path, file)
            file.truncate(end)
            file.seek(end)
        except BaseException:
            file.close()
            raise
        return cls(path, file, index, end)

    @property
    def lines(self) -> int:
        """How many reports are safely in the file."""
        return self._lines

    def reports(self, conversation_id: str) -> list[TurnReport]:
        """The reports on a conversation when the file was opened, in the order of turns."""
        found = [_report(self.path, self._line_at(offset)) for offset in self._index.get(conversation_id, ())]
        return sorted(found, key=lambda report: report.turn_index)

    def append(self, report: TurnReport) -> None:
        """Writes one line. Nothing of it stays when that fails.

        Raises:
            StoreError: the disk is full or gone; says how many reports are safe.
        """
        line = report.model_dump_json().encode() + b"\n"
        try:
            self._file.seek(self._end)
            rest = memoryview(line)
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
            if time.monotonic() - self._synced >= SYNC_SECONDS:
                self._sync()
        except OSError as exc:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise self._write_error(exc) from exc
        self._end += len(line)
        self._lines += 1

    def close(self) -> None:
        """Brings all to the disk and lets the lock go.

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

    def _line_at(self, offset: int) -> bytes:
        self._file.seek(offset)
        line = b""
        while not line.endswith(b"\n") and (block := self._file.read(65_536)):
            line += block[: block.index(b"\n") + 1] if b"\n" in block else block
        return line

    def _write_error(self, error: OSError) -> StoreError:
        return StoreError(
            f"{self.path} cannot be written: {error.strerror}. {self._lines} reports are safe in it; make room and run "
            "the same command again to resume"
        )


def _scan(path: Path, file: FileIO) -> tuple[dict[str, list[int]], int]:
    """Offsets of the reports by conversation, and where the last whole one ends."""
    index: dict[str, list[int]] = {}
    seen: set[tuple[str | None, int]] = set()
    end = 0
    with open(file.fileno(), "rb", closefd=False) as reader:
        lines = iter(reader)
        for number, line in enumerate(lines, 1):
            try:
                report = _report(path, line, number)
            except ConfigError:
                if next(lines, None) is not None:
                    raise
                break
            if (report.conversation_id, report.turn_index) in seen:
                raise ConfigError(again(path, number, report))
            seen.add((report.conversation_id, report.turn_index))
            index.setdefault(report.conversation_id or "", []).append(end)
            end += len(line)
    return index, end


def again(path: Path, number: int, report: TurnReport) -> str:
    """The message about a line that reports on a turn twice."""
    where = f"turn {report.turn_index} of conversation {report.conversation_id}"
    return f"{path}, line {number} reports on {where} again, which would be counted twice. Remove that line"


def _report(path: Path, line: bytes, number: int = 0) -> TurnReport:
    try:
        if not line.endswith(b"\n"):
            raise ValueError("the line is cut off")
        return TurnReport.model_validate_json(line)
    except ValueError as exc:
        where = f"line {number}" if number else "a line"
        raise ConfigError(
            f"{path}: {where} is not a report: {line[:80]!r}. Remove it to judge its turn again, or choose another --out"
        ) from exc


def _lock(path: Path, file: FileIO) -> None:
    """Let go by the system when the process ends, however it ends. Not taken on Windows and on disks that have no locks."""
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
