"""Tables for a terminal: two policies over one log, a run against gold, and the sums of a replay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vista_guard.dashboard.elements.looks import look
from vista_guard.policy.risk import ALARMS, Reliability, RiskGroup, RiskTable
from vista_guard.reading.visible import visible
from vista_guard.types import Action
from vista_lab.metrics.calibration import turn_name
from vista_lab.metrics.detection import Reading
from vista_lab.metrics.intervals import percent
from vista_lab.metrics.labels import LabelAgreement, ReplaySummary
from vista_lab.metrics.turn_risk import Fit
from vista_lab.policies import replayed as words
from vista_lab.policies.replayed import Replayed, ReplayedTurn
from vista_lab.runs.summary import Found, RunSummary
from vista_lab.tables.writers import decimals

LONGEST = 300
"""Characters of a turn, or of a reason, that a terminal shows."""


def policies_table(replayed: Replayed, changed: Sequence[ReplayedTurn]) -> RenderableType:
    """Actions under each policy, agreement with people, the turns that change, and the limits of these figures.

    Args:
        replayed: the comparison.
        changed: the turns to show, of those that change.
    """
    parts: list[RenderableType] = [_policy_totals(replayed), _transitions(replayed)]
    parts.append(_policy_agreement(replayed) if replayed.fine else Text(words.UNLABELLED))
    parts += [_changes_table(replayed, changed), Text("what this can't tell", style="bold")]
    parts += [Text(f"- {visible(limit)}") for limit in replayed.limits()]
    return Group(*parts)


def _policy_totals(replayed: Replayed) -> Table:
    first, second = replayed.found.totals
    table = _table("what each policy would have done", "turns", *_names(replayed), "change")
    for action in Action:
        one, other = first.actions[action], second.actions[action]
        table.add_row(look(action).word, _of(one, first.turns), _of(other, second.turns), f"{other - one:+,}")
    table.add_row("all", f"{first.turns:,}", f"{second.turns:,}", "")
    return table


def _of(count: int, turns: int) -> str:
    return f"{count:,} ({count / turns:.1%})" if turns else f"{count:,}"


def _transitions(replayed: Replayed) -> Table:
    first, second = _names(replayed)
    table = _table("from one to the other", f"{first} ↓  {second} →", *(look(one).word for one in Action))
    for one in Action:
        table.add_row(look(one).word, *(f"{replayed.found.transitions[one, other]:,}" for other in Action))
    return table


def _policy_agreement(replayed: Replayed) -> Table:
    sides = replayed.found.agreement(replayed.fine)
    table = _table(
        f"where people said who is right ({len(replayed.fine):,} turns; 95 % intervals)", "", *_names(replayed)
    )
    for name, (title, _) in words.AGREEMENTS.items():
        table.add_row(title, *(words.share(getattr(side, name)) for side in sides))
    return table


def _changes_table(replayed: Replayed, shown: Sequence[ReplayedTurn]) -> RenderableType:
    count = len(replayed.found.changed)
    if not count:
        return Text("no turn changes: both policies decide alike", style="bold")
    rest = f", the {len(shown):,} with the largest steps" if len(shown) < count else ""
    return Group(Text(f"turns that change: {count:,}{rest}", style="bold"), *_lines(replayed, shown))


def _lines(replayed: Replayed, shown: Iterable[ReplayedTurn]) -> Iterable[Text]:
    for turn in shown:
        step = f"{look(turn.first.action).word} → {look(turn.second.action).word}"
        people = "" if turn.fine is None else f"; people: {'fine' if turn.fine else 'not fine'}"
        where = turn_name(turn.report.conversation_id, turn.report.turn_index, turn.question)
        yield Text(f"{visible(where)}: {step}{people}", style="cyan")
        yield Text(f"  {_cut(turn.report.response)}")
        for name, decision in zip(replayed.names, (turn.first, turn.second), strict=True):
            reason = f"{look(decision.action).word}, {_cut(decision.reason)}"
            yield Text(f"  {visible(name)}: {reason}", style="dim")


def _cut(text: str) -> str:
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= LONGEST else f"{flat[:LONGEST]}…"


def _names(replayed: Replayed) -> tuple[str, str]:
    first, second = replayed.names
    return visible(first), visible(second)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if number else "left")
    return table


RATES = (0.01, 0.02, 0.05, 0.1)
"""False alarm rates that `risk_table` shows."""


def summary_table(summary: ReplaySummary, title: str = "replay") -> RenderableType:
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
            row.append(decimals(missed.loss(label, limit) if missed and limit is not None else None))
        shown.add_row(*row)
    return shown


def turn_risk_table(found: Fit) -> RenderableType:
    """For some rates: from which risk on a turn may be flagged or withheld, and which share that catches of what is not fine."""
    (group, *_) = found.groups
    bad = sum(not turn.fine for turn in found.turns)
    shown = plain_table(f"risks of {group.n:,} fine turns", "at most", "risk", f"caught of {bad:,}")
    for rate in RATES:
        limit = group.threshold(rate)
        caught = decimals(limit and found.caught(limit))
        shown.add_row(f"{rate:.0%}", "none" if limit is None else f"{limit:.4f}", caught)
    return shown


def reliability_table(found: Reliability) -> RenderableType:
    """The reliability diagram as a table."""
    shown = plain_table(f"reliability, ECE {found.ece:.3f}", "mean confidence", "right", "claims")
    for one in found.bins:
        shown.add_row(decimals(one.confidence), decimals(one.accuracy), f"{one.n:,}")
    return shown


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


def _agreement(agreement: LabelAgreement) -> Table:
    table = plain_table("agreement with human labels", "", "value", "n")
    claims, turns = f"{agreement.claims:,} claims", f"{agreement.turns:,} turns"
    table.add_row("claim supported or not, accuracy", decimals(agreement.supported), claims)
    table.add_row("five labels, accuracy", decimals(agreement.labels), claims)
    table.add_row("five labels, macro-F1", decimals(agreement.macro_f1), claims)
    table.add_row("turn verifiable or not, accuracy", decimals(agreement.turn), turns)
    return table


def plain_table(title: str, *columns: str) -> Table:
    """An empty table with these columns, the first one of words, the others of figures."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def run_table(figures: RunSummary, gold: Literal["strict", "safe", "original"]) -> RenderableType:
    """The figures of a run, and its agreement with gold under one reading, where the data has gold for it."""
    parts: list[RenderableType] = [_coverage(figures)]
    found = figures.readings.get(Reading(gold))
    if found is not None:
        parts.append(_score_table(found, gold))
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
    return decimals(value) if value is None or interval is None else percent(value, interval)


def _score_table(found: Found, gold: str) -> Table:
    table = plain_table(f"turns that are looked for, gold {gold}", "", "value")
    table.add_row("turns with gold", f"{found.turns:,}")
    table.add_row("of them not judged", f"{found.unchecked:,}", style="red" if found.unchecked else None)
    table.add_row("accuracy of the judged", _with_interval(found.accuracy, found.interval))
    table.add_row("balanced accuracy", _with_interval(found.balanced_accuracy, found.balanced_interval))
    table.add_row("precision", decimals(found.precision))
    table.add_row("recall", decimals(found.recall))
    table.add_row("F1", decimals(found.f1))
    table.add_row("found, missed", f"{found.tp:,}, {found.fn:,}")
    table.add_row("wrongly found, rightly not", f"{found.fp:,}, {found.tn:,}")
    return table
