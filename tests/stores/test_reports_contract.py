"""What a report store promises, and what is said when its database fails."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sql

from tests.raising import raises
from vista_guard.errors import ConfigError, StoreError
from vista_guard.protocols import ReportStore
from vista_guard.stores.reports import SqlReports
from vista_guard.types import (
    SCHEMA_VERSION,
    Action,
    Attempt,
    Claim,
    Decision,
    Evidence,
    Finding,
    JudgeInfo,
    Label,
    RepairMode,
    SourceKind,
    Span,
    Timings,
    TurnReport,
    Unchecked,
)

START = datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)


@pytest_asyncio.fixture(params=["file", "memory", "engine"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ReportStore]:
    file = f"sqlite:///{tmp_path / 'reports.sqlite'}"
    databases: dict[str, str | sql.Engine] = {"file": file, "memory": "sqlite://", "engine": sql.create_engine(file)}
    store = SqlReports(databases[request.param])
    yield store
    await store.aclose()


def report(conversation: str | None = "a", turn: int = 1, minutes: int = 0, **changes: Any) -> TurnReport:
    claim = Claim(id=f"t{turn}.c1", text="The pier opened in 1911.", span=Span(start=0, end=24))
    evidence = Evidence(
        source=SourceKind.DOCUMENT, source_id="d", quote="in 1911", span=Span(start=4, end=11), score=1 / 3
    )
    finding = Finding(claim=claim, label=Label.VERIFIED, confidence=0.1 + 0.2, evidence=(evidence,), reason="stated")
    unsure = Unchecked(claim=Claim(id=f"t{turn}.c2", text="It is long."), error="no answer")
    fields: dict[str, Any] = {
        "conversation_id": conversation,
        "turn_index": turn,
        "response": "The pier opened in 1911. It is long. 🦊\x00",
        "outcomes": (finding, unsure),
        "decision": Decision(action=Action.FLAG, reason="one unchecked", claim_ids=(f"t{turn}.c2",)),
        "score": 1.0,
        "evidence_missing": False,
        "attempts": (
            Attempt(outcomes=(finding,), decision=Decision(action=Action.REPAIR, reason="r"), repair=RepairMode.REDACT),
        ),
        "remembered": (claim,),
        "judge": JudgeInfo(name="scripted", version="1"),
        "policy": "balanced",
        "timings": Timings(verify=1.23456789, total=9.87654321),
        "created_at": START + timedelta(minutes=minutes),
    }
    return TurnReport(**{**fields, **changes})


async def test_reports_come_back_equal_and_oldest_first(store: ReportStore) -> None:
    written = [report("a", 1, 0), report("b", 1, 1, score=None), report("a", 3, 2), report(None, 1, 3)]
    for each in (written[2], written[0], written[3], written[1]):
        await store.write(each)
    assert list(await store.reports()) == written
    assert list(await store.reports("a")) == [written[0], written[2]]
    assert list(await store.reports("nobody")) == []


async def test_the_limit_keeps_the_newest(store: ReportStore) -> None:
    written = [report("a", turn, turn) for turn in range(5)]
    for each in written:
        await store.write(each)
    assert list(await store.reports(limit=2)) == written[-2:]
    assert list(await store.reports("a", limit=0)) == []


async def test_reports_of_one_moment_keep_the_order_of_writing(store: ReportStore) -> None:
    written = [report("a", turn) for turn in (5, 1, 3)]
    for each in written:
        await store.write(each)
    assert list(await store.reports("a")) == written


async def test_another_time_zone_sorts_by_the_moment(store: ReportStore) -> None:
    east = report("a", 1, created_at=(START - timedelta(hours=1)).astimezone(timezone(timedelta(hours=9))))
    later = report("a", 2)
    await store.write(later)
    await store.write(east)
    assert list(await store.reports("a")) == [east, later]


async def test_forget_deletes_one_conversation(store: ReportStore) -> None:
    for conversation in ("a", "a", "b", None, ""):
        await store.write(report(conversation))
    assert await store.forget("a") == 2
    assert await store.forget("a") == 0
    assert await store.forget("") == 1
    assert [each.conversation_id for each in await store.reports()] == ["b", None]


@pytest.mark.parametrize("identifier", ["", "é漢字🦊", "x" * 10_000, "nul\x00", "\ud83d", "'; DROP TABLE reports;--"])
async def test_ids_and_texts_may_hold_anything(store: ReportStore, identifier: str) -> None:
    odd = report(identifier, response=f"{identifier} said so")
    await store.write(odd)
    assert list(await store.reports(identifier)) == [odd]


async def test_200_writes_at_once(store: ReportStore) -> None:
    await asyncio.gather(*(store.write(report(f"talk {number}", number, number)) for number in range(200)))
    assert [each.turn_index for each in await store.reports()] == list(range(200))


async def test_a_file_opened_again_by_two_stores(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'reports.sqlite'}"
    one, other = SqlReports(url), SqlReports(url)
    await asyncio.gather(*(store.write(report("a", n, n)) for n, store in enumerate([one, other] * 10)))
    await one.aclose()
    assert [each.turn_index for each in await other.reports("a")] == list(range(20))
    await other.aclose()


async def test_the_columns_can_be_selected_by(tmp_path: Path) -> None:
    store = SqlReports(f"sqlite:///{tmp_path / 'reports.sqlite'}")
    await store.write(report("a", 3))
    await store.aclose()
    connection = sqlite3.connect(tmp_path / "reports.sqlite")
    columns = "conversation_id, turn_index, created_at, action, score, schema_version"
    rows = connection.execute(f"SELECT {columns} FROM vista_guard_reports").fetchall()
    mode = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    assert rows == [("a", 3, "2026-05-01 12:00:00.123456", "FLAG", 1.0, SCHEMA_VERSION)]
    assert mode == ("wal",)


def content(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_forgotten_text_is_gone_from_the_disk(tmp_path: Path) -> None:
    store = SqlReports(f"sqlite:///{tmp_path / 'reports.sqlite'}")
    for number in range(20):
        await store.write(report("a", number, response=f"A SECRET of the harbour. {number}"))
    assert b"A SECRET" in content(tmp_path)
    await store.forget("a")
    assert b"A SECRET" not in content(tmp_path)
    await store.aclose()


async def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    engine = sql.create_engine(f"sqlite:///{tmp_path / 'reports.sqlite'}")
    store = SqlReports(engine)
    await store.write(report())
    sql.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1"))
    with raises(StoreError, "sqlite:///"):
        await store.write(report(response="long " * 10_000))
    await store.aclose()


async def test_a_locked_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"
    store = SqlReports(sql.create_engine(f"sqlite:///{file}", connect_args={"timeout": 0.05}))
    await store.write(report())
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError):
        await store.write(report())
    holder.close()
    await store.aclose()


@pytest.mark.parametrize("kind", ["no database", "no folder"])
async def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "reports.sqlite" if kind == "no database" else tmp_path / "missing" / "reports.sqlite"
    if kind == "no database":
        file.write_bytes(b"this is no database" * 100)
    store = SqlReports(f"sqlite:///{file}")
    with raises(StoreError, "reports", "sqlite:///", file):
        await store.reports()
    await store.aclose()


@pytest.mark.parametrize("stored", ["{", '{"schema_version": "9.0"}'])
async def test_a_report_of_another_version_is_named(tmp_path: Path, stored: str) -> None:
    engine = sql.create_engine(f"sqlite:///{tmp_path / 'reports.sqlite'}")
    store = SqlReports(engine)
    await store.write(report())
    with engine.begin() as connection:
        connection.execute(
            sql.text("UPDATE vista_guard_reports SET report = :r, schema_version = '9.0'"), {"r": stored}
        )
    with raises(StoreError, "1", "9.0"):
        await store.reports()
    await store.aclose()


@pytest.mark.parametrize("url", ["", "reports.sqlite", "nosuch://host/db", "sqlite+nosuch:///x"])
def test_a_url_that_means_nothing_is_named(url: str) -> None:
    with raises(ConfigError, "reports", "URL", "SQLAlchemy"):
        SqlReports(url)


def test_a_missing_driver_is_named() -> None:
    with raises(ConfigError, "reports"):
        SqlReports("mysql+pymysql://user:secret@127.0.0.1/reports")


def test_errors_do_not_show_the_password() -> None:
    with raises(ConfigError, "nosuch://***@127.0.0.1/reports") as caught:
        SqlReports("nosuch://ada:secret@127.0.0.1/reports")
    assert "secret" not in str(caught.value)
