"""All pages, in the order in which they stand on top. A new one is a folder beside the others, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.annotate.page import annotate
from vista_guard.dashboard.pages.conversation.page import conversation
from vista_guard.dashboard.pages.lab.page import lab
from vista_guard.dashboard.pages.live.page import live
from vista_guard.dashboard.pages.review.page import review
from vista_guard.dashboard.pages.runs.page import runs
from vista_guard.dashboard.pages.trends.page import trends
from vista_guard.dashboard.settings import Permission


@dataclass(frozen=True)
class PageInfo:
    """A page: its name for people, its path in the address, an icon of Material Symbols, what draws it, who may open it.

    `needs` is the permission without which a viewer neither sees nor reaches it; None for everybody who came in.
    """

    title: str
    path: str
    icon: str
    show: Callable[[Desk], None]
    needs: Permission | None = None


PAGES: tuple[PageInfo, ...] = (
    PageInfo("Live", "live", "bolt", live),
    PageInfo("Conversation", "conversation", "forum", conversation),
    PageInfo("Trends", "trends", "monitoring", trends),
    PageInfo("Policy lab", "lab", "science", lab),
    PageInfo("Runs", "runs", "compare_arrows", runs),
    PageInfo("Review", "review", "gavel", review, Permission.REVIEW),
    PageInfo("Annotate", "annotate", "edit_note", annotate, Permission.ANNOTATE),
)
"""The first one is shown where the address names none."""
