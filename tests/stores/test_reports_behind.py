"""A database that takes no reports keeps no answer waiting, and gets all of them once it takes some."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sql

from tests.pace import auntil
from tests.raising import raises
from tests.stores.test_reports_contract import report
from vista_guard import Guard
from vista_guard.errors import StoreError
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stores.reports import SqlReports
from vista_guard.stores.reports import store as report_store
from vista_guard.stores.reports.database import make_engine
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation

SOON = 600.0
"""Seconds for turns that do not wait for a lock; waiting for it would take an hour."""
SAID = "The pier opened in 1911."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "reports.sqlite"


@pytest.fixture
def holder(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can lock the file."""
    connection = sqlite3.connect(file, isolation_level=None)
    yield connection
    connection.close()


def stored(file: Path) -> int:
    connection = sqlite3.connect(file)
    (count,) = connection.execute("SELECT count(*) FROM vista_guard_reports").fetchone()
    connection.close()
    return int(count)


@pytest.mark.parametrize("options", ["?timeout=3600", "?timeout=0.1"])
async def test_no_answer_waits_for_a_locked_file(
    options: str, file: Path, holder: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = ScriptedJudge({SAID: [Verdict(SAID, needs="1911")]})
    store = SqlReports(f"sqlite:///{file}{options}")
    guard = Guard(judge, "balanced", knowledge=MemoryKnowledge(WordEmbedder()), sinks=[store])

    async def turn(number: int) -> None:
        await guard.acheck(conversation(assistant(SAID, "The pier opened in 1911."), id=f"talk {number}"))

    for number in range(5):
        await turn(number)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(report_store, "PATIENCE_S", 0.1)
    async with asyncio.timeout(SOON):
        for number in range(5, 15):
            await turn(number)
        await asyncio.gather(*(turn(number) for number in range(15, 25)))
    assert stored(file) == 5
    holder.execute("COMMIT")
    await auntil(lambda: stored(file) == 25)
    await guard.aclose()
    assert stored(file) == 25


async def test_what_waits_is_told_and_what_finds_no_room_is_lost(
    file: Path, holder: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(report_store, "MOST_WAITING", 3)
    store = SqlReports(f"sqlite:///{file}?timeout=0.05")
    await store.write(report())
    holder.execute("BEGIN EXCLUSIVE")
    for waiting in (1, 2, 3):
        with raises(StoreError, waiting):
            await store.write(report())
    for _ in range(2):
        with raises(StoreError, "3", "reports"):
            await store.write(report())
    holder.execute("COMMIT")
    await auntil(lambda: stored(file) == 4)
    await store.write(report())
    await store.aclose()
    assert stored(file) == 5
    assert [record.levelname for record in caplog.records if "takes" in record.message] == ["WARNING"] * 2


async def test_a_forgotten_conversation_does_not_come_back_from_memory(file: Path, holder: sqlite3.Connection) -> None:
    store = SqlReports(f"sqlite:///{file}?timeout=0.05")
    await store.write(report("kept"))
    holder.execute("BEGIN EXCLUSIVE")
    for conversation_id in ("kept", "secret", "secret"):
        with pytest.raises(StoreError):
            await store.write(report(conversation_id))
    with pytest.raises(StoreError):
        await store.forget("secret")
    holder.execute("COMMIT")
    await auntil(lambda: stored(file) == 2)
    await store.aclose()
    assert [one.conversation_id for one in await SqlReports(f"sqlite:///{file}").reports()] == ["kept", "kept"]


async def test_closing_writes_what_waits_and_says_what_it_could_not(
    file: Path, holder: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqlReports(f"sqlite:///{file}?timeout=0.05")
    await store.write(report())
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError):
        await store.write(report())
    await store.aclose()
    assert f"1 reports were not written in sqlite:///{file}?timeout=0.05 and are lost" in caplog.text
    with raises(StoreError, "store"):
        await store.write(report())


async def test_a_report_that_the_database_refuses_keeps_no_other_waiting(file: Path) -> None:
    store = SqlReports(f"sqlite:///{file}")
    first = report()
    await store.write(first)
    with raises(StoreError, "UNIQUE"):
        await store.write(first)
    await store.write(report())
    assert stored(file) == 2
    await store.aclose()


KILLED = """
import asyncio, os, signal, sys
sys.path.insert(0, os.getcwd())
from tests.stores.test_reports_contract import report
from vista_guard.stores.reports import SqlReports

async def main():
    store = SqlReports(sys.argv[1])
    for number in range(20):
        await store.write(report("talk", number))
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_a_killed_process_loses_no_report_of_a_delivered_answer(file: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, f"sqlite:///{file}"], check=False, timeout=120)
    assert done.returncode == -9
    assert stored(file) == 20


def calls_under_way() -> int:
    return sum(thread.name == "vista-guard-daemon" for thread in threading.enumerate())


async def test_a_database_that_hangs_takes_no_thread_from_the_turns(file: Path, holder: sqlite3.Connection) -> None:
    store = SqlReports(f"sqlite:///{file}?timeout=3600")
    await store.write(report("kept"))
    holder.execute("BEGIN EXCLUSIVE")
    hanging = [asyncio.create_task(store.forget("gone")) for _ in range(64)]  # more than asyncio has threads
    await auntil(lambda: calls_under_way() >= len(hanging))
    async with asyncio.timeout(SOON):
        assert await asyncio.to_thread(lambda: "judged") == "judged"
    holder.execute("COMMIT")
    assert set(await asyncio.gather(*hanging)) == {0}
    await store.aclose()


HANGING = """
import asyncio, os, sqlite3, sys
sys.path.insert(0, os.getcwd())
from tests.pace import auntil
from tests.stores.test_reports_behind import calls_under_way
from vista_guard.stores.reports import SqlReports

async def main():
    store = SqlReports(f"sqlite:///{sys.argv[1]}?timeout=3600")
    reading = [asyncio.create_task(store.chat_facts("acme")), asyncio.create_task(store.forget("gone"))]
    await auntil(lambda: calls_under_way() >= len(reading))

holder = sqlite3.connect(sys.argv[1], isolation_level=None)
holder.execute("BEGIN EXCLUSIVE")
asyncio.run(main())
"""


def test_a_database_that_hangs_does_not_hold_up_the_end_of_the_process(file: Path) -> None:
    done = subprocess.run([sys.executable, "-c", HANGING, str(file)], check=False, timeout=SOON)
    assert done.returncode == 0


@pytest.mark.parametrize(("query", "seconds"), [("", 10), ("?connect_timeout=2", "2")])
def test_a_server_that_has_vanished_is_not_waited_for_long(query: str, seconds: object) -> None:
    engine = make_engine(f"postgresql+psycopg://guard@db.invalid/guard{query}")
    given: dict[str, object] = {}

    def connect(_dialect: object, _record: object, _args: object, options: dict[str, object]) -> None:
        given.update(options)
        raise ConnectionError

    sql.event.listen(engine, "do_connect", connect)
    with pytest.raises(ConnectionError):
        engine.connect()
    assert (given["connect_timeout"], given["tcp_user_timeout"]) == (seconds, 30_000)
