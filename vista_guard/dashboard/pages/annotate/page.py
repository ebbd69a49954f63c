"""Annotate, as it is drawn."""

from __future__ import annotations

import streamlit as st

from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.tree import draw, el
from vista_guard.dashboard.page import Desk, name_of
from vista_guard.dashboard.pages.annotate.batches import batches
from vista_guard.dashboard.pages.annotate.disagreements import disagreements
from vista_guard.dashboard.pages.annotate.figures import figures
from vista_guard.dashboard.pages.annotate.links import BATCH, VIEW, VIEWS, within
from vista_guard.dashboard.pages.annotate.work import work


def annotate(desk: Desk) -> None:
    """Draws the page."""
    st.title("Annotate", anchor=False)
    who = name_of(desk)
    if who is None:
        return
    batch = address.read(BATCH)
    if batch is None:
        batches(desk, who)
        return
    view = address.read(VIEW) or ""
    _tabs(desk, batch, view)
    {"agreement": figures, "consensus": disagreements}.get(view, work)(desk, who, batch)


def _tabs(desk: Desk, batch: str, view: str) -> None:
    tabs = (within(word, cls="tab", view=name, here=name == view) for name, word in VIEWS.items())
    row = el("nav", within("All batches", batch=None), el("strong", batch, cls="text"), *tabs, cls="row tabs")
    desk.follow(draw(row, key="tabs"))
