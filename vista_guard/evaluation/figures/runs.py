"""A run's figures against gold, as people read them in a terminal."""

from __future__ import annotations

from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vista_guard.evaluation.figures.tables import plain_table, share_text
from vista_guard.evaluation.metrics.detection import Reading
from vista_guard.evaluation.metrics.intervals import percent
from vista_guard.evaluation.runners.summary import Found, RunSummary


def run_table(figures: RunSummary, gold: Literal["strict", "safe", "original"]) -> RenderableType:
    """What was judged, and how it stands against gold under one reading, if the data has gold for it."""
    parts: list[RenderableType] = [_coverage(figures)]
    found = figures.readings.get(Reading(gold))
    if found is not None:
        parts.append(_found(found, gold))
    elif figures.readings:
        parts.append(Text(f"The data has no gold for --gold {gold}; it has {', '.join(figures.readings)}."))
    return Group(*parts)


def _coverage(figures: RunSummary) -> Table:
    table = plain_table("what was judged", "", "value")
    table.add_row("turns to judge", f"{figures.turns:,}")
    table.add_row("with a report", f"{figures.reported:,}")
    table.add_row("with every claim judged", f"{figures.judged:,}")
    table.add_row("coverage", share_text(figures.coverage))
    table.add_row("rows that could not be read", f"{figures.skipped:,}", style="red" if figures.skipped else None)
    table.add_row("seconds of judging", f"{figures.judging_seconds:,.1f}")
    return table


def _found(found: Found, gold: str) -> Table:
    table = plain_table(f"turns that are looked for, gold {gold}", "", "value")
    table.add_row("turns with gold", f"{found.turns:,}")
    table.add_row("of them not judged", f"{found.unchecked:,}", style="red" if found.unchecked else None)
    accuracy = "–" if found.accuracy is None or found.interval is None else percent(found.accuracy, found.interval)
    table.add_row("accuracy of the judged", accuracy)
    table.add_row("precision", share_text(found.precision))
    table.add_row("recall", share_text(found.recall))
    table.add_row("F1", share_text(found.f1))
    table.add_row("found, missed", f"{found.tp:,}, {found.fn:,}")
    table.add_row("wrongly found, rightly not", f"{found.fp:,}, {found.tn:,}")
    return table
