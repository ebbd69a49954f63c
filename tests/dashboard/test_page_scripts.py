"""Trends, Policy lab and Runs as scripts: run without a browser, moved and read again."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.dashboard import replays, weeks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("scripts")
    weeks.write(found / "reports.sqlite")
    replays.write(found / "runs")
    replays.write_labels(found / "labels.jsonl")
    return found


def show(path: str, folder: str) -> None:
    """One page on one database; Streamlit runs this text by itself."""
    from pathlib import Path as Folder

    from vista_guard.dashboard.access import THIS_MACHINE
    from vista_guard.dashboard.page import Desk, Words
    from vista_guard.dashboard.registry import all_pages
    from vista_guard.dashboard.scoped import ScopedReports
    from vista_guard.dashboard.server import Material
    from vista_guard.dashboard.settings import DashboardSettings
    from vista_guard.stores.reports import ReportReader
    from vista_guard.stores.reviews.queue import Reviews
    from vista_guard.stores.reviews.queue import words as decided

    here = Folder(folder)
    labels = here / "labels.jsonl"
    reports = ScopedReports(ReportReader(f"sqlite:///{here / 'reports.sqlite'}"), THIS_MACHINE)
    material = Material((here / "runs",) if (here / "runs").is_dir() else ())
    database = f"sqlite:///{here / 'reports.sqlite'}"
    reviews = Reviews(database)
    words = Words(labels if labels.is_file() else None, lambda: decided(reviews))
    pages = {info.path: info.show for info in all_pages()}
    pages[path](Desk(reports, THIS_MACHINE, DashboardSettings(), reviews, material, words))


def script(path: str, folder: Path, **query: str) -> AppTest:
    """The page, run once with these parameters of its address."""
    test = AppTest.from_function(show, default_timeout=120, kwargs={"path": path, "folder": str(folder)})
    for name, value in query.items():
        test.query_params[name.replace("__", ".")] = value
    return test.run()


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("trends", {}),
        ("trends", {"hours": "168", "label": "VERIFIED", "evidence_missing": "1"}),
        ("trends", {"hours": "1", "tenant": "nobody"}),
        ("lab", {}),
        ("lab", {"a": "recorded", "b": "balanced", "b__contradicted": "BLOCK@0.6", "pair": "FLAG-BLOCK"}),
        ("lab", {"action": "REPAIR"}),
        ("lab", {"show": "99999"}),
        ("lab", {"a": "monitor", "a__contradicted": "BLOCK@0.5"}),
        ("runs", {}),
        ("runs", {"first": "new.jsonl", "second": "old.jsonl", "show": "40"}),
        ("runs", {"first": "new.jsonl", "second": "old.jsonl", "show": "9" * 5000}),
        ("runs", {"first": "old.jsonl", "second": "apart.jsonl"}),
        ("runs", {"first": "old.jsonl", "second": "old.jsonl"}),
    ],
)
def test_pages_run(path: str, query: dict[str, str], folder: Path) -> None:
    test = script(path, folder, **query)
    assert not test.exception
    assert [one.value for one in test.title] == [{"trends": "Trends", "lab": "Policy lab", "runs": "Runs"}[path]]


@pytest.mark.parametrize("path", ["trends", "lab", "runs"])
def test_pages_without_anything_to_show(path: str, tmp_path: Path) -> None:
    weeks.write(tmp_path / "reports.sqlite", turns=1)  # a week ago
    assert not script(path, tmp_path, hours="1").exception


def test_a_moved_threshold_stands_in_the_address_and_in_the_lines_to_copy(folder: Path) -> None:
    test = script("lab", folder, a="balanced", b="balanced")
    assert test.code[0].value == test.code[1].value == 'policy = "balanced"'
    test.slider(key="lab-b-contradicted-at").set_value(0.55).run()
    assert test.query_params["b.contradicted"] == "BLOCK@0.55"
    assert "min_confidence = 0.55" in test.code[1].value
    test.selectbox(key="lab-b-unchecked").set_value("BLOCK").run()
    test.checkbox(key="lab-b-flag-own").set_value(True).run()
    assert (test.query_params["b.unchecked"], test.query_params["b.flag"]) == ("BLOCK", "0.5")
    test.button(key="lab-b-reset").click().run()
    assert test.code[1].value == 'policy = "balanced"'
    assert "b.contradicted" not in test.query_params


def test_another_preset_takes_the_place_of_own_thresholds(folder: Path) -> None:
    test = script("lab", folder, b="balanced", b__contradicted="BLOCK@0.55")
    test.selectbox(key="lab-b").set_value("monitor").run()
    assert test.code[1].value == 'policy = "monitor"'
    assert test.selectbox(key="lab-b-contradicted").options == ["allowed", "flagged"]


def test_days_and_minutes_are_chosen_in_the_address(folder: Path) -> None:
    test = script("trends", folder)
    [days] = test.date_input
    days.set_value((date(2001, 1, 1), date(2001, 1, 2))).run()
    assert (test.query_params["since"], test.query_params["until"]) == ("2001-01-01", "2001-01-02")
    assert not test.exception
    test = script("trends", folder, since="2001-01-01", until="2001-01-02")
    assert test.date_input[0].value == (date(2001, 1, 1), date(2001, 1, 2))
    test.button[0].click().run()
    assert "since" not in test.query_params
    assert not test.date_input[0].value


@pytest.mark.parametrize("query", [{"since": "0001-01-01"}, {"since": "1999-12-31"}, {"until": "9999-12-31"}])
def test_a_day_that_nobody_can_choose_filters_nothing(folder: Path, query: dict[str, str]) -> None:
    test = script("trends", folder, **query)
    assert not test.exception
    assert not test.date_input[0].value
    assert "Filters" in [popover.proto.popover.label for popover in test.get("popover")]


def test_the_last_day_that_can_be_chosen(folder: Path) -> None:
    test = script("trends", folder, since="2000-01-01", until="2099-12-31")
    assert not test.exception
    assert test.date_input[0].value == (date(2000, 1, 1), date(2099, 12, 31))


def test_runs_are_chosen_in_the_address(folder: Path) -> None:
    test = script("runs", folder)
    test.selectbox(key="runs-second").set_value("old.jsonl").run()
    assert test.query_params["second"] == "old.jsonl"
