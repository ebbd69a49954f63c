"""Trends, Policy lab and Runs in a real browser, on a week of traffic: widths, themes, axe, scripts that must stay text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard import replays, seeded, weeks
from tests.dashboard.browser import Served, each_look, faults, serving, too_wide
from tests.dashboard.pages.conftest import OpenPage
from tests.dashboard.seeded import SCRIPT

RUNS = "/runs?first=old.jsonl&second=new.jsonl"
LAB = "/lab?a=balanced&b=balanced&b.contradicted=BLOCK@0.8"


@pytest.fixture(scope="module")
def served(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard with a week of traffic, a hostile turn, two replays and people's labels."""
    folder = tmp_path_factory.mktemp("figures")
    turns = [*((report, None) for report in weeks.traffic()), seeded.hostile()]
    url = seeded.write(folder / "reports.sqlite", *turns)
    runs, labels = replays.write(folder / "runs"), replays.write_labels(folder / "labels.jsonl")
    with serving("--reports", url, "--runs", str(runs), "--labels", str(labels)) as dashboard:
        yield dashboard


@pytest.fixture(scope="module")
def cookies(served: Served, browser: Browser) -> Any:
    """What its link was exchanged for."""
    return served.cookies(browser)


@pytest.mark.parametrize("path", ["/trends?hours=720", LAB, RUNS])
def test_pages_of_figures_can_be_read_by_everybody(opened: OpenPage, path: str) -> None:
    page = opened(path)
    for _ in each_look(page):
        expect(page.locator("h2").first).to_be_visible()
        assert faults(page) == []
        assert too_wide(page) == 0
        assert_untouched(page)


def test_trends_has_a_table_beneath_each_chart(opened: OpenPage) -> None:
    page = opened("/trends?hours=168")
    expect(page.locator("canvas, svg.marks").first).to_be_visible()
    summary = page.locator("summary", has_text="The figures as a table").first
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".figures table").first).to_be_visible()
    expect(page.get_by_text("What changed")).to_be_visible()
    expect(page.get_by_role("heading", name="Reliability")).to_be_visible()
    expect(page.get_by_role("heading", name="Most contradicted")).to_be_visible()
    expect(page.get_by_text("Error <img src=x onerror=").first).to_be_visible()
    assert_untouched(page)


def test_moving_a_threshold_changes_the_turns(opened: OpenPage) -> None:
    page = opened(LAB)
    expect(page.get_by_text("turns that change: 0")).to_be_visible()
    slider = page.get_by_role("slider", name="From a confidence of").first
    slider.focus()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    expect(page.locator(".examples > li").first).to_be_visible()
    page.wait_for_url("**b.contradicted=BLOCK%400.*")
    expect(page.locator(".examples .said").first).to_have_attribute("href", re.compile(r"conversation\?turn="))


def test_a_cell_of_the_matrix_narrows_the_turns_and_leads_to_one(opened: OpenPage) -> None:
    page = opened("/lab?a=balanced&b=strict")
    cell = page.locator("button.cell").first
    count = int((cell.text_content() or "0").replace(",", ""))
    cell.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"turns of this cell: {count}")).to_be_visible()
    assert "pair=" in page.url
    page.locator(".examples .said").first.click()
    expect(page.get_by_role("heading", name="Conversation")).to_be_visible()


def test_scripts_in_runs_stay_text(opened: OpenPage) -> None:
    page = opened(RUNS)
    row = page.locator(".examples > li", has_text=SCRIPT).first
    expect(row).to_be_visible()
    row.locator("summary").click()
    expect(row.get_by_text(f"Reason {SCRIPT}").first).to_be_visible()
    assert_untouched(page)


@pytest.mark.parametrize(("path", "width"), [(LAB, 1280), (LAB, 700), (RUNS, 1280), (RUNS, 700)])
def test_tables_of_labels_and_shares_are_seen_whole(opened: OpenPage, path: str, width: int) -> None:
    page = opened(path, width=width)
    expect(page.locator(".lab .figures").first).to_be_visible()
    hidden = page.locator(".lab > section").evaluate_all(
        "all => all.flatMap(one => [one, ...one.querySelectorAll('.figures, .versus')])"
        ".filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    )
    assert hidden == []


def test_names_of_thresholds_are_seen_whole(opened: OpenPage) -> None:
    page = opened("/lab?b=strict&b.flag=0.3", width=700)
    label = page.get_by_text("Flag the turn from a risk of …").last
    expect(label).to_be_visible()
    cut = "node => { while (node.tagName != 'LABEL' && node.scrollWidth <= node.clientWidth) node = node.parentElement;"
    assert label.evaluate(f"{cut} return node.tagName; }}") == "LABEL"


def test_runs_of_other_logs_are_not_compared(opened: OpenPage) -> None:
    page = opened("/runs?first=old.jsonl&second=apart.jsonl")
    expect(page.get_by_text("no turn in common")).to_be_visible()


def assert_untouched(page: Page) -> None:
    """No script ran, and nothing of the text became an element."""
    assert page.title() != "owned"
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("a[href^=javascript]").count() == 0
