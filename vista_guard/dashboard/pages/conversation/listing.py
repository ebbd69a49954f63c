"""The list of conversations, for who has not opened one yet."""

from __future__ import annotations

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.parts import address, states, times
from vista_guard.dashboard.parts.filters import clear, filter_bar, from_address
from vista_guard.dashboard.parts.labels import counted
from vista_guard.dashboard.parts.links import to
from vista_guard.dashboard.parts.tree import Act, Node, draw, el
from vista_guard.stores.reports import ConversationRow
from vista_guard.types import Action, Label

AFTER = "after"
"""Where a page of the list begins; in the address."""


def listing(desk: Desk) -> None:
    """Draws the list, with its filters."""
    with st.container(horizontal=True, vertical_alignment="center"):
        filters = filter_bar(desk.reports.choices(from_address()))
        wanted = st.text_input("Open by id", key="talk-id", placeholder="conversation id", label_visibility="collapsed")
    if wanted:
        address.write(conversation=wanted.strip(), after=None)
        st.rerun()
    page = desk.reports.conversations(filters, after=address.read(AFTER))
    if not page.rows:
        event = draw(_nothing(filters.narrow), key="talks-empty")
        if event == Act("clear"):
            clear()
            st.rerun()
        return
    more = el("button", "Earlier conversations", cls="plain", act=Act("more", page.next)) if page.next else None
    first = el("button", "Newest", cls="plain", act=Act("more")) if address.read(AFTER) else None
    rows = el("ul", *map(_row, page.rows), cls="talks", aria_label="Conversations, the one that spoke last first")
    event = draw(el("div", rows, el("div", first, more, cls="row"), cls="stack"), key="talks")
    if isinstance(event, Act) and event.name == "more":
        address.write(after=event.value or None)
        st.rerun()
    desk.follow(event)


def _nothing(narrow: bool) -> Node:
    if narrow:
        return states.empty(
            "No conversation like this",
            "No stored conversation passes the filters.",
            act=Act("clear"),
            button="Clear all filters",
        )
    return states.empty(
        "No conversations yet",
        "Turns that bring a conversation's id are listed here. Those without one are on the page Live.",
        command="vista-guard dashboard --demo",
    )


def _row(row: ConversationRow) -> Node:
    turns = "1 turn" if row.turns == 1 else f"{row.turns} turns"
    told = [turns, f"last {times.ago(row.last_at)}"] + ([f"tenant {row.tenant}"] if row.tenant else [])
    counts = (
        (Action.BLOCK, row.blocked),
        (Action.REPAIR, row.repaired),
        (Action.FLAG, row.flagged),
        (Label.CONTRADICTED, row.contradicted),
    )
    return el(
        "li",
        to("conversation", row.conversation_id, conversation=row.conversation_id),
        el("div", *(counted(name, count) for name, count in counts if count), cls="row"),
        el("div", " · ".join(told), cls="small faint"),
        key=row.key,
    )
