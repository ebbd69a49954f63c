"""Trends, as they are drawn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.trends import panels, series
from vista_guard.dashboard.pages.trends.overview import overview
from vista_guard.dashboard.parts import states
from vista_guard.dashboard.parts.diagram import diagram
from vista_guard.dashboard.parts.filters import Filters, filter_bar, from_address
from vista_guard.dashboard.parts.tree import Node, draw, el
from vista_guard.evaluation.metrics.labels import reliability
from vista_guard.stores.reports import Rollup
from vista_guard.stores.reports.rollups import Step

HOURLY: Final = 168
"""Hours of time that are still shown by the hour; more is shown by the day."""

BEGINNING: Final = datetime(2000, 1, 1, tzinfo=UTC)


def trends(desk: Desk) -> None:
    """Draws the page."""
    st.title("Trends", anchor=False)
    filters = filter_bar(desk.reports.choices(from_address()))
    now = datetime.now(UTC)
    step, found = _found(desk, filters, now)
    if not found.turns:
        draw(_nothing(filters), key="trends-empty")
        return
    draw(
        el(
            "div",
            _age(found, step),
            overview(series.sums(found), _before(desk, filters, now)),
            _unasked(filters),
            cls="stack",
        ),
        key="trends-top",
    )
    makers = desk.reports.makers(filters, found.turns[0].at, now + timedelta(seconds=1), step)
    panels.show(found, makers, step)
    draw(panels.contradicted(desk.reports.contradicted_sources(filters)), key="trends-contradicted")
    judged = desk.words.judged(desk.reports, filters)
    diagram(
        [("judge", reliability([one for one, _ in judged], [right for _, right in judged]))], key="trends-reliability"
    )


def _found(desk: Desk, filters: Filters, now: datetime) -> tuple[Step, Rollup]:
    """What was counted, by the hour where it spans no more than a week: a single day would be a single bar."""
    until = now + timedelta(seconds=1)
    if filters.hours is None:
        found = desk.reports.rollup(filters, BEGINNING, until, "day")
        week = now - timedelta(hours=HOURLY)
        if not found.turns or min(row.at for row in found.turns) < week:
            return "day", found
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


def _age(found: Rollup, step: Step) -> Node:
    first, last = min(row.at for row in found.turns), max(row.at for row in found.turns)
    text = f"by the {step}, in UTC · {first:%Y-%m-%d %H:%M} to the {step} of {last:%Y-%m-%d %H:%M} · deleted turns still count"
    return el("p", text, cls="small faint")


def _unasked(filters: Filters) -> Node | None:
    """Filters that the roll-ups have no column for."""
    told = []
    if filters.evidence_missing is not None:
        told.append(
            "The filter for missing evidence is not applied here: roll-ups count such turns, and don't keep them apart."
        )
    if filters.label is not None:
        told.append("The filter by label narrows the claims, not the turns.")
    return el("p", " ".join(told), cls="note") if told else None


def _nothing(filters: Filters) -> Node:
    if filters != Filters():
        return states.empty(
            "No turns in this time", "Nothing was counted that passes the filters. Choose a longer time, or clear them."
        )
    return states.empty(
        "No turns yet",
        "Each guarded turn is counted when it is stored. Replayed and guarded turns appear here at once.",
        command="vista-guard dashboard --demo",
    )
