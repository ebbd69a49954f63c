"""Tables for a terminal: a run against gold, and the sums of a replay."""

from __future__ import annotations

from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vista_lab.metrics.detection import Reading
from vista_lab.metrics.intervals import share_text
from vista_lab.metrics.labels import LabelAgreement, ReplaySummary
from vista_lab.runs.summary import DetectionSummary, RunSummary
from vista_lab.tables.writers import decimals


def summary_table(summary: ReplaySummary, title: str = "replay") -> RenderableType:
    """The figures of a replay, with agreement where the log carries human labels."""
    parts: list[RenderableType] = [_totals(summary, title), _claims(summary)]
    if summary.usage.calls:
        parts.append(_usage(summary))
    if summary.agreement is not None:
        parts.append(_agreement(summary.agreement))
    return Group(*parts)


def _totals(summary: ReplaySummary, title: str) -> Table:
    rate = summary.turns_per_second
    table = plain_table(title, "", "value")
    table.add_row("conversations", f"{summary.conversations:,}")
    earlier = f" ({summary.resumed:,} of an earlier run)" if summary.resumed else ""
    table.add_row("turns", f"{summary.turns:,}{earlier}")
    table.add_row("turns a second", "–" if rate is None else f"{rate:,.1f}")
    table.add_row("turns without any evidence", f"{summary.evidence_missing:,}")
    table.add_row("VISTA score over claims (micro)", decimals(summary.micro))
    table.add_row("VISTA score over turns (macro)", decimals(summary.macro))
    for action, count in summary.actions.items():
        table.add_row(f"decision {action}", f"{count:,}")
    table.add_row("entries of the log not read", f"{summary.broken:,}", style="red" if summary.broken else None)
    return table


def _claims(summary: ReplaySummary) -> Table:
    table = plain_table("claims", "label", "claims", "share")
    for label, count in summary.labels.items():
        table.add_row(label, f"{count:,}", decimals(count / summary.claims if summary.claims else None))
    share = decimals(summary.unchecked / summary.claims if summary.claims else None)
    table.add_row("unchecked", f"{summary.unchecked:,}", share, style="red" if summary.unchecked else None)
    table.add_row("all", f"{summary.claims:,}", "")
    return table


def _usage(summary: ReplaySummary) -> Table:
    usage, turns = summary.usage, max(summary.turns, 1)
    table = plain_table("model calls", "", "all", "a turn")
    table.add_row("calls", f"{usage.calls:,}", f"{usage.calls / turns:,.1f}")
    table.add_row("input tokens", f"{usage.input_tokens:,}", f"{usage.input_tokens / turns:,.0f}")
    table.add_row(
        "of them from the endpoint's cache", f"{usage.cached_tokens:,}", f"{usage.cached_tokens / turns:,.0f}"
    )
    table.add_row("output tokens", f"{usage.output_tokens:,}", f"{usage.output_tokens / turns:,.0f}")
    if usage.unpriced_calls < usage.calls:
        table.add_row("estimated cost, USD", f"{usage.cost:,.4f}", f"{usage.cost / turns:,.5f}")
    if usage.unpriced_calls:
        table.add_row("calls of no known price", f"{usage.unpriced_calls:,}", "")
    return table


def _agreement(agreement: LabelAgreement) -> Table:
    table = plain_table("agreement with human labels", "", "value", "n")
    claims, turns = f"{agreement.claims:,} claims", f"{agreement.turns:,} turns"
    table.add_row("claim supported or not, accuracy", decimals(agreement.supported), claims)
    table.add_row("five labels, accuracy", decimals(agreement.labels), claims)
    table.add_row("five labels, macro-F1", decimals(agreement.macro_f1), claims)
    table.add_row("turn verifiable or not, accuracy", decimals(agreement.turn), turns)
    return table


def plain_table(title: str, *columns: str, wrap: bool = False) -> Table:
    """An empty table with these columns, the first one of words, the others of figures."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if number else "left", no_wrap=not wrap)
    return table


def run_table(figures: RunSummary, gold: Literal["strict", "safe", "original"]) -> RenderableType:
    """The figures of a run, and its agreement with gold under one reading, where the data has gold for it."""
    parts: list[RenderableType] = [_coverage(figures)]
    scores = figures.readings.get(Reading(gold))
    if scores is not None:
        parts.append(_score_table(scores, gold))
    elif figures.readings:
        parts.append(Text(f"The data has no gold for --gold {gold}; it has {', '.join(figures.readings)}."))
    return Group(*parts)


def _coverage(figures: RunSummary) -> Table:
    table = plain_table("what was judged", "", "value")
    table.add_row("turns to judge", f"{figures.turns:,}")
    table.add_row("with a report", f"{figures.reported:,}")
    table.add_row("with every claim judged", f"{figures.judged:,}")
    table.add_row("coverage", decimals(figures.coverage))
    table.add_row("rows that could not be read", f"{figures.skipped:,}", style="red" if figures.skipped else None)
    table.add_row("seconds of judging", f"{figures.judging_seconds:,.1f}")
    return table


def _with_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    return decimals(value) if value is None or interval is None else share_text(value, interval)


def _score_table(scores: DetectionSummary, gold: str) -> Table:
    table = plain_table(f"turns that are looked for, gold {gold}", "", "value")
    table.add_row("turns with gold", f"{scores.turns:,}")
    table.add_row("of them not judged", f"{scores.unchecked:,}", style="red" if scores.unchecked else None)
    table.add_row("accuracy of the judged", _with_interval(scores.accuracy, scores.interval))
    table.add_row("balanced accuracy", _with_interval(scores.balanced_accuracy, scores.balanced_interval))
    table.add_row("precision", decimals(scores.precision))
    table.add_row("recall", decimals(scores.recall))
    table.add_row("F1", decimals(scores.f1))
    table.add_row("found, missed", f"{scores.tp:,}, {scores.fn:,}")
    table.add_row("wrongly found, rightly not", f"{scores.fp:,}, {scores.tn:,}")
    return table
