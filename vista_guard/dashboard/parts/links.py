"""Links between pages: addresses that can be copied and opened elsewhere, and that a press follows without loading anew."""

from __future__ import annotations

from typing import Final

from vista_guard.dashboard.parts import address
from vista_guard.dashboard.parts.tree import Act, Node, el

GO: Final = "go"
"""The act of a link; its value is the address. `Desk.follow` goes there."""


def to(page: str, text: str | Node, *, cls: str = "", **values: str | None) -> Node:
    """A link to a page, with parameters of its address.

    Example:
        >>> to("conversation", "turn 4", turn="9f0c…").attributes["href"]
        './conversation?turn=9f0c%E2%80%A6'
    """
    there = address.link(page, **values)
    return el("a", text, href=there, act=Act(GO, there), cls=cls)
