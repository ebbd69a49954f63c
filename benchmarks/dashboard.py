"""The dashboard on many reports: how long a page and a filter take, in the browser and in what the page reads.

    python -m benchmarks.dashboard --count 80000      # turns, eight to a conversation
    python -m benchmarks.dashboard --url sqlite:///reports.sqlite     # a database that is there already
    python -m benchmarks.dashboard --live 20     # how late Live shows a turn while so many a second are stored

In the browser: from the request to the rows on the screen, in a browser that has the dashboard's own files, as every visit but
the first; and the processor time that the dashboard's process takes for that, which other programs disturb less. Needs an
installed Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psutil  # type: ignore[import-untyped,import-not-found,unused-ignore]  # the bench extra brings it, dev does not

from benchmarks.measure import timed
from benchmarks.reports import fill, reports
from tools.pictures import serving
from vista_guard.dashboard.access import THIS_MACHINE
from vista_guard.dashboard.elements.address import Filters
from vista_guard.dashboard.live import Seen, now_and_then
from vista_guard.dashboard.scoped import ScopedReports
from vista_guard.stores.reports import ReportReader
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.filters import utc
from vista_guard.stores.reports.store import insert
from vista_guard.types import Action

if TYPE_CHECKING:
    from playwright.sync_api import Page

TIMES = 7
WAIT_MS = 120_000
MARKED = 20
"""Turns whose way to the screen is timed."""


def main() -> None:
    """Prints the figures as JSON: medians, in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--url")
    parser.add_argument("--live", type=int, metavar="N", help="store N turns a second, and time when Live shows them")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.url or filled_database(Path(folder), arguments.count)
        figures = (
            {"live": delays(url, arguments.live)}
            if arguments.live
            else {"read": store_times(url), **browser_times(url)}
        )
        print(json.dumps(figures, indent=2))


def filled_database(folder: Path, count: int) -> str:
    """A database with so many made-up reports."""
    url = f"sqlite:///{folder / 'reports.sqlite'}"
    database = Database(url)
    fill(database, count)
    database.close()
    return url


def store_times(url: str) -> dict[str, float]:
    """Times the pages' queries of the store, with the figures of Live."""
    reader = ReportReader(url)
    scoped = ScopedReports(reader, THIS_MACHINE)
    now = utc(scoped.page(Filters(), limit=1).rows[0].created_at)

    def look(filters: Filters) -> Callable[[], Any]:
        def work() -> None:
            Seen((filters, False, "time")).look(scoped, now)
            now_and_then(scoped, filters, now)

        return work

    queries = {
        "Live": look(Filters()),
        "Live, blocked": look(Filters(action=Action.BLOCK)),
        "Live, one tenant, contradicted": look(Filters(tenant="zoo", label="CONTRADICTED")),
        "Conversations": lambda: scoped.conversations(Filters()),
        "Conversations, riskiest": lambda: scoped.conversations(Filters(), order="risk"),
        "Conversations, contradicted": lambda: scoped.conversations(Filters(label="CONTRADICTED")),
        "choices of the filters": lambda: scoped.choices(),
    }
    figures = {name: median(work) for name, work in queries.items()}
    reader.close()
    return figures


def browser_times(url: str) -> dict[str, dict[str, float]]:
    """Times the pages in a browser, and in the dashboard's process."""
    with browsing(url) as (page, address, process):

        def opening(path: str, row: str) -> Callable[[], Any]:
            def work() -> None:
                page.goto(address + path, timeout=WAIT_MS, wait_until="commit")
                page.locator(row).first.wait_for(timeout=WAIT_MS)

            return work

        def filtering() -> None:
            # The filter of the page that is open: pressed, and waited for until the rows are those that were asked for.
            attention = page.get_by_text("Attention only")
            attention.click()
            page.locator(".turn-row:not(.attention)").first.wait_for(state="detached", timeout=WAIT_MS)

        def searching(words: str) -> Callable[[], Any]:
            def work() -> None:
                page.get_by_label("Find conversations").fill(words)
                page.keyboard.press("Enter")
                page.wait_for_url("**words=*", timeout=WAIT_MS)
                page.locator(DONE).wait_for(timeout=WAIT_MS)

            return work

        rested = opening("/conversation", ".talks li")
        works = {
            "Live": (opening("/", ".turn-row"), None),
            "Conversations": (rested, None),
            "Conversations, riskiest": (opening("/conversation?sort=risk", ".talks li"), None),
            "Conversations, words that many have": (searching("ferry selma"), rested),
            "Conversations, words that one has": (searching("17 selma"), rested),
            "Conversations, words that none has": (searching("submarine"), rested),
            "Live, filtered": (filtering, opening("/", ".turn-row:not(.attention)")),
        }
        figures = {name: paired(page, process, *work) for name, work in works.items()}
    walls, processor = ({name: pair[place] for name, pair in figures.items()} for place in (0, 1))
    return {"browser": walls, "processor time of the dashboard": processor}


DONE = "[data-testid=stApp][data-test-script-state=notRunning]"


def paired(
    page: Page, process: psutil.Process, work: Callable[[], Any], before: Callable[[], Any] | None
) -> tuple[float, float]:
    """Medians of the time that the work takes, and of the processor time that the process takes for it until the page rests."""
    walls, processor = [], []
    for run in range(TIMES + 1):
        if before is not None:
            before()
        page.locator(DONE).wait_for(timeout=WAIT_MS)
        page.wait_for_timeout(1000)
        began = used(process)
        wall = timed(work)
        page.locator(DONE).wait_for(timeout=WAIT_MS)
        if run:  # the first warms up
            walls.append(wall)
            processor.append(1000 * (used(process) - began))
    return round(statistics.median(walls), 1), round(statistics.median(processor), 1)


def used(process: psutil.Process) -> float:
    """Processor time of a process so far, in seconds."""
    times = process.cpu_times()
    return float(times.user + times.system)


def delays(url: str, rate: int) -> dict[str, float]:
    """Times from storing a turn to its row on the screen, while `rate` turns a second are stored."""
    stored: dict[str, float] = {}
    stop = Event()
    with browsing(url) as (page, _, _):
        writer = Thread(target=store, args=(url, rate, stored, stop))
        began = perf_counter()
        writer.start()
        times = []
        try:
            for number in range(0, MARKED * rate, rate):  # a turn of each second
                name = f"now {number}"
                page.locator(".turn-row", has_text=f"{name} ").first.wait_for(timeout=WAIT_MS, state="attached")
                times.append(1000 * (perf_counter() - stored[name]))
        finally:
            stop.set()
            writer.join()
    return {
        "turns a second": round(len(stored) / (perf_counter() - began), 1),
        "median, ms": round(statistics.median(times), 1),
        "longest, ms": round(max(times), 1),
    }


def store(url: str, rate: int, stored: dict[str, float], stop: Event) -> None:
    """Stores `rate` turns a second, each in a conversation of its own, and notes when."""
    database, began = Database(url), perf_counter()
    for number, report in enumerate(reports(1_000_000)):
        if stop.wait(max(0.0, began + number / rate - perf_counter())):
            break
        name = f"now {number}"
        stored_report = report.model_copy(
            update={"conversation_id": f"{name} ", "created_at": datetime.now(UTC), "id": uuid4().hex}
        )
        database.write("store", partial(insert, report=stored_report, texts=None, days=None))
        stored[name] = perf_counter()
    database.close()


@contextmanager
def browsing(url: str) -> Iterator[tuple[Page, str, psutil.Process]]:
    """The dashboard on these reports in a browser: its page Live, open, its address, and its process."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("the benchmark needs a Chromium: apt-get install chromium")
    with serving(url) as (link, number), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(link, timeout=WAIT_MS)
        page.locator(".turn-row").first.wait_for(timeout=WAIT_MS)
        yield page, link.partition("/?")[0], psutil.Process(number)
        browser.close()


def median(work: Callable[[], Any]) -> float:
    """Milliseconds, the middle of some runs after one that does not count."""
    work()
    return round(statistics.median(timed(work) for _ in range(TIMES)), 1)


if __name__ == "__main__":
    main()
