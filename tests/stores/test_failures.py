"""Failures of parts: written with a report or without one, read by part and time, and forgotten with its conversation."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.proxy.test_admin import postgres
from tests.stores.test_reports_contract import START, report
from tests.stores.test_schema import file, server
from vista_guard import Guard, StoreError
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stores.reports import ReportFilter, ReportReader, SqlReports
from vista_guard.stores.reports.rows import failures_of
from vista_guard.testing import ScriptedJudge, assistant, conversation
from vista_guard.types import Claim, PartFailure, Unchecked

__all__ = ["file", "postgres", "server"]  # fixtures

CODE = Unchecked(claim=Claim(id="t1.c3", text="x = 1"), error="code is not judged", what="code")
LATE = Unchecked(claim=Claim(id="t1.c4", text="It is old."), error="not judged within 5 s (limits.judge_seconds)")


@pytest_asyncio.fixture(params=["file", "server"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[SqlReports]:
    made = SqlReports(str(request.getfixturevalue(request.param)))
    yield made
    await made.aclose()


def test_a_report_has_failures_by_class() -> None:
    assert [(one.part, one.kind) for one in failures_of(report(outcomes=(CODE, LATE, LATE)))] == [("judge", "timeout")]
    assert failures_of(report(outcomes=(CODE,))) == []
    unread = report(outcomes=(LATE,), warnings=("evidence could not be read: disk full",))
    assert [(one.part, one.kind) for one in failures_of(unread)] == [("store", "read")]
    unwritten = report(outcomes=(), warnings=("knowledge was not stored: disk full",))
    assert [(one.part, one.kind) for one in failures_of(unwritten)] == [("store", "write")]


async def test_a_store_that_cannot_be_read_is_a_failure_of_the_store(store: SqlReports) -> None:
    class Broken(MemoryKnowledge):
        async def recall(self, *args: Any, **kwargs: Any) -> Any:
            raise StoreError("disk I/O error")

    guard = Guard(ScriptedJudge({}), "balanced", knowledge=Broken(None), sinks=[store])  # type: ignore[arg-type]
    made = await guard.acheck(conversation(assistant("The pier opened in 1911.", "The pier."), id="a"))
    [row] = store.reader.failures().rows
    assert (row.part, row.kind, row.conversation_id, row.report_id) == ("store", "read", "a", made.id)


async def test_what_broke_is_read_by_part_time_and_conversation(store: SqlReports) -> None:
    late = report("acme/a", outcomes=(LATE,), tenant="acme")
    await store.write(late)
    await store.write(report("acme/b", minutes=1, outcomes=(), tenant="acme"))
    call = PartFailure(
        part="upstream", kind="timeout", tenant="acme", conversation_id="acme/b", at=START + timedelta(hours=3)
    )
    await store.write_failure(call)
    await store.write_failure(PartFailure(part="upstream", kind="connect", tenant="other", at=START))
    reader = store.reader
    assert [row.part for row in reader.failures().rows] == ["upstream", "upstream", "judge"]
    first = reader.failures(limit=1)
    assert [row.kind for row in reader.failures(after=first.next).rows] == ["connect", "timeout"]
    mine = reader.of_tenant("acme")
    assert [row.kind for row in mine.failures(ReportFilter(failed=("upstream",))).rows] == ["timeout"]
    broken = ReportFilter(failed=("judge",))
    assert [row.id for row in mine.page(broken).rows] == [late.id]
    assert [row.conversation_id for row in mine.conversations(broken).rows] == ["acme/a"]
    later = ReportFilter(failed=("upstream", "judge"), start=START + timedelta(hours=2))
    assert [row.conversation_id for row in mine.conversations(later).rows] == ["acme/b"]  # its turn was earlier
    assert mine.summary(ReportFilter(start=START)).failures == {"judge": 1, "upstream": 1}
    for step in ("minute", "hour", "day"):
        counts = mine.rollup(START, START + timedelta(days=1), step)
        found = sorted((row.part, row.kind, row.failures) for row in counts.failures)
        assert found == [("judge", "timeout", 1), ("upstream", "timeout", 1)], step


async def test_a_failure_is_forgotten_with_its_conversation_and_its_tenant(store: SqlReports) -> None:
    for name in ("a", "b"):
        await store.write(report(name, outcomes=(LATE,), tenant="acme"))
        await store.write_failure(PartFailure(part="upstream", kind="status", tenant="acme", conversation_id=name))
    assert await store.forget("a") == 1
    assert {row.conversation_id for row in store.reader.failures().rows} == {"b"}
    assert await store.forget_tenant("acme") == 1
    assert store.reader.failures().rows == ()
    assert store.reader.rollup(START, datetime.now(UTC) + timedelta(hours=1)).failures == ()


async def test_reports_that_waited_are_told_once(tmp_path: Path) -> None:
    path = tmp_path / "reports.sqlite"
    store = SqlReports(f"sqlite:///{path}?timeout=0.05")
    await store.write(report("a", outcomes=()))
    with sqlite3.connect(path, isolation_level=None) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        for _ in range(2):
            with pytest.raises(StoreError):
                await store.write(report("b", outcomes=()))
        holder.execute("COMMIT")
    holder.close()
    await store.aclose()  # writes what waits
    reader = ReportReader(f"sqlite:///{path}")
    assert [(row.part, row.kind) for row in reader.failures().rows] == [("store", "reports")]
    assert len(reader.page().rows) == 3
    reader.close()
