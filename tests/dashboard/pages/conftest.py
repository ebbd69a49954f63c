"""One browser and one dashboard on seeded reports for all tests of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard import seeded
from tests.dashboard.browser import WAIT_MS, Served, chromium, serving

OpenPage = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, once."""
    expect.set_options(timeout=WAIT_MS)
    with chromium() as found:
        yield found


@pytest.fixture(scope="package")
def served(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard with the talk of the harbour and the hostile turn."""
    url = seeded.write(tmp_path_factory.mktemp("reports") / "reports.sqlite", *seeded.talk(), seeded.hostile())
    settings = {
        "VISTA_GUARD_DASHBOARD__TRACE_URL": "http://localhost:6006/redirects/traces/{trace_id}",
        "VISTA_GUARD_ENVIRONMENT": "harbour master",
    }
    with serving("--reports", url, **settings) as dashboard:
        yield dashboard


@pytest.fixture(scope="package")
def cookies(served: Served, browser: Browser) -> Any:
    """What the first link was exchanged for."""
    return served.cookies(browser)


@pytest.fixture
def opened(served: Served, browser: Browser, cookies: Any) -> Iterator[OpenPage]:
    """Opens a path of the dashboard: `opened("/conversation", width=390, theme="dark")`."""
    pages = []

    def open_page(path: str, *, width: int = 1280, theme: Any = "light") -> Page:
        page = served.context(browser, cookies).new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.set_default_timeout(WAIT_MS)
        served.open(page, path)
        return page

    yield open_page
    for page in pages:
        page.close()
