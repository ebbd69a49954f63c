"""Review, as it is drawn."""

from __future__ import annotations

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.review.listing import listing
from vista_guard.dashboard.pages.review.turn import reviewing
from vista_guard.dashboard.parts import address
from vista_guard.dashboard.parts.identity import name_of


def review(desk: Desk) -> None:
    """Draws the page."""
    st.title("Review", anchor=False)
    who = name_of(desk)
    if who is None:
        return
    report = address.read(address.TURN)
    if report is None:
        listing(desk, who)
    else:
        reviewing(desk, who, report)
