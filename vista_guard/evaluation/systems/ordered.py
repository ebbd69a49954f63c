"""A system as an order for one: names and numbers that can be sent to another process, which builds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.evaluation.systems.catalogue import make_system
from vista_guard.evaluation.systems.guarded import GuardSystem


@dataclass(frozen=True)
class Ordered:
    """What `make_system` is to be called with.

    `settings` are plain values; `kept_documents` says whether turns without documents are held against those of
    `vista-guard documents add`, in the process that builds the system.
    """

    name: str
    task: Task = Task.UNVERIFIABLE
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    kept_documents: bool = False

    def __call__(self, max_cost: float | None = None) -> GuardSystem:
        """Builds it.

        Args:
            max_cost: US dollars that it may spend; any amount when None.

        Raises:
            ConfigError: see `make_system`.
            StoreError: the documents cannot be opened.
        """
        given = dict(self.settings)
        if max_cost is not None:
            given["model"] = {"budget": {"run": {"cost": max_cost}}}
        if self.kept_documents:
            from vista_guard.assembly import kept_documents
            from vista_guard.settings.sources import Settings

            given["documents"] = kept_documents(Settings.load())
        return make_system(self.name, task=self.task, options=self.options, **given)
