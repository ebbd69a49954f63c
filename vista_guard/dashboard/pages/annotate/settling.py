"""Tasks whose annotators are of one mind are settled when the last of them submits."""

from __future__ import annotations

from vista_guard.dashboard.pages.annotate.alike import steps
from vista_guard.stores.reviews.annotation import Annotations
from vista_guard.stores.reviews.records import CompleteTask
from vista_lab.metrics.agreement import Item, answers, compare, method_of

NOBODY = "agreement"
"""Who settled a task that nobody had to."""


def items_of(task: CompleteTask) -> tuple[Item, ...]:
    """The claims of a task with everybody's version."""
    return compare({one.annotator: one.kept for one in task.annotations}, steps([task]))


def settle_if_agreed(annotations: Annotations, task: int) -> bool:
    """Settles a task that is complete and leaves nothing to discuss; whether it did."""
    for done in annotations.complete(task=task):
        items = items_of(done)
        method = method_of(items)
        if done.consensus is None and method is not None:
            annotations.settle(task, answers(items), method=method, who=NOBODY)
            return True
    return False
