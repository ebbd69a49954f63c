"""Two policies over one log as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vista_guard.evaluation.figures.looks import look
from vista_guard.evaluation.whatif import words
from vista_guard.evaluation.whatif.replayed import Replayed, ReplayedTurn
from vista_guard.reading.visible import visible
from vista_guard.types import Action, Decision

LONGEST = 300
"""Characters of a turn, or of a reason, that a terminal shows."""


def policies_table(replayed: Replayed, changed: Sequence[ReplayedTurn]) -> RenderableType:
    """What each would have done, how often people agree, the turns that change, and what this can't tell.

    Args:
        replayed: the comparison.
        changed: the turns to show, of those that change.
    """
    parts: list[RenderableType] = [_totals(replayed), _transitions(replayed)]
    parts.append(_agreement(replayed) if replayed.fine else Text(words.UNLABELLED))
    parts += [_changed(replayed, changed), Text("what this can't tell", style="bold")]
    parts += [Text(f"- {visible(one)}") for one in replayed.limits()]
    return Group(*parts)


def _totals(replayed: Replayed) -> Table:
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
    table = _table(
        "from one to the other",
        f"{_names(replayed)[0]} ↓  {_names(replayed)[1]} →",
        *(look(one).word for one in Action),
    )
    for one in Action:
        table.add_row(look(one).word, *(f"{replayed.found.transitions[one, other]:,}" for other in Action))
    return table


def _agreement(replayed: Replayed) -> Table:
    sides = replayed.found.agreement(replayed.fine)
    table = _table(
        f"where people said who is right ({len(replayed.fine):,} turns; 95 % intervals)", "", *_names(replayed)
    )
    for name, (title, _) in words.AGREEMENTS.items():
        table.add_row(title, *(words.share(getattr(one, name)) for one in sides))
    return table


def _changed(replayed: Replayed, shown: Sequence[ReplayedTurn]) -> RenderableType:
    count = len(replayed.found.changed)
    if not count:
        return Text("no turn changes: both policies decide alike", style="bold")
    rest = f", the {len(shown):,} with the largest steps" if len(shown) < count else ""
    return Group(Text(f"turns that change: {count:,}{rest}", style="bold"), *_lines(replayed, shown))


def _lines(replayed: Replayed, shown: Iterable[ReplayedTurn]) -> Iterable[Text]:
    for turn in shown:
        step = f"{look(turn.first.action).word} → {look(turn.second.action).word}"
        people = "" if turn.fine is None else f"; people: {'fine' if turn.fine else 'not fine'}"
        where = f"{turn.report.conversation_id}, turn {turn.report.turn_index}"
        yield Text(f"{visible(where)}: {step}{people}", style="cyan")
        yield Text(f"  {_cut(turn.report.response)}")
        for name, decision in zip(replayed.names, (turn.first, turn.second), strict=True):
            yield Text(f"  {visible(name)}: {_because(decision)}", style="dim")


def _because(decision: Decision) -> str:
    return f"{look(decision.action).word}, {_cut(decision.reason)}"


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
