"""One turn under review: what was said, what the guard found, what the reviewer decides, and all that was done before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.conversation.dialogue import dialogue
from vista_guard.dashboard.pages.conversation.evidence import sources_of
from vista_guard.dashboard.pages.conversation.panel import Beside, panel
from vista_guard.dashboard.pages.conversation.selection import follow, selected
from vista_guard.dashboard.pages.review.words import EVENTS, REASONS, RIGHT, WRONG
from vista_guard.dashboard.parts import address, states, times
from vista_guard.dashboard.parts.identity import NAME, under_name
from vista_guard.dashboard.parts.labels import chip
from vista_guard.dashboard.parts.links import to
from vista_guard.dashboard.parts.states import show_problem
from vista_guard.dashboard.parts.tree import Act, Node, draw, el
from vista_guard.dashboard.reports.turns import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.stores.reports.people.queueing import Reason
from vista_guard.stores.reviews.records import Review, ReviewEvent, Verdict

BEFORE = 2
"""Turns of the conversation that are shown before the one under review."""


def reviewing(desk: Desk, who: str, report_id: str) -> None:
    """Draws the turn, and what can be done about it."""
    turn, review = desk.reports.turn(report_id), desk.reviews.get(report_id)
    if turn is None:
        _lost(desk, report_id)
        return
    _show(desk, turn, review, who)
    _actions(desk, turn, review, who)
    trail = desk.reviews.trail(report_id)
    if trail:
        draw(el("section", el("h3", "What was done"), _trail(trail)), key="trail")


def _show(desk: Desk, turn: GuardedTurn, review: Review | None, who: str) -> None:
    chosen = selected()
    turns = _around(desk, turn)
    sources = sources_of(desk.reports, turn.report.conversation_id, turns, chosen.outcome(turn))
    beside = panel(turn, chosen, Beside(sources, desk.settings.trace_url))
    body = el("div", _head(turn, review, who), dialogue(turns, chosen), cls="stack")
    event = draw(el("div", body, beside, cls=f"talk{' with-panel' if chosen.claim else ''}"), key="reviewed")
    if isinstance(event, Act) and follow(event):
        st.rerun()
    desk.follow(event)


def _around(desk: Desk, turn: GuardedTurn) -> list[GuardedTurn]:
    """The turn, with the ones before it, so that one sees what it answers."""
    name = turn.report.conversation_id
    window = desk.reports.conversation(name, around=turn).turns if name else ()
    at = next((place for place, one in enumerate(window) if one.report.id == turn.report.id), None)
    return [turn] if at is None else list(window[max(at - BEFORE, 0) : at + 1])


def _head(turn: GuardedTurn, review: Review | None, who: str) -> Node:
    back = under_name("review", "The queue")
    whole = to("conversation", "In its conversation", turn=turn.report.id)
    return el("div", back, whole, *_state(review, who), cls="row small")


def _state(review: Review | None, who: str) -> list[Node]:
    if review is None:
        return [el("span", "not in the queue", cls="chip tone-abstention")]
    now = datetime.now(UTC)
    held = review.held_by(now)
    told = [el("span", REASONS[review.reason], cls="chip tone-abstention")]
    if review.verdict is not None:
        told.append(el("span", f"{review.verdict} by {review.decided_by}", cls="chip tone-unchecked"))
    else:
        told.append(el("span", f"queued {times.ago(review.queued_at, now)}", cls="faint"))
    if held is not None and review.reserved_until is not None:
        until = review.reserved_until.strftime("%H:%M UTC")
        told.append(el("span", f"{'yours' if held == who else f'{held} has it'} until {until}", cls="faint"))
    return told


def _actions(desk: Desk, turn: GuardedTurn, review: Review | None, who: str) -> None:
    name = turn.report.id
    if review is None or not review.open:
        _complaint(desk, name, who, again=review is not None)
        return
    held = review.held_by(datetime.now(UTC))
    if held is None:
        with st.container(horizontal=True):
            if st.button("Take this turn", key="take"):
                _done(lambda: desk.reviews.reserve(name, who))
    elif held == who:
        _verdict(desk, turn, who)
    _comment(desk, name, who)


def _verdict(desk: Desk, turn: GuardedTurn, who: str) -> None:
    action = turn.report.decision.action
    draw(el("div", el("h3", "Your verdict on ", chip(action)), cls="row"), key="verdict-head")
    with st.form("verdict", border=True):
        reason = st.text_area("Why", key="verdict-reason", max_chars=2000, placeholder="What you found, and where")
        with st.container(horizontal=True):
            upheld = st.form_submit_button(f"Uphold: {RIGHT[action]}")
            overturned = st.form_submit_button(f"Overturn: {WRONG[action]}")
    if upheld or overturned:
        verdict = Verdict.UPHELD if upheld else Verdict.OVERTURNED
        _done(lambda: desk.reviews.decide(turn.report.id, who, verdict, reason))
    if st.button("Give it back", key="release"):
        _done(lambda: desk.reviews.release(turn.report.id, who))


def _comment(desk: Desk, name: str, who: str) -> None:
    with st.form("comment", border=False, clear_on_submit=True):
        text = st.text_input("Comment", key="comment-text", max_chars=2000)
        if st.form_submit_button("Write"):
            _done(lambda: desk.reviews.comment(name, who, text))


def _complaint(desk: Desk, name: str, who: str, *, again: bool) -> None:
    with st.form("complaint", border=True, clear_on_submit=True):
        text = st.text_input("What is wrong with this verdict?", key="complaint-text", max_chars=2000)
        if st.form_submit_button("Open it again" if again else "Put it into the queue"):
            _done(lambda: desk.reviews.complain(name, text, who))


def _done(work: Callable[[], Any]) -> None:
    """Does it, and shows the page as it is then; what was refused is said."""
    try:
        work()
    except InputError as exc:
        show_problem("This was not done", exc)
        return
    st.rerun()


def _trail(trail: tuple[ReviewEvent, ...]) -> Node:
    return el("ol", *(_event(event, place) for place, event in enumerate(trail)), cls="talks")


def _event(event: ReviewEvent, place: int) -> Node:
    text = REASONS[Reason(event.text)] if event.what == "queued" else event.text
    said = el("div", text, cls="text") if text else None
    when = el("time", times.exact(event.at), cls="small faint nowrap", datetime=event.at.isoformat())
    return el(
        "li", el("div", el("strong", event.who), " ", EVENTS.get(event.what, event.what)), when, said, key=str(place)
    )


def _lost(desk: Desk, report_id: str) -> None:
    text = f"There is no report {report_id} among those that you may see. It may have been deleted."
    there = address.link("review", **{NAME: address.read(NAME)})
    desk.follow(draw(states.empty("No such turn", text, act=Act("go", there), button="The queue"), key="lost"))
