"""The real dashboard in the real browser: the command in a process of its own, opened in Chromium."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.pace import PATIENCE_S

WAIT_MS = 60_000
"""Patience: the machine that runs the tests may have more to do."""


@dataclass
class Served:
    """A dashboard that runs. `told` are the lines that it printed."""

    process: subprocess.Popen[str]
    told: list[str]
    shared: BrowserContext | None = None

    @property
    def link(self) -> str:
        """The one-time link that is good now."""
        return str(re.findall(r"http://[^\s,]+", "\n".join(self.told))[-1])

    @property
    def address(self) -> str:
        """Where it is, without the key."""
        return self.link.partition("?")[0].rstrip("/")

    def cookies(self, browser: Browser) -> Any:
        """What the link is exchanged for."""
        context = browser.new_context()
        context.new_page().goto(self.link, wait_until="commit")
        found = context.cookies()
        context.close()
        return found

    def context(self, browser: Browser, cookies: Any) -> BrowserContext:
        """One for all pages of one reader: Streamlit's own files, megabytes of them, are read once."""
        if self.shared is None:
            self.shared = browser.new_context()
            self.shared.add_cookies(cookies)
        return self.shared

    def open(self, page: Page, path: str) -> None:
        """Opens a path, and waits until the page has drawn something."""
        page.goto(self.address + path, timeout=WAIT_MS)
        page.locator(".vg").first.wait_for(timeout=WAIT_MS)
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=WAIT_MS)


@contextmanager
def serving(*arguments: str, program: str = "vista_guard", **environment: str) -> Iterator[Served]:
    """`vista-guard dashboard` with these arguments, on a free port, until the block ends. `program` stands for the command."""
    command = [sys.executable, "-m", program, "dashboard", "--port", "0", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    told: list[str] = []
    assert process.stderr is not None
    first = process.stderr.readline()
    told.append(first)
    reader = Thread(target=lambda lines: told.extend(lines), args=(process.stderr,), daemon=True)
    reader.start()
    try:
        assert "http://" in first, first
        yield Served(process, told)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        reader.join(PATIENCE_S)
        process.stderr.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The installed Chromium. Without it the test is skipped, or fails where all must be tested."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        reason = "no Chromium is installed: apt-get install chromium"
        if os.environ.get("VISTA_GUARD_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def each_look(page: Page) -> Iterator[int]:
    """Shows the page wide and light, then narrow and dark, without loading it anew; the widths. Neither changes the other."""
    for width, theme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]  # a literal
        page.wait_for_function(f"{_BRIGHTNESS} {'>' if theme == 'light' else '<'} 128", timeout=WAIT_MS)
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=WAIT_MS)
        yield width


def too_wide(page: Page) -> int:
    """Pixels that lie to the right of what the window shows."""
    places = "[document.documentElement, document.querySelector('[data-testid=stMain]')]"
    return int(page.evaluate(f"Math.max(...{places}.map(place => place.scrollWidth - place.clientWidth))"))


_BRIGHTNESS = "+getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor.match(/[0-9]+/)[0]"


def faults(page: Page) -> list[str]:
    """What axe finds serious or critical on the page, each with where it is."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']} at {[node['target'] for node in one['nodes']][:3]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


SNOOP = """async ([address, socket]) => {
    const got = [];
    const attempts = {
        socket: () => new Promise((done, fail) => {
            const opened = new WebSocket(socket, ["streamlit"]);
            opened.onopen = () => done("a socket"); opened.onerror = fail;
        }),
        page: () => fetch(address, {credentials: "include"}).then(answer => answer.text()),
        config: () => fetch(address + "/_stcore/host-config", {credentials: "include"}).then(answer => answer.text()),
        upload: () => fetch(address + "/_stcore/upload_file/a/b", {method: "PUT", credentials: "include"}).then(a => a.text()),
        script: () => new Promise((done, fail) => {
            const tag = document.createElement("script");
            tag.src = address + "/_stcore/host-config"; tag.onload = () => done("a script"); tag.onerror = fail;
            document.head.append(tag);
        }),
        frame: () => new Promise((done, fail) => {
            const frame = document.createElement("iframe");
            frame.src = address;
            frame.onload = () => frame.contentWindow.length || frame.contentWindow.name ? done("a frame") : fail();
            document.body.append(frame); setTimeout(fail, 5000);
        }),
    };
    for (const [name, attempt] of Object.entries(attempts))
        await attempt().then(text => got.push(`${name}: ${text}`), () => {});
    return got;
}"""
"""A script that asks the dashboard for all it can, in the name of the reader whose browser shows the page."""


def stolen(context: BrowserContext, address: str, name: str = "127.0.0.1") -> list[str]:
    """The answers that a page on another port of this machine gets from the dashboard at `address`."""

    class Blank(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>another program</title><body></body>")

        def log_message(self, *_: object) -> None:
            """Nothing on the screen."""

    with HTTPServer(("127.0.0.1", 0), Blank) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        page = context.new_page()
        try:
            page.goto(f"http://{name}:{server.server_port}/")
            return list(page.evaluate(SNOOP, [address, address.replace("http", "ws", 1) + "/_stcore/stream"]))
        finally:
            page.close()
            server.shutdown()
            thread.join()


def url_of(folder: Path) -> str:
    """The URL of the reports in a folder."""
    return f"sqlite:///{folder / 'reports.sqlite'}"
