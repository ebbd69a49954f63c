"""Pages of the lab in the dashboard, added by the entry point `vista_guard.pages`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vista_lab.registry import additions, load

if TYPE_CHECKING:
    from vista_guard.dashboard.registry import PageInfo


def pages() -> tuple[PageInfo, ...]:
    """The pages of all tasks."""
    return tuple(load(page) for task in additions() for page in task.pages)
