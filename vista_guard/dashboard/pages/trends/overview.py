"""The figures on top of Trends: all of the time that is shown, beside as long a time before it. Pure."""

from __future__ import annotations

from collections.abc import Callable

from vista_guard.dashboard.pages.trends.series import Sums
from vista_guard.dashboard.parts import times
from vista_guard.dashboard.parts.labels import UNCHECKED, look, sign
from vista_guard.dashboard.parts.tree import Node, el
from vista_guard.types import Action


def overview(now: Sums, before: Sums | None) -> Node:
    """Eight figures; `before` is None where all time is shown."""
    then = before if before is not None and before.turns else None

    def tile(title: str, figure: Callable[[Sums], str], mark: Node | None = None) -> Node:
        was = None if then is None else el("dd", f"before {figure(then)}", cls="then")
        return el(
            "div", el("dt", mark, f" {title}" if mark else title), el("dd", figure(now), cls="figure"), was, cls="tile"
        )

    return el(
        "dl",
        tile("turns", lambda it: f"{it.turns:,}"),
        tile(look(Action.FLAG).word, lambda it: percent(it.share(Action.FLAG)), sign(Action.FLAG)),
        tile(look(Action.REPAIR).word, lambda it: percent(it.share(Action.REPAIR)), sign(Action.REPAIR)),
        tile(look(Action.BLOCK).word, lambda it: percent(it.share(Action.BLOCK)), sign(Action.BLOCK)),
        tile("claims unchecked", lambda it: percent(it.unchecked_share), sign(UNCHECKED)),
        tile("mean VISTA score", lambda it: number(it.score)),
        tile("95 % took less than", lambda it: took(it.p95_ms)),
        tile("cost", money),
        cls="tiles eight",
    )


def percent(share: float | None) -> str:
    """`12.3 %`; a dash where there is nothing to share."""
    return "–" if share is None else f"{100 * share:.1f} %"


def number(value: float | None) -> str:
    """To two places."""
    return "–" if value is None else f"{value:.2f}"


def took(milliseconds: float | None) -> str:
    """A duration."""
    return "–" if milliseconds is None else times.span_of(milliseconds)


def money(of: Sums) -> str:
    """US dollars; marked where some calls had no known price."""
    return f"${of.cost:,.2f}{' +' if of.unpriced else ''}"
