"""Databases of earlier versions, upgrades that are killed or meet, and what is said where one may not be done."""

from __future__ import annotations

import asyncio
import glob
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sql
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from tests.proxy.test_admin import postgres
from tests.stores.test_reports_contract import report
from vista_guard.errors import StoreError
from vista_guard.stores.reports import ReportFilter, ReportReader, SqlReports
from vista_guard.stores.reports.backfill import left, step
from vista_guard.stores.reports.database import VERSION_TABLE, Database, make_engine, upgrade
from vista_guard.stores.reports.tables import METADATA, REPORTS, TURNS

__all__ = ["postgres"]  # fixture

COUNT = 450
"""Reports of the older version: more than two batches."""


def older(url: str, count: int = COUNT) -> None:
    """A database as version 0.2.0 left it: one table, reports of schema 1.1 that have no id."""
    engine = make_engine(url)
    rows = []
    for number in range(count):
        written = json.loads(report(f"talk {number % 50}", number, number).model_dump_json())
        for name in ("id", "gate", "tenant", "rules", "turn_key", "draft_spans", "trace_id", "span_id"):
            del written[name]
        rows.append(
            {
                "conversation_key": None,
                "conversation_id": written["conversation_id"],
                "turn_index": number,
                "created_at": datetime(2026, 5, 1, tzinfo=UTC) + timedelta(minutes=number),
                "action": "FLAG",
                "score": 1.0,
                "schema_version": "1.1",
                "report": json.dumps({**written, "schema_version": "1.1"}),
            }
        )
    with engine.begin() as connection:
        METADATA.create_all(connection, tables=[REPORTS])
        connection.execute(sql.insert(REPORTS), rows)
    engine.dispose()


def finish(database: Database) -> None:
    while database.write("bring over", step):
        pass


def check_all(url: str, count: int = COUNT) -> None:
    """All of them are in lists, counts and roll-ups, once."""
    reader = ReportReader(url)
    rows = reader.page(limit=1000).rows
    assert (len(rows), len({row.id for row in rows})) == (count, count)
    assert {(row.judge, row.policy, row.gate, row.tenant) for row in rows} == {("scripted 1", "balanced", None, None)}
    counted = reader.rollup(datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC), "day")
    assert (sum(one.turns for one in counted.turns), sum(one.claims for one in counted.claims)) == (count, 2 * count)
    assert len(reader.conversations(limit=100).rows) == min(count, 50)
    assert len(reader.findings(ReportFilter(labels=("VERIFIED",)), limit=1000).rows) == count
    kept = reader.get(rows[-1].id)
    assert kept is not None
    assert (kept.report.turn_index, kept.report.schema_version) == (0, "1.1")
    reader.close()


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


def test_the_steps_lead_to_the_tables(url: str) -> None:
    engine = make_engine(url)
    upgrade(engine)
    with engine.connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": False}
        context = MigrationContext.configure(connection, opts=options)
        # Indexes by an expression cannot be compared: they are looked for by name.
        differences = [one for one in compare_metadata(context, METADATA) if "index" not in str(one[0])]
        names = {one["name"] for table in METADATA.tables for one in sql.inspect(connection).get_indexes(table)}
    assert differences == []
    assert {index.name for table in METADATA.tables.values() for index in table.indexes} - names == set()
    engine.dispose()


async def test_an_older_file_is_brought_up_to_date_when_it_is_opened(file: str) -> None:
    older(file)
    store = SqlReports(file)
    await store.write(report("new", 1, created_at=datetime(2026, 8, 1, tzinfo=UTC)))
    for _ in range(600):
        if len(store.reader.page(limit=1000).rows) == COUNT + 1:
            break
        await asyncio.sleep(0.05)
    assert await store.forget("new") == 1
    await store.aclose()
    # The roll-ups still count the one that was forgotten, in August.
    check_all(file)


def test_an_older_version_may_go_on_writing(file: str) -> None:
    older(file, 3)
    database = Database(file)
    finish(database)
    database.close()
    older(file, 2)
    reopened = Database(file)
    assert reopened.run("count", left) == 2
    finish(reopened)
    assert (reopened.run("count", left), len(ReportReader(file).page().rows)) == (0, 5)
    reopened.close()


def test_a_kill_while_reports_are_brought_over_loses_none(file: str, tmp_path: Path) -> None:
    older(file)
    script = tmp_path / "bring.py"
    script.write_text(
        "import sys\n"
        "from vista_guard.stores.reports.backfill import step\n"
        "from vista_guard.stores.reports.database import Database\n"
        f"database = Database({file!r})\n"
        "while database.write('bring over', lambda connection: step(connection, 20)):\n"
        "    print('batch', flush=True)\n"
    )
    running = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    with running:
        assert running.stdout is not None
        for _ in range(3):
            assert running.stdout.readline() == "batch\n"
        running.send_signal(signal.SIGKILL)
    database = Database(file)
    waiting = database.run("count", left)
    assert 0 < waiting <= COUNT - 60
    finish(database)
    database.close()
    check_all(file)


def test_a_kill_in_the_middle_of_the_steps_leaves_the_file_as_it_was(file: str, tmp_path: Path) -> None:
    older(file, 3)
    script = tmp_path / "upgrade.py"
    script.write_text(
        "import os, signal\n"
        "from alembic.operations import Operations\n"
        "from vista_guard.stores.reports.database import make_engine\n"
        "from vista_guard.stores.reports.database import upgrade\n"
        "made = Operations.create_index\n"
        "def dying(self, name, *args, **options):\n"
        "    if name == 'vista_guard_turns_newest':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return made(self, name, *args, **options)\n"
        "Operations.create_index = dying\n"
        f"upgrade(make_engine({file!r}))\n"
    )
    done = subprocess.run([sys.executable, str(script)], check=False)
    assert done.returncode == -signal.SIGKILL
    tables = sqlite3.connect(file.removeprefix("sqlite:///")).execute(
        "SELECT name FROM sqlite_master WHERE type = 'table'"
    )
    assert [name for (name,) in tables] == ["vista_guard_reports"]
    finish(Database(file))
    check_all(file, 3)


def test_two_processes_upgrade_at_once(url: str, tmp_path: Path) -> None:
    older(url)
    script = tmp_path / "both.py"
    script.write_text(
        "from vista_guard.stores.reports.backfill import step\n"
        "from vista_guard.stores.reports.database import Database, make_engine\n"
        "from vista_guard.stores.reports.database import upgrade\n"
        f"upgrade(make_engine({url!r}))\n"
        f"database = Database({url!r})\n"
        "while database.write('bring over', lambda connection: step(connection, 20)):\n"
        "    pass\n"
    )
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(subprocess.run, [sys.executable, str(script)], capture_output=True) for _ in range(3)]
    assert [(run.result().returncode, run.result().stderr) for run in runs] == [(0, b"")] * 3
    check_all(url)


async def test_an_older_postgres_waits_for_the_command(server: str) -> None:
    older(server, 3)
    store = SqlReports(server)
    told = (
        r"the tables in .* are of schema 0001, and this version of vista-guard needs .*: stop .* vista-guard db upgrade"
    )
    with pytest.raises(StoreError, match=told):
        await store.write(report())
    with pytest.raises(StoreError, match="vista-guard db upgrade"):
        store.reader.page()
    engine = make_engine(server)
    upgrade(engine)
    engine.dispose()
    database = Database(server)
    finish(database)
    database.close()
    check_all(server, 3)
    await store.write(report())
    await store.aclose()


def test_a_newer_schema_is_said(url: str) -> None:
    engine = make_engine(url)
    upgrade(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '0999'")
    engine.dispose()
    reader = ReportReader(url)
    with pytest.raises(
        StoreError, match=r"are of schema 0999, and this version .* knows schemas up to \d{4}: use the version"
    ):
        reader.page()
    reader.close()


def test_no_database_yet_is_said(tmp_path: Path, server: str) -> None:
    reader = ReportReader(f"sqlite:///{tmp_path / 'none.sqlite'}")
    with pytest.raises(StoreError, match=r"there are no reports yet: .*none.sqlite does not exist. Set reports"):
        reader.page()
    assert list(tmp_path.iterdir()) == []
    reader = ReportReader(server)
    with pytest.raises(StoreError, match=r"there are no reports in postgresql.* yet"):
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


def test_an_older_file_that_may_only_be_read(file: str) -> None:
    older(file, 1)
    path = file.removeprefix("sqlite:///")
    with pytest.raises(StoreError, match=r"cannot read reports in .*: attempt to write a readonly database"):
        ReportReader(f"sqlite:///file:{path}?mode=ro&uri=true").page()


async def test_a_database_that_goes_away_is_said(file: str, tmp_path: Path) -> None:
    store = SqlReports(file)
    await store.write(report("a"))
    reader = ReportReader(file)
    assert len(reader.page().rows) == 1
    await store.aclose()
    reader.close()
    for left_over in glob.glob(f"{tmp_path}/reports.sqlite*"):  # noqa: PTH207
        os.unlink(left_over)  # noqa: PTH108
    with pytest.raises(StoreError, match=r"cannot read reports in sqlite:///.*no such table"):
        reader.page()


async def test_a_report_that_cannot_be_read_stays_in_the_lists(file: str) -> None:
    older(file, 2)
    engine = make_engine(file)
    with engine.begin() as connection:
        connection.execute(sql.update(REPORTS).where(REPORTS.c.id == 1).values(report="{"))
    database = Database(engine)
    finish(database)
    reader = ReportReader(database)
    good, bad = reader.page().rows
    assert (bad.id, bad.action, bad.labels, good.labels) == ("row1", "FLAG", {}, {"VERIFIED": 1, "UNCHECKED": 1})
    with pytest.raises(StoreError, match=r"report 1 in sqlite:.* \(schema 1.1\) cannot be read"):
        reader.get("row1")
    database.close()


async def test_two_reports_with_one_content_are_two(file: str) -> None:
    older(file, 1)
    older(file, 1)
    database = Database(file)
    finish(database)
    with database.engine.connect() as connection:
        ids = connection.execute(sql.select(TURNS.c.report_id).order_by(TURNS.c.id)).scalars().all()
    assert (len(ids), ids[1]) == (2, "row2")
    database.close()


def test_a_copy_of_a_file_is_a_file(file: str, tmp_path: Path) -> None:
    older(file, 3)
    finish(database := Database(file))
    database.close()
    copied = tmp_path / "copied.sqlite"
    shutil.copy(file.removeprefix("sqlite:///"), copied)
    check_all(f"sqlite:///{copied}", 3)


def test_a_file_that_was_replaced_after_a_failure_is_opened_anew(tmp_path: Path) -> None:
    file, whole = tmp_path / "reports.sqlite", tmp_path / "whole.sqlite"
    older(f"sqlite:///{whole}", 2)
    for path in (whole, file):
        with closing(Database(f"sqlite:///{path}")) as database:
            database.prepare()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"update {VERSION_TABLE} set version_num = '9999'")
    with closing(Database(f"sqlite:///{file}", create=False)) as database:
        with pytest.raises(StoreError, match="of schema 9999"):
            database.prepare()
        shutil.copy(whole, file)
        database.prepare()
        assert (
            database.run("count", lambda to: to.execute(sql.select(sql.func.count()).select_from(REPORTS)).scalar())
            == 2
        )
