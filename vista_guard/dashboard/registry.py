"""All pages, in menu order: the guard's own, then those of other packages.

Other packages add pages through the entry point group `vista_guard.pages`: a function without arguments that returns a
sequence of `PageInfo`. `vista_lab` does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from vista_guard.dashboard.conversation.page import conversation
from vista_guard.dashboard.live import live
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.review import review
from vista_guard.dashboard.settings import Permission
from vista_guard.dashboard.trends import trends

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PageInfo:
    """A page: its title, its path in the address, a Material Symbols icon, its drawing function, and who may open it.

    `needs` is the permission without which a viewer neither sees nor reaches it; None for everybody who signed in. `also` are
    further paths, for people who type an address.
    """

    title: str
    path: str
    icon: str
    show: Callable[[Desk], None]
    needs: Permission | None = None
    also: tuple[str, ...] = ()


OWN = (
    PageInfo("Live", "live", "bolt", live),
    PageInfo("Conversations", "conversation", "forum", conversation, also=("conversations",)),
    PageInfo("Trends", "trends", "monitoring", trends),
    PageInfo("Review", "review", "gavel", review, Permission.REVIEW),
)
"""The first is the default page."""


@cache
def all_pages() -> tuple[PageInfo, ...]:
    """The guard's pages and those of other packages. One that cannot be loaded is logged and left out."""
    pages = list(OWN)
    for point in entry_points(group="vista_guard.pages"):
        try:
            pages += point.load()()
        except (ImportError, AttributeError) as exc:
            _log.warning("the pages of %s are left out: %s", point.value, exc)
    return tuple(pages)
