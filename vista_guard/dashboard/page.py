"""What a page is handed: the reports that its viewer may see, who they are, and what was configured. Nothing else.

Under which name somebody reviews and annotates: who they signed in as; without sign-in, the name that they choose.

People's word on turns and claims, for the turns that one viewer may see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import streamlit as st

from vista_guard.dashboard.access import Viewer
from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.address import GO, Filters
from vista_guard.dashboard.elements.tree import Act, Node, Selection, draw, el, show_problem
from vista_guard.dashboard.scoped import ScopedReports
from vista_guard.dashboard.server import Material
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.errors import InputError
from vista_guard.stores.reports import FindingRow
from vista_guard.stores.reviews.annotation import Annotations
from vista_guard.stores.reviews.queue import Reviews, person
from vista_guard.stores.reviews.records import Word
from vista_guard.types import Label
from vista_lab.policies.comparison import Case
from vista_lab.runs.gold import Gold, GoldTurn, agrees, read_gold
from vista_lab.runs.gold import Word as ClaimWord

MOST_TALKS = 300
"""Labelled conversations that are looked at for one page."""

NOTHING: Mapping[tuple[str, int], GoldTurn] = {}


class Words:
    """What people said: in the file of labels that the dashboard was given, and in reviews and annotations, which outweigh it.

    It is asked about turns that the viewer was shown: what it knows of others is never listed.
    """

    def __init__(self, labels: Path | None = None, decided: Callable[[], Mapping[str, Word]] = dict[str, Word]) -> None:
        self._labels = labels
        self._decided = decided

    @property
    def gold(self) -> Gold:
        """All of it.

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

    def fine(self, cases: Iterable[Case]) -> dict[str, bool]:
        """By report id, whether a turn should have been delivered as it was; without those that nobody spoke of."""
        gold, decided, told = self.gold, self._decided(), list(cases)
        known = ((case, gold.get((case.conversation_id or "", case.turn_index))) for case in told)
        said = {case.report_id: turn.verdict(case.outcomes) for case, turn in known if turn is not None}
        said |= {case.report_id: decided[case.report_id].fine for case in told if case.report_id in decided}
        return {report: word for report, word in said.items() if word is not None}

    def judged(self, reports: ScopedReports, filters: Filters) -> list[tuple[float, bool]]:
        """Confidences of stored findings that people spoke of, each with whether they agree.

        Figures alone: no claim's text leaves.
        """
        gold = self.gold
        decided = {name: word for name, word in self._decided().items() if word.claims}
        talks = {name for name, turn in gold if gold[name, turn].claims} | _talks(reports, list(decided)[:MOST_TALKS])
        rows = (row for talk in sorted(talks)[:MOST_TALKS] for row in reports.findings(filters, talk))
        return [pair for row in rows if (pair := _pair(row, _word(row, gold, decided)))]


def _talks(reports: ScopedReports, names: Iterable[str]) -> set[str]:
    """The conversations of these reports, as far as the viewer may see them."""
    rows = (reports.row(name) for name in names)
    return {row.conversation_id for row in rows if row is not None and row.conversation_id is not None}


def _word(row: FindingRow, gold: Gold, decided: Mapping[str, Word]) -> ClaimWord | None:
    """What people said of a claim; annotators' consensus outweighs the file."""
    if row.report_id in decided and row.claim_id in decided[row.report_id].claims:
        return decided[row.report_id].claims[row.claim_id]
    turn = gold.get((row.conversation_id or "", row.turn_index))
    return None if turn is None else turn.word_on(row.claim_id, row.claim)


def _pair(row: FindingRow, word: ClaimWord | None) -> tuple[float, bool] | None:
    if word is None or row.confidence is None or row.label not in set(map(str, Label)):
        return None
    return row.confidence, agrees(Label(row.label), word)


@lru_cache(maxsize=2)
def _read(path: Path, _changed: int) -> Gold:
    return read_gold(path)


@dataclass(frozen=True)
class Desk:
    """One viewer's dashboard: `reports`, `reviews` and `annotations` give them nothing of tenants that they may not see.

    `pages` are Streamlit's, by their path, for links between them.
    """

    reports: ScopedReports
    viewer: Viewer
    settings: DashboardSettings
    reviews: Reviews
    annotations: Annotations
    material: Material = field(default_factory=Material)
    words: Words = field(default_factory=Words)
    pages: Mapping[str, Any] = field(default_factory=dict)

    def follow(self, event: Act | Selection | None) -> None:
        """Goes where a link of the dashboard leads (`parts.links.to`); anything else is left to the page."""
        if isinstance(event, Act) and event.name == GO:
            address.go(event.value, self.pages)


NAME: Final = "as"
"""The name in the address, where nobody signs in."""

_CHOSEN: Final = "who-chosen"


def name_of(desk: Desk) -> str | None:
    """The name; None, with a field to type one, while there is none.

    Without sign-in everybody who has the one-time link may take any name: they could write the database itself.
    """
    if desk.settings.sign_in is not None:
        return desk.viewer.name
    given = address.read(NAME) or st.session_state.get(_CHOSEN)
    if given is not None:
        try:
            name = person(given)
        except InputError as exc:
            show_problem("This name cannot be used", exc)
        else:
            st.session_state[_CHOSEN] = name  # it stays while one goes from page to page
            address.write(**{NAME: name})
            return name
    _ask()
    return None


def under_name(page: str, text: str, *, turn: str | None = None) -> Node:
    """A link to a page, under the same name."""
    there = address.place(
        page, {key: value for key, value in ((NAME, address.read(NAME)), (address.TURN, turn)) if value}
    )
    return el("a", text, href=there, act=Act(GO, there))


def _ask() -> None:
    told = "Nobody signs in here. What you decide and annotate is kept under the name that you choose."
    draw(el("section", el("h2", "Who are you?"), el("p", told), cls="stack"), key="who")
    with st.form("who-form", border=False):
        typed = st.text_input("Your name", key="who-name", max_chars=80)
        if st.form_submit_button("Go on") and typed.strip():
            address.write(**{NAME: typed.strip()})
            st.rerun()
