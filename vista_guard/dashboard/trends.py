"""The page *Trends*: figures of a period beside those of the period before, and charts with their tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from string import ascii_uppercase
from typing import Any, Final

import streamlit as st

from vista_guard.dashboard import series
from vista_guard.dashboard.elements import address, charts, tree
from vista_guard.dashboard.elements.address import LABELS, Filters, filter_bar, from_address, percent, took
from vista_guard.dashboard.elements.charts import diagram
from vista_guard.dashboard.elements.looks import PARTS, SCORE, failure_words, look
from vista_guard.dashboard.elements.tree import Node, draw, el, sign
from vista_guard.dashboard.page import Desk, download
from vista_guard.dashboard.scoped import ScopedReports
from vista_guard.dashboard.series import Change, Point, Sums, Value
from vista_guard.policy.risk import reliability
from vista_guard.stores.reports import Maker, Rollup, SourceCount
from vista_guard.stores.reports.rollups import REASON_CHARS, Step
from vista_guard.types import UNCHECKED, Action


def overview(now: Sums, before: Sums | None) -> Node:
    """Eight figures; `before` is None where all time is shown."""
    then = before if before is not None and before.turns else None

    def tile(title: str, figure: Callable[[Sums], str], mark: Node | None = None) -> Node:
        return tree.tile(title, figure(now), None if then is None else f"before {figure(then)}", mark)

    def share(action: Action) -> Node:
        return tile(look(action).word, lambda it: percent(it.share(action)), sign(action))

    return el(
        "dl",
        tile("turns", lambda it: f"{it.turns:,}"),
        *map(share, (Action.FLAG, Action.REPAIR, Action.BLOCK)),
        tile("claims unchecked", lambda it: percent(it.unchecked_share), sign(UNCHECKED)),
        tile("mean VISTA score", lambda it: "–" if it.score is None else f"{it.score:.2f}"),
        tile("95 % took less than", lambda it: took(it.p95_ms)),
        tile("cost", money),
        cls="tiles eight",
    )


def money(of: Sums) -> str:
    """Formats US dollars, small sums to a hundredth of a cent, with a + where some calls had no known price."""
    digits = 4 if 0 < of.cost < 0.01 else 2
    return f"${of.cost:,.{digits}f}{' +' if of.unpriced else ''}"


MOST_ROWS: Final = 400
"""Rows of a table of figures, the newest first."""

MOST_REASONS: Final = 12


def show(rollup: Rollup, usage: Rollup, makers: Sequence[Maker], step: Step) -> None:
    """Draws all charts; `usage` has tokens, costs and reasons."""
    changes = series.changes(makers, step)[-len(ascii_uppercase) :]
    marks = _marks(changes)
    draw(_legend(changes), key="trends-changes")
    usage_step: Step = "hour" if step == "minute" else step
    charted = (
        ((_actions, _labels), rollup, step),
        ((_score, _latency), rollup, step),
        ((_tokens, _cost), usage, usage_step),
    )
    for pair, counts, by in charted:
        for column, draw_it in zip(st.columns(2, gap="large"), pair, strict=True):
            with column:
                draw_it(counts, by, marks)
    _failures(rollup, step)
    draw(reasons(usage), key="trends-reasons")


def _marks(changes: Sequence[Change]) -> list[tuple[datetime, str]]:
    """Returns one mark a moment, with the letters of all its changes."""
    letters: dict[datetime, str] = defaultdict(str)
    for letter, change in zip(ascii_uppercase, changes, strict=False):
        letters[change.at] += letter
    return [(at, names if len(names) < 3 else f"{names[0]}–{names[-1]}") for at, names in letters.items()]


def _legend(changes: Sequence[Change]) -> Node:
    if not changes:
        return tree.folded("What changed", "No judge or policy changed in this period.")
    rows = [
        el(
            "li",
            el("b", letter),
            f" {address.exact(change.at)[:16]}: {change.what} ",
            el("b", change.name),
            f", of tenant {change.tenant}" if change.tenant else None,
            key=f"{letter}{change}",
        )
        for letter, change in zip(ascii_uppercase, changes, strict=False)
    ]
    return el("section", el("h2", "What changed"), el("ol", *rows, cls="changes small"))


def _actions(rollup: Rollup, step: Step, marks: Any) -> None:
    names = [str(action) for action in Action]
    points = series.actions(rollup, step)
    chart = charts.add_marks(charts.stacked(points, names, "turns"), marks)
    text = "Turns by action." + (" Letters mark changes of judge or policy." if marks else "")
    charts.panel("trends-actions", "Actions", text, chart, *_columns(points, names, 0))


def _labels(rollup: Rollup, step: Step, marks: Any) -> None:
    points = series.labels(rollup, step)
    chart = charts.add_marks(charts.stacked(points, LABELS, "claims"), marks)
    charts.panel("trends-labels", "Labels", "Claims by outcome.", chart, *_columns(points, LABELS, 0))


def _score(rollup: Rollup, _step: Step, marks: Any) -> None:
    values = series.score(rollup)
    names = ("score", "no evidence")
    chart = charts.add_marks(charts.lines(values, names, "share", {"scale": charts.UNIT}), marks)
    text = f"{SCORE}. Beside it the share of turns without evidence."
    charts.panel("trends-score", "Score", text, chart, *_columns(values, names))


def _latency(rollup: Rollup, _step: Step, marks: Any) -> None:
    values = series.latency(rollup)
    names = [f"p{100 * share:g}" for share in series.PERCENTILES]
    chart = charts.add_marks(
        charts.lines(values, names, "milliseconds", charts.log_axis([it.value for it in values])), marks
    )
    text = "The guard's time for a turn: median, 95th and 99th percentile, estimated from latency buckets."
    if series.slowest_known(values):
        text += " Some took longer than the last bucket: their percentile is a lower bound."
    charts.panel("trends-latency", "Latency", text, chart, *_columns(values, names))


def _failures(rollup: Rollup, step: Step) -> None:
    points = series.failures(rollup, step)
    if points:
        text = "Failed calls to upstream, and turns in which the judge or a store failed."
        times = [(row.at, row.at) for row in rollup.turns] + [(point.at, point.until) for point in points]
        span = min(at for at, _ in times), max(until for _, until in times)
        chart = charts.stacked(points, PARTS, "errors", by_look=False, span=span)
        charts.panel("trends-failures", "Errors", text, chart, *_columns(points, PARTS, 0))
        draw(_kinds(rollup), key="trends-failure-kinds")


def _kinds(rollup: Rollup) -> Node:
    counts: Counter[str] = Counter()
    for row in rollup.failures:
        counts[failure_words(row.part, row.kind)] += row.failures
    most = max(counts.values())
    return el("ul", *(_bar(words, count, most) for words, count in counts.most_common()), cls="bars")


def _tokens(rollup: Rollup, step: Step, marks: Any) -> None:
    points = series.tokens(rollup, step)
    names = ("input", "output")
    chart = charts.add_marks(charts.stacked(points, names, "tokens", by_look=False), marks) if points else None
    text = "Input and output tokens of the judge's model."
    if not points:
        text = "No tokens: these turns' judge uses no chat model."
    charts.panel("trends-tokens", "Tokens", text, chart, *_columns(points, names, 0))


def _cost(rollup: Rollup, step: Step, marks: Any) -> None:
    points = series.cost(rollup, step)
    unpriced = sum(row.unpriced_calls for row in rollup.turns)
    chart = charts.add_marks(charts.stacked(points, ("cost",), "US dollars", by_look=False), marks) if points else None
    text = "Estimated cost of the judge's calls in US dollars." if points else "No cost: no call has a known price."
    if unpriced:
        text += f" {unpriced:,} calls have no known price and are not included."
    charts.panel("trends-cost", "Cost", text, chart, *_columns(points, ("cost",), 0))


def reasons(rollup: Rollup) -> Node:
    """Draws the most frequent reasons for unjudged claims."""
    counts = series.reasons(rollup)
    heading = el("h2", "Reasons for unjudged claims")
    if not counts:
        return tree.folded("Reasons for unjudged claims", "Every claim was judged in this period.")
    most = counts[0][1]
    rows = [
        _bar(f"{reason}…" if len(reason) == REASON_CHARS else reason, count, most)
        for reason, count in counts[:MOST_REASONS]
    ]
    remaining = sum(count for _, count in counts[MOST_REASONS:])
    more = el("p", f"and {remaining:,} claims for other reasons", cls="small faint") if remaining else None
    return el("section", heading, el("ul", *rows, cls="bars"), more)


def contradicted(sources: Sequence[SourceCount]) -> Node:
    """Draws the sources that claims contradict most."""
    heading = el("h2", "Most contradicted")
    if not sources:
        return tree.folded("Most contradicted", "No claim was contradicted in this period.")
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
    """A row for each period, a column for each name."""
    table: dict[datetime, dict[str, float]] = defaultdict(dict)
    for value in values:
        table[value.at][value.name] = value.value
    rows: list[list[str | float]] = [
        [_when(at), *(table[at].get(name, absent) for name in names)] for at in sorted(table, reverse=True)[:MOST_ROWS]
    ]
    return ["from (UTC)", *(look(name).word if name.isupper() else name for name in names)], rows


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


WEEK: Final = timedelta(days=7, hours=1)
"""Times up to this length are shown by the hour."""

HOUR: Final = timedelta(hours=1)

MINUTELY: Final = timedelta(hours=6)
"""Times up to this length are shown by the minute."""

BEGINNING: Final = datetime(2000, 1, 1, tzinfo=UTC)


def trends(desk: Desk) -> None:
    """Draws the page."""
    st.title("Trends", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", key="bar"):
        filters = filter_bar(desk.reports.choices(from_address()))
        now = datetime.now(UTC)
        start, end = _time(filters, now)
        step, rollup = read_rollup(desk.reports, filters, start, end)
        if rollup.turns:
            download("trends", CSV, lambda: _cells(rollup))
    if not rollup.turns and filters == Filters():
        desk.invite()
        return
    if not rollup.turns:
        text = "No counts match the filters. Choose a longer period, or clear them."
        draw(tree.empty("No turns in this time", text), key="trends-empty")
        _failures(rollup, step)
        return
    usage = desk.reports.rollup(filters, start, end, "hour") if step == "minute" else rollup
    top = (
        _age(rollup, step),
        overview(_sums(rollup, usage), _before(desk, filters, (start, end), step)),
        _unapplied_filters(filters, step),
    )
    draw(el("div", *top, cls="stack"), key="trends-top")
    makers = desk.reports.makers(filters, rollup.turns[0].at, end, "day" if step == "day" else "hour")
    show(rollup, usage, makers, step)
    draw(contradicted(desk.reports.contradicted_sources(filters)), key="trends-contradicted")
    pairs = desk.words.judged(desk.reports, filters)
    diagram(
        [("judge", reliability([confidence for confidence, _ in pairs], [right for _, right in pairs]))],
        key="trends-reliability",
    )


def _before(desk: Desk, filters: Filters, time: tuple[datetime, datetime], step: Step) -> Sums | None:
    """Totals of the period before, of the same length; None where all time is shown."""
    start, end = time
    if start == BEGINNING:
        return None
    if end - start > MINUTELY + timedelta(seconds=1) and step == "minute":  # there are few data, but not before
        step = "hour"
    # Roll-ups know whole hours: the hour in which the shown time begins is counted there.
    until = start if step == "minute" else start.replace(minute=0, second=0, microsecond=0)
    return series.sums(desk.reports.rollup(filters, until - (end - start), until, step))


CSV: Final = ("from (UTC)", "what", "name", "count")


def _cells(rollup: Rollup) -> list[tuple[object, ...]]:
    turns = [(_when(row.at), "turns", row.action, row.turns) for row in rollup.turns]
    claims: Counter[tuple[datetime, str]] = Counter()
    for row in rollup.claims:
        claims[row.at, row.label] += row.claims
    errors = ((_when(row.at), "errors", failure_words(row.part, row.kind), row.failures) for row in rollup.failures)
    return [*turns, *((_when(at), "claims", label, count) for (at, label), count in sorted(claims.items())), *errors]


def _sums(rollup: Rollup, usage: Rollup) -> Sums:
    """Totals; tokens and costs are those of `usage`, since counts by the minute have none."""
    usage_sums = series.sums(usage)
    return replace(series.sums(rollup), cost=usage_sums.cost, tokens=usage_sums.tokens, unpriced=usage_sums.unpriced)


def _time(filters: Filters, now: datetime) -> tuple[datetime, datetime]:
    start, end = filters.period(now)
    moment = now + timedelta(seconds=1)
    return start or BEGINNING, min(end or moment, moment)


def read_rollup(reports: ScopedReports, filters: Filters, start: datetime, end: datetime) -> tuple[Step, Rollup]:
    """Reads the counts by the span of the data: by the minute below six hours, by the hour up to a week, else by the day."""
    if end - start > WEEK:
        days = reports.rollup(filters, start, end, "day")
        if not days.turns or end - days.turns[0].at > WEEK:
            return "day", days
        start = max(start, days.turns[0].at)
    hours = reports.rollup(filters, start, end, "hour")
    first = max(start, hours.turns[0].at) if hours.turns else start
    if end - start > MINUTELY + timedelta(seconds=1) and (
        not hours.turns or hours.turns[-1].at + HOUR - first > MINUTELY
    ):
        return "hour", hours
    minutes = reports.rollup(filters, first, end, "minute")
    return ("minute", minutes) if minutes.turns or not hours.turns else ("hour", hours)  # deleted turns have no minutes


def _age(rollup: Rollup, step: Step) -> Node:
    first, last = min(row.at for row in rollup.turns), max(row.at for row in rollup.turns)
    deleted = "" if step == "minute" else " · deleted turns still count"
    text = f"by the {step}, in UTC · {first:%Y-%m-%d %H:%M} to the {step} of {last:%Y-%m-%d %H:%M}{deleted}"
    return el("p", text, cls="small faint")


def _unapplied_filters(filters: Filters, step: Step) -> Node | None:
    """Notes on filters that the roll-ups cannot apply."""
    notes = []
    if filters.evidence_missing is not None:
        notes.append("The filter for missing evidence is not applied: roll-ups do not separate such turns.")
    if filters.failed is not None:
        notes.append("The filter for errors is not applied: roll-ups do not separate such turns.")
    if filters.words is not None:
        notes.append("The search is not applied: counts hold no words.")
    if filters.label is not None:
        notes.append("The filter by label narrows the claims, not the turns.")
    if step == "minute":
        notes.append("Tokens, cost and reasons for unjudged claims are known by the hour.")
    return el("p", " ".join(notes), cls="note") if notes else None
