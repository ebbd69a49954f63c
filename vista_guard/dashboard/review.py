"""The page *Review*: the queue, and one turn under review with the reviewer's actions and its history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import streamlit as st

from vista_guard.dashboard.chat_facts import draw_form, draw_list
from vista_guard.dashboard.conversation.dialogue import dialogue, follow, read_selection
from vista_guard.dashboard.conversation.evidence import sources_of
from vista_guard.dashboard.conversation.panel import Beside, panel
from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.address import to
from vista_guard.dashboard.elements.tree import Act, Node, chip, clause, draw, el, shorten, show_problem
from vista_guard.dashboard.page import NAME, Desk, download, name_of, under_name
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.errors import InputError, StoreError
from vista_guard.policy.explanations import explain, worst
from vista_guard.stores.reports import ATTENTION
from vista_guard.stores.reports.store import LOW_CONFIDENCE, SAMPLE, Reason
from vista_guard.stores.reviews.queue import Review, ReviewEvent, ReviewVerdict
from vista_guard.types import Action

REASONS: Final = {
    Reason.COMPLAINT: "complaint",
    Reason.BLOCKED: "blocked",
    Reason.FLAGGED: "flagged",
    Reason.DISAGREEMENT: "judges disagree",
    Reason.LOW_CONFIDENCE: f"confidence below {LOW_CONFIDENCE}",
    Reason.SAMPLE: f"one in {SAMPLE} delivered",
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
    "reopened": "took the verdict back",
    "comment": "wrote",
    "channel": "made a fact about the chat",
    "removed": "removed the fact about the chat",
}

REASON, DECIDED, AFTER, AT = "reason", "decided", "after", "at"
"""Names in the address. `AT` is the report of the row that keys act on."""


AT_ONCE = 100
"""Reviews of one page of the queue, before equal drafts are grouped."""

Group = Sequence[Review]
"""Reviews of equal drafts, the first of them in front."""


def listing(desk: Desk, who: str | None) -> None:
    """Draws the queue, equal drafts as one row, with keys for one of them. Without a name it is only looked at."""
    reason, decided = _reason(), address.read(DECIDED) == "1"
    page = desk.reviews.queue(reason, open=not decided, after=address.read(AFTER), limit=AT_ONCE)
    groups = tuple((row,) for row in page.rows) if decided else desk.reviews.grouped(page.rows)
    turns = desk.reports.turns([group[0].report_id for group in groups])
    marked = None if decided or who is None else _marked(groups, who)
    rows = [_row(group, turns.get(group[0].report_id), who, group is marked) for group in groups]
    title = "Decided, newest first" if decided else "Open, the riskiest first"
    body = el("ul", *rows, cls="talks", aria_label=title) if rows else _empty_queue(decided)
    more = tree.pager("more", "From the start", "More", begun=address.read(AFTER), next=page.next)
    keys = None if marked is None else _keys(marked, _following(groups, marked, page.next))
    bar = _bar(desk.reviews.counts(), reason, decided)
    event = draw(el("div", bar, keys, body, more, cls="stack"), key="queue")
    if isinstance(event, Act):
        _follow(desk, event, who, next((group for group in groups if group[0].report_id == event.value), ()))
    desk.follow(event)
    unwanted = draw_list(desk, who)
    if unwanted is not None and who is not None:
        _apply(lambda: desk.reviews.remove_facts([unwanted], who))
    if groups:
        download("review", HEADER, lambda: [_cells(group, turns.get(group[0].report_id)) for group in groups])


def _marked(groups: Sequence[Group], who: str) -> Group | None:
    """The row that keys act on: the one in the address, else the first that nobody else has."""
    now, at = datetime.now(UTC), address.read(AT)
    free = (group for group in groups if group[0].held_by(now) in (None, who))
    return next((group for group in groups if group[0].report_id == at), next(free, None))


def _following(groups: Sequence[Group], marked: Group, next_page: str | None) -> Act:
    """The act that moves the mark on: to the next row, the next page, or back to the first row."""
    place = next(place for place, group in enumerate(groups) if group is marked) + 1
    if place == len(groups) and next_page is not None:
        return Act("more", next_page)
    return Act(AT, groups[place % len(groups)][0].report_id)


def _keys(marked: Group, following: Act) -> Node:
    """Draws the actions on the marked row, each with its key."""
    name = marked[0].report_id
    return el(
        "div",
        key_button("T", "Take this turn", Act("take", name), cls="plain main"),
        key_button("U", "Uphold", Act("uphold", name)),
        key_button("O", "Overturn", Act("overturn", name)),
        key_button("A", "About our chat", Act("about-chat", name)),
        key_button("N", "Next", following),
        el(
            "details",
            el("summary", "Keys", el("kbd", "?"), cls="plain", aria_keyshortcuts="?"),
            el("ul", *(el("li", el("kbd", key), " ", does) for key, does in KEYS.items()), cls="small"),
        ),
        cls="row keys",
        role="group",
        aria_label="The marked turn",
    )


KEYS: Final = {
    "T": "reserves the marked turn for you and opens it",
    "U": "upholds the guard's decision, for all equal drafts",
    "O": "overturns it: opens the turn and asks why",
    "A": "opens the turn, to make what it says of the chat itself a fact that answers may say",
    "N": "moves the mark to the next row; in an open turn, takes the next one",
    "Z": "takes your last decision back",
    "G": "in an open turn: gives it back",
    "?": "shows these keys",
}


def key_button(key: str, text: str, act: Act, *, cls: str = "plain") -> Node:
    """Draws a button that a key presses, too, and that names it."""
    return el("button", text, el("kbd", key, aria_hidden="true"), cls=cls, act=act, aria_keyshortcuts=key)


def _reason() -> Reason | None:
    value = address.read(REASON)
    return Reason(value) if value in set(Reason) else None


def _bar(counts: Mapping[Reason, int], chosen: Reason | None, decided: bool) -> Node:
    """Reasons to filter by, with counts."""
    whole = _choice("all", sum(counts.values()), "", chosen is None and not decided)
    reasons = (_choice(REASONS[reason], counts.get(reason, 0), reason.value, chosen is reason) for reason in Reason)
    done = el("button", "decided", cls="plain", act=Act("decided"), aria_pressed=str(decided).lower())
    return el("div", whole, *reasons, done, cls="row choices", role="group", aria_label="Why turns wait")


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
        "Blocked and flagged turns, turns that a judge was unsure of, that judges disagree on, that somebody complained "
        f"about, and one in {SAMPLE} of the rest come here when they are written.",
        command="vista-guard reviews complain REPORT --reason '…'",
    )


def _row(group: Group, turn: GuardedTurn | str | None, who: str | None, marked: bool) -> Node:
    review, now = group[0], datetime.now(UTC)
    held = review.held_by(now)
    risk = turn.report.risk if isinstance(turn, GuardedTurn) else None
    equal = el("span", f"{len(group)} equal drafts", cls="chip tone-scope") if len(group) > 1 else None
    facts = [
        None if risk is None else f"risk {risk:.2f}",
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
        el("div", _chips(review), equal, cls="row"),
        _why(turn) if isinstance(turn, GuardedTurn) else None,
        el("div", " · ".join(fact for fact in facts if fact), cls="small faint facts-line"),
        cls="here" if marked else "",
        aria_current="true" if marked else None,
        reveal=review.report_id if marked and address.read(AT) else None,
        key=review.report_id,
    )


def _heading(turn: GuardedTurn | str | None) -> str:
    """The draft, else the deciding claim, for the reviewer to judge."""
    if not isinstance(turn, GuardedTurn):
        return "This report cannot be read."
    outcome = worst(turn.report)
    return turn.draft or (turn.report.response if outcome is None else outcome.claim.text)


def _why(turn: GuardedTurn) -> Node:
    """The reason, behind its claim where the draft has more than that claim."""
    outcome = worst(turn.report) if turn.report.decision.action in ATTENTION else None
    claim = (
        None if outcome is None or outcome.claim.text == _heading(turn) else el("q", shorten(outcome.claim.text, 160))
    )
    return el("p", claim, " · " if claim else None, clause(explain(turn.report)), cls="small worst")


_VERDICT = ("queued (UTC)", "verdict", "by", "decided (UTC)", "verdict reason")
HEADER = ("report", "action", "why in the queue", "equal drafts", "draft", "reason", *_VERDICT)


def _cells(group: Group, turn: GuardedTurn | str | None) -> Sequence[object]:
    first = group[0]
    reason = explain(turn.report).text if isinstance(turn, GuardedTurn) else ""
    cells = (first.report_id, first.action, REASONS[first.reason], len(group), _heading(turn), reason)
    decided = first.decided_at and address.for_sheet(first.decided_at)
    return *cells, address.for_sheet(first.queued_at), first.verdict, first.decided_by, decided, first.verdict_reason


def _chips(review: Review) -> Node:
    verdict = None if review.verdict is None else el("span", review.verdict.value, cls="chip tone-unchecked")
    reason = (
        None  # its action says it
        if review.reason in (Reason.BLOCKED, Reason.FLAGGED)
        else el("span", REASONS[review.reason], cls="chip tone-abstention")
    )
    return el("span", chip(review.action), reason, verdict, cls="row")


def _follow(desk: Desk, act: Act, who: str | None, group: Group) -> None:
    """Follows a press on the list; `group` are the reviews of its row, none where somebody decided it meanwhile."""
    if act.name == "reason":
        address.write(**{REASON: act.value or None, DECIDED: None, AFTER: None, AT: None})
    elif act.name == "decided":
        address.write(**{DECIDED: None if address.read(DECIDED) else "1", AFTER: None, AT: None})
    elif act.name == "more":
        address.write(**{AFTER: act.value or None, AT: None})
    elif act.name == AT:
        address.write(**{AT: act.value})
    elif who is not None and act.name in ON_A_ROW:
        _act_on(desk, act, who, group)
        return
    else:
        return
    st.rerun()


ON_A_ROW: Final = ("take", "uphold", "overturn", "about-chat")


def _act_on(desk: Desk, act: Act, who: str, group: Group) -> None:
    """Takes, upholds or overturns the marked row."""
    what, name = act.name, act.value
    if what == "take":
        try:
            desk.reviews.reserve(name, who)
        except InputError:  # somebody was quicker
            _next(desk, who, _reason())
        else:
            _open(name)
    elif what in ("overturn", "about-chat"):
        st.session_state[OVERTURNING if what == "overturn" else ABOUT_CHAT] = name
        _open(name)
    elif what == "uphold":
        turn = desk.reports.turn(name)
        if turn is not None:
            _decide(
                desk, [name, *(review.report_id for review in group[1:])], who, ReviewVerdict.UPHELD, _as_judged(turn)
            )


def _next(desk: Desk, who: str, reason: Reason | None) -> None:
    """Takes the next free turn and opens it."""
    taken = desk.reviews.take_next(who, reason)
    if taken is None:
        st.toast("No turn is free: all are decided, or other reviewers hold them.")
        return
    _open(taken.report_id)


def _open(report_id: str) -> None:
    address.write(turn=report_id, claim=None, after=None, at=None)
    st.rerun()


DONE: Final = "review-done"
"""Session state: the last decision, to say and to undo it."""


@dataclass(frozen=True)
class LastDecision:
    """A decision on some turns: the first, and those with an equal draft. `asked` is how many it was meant for.

    `facts` are the ids of facts about the chat that came with it. Without a verdict it was these alone.
    """

    verdict: ReviewVerdict | None
    names: tuple[str, ...]
    asked: int
    facts: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The deed, in a sentence."""
        count = len(self.names)
        added = f"Added {len(self.facts)} fact{'s' * (len(self.facts) > 1)} about the chat. " if self.facts else ""
        if self.verdict is None:
            return f"{added}The rest of this turn waits for your verdict."
        said = f"{added}{self.verdict.value.capitalize()}: {'this turn' if count == 1 else f'{count} equal drafts'}."
        missing = self.asked - count
        return f"{said} {missing} more {'was' if missing == 1 else 'were'} taken by others." if missing else said


def _decide(desk: Desk, names: Sequence[str], who: str, verdict: ReviewVerdict, reason: str) -> None:
    def decide() -> None:
        decided = desk.reviews.decide_all(names, who, verdict, reason)
        st.session_state[DONE] = LastDecision(verdict, decided, len(names))
        st.session_state.pop(OVERTURNING, None)

    _apply(decide)


def _draw_done(desk: Desk, who: str) -> None:
    """Says what the last decision did, with a button that takes it back."""
    done = st.session_state.get(DONE)
    if not isinstance(done, LastDecision):
        return
    undo = key_button("Z", "Undo", Act("undo"))
    if draw(el("div", el("span", done.text), undo, cls="row keys", role="status"), key="review-done-bar") == Act(
        "undo"
    ):
        del st.session_state[DONE]
        _apply(lambda: desk.reviews.undo(done.names, who, facts=done.facts))


def _as_judged(turn: GuardedTurn) -> str:
    """The reason of a verdict that upholds the guard's."""
    return f"as judged. {explain(turn.report).text}"


BEFORE = 2
"""Turns of the conversation that are shown before the one under review."""


def draw_turn(desk: Desk, who: str | None, report_id: str) -> None:
    """Draws the turn and, for a reviewer with a name, its actions."""
    turn, review = desk.reports.turn_or_problem(report_id), desk.reviews.get(report_id)
    if turn is None:
        text = f"There is no report {report_id} that you may see. It may have been deleted."
        _draw_not_found(desk, "No such turn", text)
        return
    if isinstance(turn, str):
        _draw_not_found(desk, "This turn cannot be shown", turn)
        return
    desk.follow(draw(_head(turn, review, who), key="review-head"))
    if who is not None:
        _actions(desk, turn, review, who)
    _show(desk, turn)
    if who is not None:
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


def _head(turn: GuardedTurn, review: Review | None, who: str | None) -> Node:
    back = under_name("review", "The queue")
    whole = to("conversation", "In its conversation", turn=turn.report.id)
    return el("div", back, whole, *_state(review, who), cls="row small")


def _state(review: Review | None, who: str | None) -> list[Node]:
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
    open_to_me = review is not None and review.open and held in (None, who)
    if open_to_me:
        _verdict(desk, turn, who)
    is_free = review is not None and review.open and held is None
    with st.container(horizontal=True):
        if is_free and st.button("Take this turn", key="take", shortcut="T"):
            _apply(lambda: desk.reviews.reserve(name, who))
        if held == who and st.button("Give it back", key="release", shortcut="G"):
            _apply(lambda: desk.reviews.release(name, who))
        if review is not None and review.decided_by == who and st.button("Take your decision back", key="undo-this"):
            st.session_state.pop(DONE, None)
            _apply(lambda: desk.reviews.undo([name], who))
        if open_to_me and st.button("About our chat", key="about-chat-open", shortcut="A"):
            st.session_state[ABOUT_CHAT] = name
            st.rerun()
        if st.button("Next turn", key="next", shortcut="N"):
            _next(desk, who, _reason())
    if open_to_me and st.session_state.get(ABOUT_CHAT) == name:
        _about_chat(desk, turn, who)
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
    overturning = st.session_state.get(OVERTURNING) == name
    if overturning:
        # The number makes each press move the cursor.
        focus = st.session_state[FOCUSED] = st.session_state.get(FOCUSED, 0) + 1
        draw(el("p", HOW, cls="small", role="status", data_focus=f"{WHY}#{focus}"), key="overturning")
    choices = (
        (ReviewVerdict.UPHELD, f"Uphold: {RIGHT[action]}", "U"),
        (ReviewVerdict.OVERTURNED, f"Overturn: {WRONG[action]}", "O"),
    )
    # Ctrl+Enter presses a form's first button.
    with st.form("verdict-overturned" if overturning else "verdict", border=True):
        reason = st.text_area(WHY, key="verdict-reason", max_chars=2000, height=68, placeholder=HINT)
        whole = bool(others) and st.checkbox(
            f"Also for {len(others)} equal draft{'s' * (len(others) > 1)}", True, key="verdict-equal"
        )
        with st.container(horizontal=True):
            pressed = [
                verdict
                for verdict, text, key in (reversed(choices) if overturning else choices)
                if st.form_submit_button(text, shortcut=key)
            ]
    if pressed == [ReviewVerdict.OVERTURNED] and not reason.strip():
        st.session_state[OVERTURNING] = name
        st.rerun()
    if pressed:  # upholding repeats the guard's reason; overturning needs the reviewer's own
        stored_reason = reason if reason.strip() else _as_judged(turn)
        _decide(desk, [name, *(others if whole else ())], who, pressed[0], stored_reason)


def _about_chat(desk: Desk, turn: GuardedTurn, who: str) -> None:
    """Draws the form that makes what the turn says of the chat a fact, and does what it asks for."""
    name = turn.report.id
    others = [entry.report_id for entry in desk.reviews.equal(name)]
    focus = st.session_state[FOCUSED] = st.session_state.get(FOCUSED, 0) + 1
    wish = draw_form(turn, read_selection().claim, desk.reviews.facts(), len(others), focus)
    if wish is None:
        return
    right = ReviewVerdict.UPHELD if turn.report.decision.action is Action.ALLOW else ReviewVerdict.OVERTURNED
    verdict, names = right if wish.whole else None, [name, *(others if wish.equal and wish.whole else ())]

    def add() -> None:
        added = desk.reviews.add_facts(names, who, wish.facts, verdict=verdict)
        st.session_state[DONE] = LastDecision(verdict, added.decided, len(names), added.facts)
        st.session_state.pop(ABOUT_CHAT, None)

    _apply(add)


OVERTURNING, ABOUT_CHAT, FOCUSED = "review-overturning", "review-about-chat", "review-focused"
"""Session state: the turn that waits for a reason, the one whose sentence is about the chat, and how often a field of theirs was
given the cursor."""

WHY: Final = "Why"
HOW: Final = "Why was it wrong? Ctrl+Enter then overturns it."
HINT: Final = "Reason, with the evidence; needed to overturn"


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


REFUSED: Final = "review-refused"
"""Session state: why the last press did nothing, to say on top of the page."""


def _apply(work: Callable[[], Any]) -> None:
    """Does the work, or keeps why it was refused, and reruns the page."""
    try:
        work()
    except (InputError, StoreError) as exc:
        st.session_state[REFUSED] = str(exc)
    st.rerun()


def _event(event: ReviewEvent, place: int) -> Node:
    text = REASONS[Reason(event.text)] if event.what == "queued" else event.text
    body = el("div", text, cls="text") if text else None
    when = el("time", address.exact(event.at), cls="small faint nowrap", datetime=event.at.isoformat())
    return el(
        "li", el("div", el("strong", event.who), " ", EVENTS.get(event.what, event.what)), when, body, key=str(place)
    )


def _draw_not_found(desk: Desk, title: str, text: str) -> None:
    href = address.link("review", **{NAME: address.read(NAME)})
    desk.follow(draw(tree.empty(title, text, act=Act("go", href), button="The queue"), key="lost"))


def review(desk: Desk) -> None:
    """Draws the page."""
    st.title("Review", anchor=False)
    who, report = name_of(desk), address.read(address.TURN)
    if who is not None:
        _draw_done(desk, who)
    if refused := st.session_state.pop(REFUSED, None):
        show_problem("This was not done", refused)
    if report is None:
        listing(desk, who)
    else:
        draw_turn(desk, who, report)
