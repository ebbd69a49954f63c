"""What each viewer is given: their own tenant's reports, without drafts that they may not read, whatever they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.dashboard import seeded
from tests.raising import raises
from vista_guard import ConfigError, StoreError
from vista_guard.dashboard.access import THIS_MACHINE, Viewer
from vista_guard.dashboard.conversation.dialogue import Selected
from vista_guard.dashboard.conversation.evidence import Sources, sources_of
from vista_guard.dashboard.conversation.panel import Beside, panel
from vista_guard.dashboard.elements.address import Filters
from vista_guard.dashboard.scoped import HIDDEN, WINDOW, GuardedTurn, ScopedReports, delivered_whole, without_withheld
from vista_guard.dashboard.settings import Permission
from vista_guard.stores.reports import ReportReader
from vista_guard.types import Claim, Finding, Label, Nearest, Retrieval, SourceKind, Span

NORTH = Viewer("nora@example.com", ("north",), frozenset(Permission))
BOTH = Viewer("both@example.com", ("north", "south"), frozenset(Permission))
NOBODY = Viewer("new@example.com", (), frozenset(Permission))
READER = Viewer("reader@example.com", None, frozenset())
LONG = WINDOW + 40


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportReader]:
    """Two tenants, each with a turn, and the talk of no tenant."""
    turns = [
        (
            seeded.report(
                number, f"Said in the {tenant}.", (), id=tenant * 4, tenant=tenant, conversation_id=f"{tenant}/c"
            ),
            None,
        )
        for number, tenant in enumerate(("north", "south"))
    ]
    start = datetime.now(UTC) - timedelta(days=1)
    long = [
        (
            seeded.report(
                n, f"Turn {n}.", (), id=f"long-{n}", conversation_id="long", created_at=start + timedelta(seconds=n)
            ),
            None,
        )
        for n in range(LONG)
    ]
    url = seeded.write(tmp_path_factory.mktemp("scoped") / "reports.sqlite", *seeded.talk(), *turns, *long)
    found = ReportReader(url)
    yield found
    found.close()


def test_a_tenant_sees_its_own_by_every_way(reader: ReportReader) -> None:
    mine = ScopedReports(reader, NORTH)
    for asked in (Filters(), Filters(tenant="south"), Filters(tenant="")):
        assert [row.id for row in mine.page(asked).rows] == ["north" * 4]
        assert [row.id for row in mine.since(None, asked).rows] == ["north" * 4]
        assert [row.conversation_id for row in mine.conversations(asked).rows] == ["north/c"]
        assert mine.summary(asked, datetime(2000, 1, 1, tzinfo=UTC)).turns == 1
        now = datetime.now(UTC)
        assert sum(one.turns for one in mine.rollup(asked, now - timedelta(days=9), now + timedelta(days=1)).turns) == 1
        assert mine.choices(asked).tenants == ("north",)
    assert mine.turn("south" * 4) is None
    assert mine.row("south" * 4) is None
    assert set(mine.turns(["south" * 4, "north" * 4, f"{1:032x}"])) == {"north" * 4}
    assert mine.conversation("south/c").turns == ()
    assert mine.conversation("harbour-talk").turns == ()
    assert mine.established_by("harbour-talk", f"{1:016x}") is None


def test_a_search_finds_withheld_claims_only_for_who_may_read_them(reader: ReportReader) -> None:
    asked = Filters(words="nine metres")
    assert [row.turn_index for row in ScopedReports(reader, THIS_MACHINE).page(asked).rows] == [3]
    restricted = ScopedReports(reader, READER)
    assert restricted.page(asked).rows == ()
    assert restricted.conversations(asked).rows == ()
    found = restricted.conversations(Filters(words="So it is small"))
    [row] = found.rows
    [told] = restricted.highlights(Filters(), found.rows).values()
    assert (row.conversation_id, told.question, told.claim) == ("harbour-talk", "Tell me about the harbour.", HIDDEN)
    assert ScopedReports(reader, THIS_MACHINE).highlights(Filters(), found.rows)[row.key].claim != HIDDEN


def test_a_period_is_of_whole_days_and_of_the_last_hours() -> None:
    now = datetime(2026, 5, 20, 12, tzinfo=UTC)
    days = Filters(since=date(2026, 5, 18), until=date(2026, 5, 19))
    assert days.period(now) == (datetime(2026, 5, 18, tzinfo=UTC), datetime(2026, 5, 20, tzinfo=UTC))
    assert replace(days, hours=24).period(now)[0] == datetime(2026, 5, 19, 12, tzinfo=UTC)
    assert Filters().period(now) == (None, None)


def test_who_sees_two_tenants_looks_at_one_at_a_time(reader: ReportReader) -> None:
    both = ScopedReports(reader, BOTH)
    assert [row.id for row in both.page(Filters()).rows] == ["north" * 4]
    assert [row.id for row in both.page(Filters(tenant="south")).rows] == ["south" * 4]
    assert both.turn("south" * 4) is not None
    assert len(both.conversation("south/c").turns) == 1
    assert both.turn(f"{1:032x}") is None


def test_who_has_no_tenant_is_told_so(reader: ReportReader) -> None:
    with raises(ConfigError, "new@example.com"):
        ScopedReports(reader, NOBODY).page(Filters())


def test_withheld_words_are_left_out_for_who_may_not_read_them(reader: ReportReader) -> None:
    allowed, others = ScopedReports(reader, THIS_MACHINE), ScopedReports(reader, READER)
    for withheld in ("nine metres", "painted blue", "It sank"):
        assert withheld in str([allowed.conversation("harbour-talk")])
        assert withheld not in str([others.conversation("harbour-talk")])
        for number in (3, 5, 9):
            assert withheld not in str(others.turn(f"{number:032x}"))
            assert withheld not in str(others.turns([f"{number:032x}"]))
    blocked = others.turn(f"{3:032x}")
    assert blocked is not None
    assert blocked.hidden
    assert blocked.report.findings[0].claim.text == HIDDEN
    assert blocked.report.findings[0].label is Label.CONTRADICTED
    assert blocked.report.findings[0].evidence[0].quote == "The lighthouse is 31 metres tall."
    assert blocked.report.decision.reason == "claims of the draft: 1 contradicted"


def test_how_a_sentence_was_taken_apart_tells_nothing_of_what_was_not_delivered() -> None:
    partly = [(one, kept) for one, kept in seeded.talk() if one.findings and not delivered_whole(one)]
    assert partly
    for told, texts in partly:
        outcomes = tuple(
            one.model_copy(update={"claim": one.claim.model_copy(update={"steps": "Then comes: It sank in 1911."})})
            for one in told.outcomes
        )
        attempts = tuple(one.model_copy(update={"outcomes": outcomes}) for one in told.attempts)
        turn = GuardedTurn(told.model_copy(update={"outcomes": outcomes, "attempts": attempts}), texts)
        assert "It sank in 1911" not in str(without_withheld(turn))


def test_a_panel_shows_the_steps_of_a_claims_sentence_and_what_came_nearest() -> None:
    span = Span(start=0, end=20)
    first = Claim(id="t1.c1", text="The pier is old.", span=span, steps="STEP 1: it says two things.")
    near = Nearest(
        source=SourceKind.DOCUMENT,
        source_id="d1",
        quote="The pier is made of wood.",
        title="Guide",
        headings=("# Pier", "## Age"),
        found=Retrieval(by=("words", "vectors"), rank=2),
        overlap=0.5,
    )
    second = Claim(id="t1.c2", text="The pier is long.", span=span)
    told, texts = seeded.talk()[0]
    lacking = Finding(claim=first, label=Label.LACKING_EVIDENCE, confidence=0.9, reason="No document says so.")
    outcomes = (lacking, lacking.model_copy(update={"claim": second, "nearest": near}))
    shown = panel(
        GuardedTurn(told.model_copy(update={"outcomes": outcomes}), texts),
        Selected(told.id, "t1.c2"),
        Beside(Sources()),
    )
    sent = str(shown.wire())
    for said in ("STEP 1: it says two things.", "The pier is made of wood.", "Guide", "Pier › Age", "rank 2", "50%"):
        assert said in sent


def test_a_turn_that_was_delivered_whole_is_as_it_was() -> None:
    told, texts = seeded.talk()[0]
    turn = GuardedTurn(told, texts)
    assert without_withheld(turn) is turn
    assert turn.draft == told.response
    assert turn.delivered(told.findings[0].claim) == (Span(start=2, end=30),)


def test_a_long_conversation_is_shown_around_the_turn_that_is_asked_for(reader: ReportReader) -> None:
    all_of_it = ScopedReports(reader, THIS_MACHINE)
    beginning = all_of_it.conversation("long")
    assert [turn.report.turn_index for turn in beginning.turns] == list(range(WINDOW))
    rest = all_of_it.conversation("long", after=beginning.next)
    assert [turn.report.turn_index for turn in rest.turns] == list(range(WINDOW, LONG))
    assert rest.next is None
    late = all_of_it.turn(f"long-{LONG - 1}")
    window = all_of_it.conversation("long", around=late)
    assert f"long-{LONG - 1}" in [turn.report.id for turn in window.turns]
    early = all_of_it.turn("long-3")
    assert all_of_it.conversation("long", around=early).after is None


def test_one_report_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    import sqlite3

    url = seeded.write(tmp_path / "reports.sqlite", *seeded.talk())
    with sqlite3.connect(tmp_path / "reports.sqlite") as connection:
        connection.execute('update vista_guard_reports set report = \'{"schema_version": "9.0"}\' where turn_index = 5')
    connection.close()
    reader = ReportReader(url)
    reports = ScopedReports(reader, THIS_MACHINE)
    window = reports.conversation("harbour-talk")
    assert [turn.report.turn_index for turn in window.turns] == [1, 3, 7, 9]
    [(name, problem)] = window.unreadable
    assert name == f"{5:032x}"
    assert "schema" in problem
    assert isinstance(reports.turns([name, f"{1:032x}"])[name], str)
    with pytest.raises(StoreError):
        reports.turn(name)
    assert "schema" in str(reports.turn_or_problem(name))
    assert reports.turn_or_problem("0" * 32) is None
    reader.close()


def test_the_turn_that_established_a_claim_is_found_though_it_is_not_shown(tmp_path: Path) -> None:
    reader = ReportReader(seeded.write(tmp_path / "reports.sqlite", *seeded.talk()))
    reports = ScopedReports(reader, THIS_MACHINE)
    turns = reports.conversation("harbour-talk").turns
    small = next(one for turn in turns for one in turn.report.outcomes if "nine metres" in one.claim.text)
    first = next(turn.report for turn in turns if turn.report.turn_index == 1)
    assert sources_of(reports, "harbour-talk", (), small).turns == {first.turn_key: (first.id, 1)}
    assert sources_of(reports, None, (), small).turns == {}
    reader.close()
