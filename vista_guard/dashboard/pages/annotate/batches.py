"""All batches with how far they are, and making one."""

from __future__ import annotations

import streamlit as st

from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.address import Filters, filter_bar, from_address
from vista_guard.dashboard.elements.tree import Node, draw, el, show_problem
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.pages.annotate.links import within
from vista_guard.dashboard.settings import Permission
from vista_guard.dashboard.turns import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.stores.reviews.annotation import MOST_ANNOTATORS
from vista_guard.stores.reviews.records import Batch

MOST_TURNS = 200
"""Turns that a batch is given at once."""


def batches(desk: Desk, who: str) -> None:
    """Draws the list, and for those who review a form that makes a batch."""
    known = desk.annotations.batches()
    shown = el("ul", *map(_row, known), cls="talks", aria_label="Batches") if known else _nothing()
    desk.follow(draw(shown, key="batches"))
    if desk.viewer.allows(Permission.REVIEW):
        _form(desk, who)


def _nothing() -> Node:
    return tree.empty(
        "Nothing to annotate yet",
        "A batch is some turns that several people label, each by themselves. Make one below.",
    )


def _row(batch: Batch) -> Node:
    told = f"{batch.complete} of {batch.tasks} turns done by {batch.wanted}, {batch.settled} settled"
    done = 100 * batch.complete / batch.tasks if batch.tasks else 0
    lane = el("div", el("span", cls="bar", style={"left": 0, "width": done}), cls="lane", aria_hidden="true")
    return el("li", within(batch.name, batch=batch.name), lane, el("div", told, cls="small faint"), key=batch.name)


def _form(desk: Desk, who: str) -> None:
    draw(el("h3", "A new batch"), key="new-head")
    filters = filter_bar(desk.reports.choices(from_address()))
    with st.form("new", border=True):
        name = st.text_input("Name", key="new-name", max_chars=80, placeholder="pilot")
        with st.container(horizontal=True):
            count = st.number_input("Turns, the newest that pass the filters", 1, MOST_TURNS, 20, key="new-count")
            wanted = st.number_input("Annotators for each turn", 1, MOST_ANNOTATORS, 2, key="new-wanted")
        if st.form_submit_button("Make the batch"):
            _make(desk, who, name, _chosen(desk, filters, int(count)), int(wanted))


def _chosen(desk: Desk, filters: Filters, count: int) -> list[str]:
    """The newest turns that can be annotated: their draft is known, and this viewer may read it."""
    rows = desk.reports.page(filters, limit=MOST_TURNS).rows
    turns = desk.reports.turns([row.id for row in rows])
    return [row.id for row in rows if _can_be_read(turns.get(row.id))][:count]


def _can_be_read(turn: GuardedTurn | str | None) -> bool:
    return isinstance(turn, GuardedTurn) and not turn.hidden and turn.draft is not None and bool(turn.report.outcomes)


def _make(desk: Desk, who: str, name: str, reports: list[str], wanted: int) -> None:
    try:
        if not reports:
            raise InputError(
                'no turn with claims and a known draft passes the filters; with record = "full" in the settings, drafts of '
                "later turns are kept"
            )
        desk.annotations.create(name, reports, wanted=wanted, who=who)
    except InputError as exc:
        show_problem("No batch was made", exc)
        return
    address.write(batch=name.strip())
    st.rerun()
