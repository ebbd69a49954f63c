"""Conversation, as it is drawn."""

from __future__ import annotations

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.conversation.dialogue import dialogue
from vista_guard.dashboard.pages.conversation.evidence import Sources
from vista_guard.dashboard.pages.conversation.panel import Beside, panel
from vista_guard.dashboard.pages.conversation.selection import follow, selected
from vista_guard.dashboard.parts import address
from vista_guard.dashboard.parts.tree import Act, draw, el


def conversation(desk: Desk) -> None:
    """Draws the page."""
    pressed = st.session_state.get("talk")
    chosen = selected()
    turn = desk.reports.turn(chosen.turn) if chosen.turn else None
    st.title("Conversation", anchor=False)
    turns = desk.reports.conversation(turn.report.conversation_id if turn else address.read("conversation"))
    sources = Sources({one.report.turn_key: (one.report.id, one.report.turn_index) for one in turns})
    event = draw(
        el("div", dialogue(turns, chosen), panel(turn, chosen, Beside(sources, desk.settings.trace_url)), cls="talk"), key="talk"
    )
    if isinstance(event, Act) and follow(event):
        st.rerun()
