"""Pages of the lab in the dashboard, added by the entry point `vista_guard.pages`."""

from __future__ import annotations

from vista_guard.dashboard.registry import PageInfo
from vista_guard.dashboard.settings import Permission
from vista_lab.pages import annotate, policy_lab, runs


def pages() -> tuple[PageInfo, ...]:
    """The policy lab, the runs, and annotating, in this order."""
    return (
        PageInfo("Policy lab", "lab", "science", policy_lab.lab),
        PageInfo("Runs", "runs", "compare_arrows", runs.runs),
        PageInfo("Annotate", "annotate", "edit_note", annotate.annotate, Permission.ANNOTATE),
    )
