"""Lists, filters, cursors, what is new, and counts over stored reports, on SQLite and on Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from tests.proxy.test_admin import postgres
from tests.raising import raises
from tests.stores.test_reports_contract import START, report
from tests.stores.test_schema import file, server
from vista_guard import Action, Decision, InputError
from vista_guard.stores.reports import ATTENTION, Highlight, Order, ReportFilter, SqlReports, percentile, reading
from vista_guard.types import Timings, TurnTexts, Usage

__all__ = ["file", "postgres", "server"]  # fixtures

ALLOWED = Decision(action=Action.ALLOW, reason="fine")


@pytest_asyncio.fixture(params=["file", "server"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[SqlReports]:
    """Twelve reports r0 to r11, a minute apart; every other one allowed; of tenant acme but for r0."""
    opened = SqlReports(str(request.getfixturevalue(request.param)))
    for n in range(12):
        more = {"decision": ALLOWED} if n % 2 else {}
        tenant = "acme" if n else None
        await opened.write(report(f"talk {n % 3}", n, n, id=f"r{n}", tenant=tenant, policy="strict", **more))
    yield opened
    await opened.aclose()


async def test_pages_follow_each_other(store: SqlReports) -> None:
    reader, after = store.reader, None
    seen: list[str] = []
    for _ in range(3):
        page = reader.page(after=after, limit=5)
        seen, after = [*seen, *(row.id for row in page.rows)], page.next
    assert (seen, after) == ([f"r{n}" for n in range(11, -1, -1)], None)
    with raises(InputError, "x", "next"):
        reader.page(after="x")


async def test_lists_are_sorted_by_risk_latency_and_cost(store: SqlReports) -> None:
    risky = {"x": (0.9, 10.0, 0.0), "y": (0.2, 900.0, 0.1), "z": (None, 20.0, 0.5)}
    for name, (risk, total, cost) in risky.items():
        usage, timings = Usage(cost=cost), Timings(total=total)
        await store.write(
            report(f"of {name}", 1, 60, id=name, tenant="sorted", risk=risk, usage=usage, timings=timings)
        )
    await store.write(report("of x", 3, 61, id="x2", tenant="sorted", risk=0.1))
    reader = store.reader.of_tenant("sorted")
    orders: dict[Order, list[str]] = {
        "time": ["x2", "z", "y", "x"],
        "risk": ["x", "y", "x2", "z"],
        "latency": ["y", "z", "x", "x2"],
        "cost": ["z", "y", "x2", "x"],
    }
    for order, names in orders.items():
        first = reader.page(limit=3, order=order)
        rest = reader.page(after=first.next, order=order)
        assert [row.id for row in (*first.rows, *rest.rows)] == names, order
        assert rest.next is None
    talks = reader.conversations(order="risk")
    assert [(row.conversation_id, row.worst, row.value) for row in talks.rows] == [
        ("of x", "x", 0.9),
        ("of y", "y", 0.2),
        ("of z", "z", None),
    ]
    later = ReportFilter(start=START + timedelta(minutes=61))
    assert [row.worst for row in reader.conversations(later, order="latency").rows] == ["x2"]
    assert reader.conversations(after="99999999999999999999999", order="cost").rows == ()


async def test_filters(store: SqlReports) -> None:
    def found(**asked: object) -> list[str]:
        return [row.id for row in store.reader.page(ReportFilter(**asked)).rows]  # type: ignore[arg-type]  # as given

    assert found(actions=ATTENTION) == ["r10", "r8", "r6", "r4", "r2", "r0"]
    assert found(tenant="") == ["r0"]
    assert found(conversation_id="talk 1", actions=(Action.ALLOW,)) == ["r7", "r1"]
    assert found(start=START + timedelta(minutes=3), end=START + timedelta(minutes=5)) == ["r4", "r3"]
    assert len(found(labels=("UNCHECKED",), policy="strict", judge="scripted 1")) == 12
    assert found(labels=("CONTRADICTED",)) == found(evidence_missing=True) == found(policy="other") == []


async def test_where_the_evidence_on_claims_stands(store: SqlReports) -> None:
    verified = ReportFilter(labels=("VERIFIED",))
    (one,) = store.reader.sources(verified)
    assert (one.source, one.source_id, one.claims) == ("document", "d", 12)
    assert store.reader.sources(verified, newest=5)[0].claims == 5
    assert store.reader.of_tenant("acme").sources(verified)[0].claims == 11
    assert store.reader.sources(ReportFilter(labels=("CONTRADICTED",))) == ()


async def test_all_reports_of_many_ids_are_read(store: SqlReports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ROWS", 5)
    names = [f"r{n}" for n in range(12)]
    assert sorted(store.reader.many([*names, "unknown"])) == sorted(names)


async def test_a_tenant_sees_its_own_in_every_method(store: SqlReports) -> None:
    own = store.reader.of_tenant("acme")
    assert (own.get("r0"), own.row("r0"), own.many(["r0"])) == (None, None, {})
    assert own.page(ReportFilter(tenant="")).rows == own.of_tenant("zoo").page().rows == ()
    assert "r0" not in {row.report_id for row in own.findings().rows}
    assert "r0" not in {kept.report.id for kept in own.conversation("talk 0").rows}
    assert (own.summary(ReportFilter()).turns, own.choices()["tenant"]) == (11, ("acme",))
    counted = own.rollup(START, START + timedelta(hours=1))
    assert sum(one.turns for one in counted.turns) == 11


async def test_each_turn_is_news_once(store: SqlReports) -> None:
    reader = store.reader
    first = reader.since(limit=4)
    assert [row.id for row in first.rows] == ["r8", "r9", "r10", "r11"]
    await store.write(report("new", 1, -500, id="late"))
    following = reader.since(first.cursor)
    assert [row.id for row in following.rows] == ["late"]
    assert reader.since(following.cursor).rows == ()
    # A number that was deleted is not given out again.
    await store.forget("new")
    await store.write(report("newer", id="next"))
    assert [row.id for row in reader.since(following.cursor).rows] == ["next"]


async def test_conversations_and_their_turns(store: SqlReports) -> None:
    reader = store.reader
    newest = reader.conversations(limit=2)
    assert [(row.conversation_id, row.turns, row.flagged) for row in newest.rows] == [
        ("talk 2", 4, 2),
        ("talk 1", 4, 2),
    ]
    assert [row.conversation_id for row in reader.conversations(after=newest.next).rows] == ["talk 0"]
    turns = reader.conversation("talk 1", limit=3)
    later = reader.conversation("talk 1", after=turns.next)
    assert [kept.report.id for kept in (*turns.rows, *later.rows)] == ["r1", "r4", "r7", "r10"]


async def test_turns_and_conversations_are_found_by_words(store: SqlReports) -> None:
    keeping = SqlReports(store._database.engine, record="delivered")
    withheld = {"decision": Decision(action=Action.BLOCK, reason="no")}
    for name, question, more in (
        ("hours", "When do you öffnen, and is 100% of it open?", {}),
        ("price", "What does\nit cost?", withheld),
    ):
        await keeping.write_turn(report(name, 1, 60, id=name, **more), TurnTexts(user_text=question))

    def found(words: str, **more: Any) -> list[str | None]:
        asked = ReportFilter(words=words, **more)
        turns = {row.conversation_id for row in store.reader.page(asked).rows}
        assert turns == {row.conversation_id for row in store.reader.conversations(asked).rows}
        return sorted(turns, key=str)

    assert found("WHEN öffnen") == found("Öffnen") == found("100%") == found("hour") == ["hours"]
    assert found("does it cost") == ["price"]
    assert found("1911 pier") == ["hours", "price", "talk 0", "talk 1", "talk 2"]
    assert found("1911", withheld=False) == ["hours", "talk 0", "talk 1", "talk 2"]
    assert found("%") == ["hours"]
    assert found("1911 nothing") == found("cost öffnen") == []
    assert store.reader.of_tenant("acme").page(ReportFilter(words="öffnen")).rows == ()
    told = store.reader.highlights(store.reader.conversations().rows)
    shown = {row.conversation_id: told[row.key] for row in store.reader.conversations().rows}
    # Verified and unchecked: what could not be judged is the worst.
    assert shown["price"] == Highlight("What does it cost?", "It is long.", "UNCHECKED", Action.BLOCK)
    assert shown["talk 1"] == Highlight(None, "It is long.", "UNCHECKED", Action.ALLOW)


async def test_a_conversation_of_the_same_name_is_another_tenants_secret(store: SqlReports) -> None:
    keeping = SqlReports(store._database.engine, record="delivered")
    for tenant in ("north", "acme"):
        await keeping.write_turn(report("same", 1, tenant=tenant, id=tenant), TurnTexts(user_text=f"I am in {tenant}"))
    (row,) = [one for one in store.reader.conversations().rows if one.conversation_id == "same"]
    told = {tenant: store.reader.of_tenant(tenant).highlights([row])[row.key].question for tenant in ("north", "acme")}
    assert told == {"north": "I am in north", "acme": "I am in acme"}


async def test_counts_by_the_minute(store: SqlReports) -> None:
    counts = store.reader.rollup(START, START + timedelta(minutes=3), "minute")
    assert [(row.at, row.action, row.turns, row.scored) for row in counts.turns] == [
        (START.replace(second=0, microsecond=0) + timedelta(minutes=n), "ALLOW" if n % 2 else "FLAG", 1, 1)
        for n in range(3)
    ]
    assert counts.turns[0].score_sum == 1.0
    assert percentile(counts.turns[0].latency, 0.5) == 7.5
    assert [(row.label, row.claims) for row in counts.claims] == [("VERIFIED", 1), ("UNCHECKED", 1)] * 3
    one = store.reader.rollup(
        START, START + timedelta(hours=1), "minute", ReportFilter(tenant="", labels=("VERIFIED",))
    )
    assert ([row.turns for row in one.turns], [row.label for row in one.claims]) == ([1], ["VERIFIED"])


async def test_counts_by_hour_day_and_key(store: SqlReports) -> None:
    reader, span = store.reader, (START - timedelta(days=1), START + timedelta(days=1))
    makers = [(one.tenant, one.judge, one.policy) for one in reader.makers(*span, "day")]
    assert makers == [("", "scripted 1", "strict"), ("acme", "scripted 1", "strict")]
    by_action = reader.rollup(*span, "day", keys={"action"})
    assert [(one.action, one.turns, one.tenant) for one in by_action.turns] == [("ALLOW", 6, ""), ("FLAG", 6, "")]
    assert by_action.turns[0].at == START.replace(hour=0, minute=0, second=0, microsecond=0)
    labels = reader.rollup(*span, keys={"label"}).claims
    assert [(one.label, one.claims) for one in labels] == [("UNCHECKED", 12), ("VERIFIED", 12)]
    assert [(one.reason, one.claims) for one in reader.rollup(*span, keys={"reason"}).unchecked] == [("no answer", 12)]
    assert percentile(by_action.turns[0].latency, 0.5) == 7.5
