"""The figures on top: the last five minutes, and the same hour a week ago."""

from __future__ import annotations

from dataclasses import dataclass

from vista_guard.dashboard.parts import times
from vista_guard.dashboard.parts.labels import UNCHECKED, look, sign
from vista_guard.dashboard.parts.tree import Node, el
from vista_guard.types import Action

ACTIONS = (Action.BLOCK, Action.REPAIR, Action.FLAG)


@dataclass(frozen=True)
class Counts:
    """What happened in a stretch of time. `p95_ms` is None where no turn was, or its durations are not known."""

    minutes: float
    turns: int = 0
    actions: tuple[tuple[Action, int], ...] = ()
    claims: int = 0
    unchecked: int = 0
    p95_ms: float | None = None

    def share(self, action: Action) -> float | None:
        """Of all turns, how many got this action; None without turns."""
        return dict(self.actions).get(action, 0) / self.turns if self.turns else None

    @property
    def unchecked_share(self) -> float | None:
        """Of all claims, how many could not be judged."""
        return self.unchecked / self.claims if self.claims else None

    @property
    def a_minute(self) -> float:
        """Turns a minute."""
        return self.turns / self.minutes


def tiles(now: Counts, then: Counts) -> Node:
    """Six figures, each with what it was a week ago."""
    return el(
        "dl",
        _tile("turns in 5 minutes", str(now.turns), f"{then.a_minute * now.minutes:.0f}" if then.turns else "none"),
        *(_tile(look(one).word, _percent(now.share(one)), _percent(then.share(one)), sign(one)) for one in ACTIONS),
        _tile("claims unchecked", _percent(now.unchecked_share), _percent(then.unchecked_share), sign(UNCHECKED)),
        _tile("95 % took less than", _took(now.p95_ms), _took(then.p95_ms)),
        cls="tiles",
    )


def _tile(title: str, now: str, then: str, mark: Node | None = None) -> Node:
    return el(
        "div",
        el("dt", mark, f" {title}" if mark else title),
        el("dd", now, cls="figure"),
        el("dd", f"a week ago {then}", cls="then"),
        cls="tile",
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _took(milliseconds: float | None) -> str:
    return "–" if milliseconds is None else times.span_of(milliseconds)
