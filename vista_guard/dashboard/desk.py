"""What a page is handed: the reports that its viewer may see, who they are, and what was configured. Nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vista_guard.dashboard.material import Material
from vista_guard.dashboard.parts import address
from vista_guard.dashboard.parts.links import GO
from vista_guard.dashboard.parts.tree import Act, Selection
from vista_guard.dashboard.people import Viewer
from vista_guard.dashboard.reports.scoped import ScopedReports
from vista_guard.dashboard.reports.words import Words
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.stores.reviews.annotation import Annotations
from vista_guard.stores.reviews.queue import Reviews


@dataclass(frozen=True)
class Desk:
    """One viewer's dashboard: `reports`, `reviews` and `annotations` give them nothing of tenants that they may not see.

    `pages` are Streamlit's, by their path, for links between them.
    """

    reports: ScopedReports
    viewer: Viewer
    settings: DashboardSettings
    reviews: Reviews
    annotations: Annotations
    material: Material = field(default_factory=Material)
    words: Words = field(default_factory=Words)
    pages: Mapping[str, Any] = field(default_factory=dict)

    def follow(self, event: Act | Selection | None) -> None:
        """Goes where a link of the dashboard leads (`parts.links.to`); anything else is left to the page."""
        if isinstance(event, Act) and event.name == GO:
            address.go(event.value, self.pages)
