"""A replay's sums as tables for people."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table

from vista_guard.evaluation.metrics.labels import Agreement, Reliability, Summary
from vista_guard.evaluation.metrics.turn_risk import Fit
from vista_guard.policy.risk import ALARMS, RiskGroup, RiskTable

RATES = (0.01, 0.02, 0.05, 0.1)
"""False alarm rates that `risk_table` shows."""


def summary_table(summary: Summary, title: str = "replay") -> RenderableType:
    """Everything a replay comes to; the agreement with human labels when the log carries any."""
    parts: list[RenderableType] = [_totals(summary, title), _claims(summary)]
    if summary.usage.calls:
        parts.append(_usage(summary))
    if summary.agreement is not None:
        parts.append(_agreement(summary.agreement))
    return Group(*parts)


def risk_table(table: RiskTable, missed: RiskGroup | None) -> RenderableType:
    """For some rates and each label alone: from where on a rule may withhold, and which share it catches of what is not fine."""
    (group, *_) = table.groups
    counted = "fine turns" if table.level == "turn" else "turns with fine claims"
    caught = "caught" if missed is None else f"caught of {missed.n:,}"
    shown = plain_table(
        f"thresholds from {group.n:,} {counted}", "at most", *(x for label in ALARMS for x in (label, caught))
    )
    for rate in RATES:
        row = [f"{rate:.0%}"]
        for label in ALARMS:
            limit = group.threshold(label, rate)
            row.append("none" if limit is None else f"{limit:.4f}")
            row.append(share_text(missed.loss(label, limit) if missed and limit is not None else None))
        shown.add_row(*row)
    return shown


def turn_risk_table(found: Fit) -> RenderableType:
    """For some rates: from which risk on a turn may be flagged or withheld, and which share that catches of what is not fine."""
    (group, *_) = found.groups
    bad = sum(not turn.fine for turn in found.turns)
    shown = plain_table(f"risks of {group.n:,} fine turns", "at most", "risk", f"caught of {bad:,}")
    for rate in RATES:
        limit = group.threshold(rate)
        shown.add_row(
            f"{rate:.0%}", "none" if limit is None else f"{limit:.4f}", share_text(limit and found.caught(limit))
        )
    return shown


def reliability_table(found: Reliability) -> RenderableType:
    """The reliability diagram as a table."""
    shown = plain_table(f"reliability, ECE {found.ece:.3f}", "mean confidence", "right", "claims")
    for one in found.bins:
        shown.add_row(share_text(one.confidence), share_text(one.accuracy), f"{one.n:,}")
    return shown


def _totals(summary: Summary, title: str) -> Table:
    rate = summary.turns_per_second
    table = plain_table(title, "", "value")
    table.add_row("conversations", f"{summary.conversations:,}")
    earlier = f" ({summary.resumed:,} of an earlier run)" if summary.resumed else ""
    table.add_row("turns", f"{summary.turns:,}{earlier}")
    table.add_row("turns a second", "–" if rate is None else f"{rate:,.1f}")
    table.add_row("turns without any evidence", f"{summary.evidence_missing:,}")
    table.add_row("VISTA score over claims (micro)", share_text(summary.micro))
    table.add_row("VISTA score over turns (macro)", share_text(summary.macro))
    for action, count in summary.actions.items():
        table.add_row(f"decision {action}", f"{count:,}")
    table.add_row("entries of the log not read", f"{summary.broken:,}", style="red" if summary.broken else None)
    return table


def _claims(summary: Summary) -> Table:
    table = plain_table("claims", "label", "claims", "share")
    for label, count in summary.labels.items():
        table.add_row(label, f"{count:,}", share_text(count / summary.claims if summary.claims else None))
    share = share_text(summary.unchecked / summary.claims if summary.claims else None)
    table.add_row("unchecked", f"{summary.unchecked:,}", share, style="red" if summary.unchecked else None)
    table.add_row("all", f"{summary.claims:,}", "")
    return table


def _usage(summary: Summary) -> Table:
    used, turns = summary.usage, max(summary.turns, 1)
    table = plain_table("model calls", "", "all", "a turn")
    table.add_row("calls", f"{used.calls:,}", f"{used.calls / turns:,.1f}")
    table.add_row("input tokens", f"{used.input_tokens:,}", f"{used.input_tokens / turns:,.0f}")
    table.add_row("of them from the endpoint's cache", f"{used.cached_tokens:,}", f"{used.cached_tokens / turns:,.0f}")
    table.add_row("output tokens", f"{used.output_tokens:,}", f"{used.output_tokens / turns:,.0f}")
    if used.unpriced_calls < used.calls:
        table.add_row("estimated cost, USD", f"{used.cost:,.4f}", f"{used.cost / turns:,.5f}")
    if used.unpriced_calls:
        table.add_row("calls of no known price", f"{used.unpriced_calls:,}", "")
    return table


def _agreement(agreement: Agreement) -> Table:
    table = plain_table("agreement with human labels", "", "value", "n")
    claims, turns = f"{agreement.claims:,} claims", f"{agreement.turns:,} turns"
    table.add_row("claim supported or not, accuracy", share_text(agreement.supported), claims)
    table.add_row("five labels, accuracy", share_text(agreement.labels), claims)
    table.add_row("five labels, macro-F1", share_text(agreement.macro_f1), claims)
    table.add_row("turn verifiable or not, accuracy", share_text(agreement.turn), turns)
    return table


def plain_table(title: str, *columns: str) -> Table:
    """An empty table with these columns, the first one of words, the others of figures."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def share_text(value: float | None) -> str:
    """A share in [0, 1] to three places; a dash where there is none."""
    return "–" if value is None else f"{value:.3f}"
