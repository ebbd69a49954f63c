"""Tables for a terminal: two policies over one log, thresholds, and the fit of the turn's risk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vista_guard.dashboard.elements.looks import look
from vista_guard.policy.labels import turn_name
from vista_guard.policy.risk import ALARMS, Reliability, RiskGroup, RiskTable
from vista_guard.reading.visible import visible
from vista_guard.types import Action
from vista_lab.metrics.turn_risk import Fit
from vista_lab.policies import replayed as words
from vista_lab.policies.replayed import PolicyReplay, ReplayedTurn
from vista_lab.tables.terminal import plain_table
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
    heads = (look(one).word for one in Action)
    table = plain_table("from one to the other", f"{first} ↓  {second} →", *heads, wrap=True)
    for one in Action:
        table.add_row(look(one).word, *(f"{replayed.found.transitions[one, other]:,}" for other in Action))
    return table


def _policy_agreement(replayed: PolicyReplay) -> Table:
    sides = replayed.found.agreement(replayed.fine)
    title = f"where people said who is right ({len(replayed.fine):,} turns; 95 % intervals)"
    table = plain_table(title, "", *_names(replayed), wrap=True)
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


def risk_table(table: RiskTable, missed: RiskGroup | None) -> RenderableType:
    """Thresholds by false alarm rate and label, with the share that each catches of what is not fine."""
    (group, *_) = table.groups
    unit = "fine turns" if table.level == "turn" else "turns with fine claims"
    caught = "caught" if missed is None else f"caught of {missed.n:,}"
    heads = (head for label in ALARMS for head in (label, caught))
    output = plain_table(f"thresholds from {group.n:,} {unit}", "at most", *heads)
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
        caught = decimals(None if limit is None else found.caught(limit))
        table.add_row(f"{rate:.0%}", "none" if limit is None else f"{limit:.4f}", caught)
    return table


def reliability_table(found: Reliability) -> RenderableType:
    """The reliability diagram as a table."""
    table = plain_table(f"reliability, ECE {found.ece:.3f}", "mean confidence", "right", "claims")
    for bucket in found.bins:
        table.add_row(decimals(bucket.confidence), decimals(bucket.accuracy), f"{bucket.n:,}")
    return table
