"""Live, as it is drawn."""

from __future__ import annotations

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.live.alert import alert_box
from vista_guard.dashboard.pages.live.feed import feed
from vista_guard.dashboard.pages.live.tiles import Counts, tiles
from vista_guard.dashboard.parts.filters import Choices, filter_bar
from vista_guard.dashboard.parts.tree import draw


def live(desk: Desk) -> None:
    """Draws the page."""
    st.title("Live", anchor=False)
    filter_bar(Choices(), time=False)
    alert_box()
    draw(tiles(Counts(5), Counts(60)), key="tiles")
    event = draw(feed(desk.reports.newest(), (), frozenset()), key="feed")
    desk.follow(event)
