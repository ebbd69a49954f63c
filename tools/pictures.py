"""Takes the dashboard's pictures for the documentation: `make docs-pictures`. Needs an installed Chromium.

They show real turns: the demo's conversations, judged by the embedded judge while this runs. Times are the machine's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any
from uuid import uuid4

from vista_guard.types import Finding, Label, SourceKind, TurnReport

FOLDER = Path("docs/pictures")
VISITS = 9
COLOURS = 96
"""Palette size of a picture: it makes the files a third as large."""
WAIT_MS = 180_000


def main() -> None:
    """Takes them all."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("the pictures need a Chromium: apt-get install chromium")
    with TemporaryDirectory() as folder:
        reports, turns = seed(Path(folder))
        with serving(reports, VISTA_GUARD_ENVIRONMENT="museum") as (link, _), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            signed_in = browser.new_context()
            signed_in.new_page().goto(link)
            for name, path, last, size, theme in views(turns):
                context = browser.new_context(viewport=size, color_scheme=theme)
                context.add_cookies(signed_in.cookies())  # type: ignore[arg-type]  # as they came out
                take(context.new_page(), link.partition("/?")[0] + path, FOLDER / f"{name}.png", last)
                context.close()
            browser.close()


def views(turns: dict[str, str]) -> Iterator[tuple[str, str, str, Any, Any]]:
    """A picture: file name, path, the element drawn last, width and height, theme."""
    wide, high, tall = {"width": 1280, "height": 800}, {"width": 1280, "height": 860}, {"width": 390, "height": 800}
    yield "dashboard-live", "/", ".turn-row", wide, "light"
    yield "dashboard-live-dark", "/?attention=1", ".turn-row", tall, "dark"
    yield "dashboard-conversations", "/conversation", ".talks li", wide, "light"
    yield (
        "dashboard-conversation",
        f"/conversation?turn={turns['BLOCK']}&claim={turns['claim']}",
        ".panel",
        wide,
        "light",
    )
    yield "dashboard-turn", f"/conversation?turn={turns['REPAIR']}", ".panel", high, "dark"
    yield "dashboard-review", f"/review?as=ada&turn={turns['BLOCK']}", ".panel", high, "light"
    yield "dashboard-annotate", "/annotate?as=ada&batch=pilot", ".claim-row", wide, "light"
    yield "dashboard-phone", f"/conversation?turn={turns['BLOCK']}&claim={turns['claim']}", ".panel", tall, "light"


def seed(folder: Path) -> tuple[str, dict[str, str]]:
    """Stores the demo's conversations, and the same a week earlier, to be compared with.

    Returns the URL of the reports, and ids of the turns and of the claim to be shown.
    """
    from vista_guard import _aio
    from vista_guard.demo.visitors import guarded, talk
    from vista_guard.stores.reports import ReportReader, SqlReports

    with guarded(folder) as guard:
        talk(guard, Event(), at_once=VISITS, visits=VISITS)
    target = folder / "shown"
    target.mkdir()
    reader, url = ReportReader(f"sqlite:///{folder / 'reports.sqlite'}"), f"sqlite:///{target / 'reports.sqlite'}"
    records = tuple(reader.reports())
    reader.close()
    store = SqlReports(url, record="full")
    for record in reversed(records):
        earlier = {
            "id": uuid4().hex,
            "created_at": record.report.created_at - timedelta(days=7),
            "conversation_id": None,
        }
        _aio.run(store.write(record.report.model_copy(update=earlier)))
    for record in reversed(records):
        _aio.run(store.write(record.report) if record.texts is None else store.write_turn(record.report, record.texts))
    _aio.run(store.aclose())
    annotating(url, max(records, key=lambda record: len(record.report.outcomes)).report)
    by_action = {
        record.report.decision.action.value: record.report for record in records
    }  # oldest last: those of the first visit
    blocked, claim = leaning([record.report for record in reversed(records)])
    return url, {"REPAIR": by_action["REPAIR"].id, "BLOCK": blocked.id, "claim": claim}


def leaning(reports: Sequence[TurnReport]) -> tuple[TurnReport, str]:
    """The most telling blocked turn and the claim to open in it: one that an earlier turn contradicts, where there is one.

    Other weights block other turns. A contradicting document is the next best; then whatever was blocked.
    """
    choices = [(report, finding) for report in reports if report.blocked for finding in report.findings]
    if not choices:
        sys.exit("no turn of the demo was blocked: judge and policy have changed, and the pictures would show nothing")
    report, finding = max(choices, key=lambda choice: _telling(choice[1]))
    return report, finding.claim.id


def _telling(finding: Finding) -> tuple[bool, bool, bool]:
    contradicted = finding.label is Label.CONTRADICTED
    sources = {evidence.source for evidence in finding.evidence}
    return contradicted and SourceKind.KNOWLEDGE in sources, contradicted, bool(sources)


def annotating(url: str, report: TurnReport) -> None:
    """A batch of the one turn, of which somebody has labelled the first claim."""
    from vista_lab.annotate.batches import Batches
    from vista_lab.annotate.forms import Answers

    batches = Batches(url)
    batches.create_of_turns("pilot", [report.id], wanted=2, who="ada")
    mine = batches.start(batches.tasks("pilot", "ada")[0].id, "ada")
    first = report.outcomes[0].claim.id
    batches.save(mine, Answers({}, {first: {"handling": "confirm", "label": "verifiable"}}), seconds=9)
    batches.close()


@contextmanager
def serving(reports: str, **environment: str) -> Iterator[tuple[str, int]]:
    """The dashboard on these reports, with these environment variables: its one-time link and its process id."""
    command = [sys.executable, "-m", "vista_guard", "dashboard", "--port", "0", "--reports", reports]
    variables = {**os.environ, **environment}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            match = re.search(r"http://\S+", line)
            if match is None:
                sys.exit(f"the dashboard did not start: {line}")
            yield match[0], process.pid
        finally:
            process.terminate()


def take(page: Any, address: str, file: Path, last: str) -> None:
    """One picture, with as few colours as it needs."""
    from PIL import Image

    page.goto(address, timeout=WAIT_MS)
    page.locator(".vg").first.wait_for(timeout=WAIT_MS)
    page.locator(last).first.wait_for(timeout=WAIT_MS)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=WAIT_MS)
    page.wait_for_timeout(2500)  # fonts, and the page coming to rest
    page.screenshot(path=file)
    with Image.open(file) as image:
        reduced = image.convert("RGB").quantize(COLOURS)
    reduced.save(file, optimize=True)
    print(f"took {file} ({file.stat().st_size // 1024} kB)")


if __name__ == "__main__":
    main()
