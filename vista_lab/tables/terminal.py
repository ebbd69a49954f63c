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
from vista_lab.metrics.intervals import share_text
from vista_lab.metrics.labels import LabelAgreement, ReplaySummary
from vista_lab.metrics.turn_risk import Fit
from vista_lab.policies import replayed as words
from vista_lab.policies.replayed import PolicyReplay, ReplayedTurn
from vista_lab.runs.summary import DetectionSummary, RunSummary
from vista_lab.tables.writers import decimals

LONGEST = 300
"""Most characters shown of a turn or a reason."""


def policies_table(replayed: PolicyReplay, changed: Sequence[ReplayedTurn]) -> RenderableType:
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


def _policy_totals(replayed: PolicyReplay) -> Table:
    first, second = replayed.found.totals
    table = plain_table("what each policy would have done", "turns", *_names(replayed), "change", wrap=True)
    for action in Action:
        one, other = first.actions[action], second.actions[action]
        table.add_row(look(action).word, _of(one, first.turns), _of(other, second.turns), f"{other - one:+,}")
    table.add_row("all", f"{first.turns:,}", f"{second.turns:,}", "")
    return table


def _of(count: int, turns: int) -> str:
    return f"{count:,} ({count / turns:.1%})" if turns else f"{count:,}"


def _transitions(replayed: PolicyReplay) -> Table:
    first, second = _names(replayed)
    table = plain_table(
        "from one to the other", f"{first} ↓  {second} →", *(look(one).word for one in Action), wrap=True
    )
    for one in Action:
        table.add_row(look(one).word, *(f"{replayed.found.transitions[one, other]:,}" for other in Action))
    return table


def _policy_agreement(replayed: PolicyReplay) -> Table:
    sides = replayed.found.agreement(replayed.fine)
    table = plain_table(
        f"where people said who is right ({len(replayed.fine):,} turns; 95 % intervals)",
        "",
        *_names(replayed),
        wrap=True,
    )
    for name, (title, _) in words.AGREEMENTS.items():
        table.add_row(title, *(words.share(getattr(side, name)) for side in sides))
    return table


def _changes_table(replayed: PolicyReplay, turns: Sequence[ReplayedTurn]) -> RenderableType:
    count = len(replayed.found.changed)
    if not count:
        return Text("no turn changes: both policies decide alike", style="bold")
    suffix = f", the {len(turns):,} with the largest steps" if len(turns) < count else ""
    return Group(Text(f"turns that change: {count:,}{suffix}", style="bold"), *_lines(replayed, turns))


def _lines(replayed: PolicyReplay, turns: Iterable[ReplayedTurn]) -> Iterable[Text]:
    for turn in turns:
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


def _names(replayed: PolicyReplay) -> tuple[str, str]:
    first, second = replayed.names
    return visible(first), visible(second)


RATES = (0.01, 0.02, 0.05, 0.1)
"""False alarm rates that `risk_table` shows."""


def summary_table(summary: ReplaySummary, title: str = "replay") -> RenderableType:
    """The figures of a replay, with agreement where the log carries human labels."""
    parts: list[RenderableType] = [_totals(summary, title), _claims(summary)]
    if summary.usage.calls:
        parts.append(_usage(summary))
    if summary.agreement is not None:
        parts.append(_agreement(summary.agreement))
    return Group(*parts)


def risk_table(table: RiskTable, missed: RiskGroup | None) -> RenderableType:
    """Thresholds by false alarm rate and label, with the share that each catches of what is not fine."""
    (group, *_) = table.groups
    unit = "fine turns" if table.level == "turn" else "turns with fine claims"
    caught = "caught" if missed is None else f"caught of {missed.n:,}"
    output = plain_table(
        f"thresholds from {group.n:,} {unit}", "at most", *(x for label in ALARMS for x in (label, caught))
    )
    for rate in RATES:
        row = [f"{rate:.0%}"]
        for label in ALARMS:
            limit = group.threshold(label, rate)
            row.append("none" if limit is None else f"{limit:.4f}")
            row.append(decimals(missed.loss(label, limit) if missed and limit is not None else None))
        output.add_row(*row)
    return output


def turn_risk_table(found: Fit) -> RenderableType:
    """Risk thresholds by false alarm rate, with the share that each catches of the turns that are not fine."""
    (group, *_) = found.groups
    bad = sum(not turn.fine for turn in found.turns)
    table = plain_table(f"risks of {group.n:,} fine turns", "at most", "risk", f"caught of {bad:,}")
    for rate in RATES:
        limit = group.threshold(rate)
        caught = decimals(limit and found.caught(limit))
        table.add_row(f"{rate:.0%}", "none" if limit is None else f"{limit:.4f}", caught)
    return table


def reliability_table(found: Reliability) -> RenderableType:
    """The reliability diagram as a table."""
    table = plain_table(f"reliability, ECE {found.ece:.3f}", "mean confidence", "right", "claims")
    for bucket in found.bins:
        table.add_row(decimals(bucket.confidence), decimals(bucket.accuracy), f"{bucket.n:,}")
    return table


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
