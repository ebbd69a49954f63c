"""The page *Review*: the queue, and one turn under review with the reviewer's actions and its history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import streamlit as st

from vista_guard.dashboard.conversation.dialogue import dialogue, follow, read_selection
from vista_guard.dashboard.conversation.evidence import sources_of
from vista_guard.dashboard.conversation.panel import Beside, panel
from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.address import to
from vista_guard.dashboard.elements.tree import Act, Node, chip, clause, draw, el, shorten, show_problem
from vista_guard.dashboard.page import NAME, Desk, download, name_of, under_name
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.policy.explanations import explain, worst
from vista_guard.stores.reports.store import LOW_CONFIDENCE, SAMPLE, Reason
from vista_guard.stores.reviews.queue import Review, ReviewEvent, ReviewVerdict
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


AT_ONCE = 100
"""Reviews of one page of the queue, before equal drafts are grouped."""

Group = Sequence[Review]
"""Reviews of equal drafts, the first of them in front."""


def listing(desk: Desk, who: str) -> None:
    """Draws the queue, equal drafts as one row; a press on the next free turn takes it."""
    reason, decided = _reason(), address.read(DECIDED) == "1"
    page = desk.reviews.queue(reason, open=not decided, after=address.read(AFTER), limit=AT_ONCE)
    groups = [[row] for row in page.rows] if decided else group_equal(page.rows, desk.reviews.draft_keys(page.rows))
    turns = desk.reports.turns([group[0].report_id for group in groups])
    rows = [_row(group, turns.get(group[0].report_id), who) for group in groups]
    title = "Decided, newest first" if decided else "Open, longest waiting first"
    body = el("ul", *rows, cls="talks", aria_label=title) if rows else _empty_queue(decided)
    more = tree.pager("more", "From the start", "More", begun=address.read(AFTER), next=page.next)
    event = draw(el("div", _bar(desk.reviews.counts(), reason, decided), body, more, cls="stack"), key="queue")
    if isinstance(event, Act):
        _follow(desk, event, who, reason)
    desk.follow(event)
    if groups:
        download("review", HEADER, lambda: [_cells(group, turns.get(group[0].report_id)) for group in groups])


def group_equal(reviews: Sequence[Review], keys: Mapping[str, str]) -> list[list[Review]]:
    """Groups reviews of equal drafts, by report id; one without a key stands alone."""
    groups: dict[str, list[Review]] = {}
    for entry in reviews:
        groups.setdefault(keys.get(entry.report_id, entry.report_id), []).append(entry)
    return list(groups.values())


def _reason() -> Reason | None:
    value = address.read(REASON)
    return Reason(value) if value in set(Reason) else None


def _bar(counts: Mapping[Reason, int], chosen: Reason | None, decided: bool) -> Node:
    """Reasons to filter by, with counts, and the button that takes the next turn."""
    whole = _choice("all", sum(counts.values()), "", chosen is None and not decided)
    reasons = (_choice(REASONS[reason], counts.get(reason, 0), reason.value, chosen is reason) for reason in Reason)
    done = el("button", "decided", cls="plain", act=Act("decided"), aria_pressed=str(decided).lower())
    free = any(counts.values()) and not decided
    take = el("button", "Take the next turn", cls="plain main", act=Act("next")) if free else None
    return el("div", take, whole, *reasons, done, cls="row", role="group", aria_label="Why turns wait")


def _choice(word: str, count: int, value: str, here: bool) -> Node:
    act, pressed = Act("reason", value), str(here).lower()
    return el(
        "button", word, " ", el("strong", str(count)), cls="plain", act=act, aria_pressed=pressed, key=f"r-{value}"
    )


def _empty_queue(decided: bool) -> Node:
    if decided:
        return tree.empty("No decisions yet", "Reviewers' decisions are listed here.")
    return tree.empty(
        "Nothing waits",
        "Blocked turns, turns that a judge was unsure of, that judges disagree on, that somebody complained about, and one "
        "in a hundred of the rest come here when they are written.",
        command="vista-guard reviews complain REPORT --reason '…'",
    )


def _row(group: Group, turn: GuardedTurn | str | None, who: str) -> Node:
    review, now = group[0], datetime.now(UTC)
    held = review.held_by(now)
    facts = [
        f"queued {address.ago(review.queued_at, now)}"
        if review.open
        else f"decided {address.ago(review.decided_at or review.queued_at, now)}",
        f"tenant {review.tenant}" if review.tenant else None,
        ("yours" if held == who else f"{held} has it") if held else None,
        f"by {review.decided_by}: {review.verdict_reason}" if review.verdict else None,
    ]
    return el(
        "li",
        under_name("review", shorten(_heading(turn), 160) or "(an empty turn)", turn=review.report_id),
        el("div", _chips(review), _equal(len(group)), cls="row"),
        el("p", clause(explain(turn.report)), cls="small worst") if isinstance(turn, GuardedTurn) else None,
        el("div", " · ".join(fact for fact in facts if fact), cls="small faint facts-line"),
        key=review.report_id,
    )


def _heading(turn: GuardedTurn | str | None) -> str:
    """The draft, else the deciding claim, for the reviewer to judge."""
    if not isinstance(turn, GuardedTurn):
        return "This report cannot be read."
    outcome = worst(turn.report)
    return turn.draft or (turn.report.response if outcome is None else outcome.claim.text)


def _equal(count: int) -> Node | None:
    return el("span", f"{count} equal drafts", cls="chip tone-scope") if count > 1 else None


_VERDICT = ("queued", "verdict", "by", "verdict reason")
HEADER = ("report", "decision", "why in the queue", "equal drafts", "draft", "reason", *_VERDICT)


def _cells(group: Group, turn: GuardedTurn | str | None) -> Sequence[object]:
    first = group[0]
    reason = explain(turn.report).text if isinstance(turn, GuardedTurn) else ""
    cells = (first.report_id, first.action, REASONS[first.reason], len(group), _heading(turn), reason)
    return *cells, address.exact(first.queued_at), first.verdict, first.decided_by, first.verdict_reason


def _chips(review: Review) -> Node:
    verdict = None if review.verdict is None else el("span", review.verdict.value, cls="chip tone-unchecked")
    reason = (
        el("span", REASONS[review.reason], cls="chip tone-abstention") if review.reason is not Reason.BLOCKED else None
    )
    return el("span", chip(review.action), reason, verdict, cls="row")


def _follow(desk: Desk, act: Act, who: str, reason: Reason | None) -> None:
    if act.name == "reason":
        address.write(**{REASON: act.value or None, DECIDED: None, AFTER: None})
    elif act.name == "decided":
        address.write(**{DECIDED: None if address.read(DECIDED) else "1", AFTER: None})
    elif act.name == "more":
        address.write(after=act.value or None)
    elif act.name == "next":
        _next(desk, who, reason)
        return
    else:
        return
    st.rerun()


def _next(desk: Desk, who: str, reason: Reason | None) -> None:
    """Takes the next free turn and opens it."""
    taken = desk.reviews.take_next(who, reason)
    if taken is None:
        st.toast("No turn is free: all are decided, or other reviewers hold them.")
        return
    address.write(turn=taken.report_id, claim=None, after=None)
    st.rerun()


BEFORE = 2
"""Turns of the conversation that are shown before the one under review."""


def draw_turn(desk: Desk, who: str, report_id: str) -> None:
    """Draws the turn and its actions."""
    turn, review = desk.reports.turn(report_id), desk.reviews.get(report_id)
    if turn is None:
        _draw_not_found(desk, report_id)
        return
    desk.follow(draw(_head(turn, review, who), key="review-head"))
    _actions(desk, turn, review, who)
    _show(desk, turn)
    _comment(desk, report_id, who)
    trail = desk.reviews.trail(report_id)
    if trail:
        events = el("ol", *(_event(event, place) for place, event in enumerate(trail)), cls="talks")
        draw(el("section", el("h3", "What was done"), events), key="trail")


def _show(desk: Desk, turn: GuardedTurn) -> None:
    chosen, name = read_selection(), turn.report.conversation_id
    # The turn, with the ones before it, so that one sees what it answers.
    window = desk.reports.conversation(name, around=turn).turns if name else ()
    at = next((place for place, candidate in enumerate(window) if candidate.report.id == turn.report.id), None)
    turns = [turn] if at is None else list(window[max(at - BEFORE, 0) : at + 1])
    sources = sources_of(desk.reports, name, turns, chosen.outcome(turn))
    beside = panel(turn, chosen, Beside(sources, desk.settings.trace_url))
    body = dialogue(turns, chosen, reveal=False)  # the decision on top stays in view
    event = draw(el("div", body, beside, cls=f"talk{' with-panel' if chosen.claim else ''}"), key="reviewed")
    if isinstance(event, Act) and follow(event):
        st.rerun()
    desk.follow(event)


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
        badges.append(el("span", f"queued {address.ago(review.queued_at, now)}", cls="faint"))
    if held is not None and review.reserved_until is not None:
        until = review.reserved_until.strftime("%H:%M UTC")
        badges.append(el("span", f"{'yours' if held == who else f'{held} has it'} until {until}", cls="faint"))
    return badges


def _actions(desk: Desk, turn: GuardedTurn, review: Review | None, who: str) -> None:
    """Draws the actions open to the reviewer now, with their keys."""
    name = turn.report.id
    held = None if review is None else review.held_by(datetime.now(UTC))
    if review is not None and review.open and held in (None, who):
        _verdict(desk, turn, who)
    is_free = review is not None and review.open and held is None
    with st.container(horizontal=True):
        if is_free and st.button("Take this turn", key="take", shortcut="T"):
            _apply(lambda: desk.reviews.reserve(name, who))
        if held == who and st.button("Give it back", key="release", shortcut="G"):
            _apply(lambda: desk.reviews.release(name, who))
        if st.button("Next turn", key="next", shortcut="N"):
            _next(desk, who, _reason())
    if review is None or not review.open:
        _complaint(desk, name, who, again=review is not None)


def _verdict(desk: Desk, turn: GuardedTurn, who: str) -> None:
    action, name = turn.report.decision.action, turn.report.id
    outcome = worst(turn.report)
    head = (
        el("h3", clause(explain(turn.report), whole=True)),
        el("p", turn.question, cls="faint text") if turn.question else None,
        el("p", el("q", outcome.claim.text), cls="statement") if outcome else None,
    )
    draw(el("div", *head), key="verdict-head")
    others = [entry.report_id for entry in desk.reviews.equal(name)]
    with st.form("verdict", border=True):
        reason = st.text_area("Why", key="verdict-reason", max_chars=2000, height=68, placeholder=WHY)
        whole = bool(others) and st.checkbox(
            f"Also for {len(others)} equal draft{'s' * (len(others) > 1)}", True, key="verdict-equal"
        )
        with st.container(horizontal=True):
            upheld = st.form_submit_button(f"Uphold: {RIGHT[action]}", shortcut="U")
            overturned = st.form_submit_button(f"Overturn: {WRONG[action]}", shortcut="O")
    if upheld or overturned:
        verdict = ReviewVerdict.UPHELD if upheld else ReviewVerdict.OVERTURNED
        # Upholding repeats the guard's reason; overturning needs the reviewer's own.
        stored_reason = reason if reason.strip() or overturned else f"as judged. {explain(turn.report).text}"
        _apply(lambda: desk.reviews.decide_all([name, *(others if whole else ())], who, verdict, stored_reason))


WHY: Final = "Reason, with the evidence; needed to overturn"


def _comment(desk: Desk, name: str, who: str) -> None:
    with st.form("comment", border=False, clear_on_submit=True):
        text = st.text_input("Comment", key="comment-text", max_chars=2000)
        if st.form_submit_button("Write"):
            _apply(lambda: desk.reviews.comment(name, who, text))


def _complaint(desk: Desk, name: str, who: str, *, again: bool) -> None:
    with st.form("complaint", border=True, clear_on_submit=True):
        text = st.text_input("What is wrong with this verdict?", key="complaint-text", max_chars=2000)
        if st.form_submit_button("Open it again" if again else "Put it into the queue"):
            _apply(lambda: desk.reviews.complain(name, text, who))


def _apply(work: Callable[[], Any]) -> None:
    """Does the work and reruns the page; draws the error if it was refused."""
    try:
        work()
    except InputError as exc:
        show_problem("This was not done", exc)
        return
    st.rerun()


def _event(event: ReviewEvent, place: int) -> Node:
    text = REASONS[Reason(event.text)] if event.what == "queued" else event.text
    body = el("div", text, cls="text") if text else None
    when = el("time", address.exact(event.at), cls="small faint nowrap", datetime=event.at.isoformat())
    return el(
        "li", el("div", el("strong", event.who), " ", EVENTS.get(event.what, event.what)), when, body, key=str(place)
    )


def _draw_not_found(desk: Desk, report_id: str) -> None:
    text = f"There is no report {report_id} that you may see. It may have been deleted."
    href = address.link("review", **{NAME: address.read(NAME)})
    desk.follow(draw(tree.empty("No such turn", text, act=Act("go", href), button="The queue"), key="lost"))


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
        draw_turn(desk, who, report)
