"""Live, as it is drawn."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.live.alert import alert_box
from vista_guard.dashboard.pages.live.feed import PIN, feed
from vista_guard.dashboard.pages.live.figures import now_and_then
from vista_guard.dashboard.pages.live.state import Seen
from vista_guard.dashboard.pages.live.tiles import tiles
from vista_guard.dashboard.parts import address, states, times
from vista_guard.dashboard.parts.failures import shown
from vista_guard.dashboard.parts.filters import Filters, filter_bar, from_address
from vista_guard.dashboard.parts.tree import Act, Node, draw, el

EVERY_S: Final = 2.0
MOST_PINNED: Final = 20


def live(desk: Desk) -> None:
    """Draws the page."""
    st.title("Live", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        filter_bar(desk.reports.choices(from_address()), time=False)
        attention = st.toggle(
            "Attention only", key="live-attention", value=address.read("attention") == "1", on_change=_attention
        )
        paused = st.toggle("Pause", key="live-paused")
        alert_box()
    st.fragment(shown(_stream), run_every=None if paused else EVERY_S)(desk, attention, paused)


def _stream(desk: Desk, attention: bool, paused: bool) -> None:
    filters, now = from_address(), datetime.now(UTC)
    seen = _seen(filters, attention)
    if not paused or seen.at is None:
        seen.look(desk.reports, now)
    seen.pin(desk.reports, _pins())
    draw(
        el("div", _age(seen, now, paused), tiles(*now_and_then(desk.reports, filters, now)), cls="stack"),
        key="live-tiles",
    )
    if not seen.rows:
        draw(_nothing(filters, attention), key="live-empty")
        return
    event = draw(feed(seen.rows, seen.pinned, seen.said, seen.fresh, now), key="live-feed")
    if isinstance(event, Act) and event.name == PIN:
        _turn_pin(event.value)
        st.rerun(scope="fragment")
    desk.follow(event)


def _seen(filters: Filters, attention: bool) -> Seen:
    seen = st.session_state.get("live-seen")
    if not isinstance(seen, Seen) or seen.asked != (filters, attention):
        seen = st.session_state["live-seen"] = Seen((filters, attention))
    return seen


def _age(seen: Seen, now: datetime, paused: bool) -> Node:
    newest = f"newest turn {times.ago(seen.rows[0].created_at, now)}" if seen.rows else "no turns"
    looked = "paused; looked" if paused else "looked"
    return el("p", f"{looked} at {times.exact(seen.at or now)} · {newest}", cls="small faint")


def _nothing(filters: Filters, attention: bool) -> Node:
    if filters.narrow or attention:
        return states.empty(
            "No turn like this", "No stored turn passes the filters. New ones appear here as they come."
        )
    return states.empty(
        "No turns yet",
        "Turns appear here within two seconds of being judged, wherever a guard with the same reports runs.",
        command="vista-guard dashboard --demo",
    )


def _pins() -> list[str]:
    return [name for name in (address.read("pin") or "").split(",") if name][:MOST_PINNED]


def _turn_pin(name: str) -> None:
    pins = _pins()
    address.write(pin=",".join([one for one in pins if one != name] if name in pins else [name, *pins]))


def _attention() -> None:
    address.write(attention="1" if st.session_state["live-attention"] else None)
