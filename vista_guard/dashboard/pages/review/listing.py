"""The queue: how many turns wait and why, the ones that wait longest, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.review.words import REASONS
from vista_guard.dashboard.parts import address, states, times
from vista_guard.dashboard.parts.identity import under_name
from vista_guard.dashboard.parts.labels import chip
from vista_guard.dashboard.parts.tree import Act, Node, draw, el
from vista_guard.dashboard.reports.turns import GuardedTurn
from vista_guard.stores.reports import Page
from vista_guard.stores.reports.people.queueing import Reason
from vista_guard.stores.reviews.records import Review

REASON, DECIDED, AFTER = "reason", "decided", "after"
"""Names in the address."""


def listing(desk: Desk, who: str) -> None:
    """Draws the queue; a press on the next free turn takes it."""
    reason, decided = _reason(), address.read(DECIDED) == "1"
    page = desk.reviews.queue(reason, open=not decided, after=address.read(AFTER))
    counts = desk.reviews.counts()
    parts = (_bar(counts, reason, decided), _rows(desk, page, decided, who), _more(page))
    event = draw(el("div", *parts, cls="stack"), key="queue")
    if isinstance(event, Act):
        _follow(desk, event, who, reason)
    desk.follow(event)


def _reason() -> Reason | None:
    named = address.read(REASON)
    return Reason(named) if named in set(Reason) else None


def _bar(counts: Mapping[Reason, int], chosen: Reason | None, decided: bool) -> Node:
    """Reasons to choose from, each with how many wait; the button that takes the next one."""
    whole = _choice("all", sum(counts.values()), "", chosen is None and not decided)
    reasons = (_choice(REASONS[one], counts.get(one, 0), one.value, chosen is one) for one in Reason)
    done = el("button", "decided", cls="plain", act=Act("decided"), aria_pressed=str(decided).lower())
    free = any(counts.values()) and not decided
    take = el("button", "Take the next turn", cls="plain main", act=Act("next")) if free else None
    return el("div", take, whole, *reasons, done, cls="row", role="group", aria_label="Why turns wait")


def _choice(word: str, count: int, value: str, here: bool) -> Node:
    act = Act("reason", value)
    return el(
        "button",
        word,
        " ",
        el("strong", str(count)),
        cls="plain",
        act=act,
        aria_pressed=str(here).lower(),
        key=f"r-{value}",
    )


def _rows(desk: Desk, page: Page[Review], decided: bool, who: str) -> Node:
    if not page.rows:
        return _nothing(decided)
    turns = desk.reports.turns([one.report_id for one in page.rows])
    told = "Decided, the newest first" if decided else "Turns that wait, the longest waiting first"
    rows = (_row(one, turns.get(one.report_id), who) for one in page.rows)
    return el("ul", *rows, cls="talks", aria_label=told)


def _nothing(decided: bool) -> Node:
    if decided:
        return states.empty("Nothing was decided yet", "What reviewers decide is listed here.")
    return states.empty(
        "Nothing waits",
        "Turns that were blocked, that a judge was unsure of, that judges disagree on, that somebody complained about, and one "
        "in a hundred of the rest come here when they are written.",
        command="vista-guard reviews complain REPORT --reason '…'",
    )


def _row(review: Review, turn: GuardedTurn | str | None, who: str) -> Node:
    now = datetime.now(UTC)
    said = (turn.draft or turn.report.response) if isinstance(turn, GuardedTurn) else "This report cannot be read."
    held = review.held_by(now)
    facts = [
        f"queued {times.ago(review.queued_at, now)}" if review.open else f"decided {times.ago(_when(review), now)}",
        f"tenant {review.tenant}" if review.tenant else None,
        ("yours" if held == who else f"{held} has it") if held else None,
        f"by {review.decided_by}: {review.verdict_reason}" if review.verdict else None,
    ]
    return el(
        "li",
        under_name("review", said[:160] or "(an empty turn)", turn=review.report_id),
        el("div", _chips(review), cls="row"),
        el("div", " · ".join(fact for fact in facts if fact), cls="small faint"),
        key=review.report_id,
    )


def _chips(review: Review) -> Node:
    verdict = None if review.verdict is None else el("span", review.verdict.value, cls="chip tone-unchecked")
    reason = el("span", REASONS[review.reason], cls="chip tone-abstention")
    return el("span", chip(review.action), reason, verdict, cls="row")


def _when(review: Review) -> datetime:
    return review.decided_at or review.queued_at


def _more(page: Page[Review]) -> Node | None:
    first = el("button", "From the start", cls="plain", act=Act("more")) if address.read(AFTER) else None
    later = el("button", "More", cls="plain", act=Act("more", page.next)) if page.next else None
    return el("div", first, later, cls="row") if first or later else None


def _follow(desk: Desk, act: Act, who: str, reason: Reason | None) -> None:
    if act.name == "reason":
        address.write(**{REASON: act.value or None, DECIDED: None, AFTER: None})
    elif act.name == "decided":
        address.write(**{DECIDED: None if address.read(DECIDED) else "1", AFTER: None})
    elif act.name == "more":
        address.write(after=act.value or None)
    elif act.name == "next":
        taken = desk.reviews.take_next(who, reason)
        if taken is None:
            st.toast("Others have all of these turns.")
            return
        address.write(turn=taken.report_id, after=None)
    else:
        return
    st.rerun()
