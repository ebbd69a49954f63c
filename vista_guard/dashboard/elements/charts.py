"""Charts in colours that colour-blind readers tell apart, each with a table of its figures beneath."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil, floor, log10
from typing import Any, Final

import altair as alt
import streamlit as st

from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.elements.tree import Node, draw, el, folded
from vista_guard.policy.risk import Reliability

LIGHT: Final = {
    "verified": "#00795c",
    "scope": "#0072b2",
    "contradicted": "#b23a00",
    "lacking": "#b07700",
    "abstention": "#6f7780",
    "unchecked": "#a4508b",
    "first": "#0f5c6e",
    "second": "#b23a00",
    "third": "#6f7780",
}
DARK: Final = {
    "verified": "#2fb892",
    "scope": "#62b3ee",
    "contradicted": "#ee7b4d",
    "lacking": "#e7ac2f",
    "abstention": "#a2abb5",
    "unchecked": "#dd8fc4",
    "first": "#5cc3d6",
    "second": "#ee9a78",
    "third": "#a2abb5",
}
"""After Okabe and Ito's set, darker or lighter so that each stands out from its ground by 3 to 1 or more."""

MANY: Final = 100
"""Number of points from which each is drawn small."""

HEIGHT: Final = 300

FEWEST: Final = 12
"""Stretches of time that bars have room for at least: a lone one would fill the chart."""

UNIT: Final = alt.Scale(domain=[0, 1])
"""Shares."""

TICKS: Final = 6

TIME_OF_DAY: Final = (
    "utchours(datum.value) || utcminutes(datum.value) ? utcFormat(datum.value, '%H:%M') : "
    "utcmonth(datum.value) || utcdate(datum.value) > 1 ? utcFormat(datum.value, '%b %-d') : utcFormat(datum.value, '%Y')"
)
"""A Vega expression: the day where one begins, the year at its first day, else the time, as the tables have it."""

Row = Sequence[str | float]
AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart


def tones() -> Mapping[str, str]:
    """Returns the colours of the reader's theme."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def colour(names: Sequence[str], *, by_look: bool = True) -> alt.Color:
    """Colours labels and actions by their tone; without `by_look`, gives two or three lines distinct colours."""
    palette = tones()
    if by_look:
        domain, colours = [look(name).word for name in names], [palette[look(name).tone] for name in names]
    else:
        domain, colours = list(names), [palette[tone] for tone in ("first", "second", "third")][: len(names)]
    legend = alt.Legend(
        orient="top", title=None, columns=2 if len(names) > 3 else 3, labelLimit=220, symbolStrokeWidth=0
    )
    return alt.Color("name:N", scale=alt.Scale(domain=domain, range=colours), sort=domain, legend=legend)


def stacked(
    rows: Sequence[tuple[Any, ...]],
    names: Sequence[str],
    title: str,
    *,
    by_look: bool = True,
    span: tuple[datetime, datetime] | None = None,
) -> alt.Chart:
    """Draws stacked bars over time, in the order of `names`.

    Args:
        rows: begin, end, name and count.
        names: labels or actions, whose words are shown; other names are shown as they are, without `by_look`.
        title: of the axis of counts.
        span: time that the axis covers; that of the rows when None.
    """
    # The unit makes each bar as wide as its stretch of time.
    longest = max((until - at for at, until, *_ in rows), default=timedelta())
    units = {timedelta(minutes=1): "utcyearmonthdatehoursminutes", timedelta(hours=1): "utcyearmonthdatehours"}
    unit = next((name for length, name in units.items() if longest <= length), "utcyearmonthdate")
    begin, end = span or (
        min((at for at, *_ in rows), default=None),
        max((until for _, until, *_ in rows), default=None),
    )
    if begin is not None and end is not None:
        span = min(begin, end - FEWEST * longest), end
    places = {name: place for place, name in enumerate(names)}
    words = {name: look(name).word if by_look else name for name in names}
    data = [
        {"at": _iso(at), "name": words[name], "count": count, "place": places[name], "when": _when(at)}
        for at, _, name, count in rows
    ]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=data))
        .mark_bar(binSpacing=0)
        .encode(
            x=_time("at", unit, ticks=TICKS if span else min(TICKS, len({at for at, *_ in rows})), span=span),
            y=alt.Y("count:Q", title=title, stack="zero", axis=_whole_steps([bar["count"] for bar in data])),
            color=colour(names, by_look=by_look),
            order="place:O",
            tooltip=[alt.Tooltip("when:N", title="from"), alt.Tooltip("name:N", title="what"), alt.Tooltip("count:Q")],
        )
    )
    return chart


def lines(
    rows: Iterable[tuple[Any, ...]], names: Sequence[str], title: str, y: Mapping[str, Any] | None = None
) -> alt.Chart:
    """Draws lines over time, distinct in colour, dashes and point shapes.

    Args:
        rows: time, name and value.
        names: of the lines; three at most.
        title: of the axis of values.
        y: more options of that axis' `alt.Y`.
    """
    data = [{"at": _iso(at), "name": name, "value": value, "when": _when(at)} for at, name, value in rows]
    legend = alt.Legend(orient="top", title=None, symbolStrokeWidth=0)  # a line's dashes would fray its signs
    dashes = alt.StrokeDash(
        "name:N", sort=list(names), scale=alt.Scale(domain=list(names), range=[[1, 0], [6, 3], [2, 2]]), legend=legend
    )
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=data))
        .mark_line(point={"size": 28 if len(data) < MANY else 6}, strokeWidth=2)
        .encode(
            x=_time("at"),
            y=alt.Y("value:Q", title=title, **(y or {})),
            color=colour(names, by_look=False),
            strokeDash=dashes,
            shape=alt.Shape("name:N", sort=list(names), legend=legend),
            tooltip=[alt.Tooltip("when:N", title="from"), "name:N", alt.Tooltip("value:Q", format=",.4~g")],
        )
    )
    return chart


def log_axis(values: Sequence[float]) -> dict[str, Any]:
    """Options of `lines` for durations: equal ratios are equally far apart; 1, 2, 5, 10, 20 and so on are named."""
    low, high = floor(log10(min(values, default=1))), ceil(log10(max(values, default=10)))
    powers = range(low, max(high, low + 1))
    named = [*(digit * 10.0**power for power in powers for digit in (1, 2, 5)), 10.0 ** (powers[-1] + 1)]
    scale = alt.Scale(type="log", domain=[named[0], named[-1]], nice=False)
    return {"scale": scale, "axis": alt.Axis(values=named, labelOverlap=True)}


def add_marks(chart: alt.Chart, marks: Sequence[tuple[Any, str]]) -> AnyChart:
    """Adds a line with a letter at each time; the text beneath explains the letters."""
    if not marks:
        return chart
    data = alt.InlineData(values=[{"at": _iso(at), "letter": letter} for at, letter in marks])
    ink = tones()["third"]
    base = alt.Chart(data).encode(x="at:T")
    rules = base.mark_rule(strokeDash=[3, 3], color=ink)
    return alt.layer(chart, rules, base.mark_text(y=-6, fontWeight="bold", color=ink).encode(text="letter:N"))


def panel(key: str, title: str, text: str, chart: AnyChart | None, header: Row, rows: Sequence[Row]) -> None:
    """Draws a titled chart with its table, or a sentence without data.

    Args:
        key: of this panel on the page.
        title: its heading.
        text: what it shows, in a sentence.
        chart: None where there is nothing to draw.
        header, rows: the table.
    """
    if chart is None:
        draw(folded(title, text), key=f"{key}-head")
    else:
        draw(el("div", el("h2", title), el("p", text, cls="small faint"), cls="panel-head"), key=f"{key}-head")
        shown = chart.properties(height=HEIGHT, description=f"{title}. {text} The table beneath has its figures.")
        st.altair_chart(shown.configure_view(stroke=None), key=f"{key}-chart")
        draw(
            el("details", el("summary", "The figures as a table"), table(header, rows, label=title)), key=f"{key}-table"
        )


def table(header: Row, rows: Sequence[Row], *, label: str) -> Node:
    """Draws a table in a scrolling box. The first cell names the row; numbers align right, and so do their headings."""
    numbers = [place > 0 and any(isinstance(row[place], int | float) for row in rows) for place in range(len(header))]
    heads = [
        el("th", str(name), scope="col", cls="number" if number else "")
        for name, number in zip(header, numbers, strict=True)
    ]
    head = el("thead", el("tr", *heads))
    body = el("tbody", *(el("tr", *(_cell(cell, first=place == 0) for place, cell in enumerate(row))) for row in rows))
    return el("div", el("table", head, body), cls="figures", tabindex="0", role="region", aria_label=label)


def _cell(cell: str | float, *, first: bool) -> Node:
    number = isinstance(cell, int | float)
    text = f"{cell:,.4g}" if isinstance(cell, float) else f"{cell:,}" if number else str(cell)
    return el("th", text, scope="row") if first else el("td", text, cls="number" if number else "")


def _time(
    name: str, unit: str | None = None, *, ticks: int = TICKS, span: tuple[datetime, datetime] | None = None
) -> alt.X:
    """Returns the axis of times, with no more ticks than hours or days, whose names would repeat."""
    # Counted in UTC, said in UTC: a reader's own zone would move turns to other hours than the store has them in.
    axis = alt.Axis(labelOverlap=True, labelExpr=TIME_OF_DAY, tickCount=ticks)
    domain: Any = alt.Undefined if span is None else [_iso(at) for at in span]
    scale = alt.Scale(type="utc", domain=domain)
    return alt.X(f"{unit}({name}):T" if unit else f"{name}:T", title="UTC", scale=scale, axis=axis)


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _whole_steps(counts: Sequence[float]) -> alt.Axis:
    """Returns an axis of whole numbers."""
    few = max(counts, default=0) < 10 and all(count == int(count) for count in counts)
    return alt.Axis(tickMinStep=1) if few else alt.Axis()


def diagram(found: Sequence[tuple[str, Reliability | None]], *, key: str = "reliability") -> None:
    """Draws the reliability diagram of one or two judges; nothing without labelled claims.

    Args:
        found: names, with the reliability over labelled claims.
        key: of this place on the page.
    """
    known = [(name, reliability) for name, reliability in found if reliability is not None]
    if not known:
        return
    errors = ", ".join(f"{name} {reliability.ece:.3f}" for name, reliability in known)
    text = (
        f"Share of claims that people agree with, by confidence; calibrated ones lie on the dashed line. Gap: {errors}."
    )
    rows = [(name, bin.confidence, bin.accuracy, bin.n) for name, reliability in known for bin in reliability.bins]
    header = ["judged with", "mean confidence", "right", "claims"]
    table: list[Row] = [[name, round(confidence, 3), round(right, 3), n] for name, confidence, right, n in rows]
    panel(key, "Reliability", text, _chart(rows, [name for name, _ in known]), header, table)


def _chart(rows: Sequence[tuple[str, float, float, int]], names: Sequence[str]) -> AnyChart:
    data = [{"name": name, "confidence": confidence, "right": right, "n": n} for name, confidence, right, n in rows]
    legend = alt.Legend(orient="top", title=None)
    lines = (
        alt.Chart(alt.InlineData(values=data))
        .mark_line(point={"size": 50}, strokeWidth=2)
        .encode(
            x=alt.X("confidence:Q", title="mean confidence", scale=UNIT, axis=alt.Axis(tickCount=10)),
            y=alt.Y("right:Q", title="share that is right", scale=UNIT),
            color=colour(names, by_look=False),
            shape=alt.Shape("name:N", sort=list(names), legend=legend),
            tooltip=["name:N", alt.Tooltip("confidence:Q", format=".2f"), alt.Tooltip("right:Q", format=".2f"), "n:Q"],
        )
    )
    ideal = alt.InlineData(values=[{"confidence": 0, "right": 0}, {"confidence": 1, "right": 1}])
    dashed = alt.Chart(ideal).mark_line(strokeDash=[4, 4], color=tones()["third"]).encode(x="confidence:Q", y="right:Q")
    return alt.layer(dashed, lines)
