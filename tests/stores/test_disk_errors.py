"""Errors of files, databases and engines: each names its file and the next step, and blames the disk for nothing else."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sql

from tests.stores.test_reports_contract import report
from vista_guard.errors import StoreError
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.line_file import reason
from vista_guard.stores.reports import SqlReports
from vista_guard.stores.reports.database import Database

SPACE = "MB left"


def database_error(file: Path, options: str = "") -> str:
    with pytest.raises(StoreError) as raised:
        Database(f"sqlite:///{file}{options}").run("write a report", lambda connection: None)
    return str(raised.value)


def test_what_is_no_database_is_named_and_the_disk_is_not_blamed(tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"
    file.write_bytes(b"this is no database" * 100)
    error = database_error(file)
    assert str(file) in error
    assert "VISTA_GUARD_DATA_DIR" in error
    assert SPACE not in error


def test_a_folder_that_is_missing_is_named_and_the_disk_is_not_blamed(tmp_path: Path) -> None:
    error = database_error(tmp_path / "gone" / "reports.sqlite")
    assert f"the folder {tmp_path / 'gone'} exists" in error
    assert SPACE not in error


async def test_a_lock_is_called_a_lock(tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"
    store = SqlReports(f"sqlite:///{file}")
    await store.write(report())
    await store.aclose()
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        error = database_error(file, "?timeout=0.05")
    assert "?timeout=120" in error
    assert SPACE not in error


def test_a_full_disk_says_how_much_is_left_and_where_reports_may_go(tmp_path: Path) -> None:
    def fill(connection: sql.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        connection.exec_driver_sql("CREATE TABLE t AS SELECT zeroblob(1000000)")

    database = Database(f"sqlite:///{tmp_path / 'reports.sqlite'}")
    with pytest.raises(StoreError) as raised:
        database.run("write a report", fill)
    error = str(raised.value)
    assert f"the disk of {tmp_path} has" in error
    assert SPACE in error
    assert "VISTA_GUARD_DATA_DIR" in error


WRITING = """
import resource, sys
from vista_guard.stores.reports.database import Database
database = Database("sqlite:///" + sys.argv[1])
database.prepare()
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
database.run("write a report", lambda connection: connection.exec_driver_sql("CREATE TABLE t AS SELECT zeroblob(1000000)"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of files")
def test_an_io_error_on_a_disk_with_room_names_other_causes(tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"
    done = subprocess.run([sys.executable, "-c", WRITING, str(file)], capture_output=True, text=True, check=False)
    error = done.stderr.splitlines()[-1]
    assert "disk I/O error" in error
    for told in (str(file), SPACE, "network disk", "VISTA_GUARD_DATA_DIR"):
        assert told in error


@pytest.mark.parametrize(
    ("number", "told", "blames"),
    [
        (errno.ENOSPC, SPACE, True),
        (errno.EDQUOT, SPACE, True),
        (errno.EFBIG, "ulimit -f", False),
        (errno.EROFS, "read-only", False),
        (errno.EACCES, "Permission denied", False),
        (errno.ENAMETOOLONG, "File name too long", False),
    ],
)
def test_a_file_that_cannot_be_written_is_told_the_cause(number: int, told: str, blames: bool, tmp_path: Path) -> None:
    said = reason(OSError(number, os.strerror(number)), tmp_path / "x" / "reports.jsonl")
    assert told in said
    assert (f"{tmp_path} has" in said) is blames


@pytest.mark.parametrize(
    ("end", "told"),
    [("os._exit(3)", "exit code 3"), ("os.kill(os.getpid(), 9)", "signal 9")],
    ids=["an exit", "a kill"],
)
def test_an_engine_that_dies_at_its_start_tells_its_last_lines(
    end: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that cannot be loaded ends the process before Python can raise anything."""
    broken = tmp_path / "site" / "chromadb"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text(
        f"import os, sys\nprint('libharbour.so: wrong version', file=sys.stderr, flush=True)\n{end}\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(StoreError) as raised:
        chroma_client(tmp_path / "chroma")
    error = str(raised.value)
    for said in (str(tmp_path / "chroma"), told, "libharbour.so: wrong version"):
        assert said in error
    assert "space" not in error
