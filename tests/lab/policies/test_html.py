"""Two policies as a page: whatever a log says stays text, in a real browser too."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.dashboard.browser import chromium, faults
from tests.lab.policies.replays import TALKS, chat, judged
from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.settings.sources import Settings
from vista_lab.policies import html as policies
from vista_lab.policies.html import check_place, page, write_page
from vista_lab.policies.named import named_policy
from vista_lab.policies.replayed import LogNotes, PolicyReplay, decide

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
HOSTILE = (
    "</p></style><script>document.title='owned'</script>",
    "<img src=https://evil.example/a.png onerror=\"document.title='owned'\">",
    "<svg onload=document.title='owned'><a href=javascript:alert(1)>[x](javascript:alert(1))</a>",
    "{{ 7 * 7 }} {% raw %} &lt;b&gt; \u202edesrever\u202c \x1b[31m ![x](https://evil.example/b.png)",
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LogNotes]:
    """Every place that a log fills holds something that would like to run."""
    talks = [chat(f"{text} {number}", text, question=text) for number, text in enumerate(HOSTILE)]
    for talk, text in zip(talks, HOSTILE, strict=True):
        talk["messages"][1]["documents"] = [{"text": text, "title": text, "url": "javascript:alert(1)"}]
    return judged(tmp_path_factory.mktemp("hostile"), [*talks, *TALKS, chat("long", "x" * 500)])


def compared(log: tuple[Path, LogNotes], first: str = "balanced", second: str = "strict") -> PolicyReplay:
    settings = Settings()
    return decide(*log, (named_policy(first, settings), named_policy(second, settings)))


def drawn(log: tuple[Path, LogNotes], replayed: PolicyReplay, name: str = "log.jsonl") -> str:
    return "".join(page(name, *log, replayed, now=NOW))


class Elements(HTMLParser):
    """The page's elements with their attributes, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {f"{name}={value}" if name in ("href", "src") else name for name, value in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_what_a_log_says_stays_text(hostile: tuple[Path, LogNotes]) -> None:
    html = drawn(hostile, compared(hostile), name="<script>log</script>.jsonl")
    found = Elements()
    found.feed(html)
    assert not found.tags & {"script", "img", "svg", "iframe", "link", "object", "form"}
    assert not {one for one in found.attributes if one.startswith(("on", "src", "style"))}
    anchors = {f"href=#{name}" for name in re.findall(r'id="([\w-]+)"', html)}
    assert {one for one in found.attributes if one.startswith("href")} <= anchors
    assert "</p></style><script>document.title='owned'</script>" in found.text
    assert "{{ 7 * 7 }} {% raw %} &lt;b&gt; �desrever� �[31m" in found.text
    assert "\u202e" not in html
    assert "<script>log</script>.jsonl" in found.text
    assert 'javascript:alert(1)"' not in html


def test_the_page_says_what_was_counted(hostile: tuple[Path, LogNotes]) -> None:
    replayed = compared(hostile)
    found = Elements()
    found.feed(drawn(hostile, replayed))
    text = " ".join(found.text.split())
    assert "balanced and strict over 11 turns of 8 conversations in log.jsonl, judged once by rules 1." in text
    assert f"{len(replayed.found.changed)} turns change" in text
    assert "No turn of this log has a person's word." in text
    assert 'policy = "strict"' in text
    for limit in replayed.limits():
        assert limit in text


def test_a_large_log_is_cut_and_says_so(hostile: tuple[Path, LogNotes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "MOST_CHANGED", 1)
    monkeypatch.setattr(policies, "MOST_TURNS", 3)
    found = Elements()
    found.feed(drawn(hostile, compared(hostile)))
    text = " ".join(found.text.split())
    assert re.search(r"The 1 with the largest steps, of \d+\.", text)
    assert "The first 3 of 11; all are counted above." in text


def test_policies_that_agree(hostile: tuple[Path, LogNotes]) -> None:
    assert "None: both decide alike." in drawn(hostile, compared(hostile, "strict", "strict"))


def test_a_page_that_cannot_be_written(hostile: tuple[Path, LogNotes], tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "page.html"):
        with raises(ConfigError, path):
            check_place(path)
    made = tmp_path / "page.html"
    write_page(made, "log", *hostile, compared(hostile), now=NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_in_a_browser_nothing_runs_nothing_is_fetched_and_a_telephone_can_read_it(
    hostile: tuple[Path, LogNotes], tmp_path: Path
) -> None:
    made = tmp_path / "page.html"
    write_page(made, "log.jsonl", *hostile, compared(hostile), now=NOW)
    with chromium() as browser:
        opened = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
        requests, complaints = [], []
        opened.on("requestfinished", lambda request: requests.append(request.url))
        opened.on("console", lambda message: complaints.append(message.text))
        opened.on("dialog", lambda dialog: complaints.append(dialog.message))
        opened.goto(made.as_uri())
        for closed in opened.locator("details").all():
            closed.evaluate("element => { element.open = true }")
        assert opened.title() == "balanced and strict over log.jsonl"
        assert (requests, complaints) == ([made.as_uri()], [])
        assert opened.evaluate("document.documentElement.scrollWidth") == 390
        assert faults(opened) == []
        # What would slip through could not run either: the page itself forbids it.
        with opened.expect_console_message(lambda message: "Content Security Policy" in message.text):
            opened.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')")
        assert opened.title() == "balanced and strict over log.jsonl"
        assert requests == [made.as_uri()]
