"""Addresses within Annotate: the batch, the view and the task that are open, and under which name."""

from __future__ import annotations

from typing import Final

from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.address import GO
from vista_guard.dashboard.elements.tree import Act, Node, el
from vista_guard.dashboard.page import NAME

BATCH: Final = "batch"
VIEW: Final = "view"
TASK: Final = "task"

VIEWS: Final = {"": "Turns", "agreement": "Agreement", "consensus": "Consensus"}

_SAME: Final = "\x00"


def within(
    text: str, *, batch: str | None = _SAME, view: str = "", task: int | None = None, cls: str = "", here: bool = False
) -> Node:
    """A link to another view of the page; of the open batch, if no other one is given."""
    named = address.read(BATCH) if batch == _SAME else batch
    number = None if task is None else str(task)
    there = address.link("annotate", **{NAME: address.read(NAME), BATCH: named, VIEW: view or None, TASK: number})
    return el("a", text, href=there, act=Act(GO, there), cls=cls, aria_current="page" if here else None)


def open_task() -> int | None:
    """The task that the address names."""
    named = address.read(TASK) or ""
    return int(named) if named.isdecimal() and len(named) < 19 else None
