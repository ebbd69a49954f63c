"""Trends: roll-ups as lines over time, and what is told of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.dashboard import seeded, weeks
from tests.raising import raises
from vista_guard.dashboard import series
from vista_guard.dashboard.access import THIS_MACHINE, Viewer
from vista_guard.dashboard.elements import charts
from vista_guard.dashboard.elements.address import Filters
from vista_guard.dashboard.page import Words
from vista_guard.dashboard.scoped import ScopedReports
from vista_guard.dashboard.trends import BEGINNING, _time, overview, read_rollup, reasons
from vista_guard.errors import InputError
from vista_guard.stores.reports import Maker, ReportReader, Rollup, TurnCount, UncheckedCount
from vista_guard.stores.reports.rollups import reason_of
from vista_guard.stores.reviews.queue import Word
from vista_guard.types import Action

START = datetime(2026, 11, 2, tzinfo=UTC)


def turns(hour: int, count: int = 1, **more: object) -> TurnCount:
    given: dict[str, object] = {
        "at": START + timedelta(hours=hour),
        "tenant": "",
        "judge": "embedded 1",
        "policy": "balanced",
        "rules": "",
        "gate": "turn",
        "action": "ALLOW",
        "turns": count,
        "evidence_missing": 0,
        "scored": count,
        "score_sum": 0.5 * count,
        "milliseconds": 7.0 * count,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost": 0.0,
        "unpriced_calls": 0,
        "latency": (0, count, *[0] * 11),
        **more,
    }
    return TurnCount(**given)  # type: ignore[arg-type]  # passed through as given


def rollup(*rows: TurnCount) -> Rollup:
    return Rollup(rows, (), ())


def makers(*rows: TurnCount) -> list[Maker]:
    return [Maker(row.at, row.tenant, row.judge, row.policy, row.rules) for row in rows]


def test_a_change_is_what_was_not_there_before() -> None:
    rows = [
        turns(0),
        turns(1, judge="embedded 2"),
        turns(2, judge="embedded 2", policy="strict"),
        turns(3, policy="strict"),
    ]
    found = series.changes(makers(*rows), "hour")
    assert [(one.at.hour, one.what, one.name) for one in found] == [(1, "judge", "embedded 2"), (2, "policy", "strict")]


def test_what_comes_back_after_a_day_is_a_change_again() -> None:
    rows = [turns(0), *(turns(hour, judge="embedded 2") for hour in range(1, 30)), turns(30)]
    assert [one.name for one in series.changes(makers(*rows), "hour")] == ["embedded 2", "embedded 1"]


def test_one_tenant_does_not_hide_anothers_change() -> None:
    rows = [turns(0, tenant="a"), turns(0, tenant="b", policy="strict"), turns(5, tenant="a", policy="strict")]
    assert [(one.tenant, one.name) for one in series.changes(makers(*rows), "hour")] == [("a", "strict")]


def test_rules_of_one_name_are_told_apart() -> None:
    rows = [turns(0, rules="a" * 16), turns(1, rules="b" * 16)]
    assert [one.name for one in series.changes(makers(*rows), "hour")] == ["balanced (bbbbbbbb)"]


def test_sums_and_lines() -> None:
    found = rollup(
        turns(0, 3), turns(0, 1, action="BLOCK", scored=0, score_sum=0.0, evidence_missing=1), turns(1, 2, cost=0.5)
    )
    whole = series.sums(found)
    assert (whole.turns, whole.share(Action.BLOCK), whole.score, whole.evidence_missing) == (6, 1 / 6, 0.5, 1)
    assert [(point.at.hour, point.name, point.value) for point in series.actions(found, "hour")] == [
        (0, "ALLOW", 3),
        (0, "BLOCK", 1),
        (1, "ALLOW", 2),
    ]
    assert [(value.name, value.value) for value in series.score(found)] == [
        ("score", 0.5),
        ("no evidence", 0.25),
        ("score", 0.5),
        ("no evidence", 0.0),
    ]
    assert [point.value for point in series.cost(found, "hour")] == [0.5]
    assert series.tokens(found, "hour") == []
    assert [value.name for value in series.latency(found)][:3] == ["p50", "p95", "p99"]
    assert not series.slowest_known(series.latency(found))
    assert series.slowest_known(series.latency(rollup(turns(0, latency=(*[0] * 12, 4)))))


@pytest.mark.parametrize(
    ("hours", "asked", "step"),
    [
        (2, None, "minute"),
        (2, 24, "minute"),
        (30, None, "hour"),
        (30, 6, "minute"),
        (30, 168, "hour"),
        (24 * 20, None, "day"),
        (24 * 20, 168, "hour"),
    ],
)
def test_buckets_are_as_long_as_the_span_of_the_data_wants(
    hours: float, asked: int | None, step: str, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    turns = [(report, None) for report in weeks.traffic(40, hours, now=now)]
    reader = ReportReader(seeded.write(tmp_path / "reports.sqlite", *turns))
    start = BEGINNING if asked is None else now - timedelta(hours=asked)
    by, found = read_rollup(ScopedReports(reader, THIS_MACHINE), Filters(), start, now + timedelta(seconds=1))
    assert by == step
    assert sum(row.turns for row in found.turns) > 0
    reader.close()


def test_reasons_are_added_up() -> None:
    rows = tuple(
        UncheckedCount(START, "", "embedded 1", reason, count)
        for reason, count in (("late", 2), ("odd", 3), ("late", 4))
    )
    assert series.reasons(Rollup((), (), rows)) == [("late", 6), ("odd", 3)]


def test_a_reason_that_was_cut_ends_in_an_ellipsis() -> None:
    long, short = reason_of("no answer " * 20), reason_of("no answer: it came late")
    rows = tuple(UncheckedCount(START, "", "embedded 1", reason, 1) for reason in (long, short))
    text = reasons(Rollup((), (), rows)).text()
    assert f"{long}…" in text
    assert f"{short}…" not in text


def test_the_last_day_ends_at_midnight_and_no_hour_of_the_next_is_counted() -> None:
    first, last = _time(Filters(since=date(2026, 11, 1), until=date(2026, 11, 2)), START + timedelta(days=5))
    assert (first, last) == (START - timedelta(days=1), START + timedelta(days=1))
    assert _time(Filters(hours=1), START) == (START - timedelta(hours=1), START + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([18.0, 97.0], [10, 20, 50, 100]),
        ([0.4, 1.0], [0.1, 0.2, 0.5, 1]),
        ([10.0], [10, 20, 50, 100]),
        ([], [1, 2, 5, 10]),
    ],
)
def test_the_axis_of_durations_names_round_figures_alone(values: list[float], named: list[float]) -> None:
    found = charts.log_axis(values)
    assert found["axis"].to_dict()["values"] == pytest.approx(named)
    assert found["scale"].to_dict()["domain"] == pytest.approx([named[0], named[-1]])


def test_all_charts_tell_times_as_their_tables_do() -> None:
    bars = charts.stacked([(START, START + timedelta(hours=1), "ALLOW", 3)], ["ALLOW"], "turns")
    for chart in (bars, charts.lines([(START, "score", 0.5)], ["score"], "share")):
        assert "%H:%M" in chart.to_dict()["encoding"]["x"]["axis"]["labelExpr"]


def test_headings_of_numbers_stand_above_them() -> None:
    drawn = charts.table(["from", "score", "what"], [["a", 0.5, "b"], ["c", 1.0, "d"]], label="x").wire()
    [head, _] = drawn["n"][0]["n"]
    assert [cell.get("c", "") for cell in head["n"][0]["n"]] == ["", "number", ""]


def test_the_figures_on_top() -> None:
    now = series.sums(rollup(turns(0, 3, cost=0.25, unpriced_calls=1)))
    assert "before 2" in overview(now, series.sums(rollup(turns(0, 2)))).text()
    assert "$0.25 +" in overview(now, None).text()
    assert "before" not in overview(now, series.sums(rollup())).text()
    assert "$0.0012" in overview(series.sums(rollup(turns(0, cost=0.0012))), None).text()
    assert "$0.00" in overview(series.sums(rollup(turns(0))), None).text()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ReportReader:
    return ReportReader(weeks.write(tmp_path_factory.mktemp("weeks") / "reports.sqlite"))


def test_roll_ups_of_a_week(reader: ReportReader) -> None:
    reports, now = ScopedReports(reader, THIS_MACHINE), datetime.now(UTC)
    by_hour = reports.rollup(Filters(), now - timedelta(hours=200), now, "hour")
    by_day = reports.rollup(Filters(), now - timedelta(hours=200), now, "day")
    assert series.sums(by_hour).turns == series.sums(by_day).turns == 240
    changed = series.changes(reports.makers(Filters(), now - timedelta(hours=200), now), "hour")
    assert {one.what for one in changed} == {"judge", "policy"}
    theirs = ScopedReports(reader, Viewer("x", ("museum",), frozenset()))
    assert series.sums(theirs.rollup(Filters(), now - timedelta(hours=200), now)).turns == 120


def test_reliability_is_of_the_claims_that_people_spoke_of(reader: ReportReader, tmp_path: Path) -> None:
    reports = ScopedReports(reader, THIS_MACHINE)
    (row, *_) = [one for one in reports.findings(Filters(), "visit-3") if one.confidence is not None]
    fine = row.label in ("VERIFIED", "OUT_OF_SCOPE", "ABSTENTION")
    labels = tmp_path / "labels.jsonl"
    line = (
        f'{{"conversation_id": "visit-3", "turn_index": {row.turn_index}, "claim_id": "{row.claim_id}", "fine": %s}}\n'
    )
    labels.write_text(line % str(fine).lower())
    assert Words(labels).judged(reports, Filters()) == [(row.confidence, True)]
    labels.write_text(line % str(not fine).lower() + " ")
    assert Words(labels).judged(reports, Filters()) == [(row.confidence, False)]
    assert Words(None).judged(reports, Filters()) == []
    with raises(InputError, "gone.jsonl"):
        Words(tmp_path / "gone.jsonl").judged(reports, Filters())
    stranger = ScopedReports(reader, Viewer("x", ("nobody",), frozenset()))
    assert Words(labels).judged(stranger, Filters()) == []
    # What annotators settled on in the database counts too, and outweighs the file.
    settled = {row.report_id: Word(row.report_id, fine, {row.claim_id: fine})}
    assert Words(labels, lambda: settled).judged(reports, Filters()) == [(row.confidence, True)]
    assert Words(None, lambda: settled).judged(reports, Filters()) == [(row.confidence, True)]
    assert Words(None, lambda: settled).judged(stranger, Filters()) == []
