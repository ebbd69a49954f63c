"""What goes wrong is a page or a message that says what to do."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, WebSocketRoute, expect

from tests.dashboard import seeded, slow
from tests.dashboard.browser import WAIT_MS, each_look, faults, serving, too_wide
from tests.raising import raises
from vista_guard import ConfigError, _aio
from vista_guard.dashboard.live import EVERY_S
from vista_guard.dashboard.server import Dashboard, database, run
from vista_guard.stores.reports import SqlReports
from vista_guard.types import PartFailure


def test_a_database_that_cannot_be_read_is_a_page_that_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    file, whole = tmp_path / "reports.sqlite", tmp_path / "whole.sqlite"
    seeded.write(whole, *seeded.talk())
    with serving("--reports", f"sqlite:///{file}?timeout=1") as dashboard:
        context = browser.new_context()
        context.add_cookies(dashboard.cookies(browser))
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)

        def says(text: str) -> None:
            dashboard.open(page, "/conversation")
            expect(page.get_by_role("alert").first).to_contain_text("The reports cannot be read")
            expect(page.get_by_role("alert").first).to_contain_text(text)

        for path in ("/", "/conversation", "/trends", "/review?as=ada"):
            dashboard.open(page, path)
            expect(page.get_by_text("No turns yet")).to_be_visible()
            expect(page.get_by_text(f"VISTA_GUARD_REPORTS=sqlite:///{file} ")).to_be_visible()
            expect(page.get_by_role("alert")).to_have_count(0)
        file.write_bytes(b"this is no database" * 100)
        says("file is not a database")
        shutil.copy(whole, file)
        with sqlite3.connect(file) as connection:
            connection.execute("update vista_guard_schema set version_num = '9999'")
        connection.close()
        says("9999")
        shutil.copy(whole, file)
        with closing(sqlite3.connect(file)) as other:
            other.execute("pragma locking_mode = exclusive")
            other.execute("begin exclusive")
            says("database is locked")
        dashboard.open(page, "/conversation")
        expect(page.get_by_text("harbour-talk").first).to_be_visible()
        context.close()


def test_the_first_turn_takes_the_place_of_the_first_steps(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"
    with serving("--reports", f"sqlite:///{file}") as dashboard, browser.new_context() as context:
        context.add_cookies(dashboard.cookies(browser))
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        dashboard.open(page, "/")
        expect(page.get_by_text("No turns yet")).to_be_visible()
        assert faults(page) == []
        seeded.write(file, *seeded.talk())
        expect(page.locator(".turn-row")).to_have_count(5)
        expect(page.get_by_text("No turns yet")).to_have_count(0)


def test_a_database_that_may_only_be_read_is_shown(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"
    seeded.write(file, *seeded.talk())
    with serving("--reports", f"sqlite:///file:{file}?mode=ro&uri=true") as dashboard:
        context = browser.new_context()
        context.add_cookies(dashboard.cookies(browser))
        page = context.new_page()
        for path in ("/", "/conversation", "/review", "/annotate"):
            dashboard.open(page, path)
            expect(page.get_by_role("alert")).to_have_count(0)
        context.close()


def test_without_the_link_the_browser_is_told_where_it_is(browser: Browser, tmp_path: Path) -> None:
    with serving("--data-dir", str(tmp_path)) as dashboard:
        page = browser.new_page()
        page.goto(dashboard.address + "/conversation")
        expect(page.get_by_text("This dashboard is opened with the link that it printed")).to_be_visible()
        page.close()


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with raises(ConfigError, "127.0.0.1", "port", port):
            run({"port": port})


@pytest.mark.parametrize("url", ["nonsense", "sqlite:///r.sqlite?timeout=soon"])
def test_an_address_of_no_database(url: str) -> None:
    with raises(ConfigError, "reports", "URL", "SQLAlchemy"):
        run({"port": 0}, reports=url)


def test_the_script_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dashboard, "_current", None)
    with raises(ConfigError, "dashboard"):
        Dashboard.current()


def test_where_the_reports_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert database(None, tmp_path) == f"sqlite:///{tmp_path / 'reports.sqlite'}"
    assert database("postgresql+psycopg://host/name", None) == "postgresql+psycopg://host/name"
    monkeypatch.setenv("VISTA_GUARD_REPORTS", "sqlite:////there.sqlite")
    assert database(None, None) == "sqlite:////there.sqlite"


def test_a_host_that_others_reach_is_refused_in_one_line() -> None:
    command = [sys.executable, "-m", "vista_guard", "dashboard", "--host", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: dashboard.host is '0.0.0.0', which other machines can reach")
    assert done.stderr.count("\n") == 1


def test_a_look_of_live_does_not_empty_the_page_that_it_was_left_for(browser: Browser, tmp_path: Path) -> None:
    """Between a press and the first word of the next page the browser asks once more for Live, and the database is slow."""
    late: list[float] = []

    def delayed(socket: WebSocketRoute) -> None:
        def back(message: Any) -> None:
            if late:
                time.sleep(late.pop())
            socket.send(message)

        server = socket.connect_to_server()
        socket.on_message(server.send)
        server.on_message(back)

    blocked, claim = f"a.said[href*='{3:032x}']", ".assistant.here mark.claim"
    url = seeded.write(tmp_path / "reports.sqlite", *seeded.talk())
    with serving("--reports", url, program="tests.dashboard.slow") as dashboard, browser.new_context() as context:
        context.add_cookies(dashboard.cookies(browser))
        page = context.new_page()
        page.route_web_socket("**/_stcore/stream", delayed)
        dashboard.open(page, "/")
        page.locator(blocked).click()
        late.append(EVERY_S + 0.5)
        expect(page.locator(claim)).to_be_visible()
        page.wait_for_timeout(1000 * (slow.SECONDS - EVERY_S))
        expect(page.locator(claim)).to_be_visible()
        assert page.url.endswith(f"/conversation?turn={3:032x}")
        page.go_back()
        expect(page.get_by_role("heading", name="Live")).to_be_visible()
        expect(page.locator(blocked)).to_be_visible()


def test_a_report_that_cannot_be_read_leads_back_to_its_conversation_and_to_the_queue(
    browser: Browser, tmp_path: Path
) -> None:
    url = seeded.write(tmp_path / "reports.sqlite", *seeded.talk())
    with closing(sqlite3.connect(tmp_path / "reports.sqlite")) as connection, connection:
        connection.execute("update vista_guard_reports set report = '{' where turn_index = 5")
    with serving("--reports", url) as dashboard, browser.new_context() as context:
        context.add_cookies(dashboard.cookies(browser))
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        dashboard.open(page, f"/review?as=ada&turn={5:032x}")
        expect(page.get_by_text("This turn cannot be shown")).to_be_visible()
        page.get_by_role("button", name="The queue").click()
        expect(page.get_by_text("This turn cannot be shown")).to_have_count(0)
        dashboard.open(page, f"/conversation?turn={5:032x}")
        expect(page.get_by_text("Read it with the version")).to_be_visible()
        page.get_by_role("button", name="Its conversation").click()
        expect(page.get_by_text("Some turns cannot be shown")).to_be_visible()
        expect(page.get_by_text("Tell me about the harbour.")).to_be_visible()


def test_what_broke_is_told_in_one_row_with_the_way_to_it(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"
    url = seeded.write(file, *seeded.talk())

    async def failing() -> None:
        store = SqlReports(url)
        for name in ("harbour-talk", "never stored", "harbour-talk"):
            await store.write_failure(PartFailure(part="upstream", kind="status", conversation_id=name))
        await store.write_failure(PartFailure(part="upstream", kind="connect"))
        await store.aclose()

    _aio.run(failing())
    with serving("--reports", url) as dashboard, browser.new_context(accept_downloads=True) as context:
        context.add_cookies(dashboard.cookies(browser))
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        dashboard.open(page, "/")
        page.locator(".tile", has_text="errors").get_by_role("link", name="4").click()
        rows = page.locator(".broken li")
        expect(rows).to_have_count(2)
        status = rows.filter(has_text="3 times")
        expect(status).to_contain_text("harbour-talk, never stored")
        for _ in each_look(page):
            assert faults(page) == []
            assert too_wide(page) == 0
        with page.expect_download() as download:
            page.get_by_test_id("stDownloadButton").get_by_role("button").click()
        assert download.value.path().read_text("utf-8").count("upstream") >= 4
        status.get_by_role("link", name="harbour-talk").click()
        expect(page.get_by_text("Tell me about the harbour.")).to_be_visible()
