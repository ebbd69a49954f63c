"""A dashboard with a queue and a batch to annotate, for one test alone: what its people do stays its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.dashboard import seeded
from tests.dashboard.browser import WAIT_MS, Served, serving
from vista_guard.stores.reviews.queue import Reviews
from vista_lab.annotate.batches import Batches

HARBOUR, BLOCKED, REPAIRED, PLAIN = (f"{number:032x}" for number in (1, 3, 5, 7))
STRANGE = "f" * 32
BATCH = "pilot"


@contextmanager
def people_at_work(folder: Path) -> Iterator[tuple[Served, str]]:
    """The dashboard and the URL of its reports: two turns are blocked, one is complained about, two are to be annotated."""
    url = seeded.write(folder / "reports.sqlite", *seeded.talk(), seeded.hostile())
    reviews, batches = Reviews(url), Batches(url)
    reviews.complain(STRANGE, seeded.HOSTILE, seeded.HOSTILE)
    batches.create_of_turns(BATCH, [HARBOUR, PLAIN], wanted=2, who="owner")
    batches.create_of_turns(f"odd {seeded.SCRIPT}", [STRANGE], wanted=1, who="owner")
    reviews.close()
    batches.close()
    with serving("--reports", url) as dashboard:
        yield dashboard, url


def come_in(served: Served, browser: Browser, *, width: int = 1280, theme: str = "light") -> Page:
    """A page of somebody who has the link."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    context.add_cookies(served.cookies(browser))
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    return page
