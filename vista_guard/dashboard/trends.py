"""The page *Trends*: figures of the time that is shown beside as long a time before it, and charts with their tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from string import ascii_uppercase
from typing import Any, Final

import streamlit as st

from vista_guard.dashboard import series
from vista_guard.dashboard.elements import address, charts, tree
from vista_guard.dashboard.elements.address import LABELS, Filters, filter_bar, from_address, percent, took
from vista_guard.dashboard.elements.charts import diagram
from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.elements.tree import Node, draw, el, sign
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.series import Change, Point, Sums, Value
from vista_guard.policy.risk import reliability
from vista_guard.stores.reports import Maker, Rollup, SourceCount
from vista_guard.stores.reports.rollups import Step
from vista_guard.types import UNCHECKED, Action


def overview(now: Sums, before: Sums | None) -> Node:
    """Eight figures; `before` is None where all time is shown."""
    then = before if before is not None and before.turns else None

    def tile(title: str, figure: Callable[[Sums], str], mark: Node | None = None) -> Node:
        was = None if then is None else el("dd", f"before {figure(then)}", cls="then")
        return el(
            "div", el("dt", mark, f" {title}" if mark else title), el("dd", figure(now), cls="figure"), was, cls="tile"
        )

    return el(
        "dl",
        tile("turns", lambda it: f"{it.turns:,}"),
        tile(look(Action.FLAG).word, lambda it: percent(it.share(Action.FLAG)), sign(Action.FLAG)),
        tile(look(Action.REPAIR).word, lambda it: percent(it.share(Action.REPAIR)), sign(Action.REPAIR)),
        tile(look(Action.BLOCK).word, lambda it: percent(it.share(Action.BLOCK)), sign(Action.BLOCK)),
        tile("claims unchecked", lambda it: percent(it.unchecked_share), sign(UNCHECKED)),
        tile("mean VISTA score", lambda it: "–" if it.score is None else f"{it.score:.2f}"),
        tile("95 % took less than", lambda it: took(it.p95_ms)),
        tile("cost", money),
        cls="tiles eight",
    )


def money(of: Sums) -> str:
    """US dollars; marked where some calls had no known price."""
    return f"${of.cost:,.2f}{' +' if of.unpriced else ''}"


MOST_ROWS: Final = 400
"""Rows of a table of figures, the newest first."""

MOST_REASONS: Final = 12


def show(rollup: Rollup, makers: Sequence[Maker], step: Step) -> None:
    """Draws all of them."""
    changed = series.changes(makers, step)[-len(ascii_uppercase) :]
    marks = _marks(changed)
    draw(_legend(changed), key="trends-changes")
    for left, right in ((_actions, _labels), (_score, _latency), (_tokens, _cost)):
        columns = st.columns(2, gap="large")
        for column, draw_it in zip(columns, (left, right), strict=True):
            with column:
                draw_it(rollup, step, marks)
    draw(_reasons(rollup), key="trends-reasons")


def _marks(changed: Sequence[Change]) -> list[tuple[datetime, str]]:
    """Returns one mark a moment, with the letters of all its changes."""
    letters: dict[datetime, str] = defaultdict(str)
    for letter, change in zip(ascii_uppercase, changed, strict=False):
        letters[change.at] += letter
    return [(at, names if len(names) < 3 else f"{names[0]}–{names[-1]}") for at, names in letters.items()]


def _legend(changed: Sequence[Change]) -> Node:
    if not changed:
        return el("p", "No judge or policy changed in this period.", cls="note")
    rows = [
        el(
            "li",
            el("b", letter),
            f" {address.exact(change.at)[:16]}: {change.what} ",
            el("b", change.name),
            f", of tenant {change.tenant}" if change.tenant else None,
            key=f"{letter}{change}",
        )
        for letter, change in zip(ascii_uppercase, changed, strict=False)
    ]
    return el("section", el("h2", "What changed"), el("ol", *rows, cls="changes small"))


def _actions(rollup: Rollup, step: Step, marks: Any) -> None:
    names = [str(one) for one in Action]
    points = series.actions(rollup, step)
    chart = charts.marked(charts.stacked(points, names, "turns"), marks)
    text = "Turns by action. Letters mark changes of judge or policy."
    charts.panel("trends-actions", "Actions", text, chart, *_columns(points, names, 0))


def _labels(rollup: Rollup, step: Step, marks: Any) -> None:
    points = series.labels(rollup, step)
    chart = charts.marked(charts.stacked(points, LABELS, "claims"), marks)
    charts.panel("trends-labels", "Labels", "Claims by outcome.", chart, *_columns(points, LABELS, 0))


def _score(rollup: Rollup, _step: Step, marks: Any) -> None:
    values = series.score(rollup)
    names = ("score", "no evidence")
    chart = charts.marked(charts.lines(values, names, "share", {"scale": charts.UNIT}), marks)
    text = "Mean VISTA score of the judged turns, and the share of turns without evidence."
    charts.panel("trends-score", "Score", text, chart, *_columns(values, names))


def _latency(rollup: Rollup, _step: Step, marks: Any) -> None:
    values = series.latency(rollup)
    names = [f"p{100 * share:g}" for share in series.PERCENTILES]
    chart = charts.marked(charts.lines(values, names, "milliseconds", {"scale": charts.LOG}), marks)
    text = "The guard's time for a turn: median, 95th and 99th percentile, estimated from latency buckets."
    more = (
        " Some took longer than the last bucket: their percentile is a lower bound."
        if series.slowest_known(values)
        else ""
    )
    charts.panel("trends-latency", "Latency", text + more, chart, *_columns(values, names))


def _tokens(rollup: Rollup, step: Step, marks: Any) -> None:
    points = series.tokens(rollup, step)
    names = ("input", "output")
    chart = charts.marked(charts.stacked(points, names, "tokens", by_look=False), marks) if points else None
    text = (
        "Input and output tokens of the judge's model."
        if points
        else "No tokens: these turns' judge uses no chat model."
    )
    charts.panel("trends-tokens", "Tokens", text, chart, *_columns(points, names, 0))


def _cost(rollup: Rollup, step: Step, marks: Any) -> None:
    points = series.cost(rollup, step)
    unpriced = sum(row.unpriced_calls for row in rollup.turns)
    chart = charts.marked(charts.stacked(points, ("cost",), "US dollars", by_look=False), marks) if points else None
    text = "Estimated cost of the judge's calls in US dollars." if points else "No cost: no call has a known price."
    more = f" {unpriced:,} calls have no known price and are not included." if unpriced else ""
    charts.panel("trends-cost", "Cost", text + more, chart, *_columns(points, ("cost",), 0))


def _reasons(rollup: Rollup) -> Node:
    counts = series.reasons(rollup)
    heading = el("h2", "Reasons for unjudged claims")
    if not counts:
        return el("section", heading, el("p", "Every claim was judged in this period.", cls="note"))
    most = counts[0][1]
    rows = [_bar(reason, count, most) for reason, count in counts[:MOST_REASONS]]
    rest = sum(count for _, count in counts[MOST_REASONS:])
    more = el("p", f"and {rest:,} claims for other reasons", cls="small faint") if rest else None
    return el("section", heading, el("ul", *rows, cls="bars"), more)


def contradicted(sources: Sequence[SourceCount]) -> Node:
    """Draws the sources that claims contradict most."""
    heading = el("h2", "Most contradicted")
    if not sources:
        return el("section", heading, el("p", "No claim was contradicted in this period.", cls="note"))
    rows = [_bar(f"{source.source} {source.source_id}", source.claims, sources[0].claims) for source in sources]
    caption = el("p", "Sources of the evidence against the newest 10,000 contradicted claims.", cls="small faint")
    return el("section", heading, caption, el("ul", *rows, cls="bars"))


def _bar(reason: str, count: int, most: int) -> Node:
    bar = el("span", el("span", cls="bar", style={"width": 100 * count / most}), cls="lane", aria_hidden="true")
    return el(
        "li",
        el("span", reason or "no reason given", cls="text"),
        bar,
        el("span", f"{count:,}", cls="took"),
        key=reason or "none",
    )


def _columns(
    values: Iterable[Point | Value], names: Sequence[str], absent: str | float = "–"
) -> tuple[list[str], list[list[str | float]]]:
    """A row for each stretch of time, a column for each name."""
    found: dict[datetime, dict[str, float]] = defaultdict(dict)
    for value in values:
        found[value.at][value.name] = value.value
    rows: list[list[str | float]] = [
        [_when(at), *(found[at].get(name, absent) for name in names)] for at in sorted(found, reverse=True)[:MOST_ROWS]
    ]
    return ["from (UTC)", *(look(name).word if name.isupper() else name for name in names)], rows


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


HOURLY: Final = 168
"""Hours of time that are still shown by the hour; more is shown by the day."""

BEGINNING: Final = datetime(2000, 1, 1, tzinfo=UTC)


def trends(desk: Desk) -> None:
    """Draws the page."""
    st.title("Trends", anchor=False)
    filters = filter_bar(desk.reports.choices(from_address()))
    now = datetime.now(UTC)
    step, rollup = _read_rollup(desk, filters, now)
    if not rollup.turns:
        draw(_nothing(filters), key="trends-empty")
        return
    draw(
        el(
            "div",
            _age(rollup, step),
            overview(series.sums(rollup), _before(desk, filters, now)),
            _unapplied_filters(filters),
            cls="stack",
        ),
        key="trends-top",
    )
    makers = desk.reports.makers(filters, rollup.turns[0].at, now + timedelta(seconds=1), step)
    show(rollup, makers, step)
    draw(contradicted(desk.reports.contradicted_sources(filters)), key="trends-contradicted")
    judged = desk.words.judged(desk.reports, filters)
    diagram(
        [("judge", reliability([one for one, _ in judged], [right for _, right in judged]))], key="trends-reliability"
    )


def _read_rollup(desk: Desk, filters: Filters, now: datetime) -> tuple[Step, Rollup]:
    """Reads the counts, by the hour for up to a week: one day by the day would be a single bar."""
    until = now + timedelta(seconds=1)
    if filters.hours is None:
        rollup = desk.reports.rollup(filters, BEGINNING, until, "day")
        week = now - timedelta(hours=HOURLY)
        if not rollup.turns or min(row.at for row in rollup.turns) < week:
            return "day", rollup
        return "hour", desk.reports.rollup(filters, week, until, "hour")
    step: Step = "hour" if filters.hours <= HOURLY else "day"
    return step, desk.reports.rollup(filters, _start(filters, now), until, step)


def _start(filters: Filters, now: datetime) -> datetime:
    return BEGINNING if filters.hours is None else now - timedelta(hours=filters.hours)


def _before(desk: Desk, filters: Filters, now: datetime) -> series.Sums | None:
    """The same length of time before; None where all time is shown."""
    if filters.hours is None:
        return None
    # Roll-ups know whole hours: the hour in which the shown time begins is counted there.
    until = _start(filters, now).replace(minute=0, second=0, microsecond=0)
    return series.sums(desk.reports.rollup(filters, until - timedelta(hours=filters.hours), until, "day"))


def _age(rollup: Rollup, step: Step) -> Node:
    first, last = min(row.at for row in rollup.turns), max(row.at for row in rollup.turns)
    text = f"by the {step}, in UTC · {first:%Y-%m-%d %H:%M} to the {step} of {last:%Y-%m-%d %H:%M} · deleted turns still count"
    return el("p", text, cls="small faint")


def _unapplied_filters(filters: Filters) -> Node | None:
    """Filters that the roll-ups have no column for."""
    notes = []
    if filters.evidence_missing is not None:
        notes.append("The filter for missing evidence is not applied: roll-ups do not separate such turns.")
    if filters.label is not None:
        notes.append("The filter by label narrows the claims, not the turns.")
    return el("p", " ".join(notes), cls="note") if notes else None


def _nothing(filters: Filters) -> Node:
    if filters != Filters():
        return tree.empty(
            "No turns in this time", "No counts match the filters. Choose a longer period, or clear them."
        )
    return tree.empty(
        "No turns yet",
        "Each guarded turn is counted when it is stored. Replayed and guarded turns appear here at once.",
        command="vista-guard dashboard --demo",
    )
