"""Conversation, as it is drawn."""

from __future__ import annotations

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.conversation.dialogue import dialogue
from vista_guard.dashboard.pages.conversation.evidence import sources_of
from vista_guard.dashboard.pages.conversation.listing import AFTER, listing
from vista_guard.dashboard.pages.conversation.panel import Beside, panel
from vista_guard.dashboard.pages.conversation.selection import Selected, follow, selected
from vista_guard.dashboard.parts import address, states
from vista_guard.dashboard.parts.tree import Act, Node, draw, el
from vista_guard.dashboard.reports.scoped import Window
from vista_guard.dashboard.reports.turns import GuardedTurn
from vista_guard.dashboard.settings import Permission


def conversation(desk: Desk) -> None:
    """Draws the page."""
    st.title("Conversation", anchor=False)
    chosen = selected()
    turn = desk.reports.turn(chosen.turn) if chosen.turn else None
    if chosen.turn and turn is None:
        _lost(
            "No such turn",
            f"There is no report {chosen.turn} among those that you may see. It may have been deleted.",
            desk,
        )
        return
    name = turn.report.conversation_id if turn else address.read(address.CONVERSATION)
    if turn is None and name is None:
        listing(desk)
        return
    window = _window(desk, name, turn)
    if not window.turns and not window.unreadable:
        _lost("No such conversation", f"There is no conversation {name} among those that you may see.", desk)
        return
    _show(desk, window, turn, chosen)


def _window(desk: Desk, name: str | None, turn: GuardedTurn | None) -> Window:
    if name is None:  # nobody named the conversation: the turn stands alone
        return Window((turn,) if turn else ())
    return desk.reports.conversation(name, around=turn, after=address.read(AFTER))


def _show(desk: Desk, window: Window, turn: GuardedTurn | None, chosen: Selected) -> None:
    may_review = desk.viewer.allows(Permission.REVIEW)
    outcome = chosen.outcome(turn) if turn else None
    beside = Beside(sources_of(desk.reports, _name(window), window.turns, outcome), desk.settings.trace_url, may_review)
    body = el("div", _head(window), _unreadable(window), dialogue(window.turns, chosen), _more(window), cls="stack")
    classes = "talk with-panel" if chosen.claim else "talk"
    event = draw(el("div", body, panel(turn, chosen, beside), cls=classes), key="talk")
    if isinstance(event, Act) and event.name == "later":
        address.write(after=event.value or None, turn=None, claim=None, conversation=_name(window))
        st.rerun()
    if isinstance(event, Act) and follow(event):
        # The window stays where it is while one looks around in it.
        address.write(after=window.after if window.after or window.next else None)
        st.rerun()
    desk.follow(event)


def _head(window: Window) -> Node:
    name = _name(window)
    back = el("a", "All conversations", href=address.link("conversation"), act=Act("go", address.link("conversation")))
    told = "An anonymous turn: nobody named its conversation." if name is None else f"Conversation {name}"
    return el("div", back, el("span", told, cls="faint small text"), cls="row")


def _unreadable(window: Window) -> Node | None:
    if not window.unreadable:
        return None
    rows = (el("li", problem, cls="small text") for _, problem in window.unreadable)
    return el("section", el("h3", "Some turns cannot be shown"), el("ul", *rows), cls="state problem", role="alert")


def _more(window: Window) -> Node | None:
    first = el("button", "From the beginning", cls="plain", act=Act("later")) if window.after else None
    later = el("button", "Later turns", cls="plain", act=Act("later", window.next)) if window.next else None
    return el("div", first, later, cls="row") if first or later else None


def _name(window: Window) -> str | None:
    return window.turns[0].report.conversation_id if window.turns else address.read(address.CONVERSATION)


def _lost(title: str, text: str, desk: Desk) -> None:
    event = draw(
        states.empty(title, text, act=Act("go", address.link("conversation")), button="All conversations"), key="lost"
    )
    desk.follow(event)
