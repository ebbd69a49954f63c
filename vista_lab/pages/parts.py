"""Parts that pages of several tasks draw: a matrix of labels, and stepping through a long list.

Alone because no task's page imports another task's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.elements.tree import Act, Node, el, sign


def table_of_labels(corner: str, columns: Sequence[str], rows: Mapping[Any, Sequence[Node]], about: str) -> Node:
    """A table whose columns and rows are labels or actions, each with its sign and word; `rows` have the cells."""
    heads = (el("th", sign(label), f" {look(label).word}", scope="col", cls="number") for label in columns)
    names = {label: el("th", sign(label), f" {look(label).word}", scope="row") for label in rows}
    body = (el("tr", names[label], *cells) for label, cells in rows.items())
    grid = el("table", el("thead", el("tr", el("th", corner, scope="col"), *heads)), el("tbody", *body))
    return el("div", grid, cls="figures", tabindex="0", role="region", aria_label=about)


def first_shown(address_value: str | None, size: int, total: int) -> int:
    """The place of the first example that the address names; that of the last page if it names a later one."""
    text, last = address_value or "", max(total - 1, 0) // size * size
    return min(int(text), last) if text.isdecimal() and len(text) < 19 else 0


def pager(start: int, size: int, total: int) -> Node:
    """Buttons to the examples before and after; their act is `show`, with the place of the first one."""
    places = {"Previous": (start - size, start > 0), "Next": (start + size, start + size < total)}
    there = {name: str(max(place, 0)) for name, (place, available) in places.items() if available}
    buttons = (el("button", f"{name} {size}", cls="plain", act=Act("show", place)) for name, place in there.items())
    return el("div", *buttons, cls="row")
