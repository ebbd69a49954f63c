"""The page *Review*: the queue, and one turn under review with what the reviewer decides and all that was done before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import streamlit as st

from vista_guard.dashboard.conversation.dialogue import dialogue, follow, selected
from vista_guard.dashboard.conversation.evidence import sources_of
from vista_guard.dashboard.conversation.panel import Beside, panel
from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements import address as times
from vista_guard.dashboard.elements.address import to
from vista_guard.dashboard.elements.tree import Act, Node, chip, draw, el, show_problem
from vista_guard.dashboard.page import NAME, Desk, name_of, under_name
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.stores.reports import Page
from vista_guard.stores.reports.store import LOW_CONFIDENCE, SAMPLE, Reason
from vista_guard.stores.reviews.records import Review, ReviewEvent, ReviewVerdict
from vista_guard.types import Action

REASONS: Final = {
    Reason.COMPLAINT: "complaint",
    Reason.BLOCKED: "blocked",
    Reason.DISAGREEMENT: "judges disagree",
    Reason.LOW_CONFIDENCE: f"confidence below {LOW_CONFIDENCE}",
    Reason.SAMPLE: f"one in {SAMPLE} allowed",
}

RIGHT: Final = {
    Action.ALLOW: "it was right to let this through",
    Action.FLAG: "it was right to flag this",
    Action.REPAIR: "it was right to repair this",
    Action.BLOCK: "it was right to block this",
}

WRONG: Final = {
    Action.ALLOW: "this should not have been let through",
    Action.FLAG: "nothing is wrong with this",
    Action.REPAIR: "nothing was wrong with the draft",
    Action.BLOCK: "nothing was wrong with the draft",
}

EVENTS: Final = {
    "queued": "put it into the queue",
    "complaint": "complained",
    "reserved": "took it",
    "released": "gave it back",
    "upheld": "upheld the verdict",
    "overturned": "overturned the verdict",
    "comment": "wrote",
}

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
    title = "Decided, newest first" if decided else "Open, longest waiting first"
    rows = (_row(one, turns.get(one.report_id), who) for one in page.rows)
    return el("ul", *rows, cls="talks", aria_label=title)


def _nothing(decided: bool) -> Node:
    if decided:
        return tree.empty("No decisions yet", "Reviewers' decisions are listed here.")
    return tree.empty(
        "Nothing waits",
        "Blocked turns, turns that a judge was unsure of, that judges disagree on, that somebody complained about, and one "
        "in a hundred of the rest come here when they are written.",
        command="vista-guard reviews complain REPORT --reason '…'",
    )


def _row(review: Review, turn: GuardedTurn | str | None, who: str) -> Node:
    now = datetime.now(UTC)
    text = (turn.draft or turn.report.response) if isinstance(turn, GuardedTurn) else "This report cannot be read."
    held = review.held_by(now)
    facts = [
        f"queued {times.ago(review.queued_at, now)}" if review.open else f"decided {times.ago(_when(review), now)}",
        f"tenant {review.tenant}" if review.tenant else None,
        ("yours" if held == who else f"{held} has it") if held else None,
        f"by {review.decided_by}: {review.verdict_reason}" if review.verdict else None,
    ]
    return el(
        "li",
        under_name("review", text[:160] or "(an empty turn)", turn=review.report_id),
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
            st.toast("Other reviewers hold all of these turns.")
            return
        address.write(turn=taken.report_id, after=None)
    else:
        return
    st.rerun()


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
    badges = [el("span", REASONS[review.reason], cls="chip tone-abstention")]
    if review.verdict is not None:
        badges.append(el("span", f"{review.verdict} by {review.decided_by}", cls="chip tone-unchecked"))
    else:
        badges.append(el("span", f"queued {times.ago(review.queued_at, now)}", cls="faint"))
    if held is not None and review.reserved_until is not None:
        until = review.reserved_until.strftime("%H:%M UTC")
        badges.append(el("span", f"{'yours' if held == who else f'{held} has it'} until {until}", cls="faint"))
    return badges


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
        reason = st.text_area("Why", key="verdict-reason", max_chars=2000, placeholder="Reason, with the evidence")
        with st.container(horizontal=True):
            upheld = st.form_submit_button(f"Uphold: {RIGHT[action]}")
            overturned = st.form_submit_button(f"Overturn: {WRONG[action]}")
    if upheld or overturned:
        verdict = ReviewVerdict.UPHELD if upheld else ReviewVerdict.OVERTURNED
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
    body = el("div", text, cls="text") if text else None
    when = el("time", times.exact(event.at), cls="small faint nowrap", datetime=event.at.isoformat())
    return el(
        "li", el("div", el("strong", event.who), " ", EVENTS.get(event.what, event.what)), when, body, key=str(place)
    )


def _lost(desk: Desk, report_id: str) -> None:
    text = f"There is no report {report_id} that you may see. It may have been deleted."
    there = address.link("review", **{NAME: address.read(NAME)})
    desk.follow(draw(tree.empty("No such turn", text, act=Act("go", there), button="The queue"), key="lost"))


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
