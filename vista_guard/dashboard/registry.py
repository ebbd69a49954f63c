"""All pages, in the order in which they stand on top. A new one is a folder beside the others, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vista_guard.dashboard.conversation.page import conversation
from vista_guard.dashboard.live import live
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.review import review
from vista_guard.dashboard.settings import Permission
from vista_guard.dashboard.trends import trends
from vista_lab.pages.annotate import annotate
from vista_lab.pages.policy_lab import lab
from vista_lab.pages.runs import runs


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
