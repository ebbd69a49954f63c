"""The page *Conversation*: one conversation, or the list to choose from."""

from __future__ import annotations

import streamlit as st

from vista_guard.dashboard.conversation.dialogue import Selected, dialogue, follow, selected
from vista_guard.dashboard.conversation.evidence import sources_of
from vista_guard.dashboard.conversation.panel import Beside, panel
from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements import address as times
from vista_guard.dashboard.elements.address import clear, filter_bar, from_address, to
from vista_guard.dashboard.elements.tree import Act, Node, counted, draw, el
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.scoped import GuardedTurn, Window
from vista_guard.dashboard.settings import Permission
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
    rows = el("ul", *map(_row, page.rows), cls="talks", aria_label="Conversations, latest activity first")
    event = draw(el("div", rows, el("div", first, more, cls="row"), cls="stack"), key="talks")
    if isinstance(event, Act) and event.name == "more":
        address.write(after=event.value or None)
        st.rerun()
    desk.follow(event)


def _nothing(narrow: bool) -> Node:
    if narrow:
        return tree.empty(
            "No matching conversation",
            "No stored conversation matches the filters.",
            act=Act("clear"),
            button="Clear all filters",
        )
    return tree.empty(
        "No conversations yet",
        "Turns with a conversation id are listed here. Others are on the page Live.",
        command="vista-guard dashboard --demo",
    )


def _row(row: ConversationRow) -> Node:
    turns = "1 turn" if row.turns == 1 else f"{row.turns} turns"
    facts = [turns, f"last {times.ago(row.last_at)}"] + ([f"tenant {row.tenant}"] if row.tenant else [])
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
        el("div", " · ".join(facts), cls="small faint"),
        key=row.key,
    )


def conversation(desk: Desk) -> None:
    """Draws the page."""
    st.title("Conversation", anchor=False)
    chosen = selected()
    turn = desk.reports.turn(chosen.turn) if chosen.turn else None
    if chosen.turn and turn is None:
        _lost(
            "No such turn",
            f"There is no report {chosen.turn} that you may see. It may have been deleted.",
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
    title = "An anonymous turn, without a conversation id." if name is None else f"Conversation {name}"
    return el("div", back, el("span", title, cls="faint small text"), cls="row")


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
        tree.empty(title, text, act=Act("go", address.link("conversation")), button="All conversations"), key="lost"
    )
    desk.follow(event)
