"""The page *Live*: figures of the last five minutes, an alert for Prometheus to copy, and turns as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import streamlit as st

from vista_guard.dashboard import series
from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.address import Filters, filter_bar, from_address, percent, to, took
from vista_guard.dashboard.elements.looks import LOOKS, PARTS, look
from vista_guard.dashboard.elements.tree import Act, Node, chip, clause, count_chip, draw, el, shorten, shown, sign
from vista_guard.dashboard.page import Desk, download
from vista_guard.dashboard.scoped import ROWS, GuardedTurn, ScopedReports
from vista_guard.dashboard.series import Sums
from vista_guard.policy.explanations import answer_number, explain, worst
from vista_guard.stores.reports import ATTENTION, LiveCursor, Order, TurnRow
from vista_guard.types import UNCHECKED, Action

TURNS: Final = "vista_guard_turns_total"
"""The proxy's counter of turns (`/metrics`), by `action`."""

WATCHED: Final = (Action.BLOCK, Action.REPAIR, Action.FLAG)


def condition(action: Action, percent: float, minutes: int) -> str:
    """PromQL that holds while more than `percent` of the turns of the last `minutes` got this action.

    Without turns it never fires: a rate over no turns is not a number.
    """
    acted = f'sum(rate({TURNS}{{action="{action}"}}[{minutes}m]))'
    return f"{acted} / sum(rate({TURNS}[{minutes}m])) > {percent / 100:g}"


def rule(action: Action, percent: float, minutes: int) -> str:
    """The condition as a rule of Prometheus' rule files (YAML)."""
    return (
        "groups:\n"
        "  - name: vista-guard\n"
        "    rules:\n"
        f"      - alert: VistaGuard{action.title()}Share\n"
        f"        expr: {condition(action, percent, minutes)}\n"
        f"        for: {minutes}m\n"
        "        annotations:\n"
        f"          summary: more than {percent:g} % of turns are {look(action).word}\n"
    )


def alert_box() -> None:
    """Draws the alert's options and its rule."""
    with st.popover("Alert", icon=":material/notifications:"):
        words = {str(watched): look(watched).word for watched in WATCHED}
        action = st.selectbox("When turns are", list(words), format_func=lambda name: words[name], key="alert-action")
        percent = st.number_input("more often than (percent)", 0.1, 100.0, 5.0, 0.5, key="alert-percent")
        minutes = st.number_input("over (minutes)", 1, 1440, 10, key="alert-minutes")
        st.code(rule(Action(action), float(percent), int(minutes)), language="yaml")
        st.caption(
            "For Prometheus over the proxy's /metrics. Copy it into a rule file; Grafana takes the expression alone."
        )


PIN = "pin"
"""The act of a row's button; its value is the report's id."""


def feed(
    rows: Sequence[TurnRow],
    pinned: Sequence[TurnRow],
    turns: Mapping[str, GuardedTurn],
    fresh: frozenset[str],
    now: datetime,
) -> Node:
    """Draws the rows.

    Args:
        rows: newest first.
        pinned: rows that stay above the others.
        turns: the rows' turns, by report id.
        fresh: ids of turns new with this refresh, highlighted for a moment.
        now: the time that ages are relative to.
    """
    pins = {row.id for row in pinned}
    items = [_row(row, turns.get(row.id), now, "pinned") for row in pinned]
    items += [
        _row(row, turns.get(row.id), now, "fresh" if row.id in fresh else "") for row in rows if row.id not in pins
    ]
    return el("ol", *items, cls="feed", aria_label="Turns, newest first")


def _row(row: TurnRow, turn: GuardedTurn | None, now: datetime, state: str) -> Node:
    attention = "attention" if row.action in ATTENTION else ""
    return el(
        "li",
        el("div", chip(row.action), cls="verdict"),
        el(
            "div",
            to("conversation", _heading(row, turn), cls="said", **{address.TURN: row.id}),
            _detail(row, turn),
            _about(row, now),
            cls="body",
        ),
        _chips(row),
        _pin(row, state == "pinned"),
        cls=" ".join(filter(None, ("turn-row", f"tone-{look(row.action).tone}", attention, state))),
        key=row.id,
    )


def _heading(row: TurnRow, turn: GuardedTurn | None) -> str:
    """The question; where it was not kept, the worst claim of a turn that needs attention, else the answer."""
    if question := row.question or (turn and turn.question):
        return shorten(question, 200)
    if turn is None:
        return "(this report cannot be read by this version)"
    outcome = worst(turn.report) if row.action in ATTENTION else None
    text = turn.report.response if outcome is None else outcome.claim.text
    return shorten(text, 200) or "(no text)"


def _detail(row: TurnRow, turn: GuardedTurn | None) -> Node | None:
    """The problem and its claim; for an allowed turn the answer, unless that is the row's heading already."""
    if turn is None:
        return None
    has_question, outcome = bool(row.question or turn.question), worst(turn.report)
    if turn.report.decision.action not in ATTENTION:
        return el("p", shorten(turn.report.response, 300), cls="answer") if has_question else None
    claim = el("q", shorten(outcome.claim.text, 300)) if has_question and outcome is not None else None
    return el("p", claim, " · " if claim else None, clause(explain(turn.report)), cls="answer")


def _about(row: TurnRow, now: datetime) -> Node:
    parts = [address.ago(row.created_at, now), _place(row)]
    parts += [f"tenant {row.tenant}"] if row.tenant else []
    parts += [] if row.risk is None else [f"risk {row.risk:.2f}"]
    parts += [f"policy {row.policy}", address.span_of(row.duration_ms)]
    parts += [f"${row.cost:.4f}"] if row.cost else []
    parts += ["no evidence"] if row.evidence_missing else []
    return el("div", " · ".join(parts), cls="meta", title=address.exact(row.created_at))


def _chips(row: TurnRow) -> Node:
    names = [name for name in (*LOOKS, *row.labels) if row.labels.get(name)]
    return el("div", *(count_chip(name, row.labels[name]) for name in dict.fromkeys(names)), cls="chips")


def _pin(row: TurnRow, pinned: bool) -> Node:
    name, pressed = f"Pin {_place(row)}", str(pinned).lower()
    sign = "◆" if pinned else "◇"
    return el("button", sign, cls="pin", act=Act(PIN, row.id), aria_pressed=pressed, aria_label=name)


def _place(row: TurnRow) -> str:
    return f"answer {answer_number(row.turn_index)} of {address.own_name(row.conversation_id, row.tenant)}"


def tiles(now: Sums, then: Sums) -> Node:
    """Seven figures of the last minutes, each with its value in an hour a week ago, if there were turns."""

    def tile(title: str, figure: str, earlier: str, mark: Node | None = None) -> Node:
        return tree.tile(title, figure, f"a week ago {earlier}" if then.turns else None, mark)

    return el(
        "dl",
        tile(f"turns in {MINUTES} minutes", str(now.turns), f"{then.turns * MINUTES / 60:.0f}"),
        *(tile(look(kind).word, percent(now.share(kind)), percent(then.share(kind)), sign(kind)) for kind in WATCHED),
        tile("claims unchecked", percent(now.unchecked_share), percent(then.unchecked_share), sign(UNCHECKED)),
        _errors(now.failures),
        tile("95 % took less than", took(now.p95_ms), took(then.p95_ms)),
        cls="tiles seven",
    )


def _errors(failures: Mapping[str, int]) -> Node:
    """Draws how much broke, by part, with a link to it."""
    total = sum(failures.values())
    parts = ", ".join(f"{failures[part]} {part}" for part in PARTS if failures.get(part))
    figure = to("conversation", str(total), failed="any", hours="1") if total else "0"
    return tree.tile("errors", figure, parts or "upstream, judge, stores")


MINUTES: Final = 5
WEEK: Final = timedelta(days=7)
HOUR: Final = timedelta(hours=1)


def now_and_then(reports: ScopedReports, filters: Filters, now: datetime | None = None) -> tuple[Sums, Sums]:
    """The last five minutes, and the same hour of the day a week ago."""
    moment = now or datetime.now(UTC)
    hour = (moment - WEEK).replace(minute=0, second=0, microsecond=0)
    return (
        series.of_summary(reports.summary(filters, moment - timedelta(minutes=MINUTES))),
        series.sums(reports.rollup(filters, hour, hour + HOUR)),
    )


MOST = 200
"""Most turns read by one refresh: a hundred a second."""


@dataclass
class Seen:
    """Rows, newest first, and their turns; kept between refreshes, so that each reads only what is new.

    `asked` are the filters of the rows: with other filters the page starts afresh.
    """

    asked: tuple[Filters, bool, Order]
    rows: list[TurnRow] = field(default_factory=list)
    turns: dict[str, GuardedTurn] = field(default_factory=dict)
    fresh: frozenset[str] = frozenset()
    pinned: tuple[TurnRow, ...] = ()
    cursor: LiveCursor | None = None
    at: datetime | None = None

    def look(self, reports: ScopedReports, now: datetime) -> None:
        """Reads the turns since the last refresh, or the first ones in an order that is not that of time."""
        filters, attention, order = self.asked
        if order != "time":
            self._show(reports.page(filters, attention=attention, order=order).rows, now, first=self.at is None)
            self._read(reports)
            return
        first = self.cursor is None
        news = reports.since(self.cursor, filters, attention=attention, limit=0 if first else MOST)
        self.cursor = news.cursor
        # The cursor comes before the page: turns written in between are new at the next refresh, never lost.
        rows = reports.page(filters, attention=attention).rows if first else news.rows
        known = {row.id for row in self.rows}
        merged = [*(row for row in rows if row.id not in known), *self.rows]
        self._show(sorted(merged, key=lambda row: (row.created_at, row.number), reverse=True)[:ROWS], now, first=first)
        self._read(reports)

    def _show(self, rows: Sequence[TurnRow], now: datetime, *, first: bool) -> None:
        known = {row.id for row in self.rows}
        self.fresh = frozenset() if first else frozenset(row.id for row in rows) - known
        self.rows, self.at = list(rows), now

    def pin(self, reports: ScopedReports, names: Sequence[str]) -> None:
        """Pins these rows; reads those that are not in the list."""
        by_id = {row.id: row for row in (*self.pinned, *self.rows)}
        rows = (by_id.get(name) or reports.row(name) for name in names)
        self.pinned = tuple(row for row in rows if row is not None)
        self._read(reports)

    def _read(self, reports: ScopedReports) -> None:
        ids = [row.id for row in (*self.pinned, *self.rows)]
        missing = [name for name in ids if name not in self.turns]
        if missing:
            turns = reports.turns(missing)
            self.turns |= {
                name: turn.without_documents() for name, turn in turns.items() if isinstance(turn, GuardedTurn)
            }
        self.turns = {name: self.turns[name] for name in ids if name in self.turns}


EVERY_S: Final = 2.0
SORTED_EVERY_S: Final = 10.0
"""A sorted list reads all matching turns anew."""
MOST_PINNED: Final = 20


def live(desk: Desk) -> None:
    """Draws the page."""
    st.title("Live", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", key="bar"):
        order = address.order()
        filters = filter_bar(desk.reports.choices(from_address()), time=order != "time")
        address.order_box()
        attention = st.toggle(
            "Attention only", key="live-attention", value=address.read("attention") == "1", on_change=_attention
        )
        paused = st.toggle("Pause", key="live-paused")
        alert_box()
        seen = _session_state(filters, attention, order)
        download("live", HEADER, lambda: [_cells(row, seen.turns.get(row.id)) for row in seen.rows])
    every = EVERY_S if order == "time" else SORTED_EVERY_S
    st.fragment(shown(_stream), run_every=None if paused else every)(desk, attention, paused)


def _stream(desk: Desk, attention: bool, paused: bool) -> None:
    filters, now = from_address(), datetime.now(UTC)
    seen = _session_state(filters, attention, address.order())
    if not paused or seen.at is None:
        seen.look(desk.reports, now)
    seen.pin(desk.reports, _pins())
    figures = tiles(*now_and_then(desk.reports, filters, now))
    top = el("div", figures, address.views(now), _age(seen, now, paused), cls="stack")
    desk.follow(draw(top, key="live-tiles"))
    if not seen.rows and (filters.narrow or attention):
        text = "No stored turn matches the filters. New ones appear here."
        draw(tree.empty("No turn like this", text), key="live-empty")
    elif not seen.rows:
        desk.invite()
    if not seen.rows:
        return
    event = draw(feed(seen.rows, seen.pinned, seen.turns, seen.fresh, now), key="live-feed")
    if isinstance(event, Act) and event.name == PIN:
        _toggle_pin(event.value)
        st.rerun(scope="fragment")
    desk.follow(event)


def _session_state(filters: Filters, attention: bool, order: Order) -> Seen:
    seen, asked = st.session_state.get("live-seen"), (filters, attention, order)
    if not isinstance(seen, Seen) or seen.asked != asked:
        seen = st.session_state["live-seen"] = Seen(asked)
    return seen


HEADER: Final = [
    "time (UTC)",
    "action",
    "reason",
    "question",
    "answer",
    "conversation",
    "turn",
    "answer number",
    "tenant",
    "policy",
    "ms",
    "risk",
    "cost",
    "report",
]


def _cells(row: TurnRow, turn: GuardedTurn | None) -> Sequence[object]:
    reason, answer = ("", "") if turn is None else (explain(turn.report).text, turn.report.response)
    number = answer_number(row.turn_index)
    place = (row.conversation_id, row.turn_index, number, row.tenant, row.policy, round(row.duration_ms))
    return (
        address.for_sheet(row.created_at),
        row.action.value,
        reason,
        row.question,
        answer,
        *place,
        row.risk,
        row.cost,
        row.id,
    )


def _age(seen: Seen, now: datetime, paused: bool) -> Node:
    last = max((row.created_at for row in seen.rows), default=None)
    newest = "no turns" if last is None else f"newest turn {address.ago(last, now)}"
    looked = "paused; looked" if paused else "looked"
    return el("p", f"{looked} at {address.exact(seen.at or now)} · {newest}", cls="small faint")


def _pins() -> list[str]:
    return [name for name in (address.read("pin") or "").split(",") if name][:MOST_PINNED]


def _toggle_pin(name: str) -> None:
    pins = _pins()
    address.write(pin=",".join([pinned for pinned in pins if pinned != name] if name in pins else [name, *pins]))


def _attention() -> None:
    address.write(attention="1" if st.session_state["live-attention"] else None)
