"""Under which name somebody reviews and annotates: who they signed in as; without sign-in, the name that they choose."""

from __future__ import annotations

from typing import Final

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.parts import address
from vista_guard.dashboard.parts.links import GO
from vista_guard.dashboard.parts.states import show_problem
from vista_guard.dashboard.parts.tree import Act, Node, draw, el
from vista_guard.errors import InputError
from vista_guard.stores.reviews.scope import person

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
