"""Labels and actions as elements: a colour, a sign and a word each, so that none has to be told by its colour alone."""

from __future__ import annotations

from vista_guard.dashboard.parts.tree import Node, el
from vista_guard.evaluation.figures.looks import LOOKS, UNCHECKED, Look, look, name_of

__all__ = ["LOOKS", "UNCHECKED", "Look", "chip", "counted", "look", "name_of", "sign"]


def chip(name: str, text: str | None = None, *, cls: str = "", key: str | None = None) -> Node:
    """A small mark with sign and word; `text` in place of the word."""
    shown = look(name)
    return el("span", sign(name), text or shown.word, cls=f"chip tone-{shown.tone} {cls}".strip(), key=key)


def counted(name: str, count: int) -> Node:
    """A chip that says how many there are: `✗ 2`, with the word for those who do not see it."""
    shown = look(name)
    told = f"{count} {shown.word}"
    return el("span", sign(name), str(count), cls=f"chip tone-{shown.tone}", title=told, role="img", aria_label=told)


def sign(name: str) -> Node:
    """The sign alone; readers of the screen hear the word that stands beside it."""
    return el("span", look(name).sign, cls="sign", aria_hidden="true")
