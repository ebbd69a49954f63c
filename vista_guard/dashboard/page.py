"""Everything a page can use: its viewer's reports and reviews, their name, people's labels, a download, the first steps."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import streamlit as st

from vista_guard.dashboard.access import Viewer
from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.address import GO, Filters
from vista_guard.dashboard.elements.tree import Act, Node, Selection, draw, el, empty, show_problem
from vista_guard.dashboard.scoped import ScopedReports
from vista_guard.dashboard.server import Material
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.errors import InputError, StoreError
from vista_guard.policy.labels import Gold, GoldTurn, agrees, read_gold
from vista_guard.policy.labels import Word as ClaimWord
from vista_guard.reading.visible import as_cell, storable
from vista_guard.stores.reports import FindingRow
from vista_guard.stores.reviewed import clean_name
from vista_guard.stores.reviews.queue import Reviews, Word
from vista_guard.types import Label

FIRST_STEPS: Final = """\
export VISTA_GUARD_REPORTS={database} VISTA_GUARD_RECORD=full
vista-guard serve --upstream https://api.openai.com/v1
export OPENAI_BASE_URL=http://127.0.0.1:8080/v1  # for your chatbot"""

WAIT_S: Final = 3.0

MOST_TALKS = 300
"""Most labelled conversations read for one page."""

NOTHING: Mapping[tuple[str, int], GoldTurn] = {}


class Words:
    """People's labels: the dashboard's file of labels, and reviews and annotations, which outweigh it.

    It answers only for turns that the viewer was shown.
    """

    def __init__(self, labels: Path | None = None, decided: Callable[[], Mapping[str, Word]] = dict[str, Word]) -> None:
        self._labels = labels
        self._decided = decided

    @property
    def gold(self) -> Gold:
        """The labels of the file.

        Raises:
            InputError: the file cannot be read.
        """
        if self._labels is None:
            return NOTHING
        try:
            changed = self._labels.stat().st_mtime_ns
        except OSError as exc:
            raise InputError(f"labels {self._labels} cannot be read: {exc.strerror}") from exc
        return _read(self._labels, changed)

    @property
    def decided(self) -> Mapping[str, Word]:
        """The decisions of reviewers and annotators, by report id."""
        return self._decided()

    def judged(self, reports: ScopedReports, filters: Filters) -> list[tuple[float, bool]]:
        """Returns confidences of stored findings that people labelled, each with True when they agree.

        Figures alone: no claim's text leaves.
        """
        gold = self.gold
        decided = {name: word for name, word in self.decided.items() if word.claims}
        talks = {name for name, turn in gold if gold[name, turn].claims}
        for name in list(decided)[:MOST_TALKS]:
            row = reports.row(name)  # None for a report that the viewer may not see
            if row is not None and row.conversation_id is not None:
                talks.add(row.conversation_id)
        pairs = []
        for talk in sorted(talks)[:MOST_TALKS]:
            for finding in reports.findings(filters, talk):
                word = _word(finding, gold, decided)
                if word is not None and finding.confidence is not None and finding.label in set(Label):
                    pairs.append((finding.confidence, agrees(Label(finding.label), word)))
        return pairs


def _word(row: FindingRow, gold: Gold, decided: Mapping[str, Word]) -> ClaimWord | None:
    """Returns people's label of a claim; the annotators' consensus outweighs the file."""
    if row.report_id in decided and row.claim_id in decided[row.report_id].claims:
        return decided[row.report_id].claims[row.claim_id]
    turn = gold.get((row.conversation_id or "", row.turn_index))
    return None if turn is None else turn.word_on(row.claim_id, row.claim)


@lru_cache(maxsize=2)
def _read(path: Path, _changed: int) -> Gold:
    return read_gold(path)


@dataclass(frozen=True)
class Desk:
    """One viewer's dashboard. `reports` and `reviews` hide tenants that they may not see.

    `pages` are Streamlit's, by their path, for links between them.
    """

    reports: ScopedReports
    viewer: Viewer
    settings: DashboardSettings
    reviews: Reviews
    material: Material = field(default_factory=Material)
    words: Words = field(default_factory=Words)
    pages: Mapping[str, Any] = field(default_factory=dict)
    database: str | None = "sqlite"
    """The URL of the reports, without a password; None for a viewer of some tenants only."""

    def invite(self) -> None:
        """Draws the first steps, for the operator only, and reloads the page at the first turn."""
        if self.database is None:
            draw(empty("No turns yet", "The first guarded turn appears here by itself."), key="invitation")
        else:
            text = "Copy these lines. The first guarded turn appears here by itself."
            draw(el("section", el("h2", "No turns yet"), el("p", text), cls="state invite"), key="invitation")
            # Streamlit's colours for the shell are too faint.
            st.code(FIRST_STEPS.format(database=shlex.quote(self.database)), language=None, wrap_lines=True)
            demo = el("code", "vista-guard dashboard --demo")
            draw(el("p", "Just looking? ", demo, cls="faint small"), key="look-around")
        st.fragment(self._wait, run_every=WAIT_S)()

    def _wait(self) -> None:
        try:
            arrived = bool(self.reports.page(Filters(), limit=1).rows)
        except StoreError:
            arrived = False
        if arrived:
            st.rerun()

    def follow(self, event: Act | Selection | None) -> None:
        """Follows a link of the dashboard (`elements.address.to`). Other events are the page's."""
        if isinstance(event, Act) and event.name == GO:
            address.go(event.value, self.pages)


def download(page: str, header: Sequence[str], rows: Callable[[], Iterable[Sequence[object]]]) -> None:
    """Draws the button for a CSV file of the page; calls `rows` when it is pressed."""
    st.download_button(
        "CSV",
        lambda: csv_text(header, rows()).encode(
            "utf-8-sig"
        ),  # Excel takes a file without the mark for its own code page
        f"vista-guard-{page}.csv",
        "text/csv",
        key=f"csv-{page}",
        icon=":material/download:",
        on_click="ignore",
    )


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Writes a table as CSV. A cell that a spreadsheet would take for a formula begins with an apostrophe; one that is
    too long for Excel is cut.

    Example:
        >>> csv_text(["turn", "claim"], [[3, "=HYPERLINK(1)"], [4, None]])
        "turn,claim\\r\\n3,'=HYPERLINK(1)\\r\\n4,\\r\\n"
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


LONGEST_CELL: Final = 32_767
"""Characters of a cell in Excel, which moves what is longer into the rows below."""


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = as_cell(storable(value)).encode("utf-16-le")
    cut = text if len(text) <= 2 * LONGEST_CELL else text[: 2 * LONGEST_CELL - 2] + "…".encode("utf-16-le")
    return cut.decode("utf-16-le", "ignore")


NAME: Final = "as"
"""Address parameter of the reviewer's name, without sign-in."""

_CHOSEN: Final = "who-chosen"

REMEMBERED: Final = "vista_guard_who"
"""The cookie that `tree.js` writes for the element with `data-remember`."""


def name_of(desk: Desk) -> str | None:
    """Returns the reviewer's name, with a line that says it; draws a field for it and returns None while there is none.

    Without sign-in everybody who has the one-time link may take any name: they could write the database itself.
    """
    if desk.settings.sign_in is not None:
        return desk.viewer.name
    entered = address.read(NAME) or st.session_state.get(_CHOSEN, unquote(st.context.cookies.get(REMEMBERED, "")))
    if entered:
        try:
            name = clean_name(entered)
        except InputError as exc:
            show_problem("This name cannot be used", exc)
        else:
            st.session_state[_CHOSEN] = name  # it stays while one goes from page to page
            address.write(**{NAME: name})
            _say(name)
            return name
    _ask()
    return None


def under_name(page: str, text: str, *, turn: str | None = None) -> Node:
    """Returns a link to a page that keeps the reviewer's name."""
    href = address.link(page, **{NAME: address.read(NAME), address.TURN: turn})
    return el("a", text, href=href, act=Act(GO, href))


def _say(name: str) -> None:
    change = el("button", "not you?", act=Act("who"), aria_label=f"Not {name}? Choose another name")
    line = el("p", "You are ", el("strong", name), " · ", change, cls="small faint who", data_remember=name)
    if draw(line, key="who") == Act("who"):
        st.session_state[_CHOSEN] = ""
        address.write(**{NAME: None})
        st.rerun()


WHO_PX: Final = 270


def _ask() -> None:
    label = "Who are you? Your decisions are stored under this name."
    with st.form("who-form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        typed = st.text_input(label, key="who-name", max_chars=80, width=WHO_PX)
        if st.form_submit_button("Go on") and typed.strip():
            address.write(**{NAME: typed.strip()})
            st.rerun()
