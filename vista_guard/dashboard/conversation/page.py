"""The page *Conversation*: one conversation, or the list to choose from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from vista_guard.dashboard.conversation.dialogue import Selected, dialogue, follow, read_selection
from vista_guard.dashboard.conversation.evidence import sources_of
from vista_guard.dashboard.conversation.panel import Beside, panel
from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.address import Filters, clear, filter_bar, from_address, own_name, search_box, to
from vista_guard.dashboard.elements.looks import failure_words
from vista_guard.dashboard.elements.tree import Act, Node, chip, count_chip, draw, el
from vista_guard.dashboard.page import Desk, download
from vista_guard.dashboard.scoped import GuardedTurn, Window
from vista_guard.dashboard.settings import Permission
from vista_guard.policy.explanations import BAD, answer_number, explain
from vista_guard.stores.reports import ConversationRow, FailureRow, Highlight, Order, Page
from vista_guard.types import Action, Finding, Label, label_of

AFTER = "after"
"""Address parameter: where a page of the list begins."""


def listing(desk: Desk) -> None:
    """Draws the list, with its search and filters."""
    with st.container(horizontal=True, vertical_alignment="center", key="bar"):
        choices = desk.reports.choices(from_address())
        search_box()
        filters, order = filter_bar(choices), address.order_box()
        page = desk.reports.conversations(filters, after=address.read(AFTER), order=order)
        highlights = desk.reports.highlights(filters, page.rows)
        broken = desk.reports.failures(filters) if filters.failed else Page[FailureRow]((), None)
        if broken.rows:
            download("errors", BROKEN, lambda: map(_broken_cells, broken.rows))
        else:
            talks = [(row, highlights.get(row.key, Highlight())) for row in page.rows]
            download("conversations", HEADER, lambda: (_cells(*talk) for talk in talks))
    if page.rows or filters.narrow:
        desk.follow(draw(address.views(datetime.now(UTC)), key="views"))
    if broken.rows:
        desk.follow(draw(_broken(broken, {row.conversation_id for row in page.rows}), key="broken"))
    if not page.rows:
        if not broken.rows:
            _draw_empty(desk, filters)
        return
    rows = [_row(row, highlights.get(row.key, Highlight()), order) for row in page.rows]
    items = el("ul", *rows, cls="talks", aria_label=f"Conversations, {address.ORDERS[order]}")
    more = tree.pager("more", "From the start", "More conversations", begun=address.read(AFTER), next=page.next)
    event = draw(el("div", items, more, cls="stack"), key="talks")
    if isinstance(event, Act) and event.name == "more":
        address.write(after=event.value or None)
        st.rerun()
    desk.follow(event)


def _broken(failures: Page[FailureRow], known: Collection[str]) -> Node:
    """Draws what broke, newest first, equal failures as one row; `known` are conversations that can be opened."""
    groups: dict[tuple[str, str, str | None], list[FailureRow]] = {}
    for row in failures.rows:
        groups.setdefault((row.part, row.kind, row.tenant), []).append(row)
    items = []
    for (part, kind, tenant), rows in groups.items():
        newest, oldest = address.ago(rows[0].at), address.ago(rows[-1].at)
        facts = [newest if newest == oldest else f"{oldest} to {newest}", *([f"tenant {tenant}"] if tenant else [])]
        where = list({(row.conversation_id, row.report_id): row for row in rows}.values())
        named = [piece for row in where[:NAMED] for piece in (", ", _where_broken(row, known))][1:]
        rest = [f" and {len(where) - NAMED} more"] if len(where) > NAMED else []
        items.append(
            el(
                "li",
                el("strong", failure_words(part, kind)),
                el("span", f"{len(rows)} times", cls="chip tone-contradicted") if len(rows) > 1 else None,
                el("div", " · ".join(facts), cls="small faint facts-line"),
                el("div", *named, *rest, cls="small facts-line"),
                key=f"{part} {kind} {tenant}",
            )
        )
    listed = el("ul", *items, cls="talks", aria_label="What broke, newest first")
    count = f"{len(failures.rows)}{' newest' if failures.next else ''}"
    return el("details", el("summary", f"What broke: {count}"), listed, open="", cls="broken")


NAMED: Final = 12
"""Most conversations that a row of equal failures names."""


def _where_broken(row: FailureRow, known: Collection[str]) -> Node | str:
    """The failure's conversation, with a link to its turn or to itself where there is one to open."""
    name = own_name(row.conversation_id, row.tenant)
    if row.report_id is not None:
        return to("conversation", name, turn=row.report_id)
    return to("conversation", name, conversation=row.conversation_id) if row.conversation_id in known else name


def _draw_empty(desk: Desk, filters: Filters) -> None:
    if filters.narrow:
        text = "No stored conversation matches the words and filters."
        event = draw(
            tree.empty("No matching conversation", text, act=Act("clear"), button="Clear all"), key="talks-empty"
        )
        if event == Act("clear"):
            clear()
            st.rerun()
    elif desk.reports.page(filters, limit=1).rows:
        text = "Turns with a conversation id are listed here. Others are on the page Live."
        draw(tree.empty("No conversations yet", text), key="talks-empty")
    else:
        desk.invite()


MEASURES: Final[Mapping[Order, tuple[str, Callable[[float], str]]]] = {
    "risk": ("highest risk", "{:.2f}".format),
    "latency": ("slowest turn", address.span_of),
    "cost": ("costliest turn", "${:.4f}".format),
}


def _row(row: ConversationRow, highlight: Highlight, order: Order = "time") -> Node:
    turns = "1 answer" if row.turns == 1 else f"{row.turns} answers"
    name = own_name(row.conversation_id, row.tenant)
    facts = [name, turns, f"last {address.ago(row.last_at)}"]
    facts += [f"tenant {row.tenant}"] if row.tenant else []
    if order in MEASURES:
        words, say = MEASURES[order]
        facts.insert(0, f"{words} {'unknown' if row.value is None else say(row.value)}")
    # A sorted list opens the turn that put the conversation there.
    place = {"conversation": row.conversation_id} if row.worst is None else {"turn": row.worst}
    counts = (
        (Action.BLOCK, row.blocked),
        (Action.REPAIR, row.repaired),
        (Action.FLAG, row.flagged),
        (Label.CONTRADICTED, row.contradicted),
    )
    bad = highlight.claim is not None and highlight.label in BAD
    return el(
        "li",
        to("conversation", highlight.question or name, **place),
        el("div", *(count_chip(name, count) for name, count in counts if count), cls="row"),
        el("div", chip(highlight.label or ""), " ", el("q", highlight.claim or ""), cls="small worst") if bad else None,
        el("div", " · ".join(facts), cls="small faint facts-line"),
        key=row.key,
    )


BROKEN = ("time (UTC)", "part", "error", "conversation", "tenant", "report")


def _broken_cells(row: FailureRow) -> Sequence[object]:
    what = failure_words(row.part, row.kind)
    return address.for_sheet(row.at), row.part, what, row.conversation_id, row.tenant, row.report_id


_COUNTS = ("turns", "blocked", "repaired", "flagged", "last (UTC)")
HEADER = ("conversation", "tenant", "first question", "worst claim", "label", *_COUNTS)


def _cells(row: ConversationRow, highlight: Highlight) -> Sequence[object]:
    counts = (row.turns, row.blocked, row.repaired, row.flagged, address.for_sheet(row.last_at))
    return row.conversation_id, row.tenant, highlight.question, highlight.claim, highlight.label, *counts


def conversation(desk: Desk) -> None:
    """Draws the page."""
    chosen = read_selection()
    single = chosen.turn or address.read(address.CONVERSATION)
    st.title("Conversation" if single else "Conversations", anchor=False)
    turn = desk.reports.turn_or_problem(chosen.turn) if chosen.turn else None
    if chosen.turn and turn is None:
        _draw_not_found(
            "No such turn", f"There is no report {chosen.turn} that you may see. It may have been deleted.", desk
        )
        return
    if isinstance(turn, str):
        row = desk.reports.row(chosen.turn) if chosen.turn else None
        _draw_not_found("This turn cannot be shown", turn, desk, conversation=row.conversation_id if row else None)
        return
    name = turn.report.conversation_id if turn else address.read(address.CONVERSATION)
    if turn is None and name is None:
        listing(desk)
        return
    if name is None:  # nobody named the conversation: the turn stands alone
        window = Window((turn,) if turn else ())
    else:
        window = desk.reports.conversation(name, around=turn, after=address.read(AFTER))
    if not window.turns and not window.unreadable:
        _draw_not_found("No such conversation", f"There is no conversation {name} among those that you may see.", desk)
        return
    _show(desk, window, turn, chosen)


def _show(desk: Desk, window: Window, turn: GuardedTurn | None, chosen: Selected) -> None:
    may_review = desk.viewer.allows(Permission.REVIEW)
    outcome = chosen.outcome(turn) if turn else None
    beside = Beside(sources_of(desk.reports, _name(window), window.turns, outcome), desk.settings.trace_url, may_review)
    later = tree.pager("later", "From the beginning", "Later turns", begun=window.after, next=window.next)
    body = el("div", _head(window), _unreadable(window), dialogue(window.turns, chosen), later, cls="stack")
    download("conversation", CLAIMS, lambda: _claim_cells(window))
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


CLAIMS = (
    "turn",
    "answer number",
    "time (UTC)",
    "action",
    "reason",
    "question",
    "answer",
    "claim",
    "label",
    "confidence",
    "source",
    "quote",
)


def _claim_cells(window: Window) -> Iterator[Sequence[object]]:
    """A row for each claim of the shown turns; one for a turn without claims."""
    for turn in window.turns:
        report = turn.report
        action, reason = report.decision.action.value, explain(report).text
        cells = (
            report.turn_index,
            answer_number(report.turn_index),
            address.for_sheet(report.created_at),
            action,
            reason,
        )
        for outcome in report.outcomes or (None,):
            finding = outcome if isinstance(outcome, Finding) else None
            first = finding.evidence[0] if finding and finding.evidence else None
            claim = (None, None) if outcome is None else (outcome.claim.text, label_of(outcome))
            quoted = (None, None) if first is None else (first.name, first.quote)
            yield *cells, turn.question, report.response, *claim, finding and finding.confidence, *quoted


def _head(window: Window) -> Node:
    name = _name(window)
    back = to("conversation", "All conversations")
    tenant = window.turns[0].report.tenant if window.turns else None
    title = (
        "An anonymous turn, without a conversation id." if name is None else f"Conversation {own_name(name, tenant)}"
    )
    title += f" · tenant {tenant}" if tenant else ""
    return el("div", back, el("span", title, cls="faint small text"), cls="row")


def _unreadable(window: Window) -> Node | None:
    if not window.unreadable:
        return None
    rows = (el("li", problem, cls="small text") for _, problem in window.unreadable)
    return el("section", el("h3", "Some turns cannot be shown"), el("ul", *rows), cls="state problem", role="alert")


def _name(window: Window) -> str | None:
    return window.turns[0].report.conversation_id if window.turns else address.read(address.CONVERSATION)


def _draw_not_found(title: str, text: str, desk: Desk, *, conversation: str | None = None) -> None:
    back = address.link("conversation", conversation=conversation)
    button = "Its conversation" if conversation else "All conversations"
    desk.follow(draw(tree.empty(title, text, act=Act("go", back), button=button), key="lost"))
