"""The schema: saved databases, upgrades that are killed or run at once, and errors."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sql
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from tests.proxy.test_admin import postgres
from tests.raising import raises
from tests.stores.test_reports_contract import report
from vista_guard.errors import StoreError
from vista_guard.stores.reports import ReportFilter, ReportReader, SqlReports
from vista_guard.stores.reports import database as database_module
from vista_guard.stores.reports.database import MIGRATIONS, VERSION_TABLE, Database, look, make_engine, upgrade
from vista_guard.stores.reports.tables import METADATA, REPORTS, TURNS
from vista_guard.stores.reviews.queue import Reviews, ReviewVerdict

__all__ = ["postgres"]  # fixture

SAVED = Path(__file__).parent / "data" / "reports_0007.sql"
"""A database of the oldest schema: four reports with texts, one review, one annotated turn, one deleted report (number 5)."""

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade():
    op.add_column("vista_guard_turns", sa.Column("mood", sa.Text))
    op.create_index("vista_guard_turns_mood", "vista_guard_turns", ["mood"])
"""


def saved(path: Path) -> str:
    """Restores the saved database; its URL."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SAVED.read_text("utf-8"))
    return f"sqlite:///{path}"


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A later version of the package: its migrations have one revision more."""
    folder = tmp_path / "later"
    shutil.copytree(database_module.MIGRATIONS, folder)
    (folder / "versions" / "mood.py").write_text(NEXT)
    monkeypatch.setattr(database_module, "MIGRATIONS", folder)
    return folder


def columns(url: str) -> set[str]:
    engine = make_engine(url)
    names = {each["name"] for each in sql.inspect(engine).get_columns(TURNS.name)}
    engine.dispose()
    return names


@pytest.fixture
def file(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'reports.sqlite'}"


@pytest.fixture
def server(postgres: str) -> str:
    """A database of its own."""
    name = f"reports_{uuid4().hex}"
    engine = sql.create_engine(postgres, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return f"{postgres.rpartition('/')[0]}/{name}"


@pytest.fixture(params=["file", "server"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.mark.parametrize("made", ["new", "saved"])
def test_a_database_has_the_tables(made: str, tmp_path: Path) -> None:
    url = saved(tmp_path / "r.sqlite") if made == "saved" else f"sqlite:///{tmp_path / 'r.sqlite'}"
    check_tables(url)


def test_a_postgres_database_has_the_tables(server: str) -> None:
    check_tables(server)


def check_tables(url: str) -> None:
    engine = make_engine(url)
    upgrade(engine)
    with engine.connect() as connection:
        own = lambda name, kind, _: kind != "table" or name in METADATA.tables  # noqa: E731
        options = {"version_table": VERSION_TABLE, "compare_type": False, "include_name": own}
        context = MigrationContext.configure(connection, opts=options)
        # Indexes by an expression cannot be compared: they are looked for by name.
        differences = [each for each in compare_metadata(context, METADATA) if "index" not in str(each[0])]
        names = {each["name"] for table in METADATA.tables for each in sql.inspect(connection).get_indexes(table)}
        assert look(connection).is_newest
    assert differences == []
    assert {index.name for table in METADATA.tables.values() for index in table.indexes} - names == set()
    engine.dispose()


async def test_a_saved_database_is_read(tmp_path: Path) -> None:
    url = saved(tmp_path / "reports.sqlite")
    store = SqlReports(url)
    reader = store.reader
    rows = reader.page().rows
    assert [(row.conversation_id, row.turn_index, row.tenant) for row in rows] == [
        (None, 1, None),
        ("b", 1, None),
        ("acme/a", 2, "acme"),
        ("acme/a", 1, "acme"),
    ]
    kept = reader.get(rows[-1].id)
    assert kept is not None
    assert kept.report.outcomes == report("acme/a", 1).outcomes
    assert kept.texts is not None
    assert kept.texts.user_text == rows[-1].question == "How long?"
    assert [(row.conversation_id, row.turns) for row in reader.conversations().rows] == [("b", 1), ("acme/a", 2)]
    assert len(reader.findings(ReportFilter(labels=("VERIFIED",))).rows) == 4
    counts = reader.rollup(datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC), "day")
    # Roll-ups also count the deleted report.
    assert (sum(row.turns for row in counts.turns), sum(row.claims for row in counts.claims)) == (5, 10)
    with closing(Reviews(url)) as reviews:
        review = reviews.get(rows[-1].id)
    assert review is not None
    assert (review.verdict, review.decided_by) == (ReviewVerdict.OVERTURNED, "ben")
    await store.write(report("new", 1))
    numbers = {row.conversation_id: row.number for row in reader.page().rows}
    assert numbers["new"] == 6
    assert await store.forget("acme/a") == 2
    await store.aclose()


def test_an_older_schema_is_refused(url: str) -> None:
    engine = make_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL)")
        connection.exec_driver_sql(f"INSERT INTO {VERSION_TABLE} VALUES ('0003')")
    engine.dispose()
    reader = ReportReader(url)
    with raises(StoreError, "0003", "0007"):
        reader.page()
    reader.close()


def test_a_later_version_upgrades_a_file_when_it_opens_it(tmp_path: Path, later: Path) -> None:
    url = saved(tmp_path / "reports.sqlite")
    assert later.is_dir()
    with closing(ReportReader(url)) as reader:
        assert len(reader.page().rows) == 4
    assert "mood" in columns(url)


def test_a_later_version_leaves_postgres_to_the_command(server: str, later: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database_module, "MIGRATIONS", MIGRATIONS)
        engine = make_engine(server)
        upgrade(engine)
    assert later == database_module.MIGRATIONS
    with (
        closing(ReportReader(server)) as reader,
        raises(StoreError, "0008", "0009"),
    ):
        reader.page()
    assert upgrade(engine).revision == "0008"
    engine.dispose()
    with closing(ReportReader(server)) as reader:
        assert reader.page().rows == ()
    assert "mood" in columns(server)


def script(tmp_path: Path, *lines: str) -> str:
    """A program that imports the module `database`, and runs the lines."""
    file = tmp_path / "program.py"
    file.write_text("\n".join(("import os, signal", "from pathlib import Path", *lines)))
    return str(file)


def test_a_kill_in_an_upgrade_leaves_the_file_as_it_was(tmp_path: Path, later: Path) -> None:
    url = saved(tmp_path / "reports.sqlite")
    program = script(
        tmp_path,
        "from alembic.operations import Operations",
        "from vista_guard.stores.reports import database",
        f"database.MIGRATIONS = Path({str(later)!r})",
        "Operations.create_index = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)",
        f"database.upgrade(database.make_engine({url!r}))",
    )
    assert subprocess.run([sys.executable, program], check=False).returncode == -signal.SIGKILL
    assert "mood" not in columns(url)
    with closing(ReportReader(url)) as reader:
        assert len(reader.page().rows) == 4
    assert "mood" in columns(url)


def test_a_kill_while_tables_are_created_leaves_none(file: str, tmp_path: Path) -> None:
    program = script(
        tmp_path,
        "import sqlalchemy as sql",
        "from vista_guard.stores.reports import database",
        "from vista_guard.stores.reports.tables import TURNS",
        "sql.event.listen(TURNS, 'after_create', lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))",
        f"database.upgrade(database.make_engine({file!r}))",
    )
    assert subprocess.run([sys.executable, program], check=False).returncode == -signal.SIGKILL
    with closing(sqlite3.connect(file.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    check_tables(file)


def test_processes_create_the_tables_at_once(url: str, tmp_path: Path) -> None:
    program = script(
        tmp_path,
        "from vista_guard.stores.reports import database",
        f"database.upgrade(database.make_engine({url!r}))",
    )
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(subprocess.run, [sys.executable, program], capture_output=True) for _ in range(3)]
    assert [(run.result().returncode, run.result().stderr) for run in runs] == [(0, b"")] * 3
    check_tables(url)


def test_a_newer_schema_is_refused(url: str) -> None:
    engine = make_engine(url)
    upgrade(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '0999'")
    engine.dispose()
    reader = ReportReader(url)
    with raises(StoreError, "0999", "0008"):
        reader.page()
    reader.close()


def test_a_missing_database_is_an_error(tmp_path: Path, server: str) -> None:
    reader = ReportReader(f"sqlite:///{tmp_path / 'none.sqlite'}")
    with raises(StoreError, "none.sqlite"):
        reader.page()
    assert list(tmp_path.iterdir()) == []
    reader = ReportReader(server)
    with raises(StoreError, "postgresql", "reports"):
        reader.page()
    reader.close()


async def test_a_file_that_may_only_be_read(file: str, tmp_path: Path) -> None:
    store = SqlReports(file)
    await store.write(report("a"))
    await store.aclose()
    path = file.removeprefix("sqlite:///")
    read_only: Any = ReportReader(f"sqlite:///file:{path}?mode=ro&uri=true")
    assert [row.conversation_id for row in read_only.page().rows] == ["a"]
    read_only.close()


def test_an_older_file_that_may_only_be_read(tmp_path: Path, later: Path) -> None:
    saved(tmp_path / "reports.sqlite")
    assert later.is_dir()
    with raises(StoreError, "database"):
        ReportReader(f"sqlite:///file:{tmp_path / 'reports.sqlite'}?mode=ro&uri=true").page()


async def test_a_database_that_goes_away_is_said(file: str, tmp_path: Path) -> None:
    store = SqlReports(file)
    await store.write(report("a"))
    reader = ReportReader(file)
    assert len(reader.page().rows) == 1
    await store.aclose()
    reader.close()
    for left_over in glob.glob(f"{tmp_path}/reports.sqlite*"):  # noqa: PTH207
        os.unlink(left_over)  # noqa: PTH108
    with raises(StoreError, "sqlite:///", "table"):
        reader.page()


def test_a_report_that_cannot_be_read_stays_in_the_lists(tmp_path: Path) -> None:
    database = Database(saved(tmp_path / "reports.sqlite"))
    with database.engine.begin() as connection:
        connection.execute(sql.update(REPORTS).where(REPORTS.c.id == 1).values(report="{"))
    reader = ReportReader(database)
    bad = reader.page().rows[-1]
    assert (bad.number, bad.action, bad.labels) == (1, "FLAG", {"VERIFIED": 1, "UNCHECKED": 1})
    with raises(StoreError, "1", "sqlite"):
        reader.get(bad.id)
    database.close()


def test_a_file_that_was_replaced_after_a_failure_is_opened_anew(tmp_path: Path) -> None:
    file, whole = tmp_path / "reports.sqlite", tmp_path / "whole.sqlite"
    for path in (whole, file):
        saved(path)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"update {VERSION_TABLE} set version_num = '9999'")
    with closing(Database(f"sqlite:///{file}", create=False)) as database:
        with raises(StoreError, "9999"):
            database.prepare()
        shutil.copy(whole, file)
        database.prepare()
        assert (
            database.run("count", lambda to: to.execute(sql.select(sql.func.count()).select_from(REPORTS)).scalar())
            == 4
        )
