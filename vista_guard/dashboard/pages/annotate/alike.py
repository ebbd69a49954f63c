"""Which claims of annotators are one: by origin, place and words, and where the shipped embedder finds them alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.reviews.records import CompleteTask
from vista_lab.metrics.claim_sets import STEPS, Same, alike


def steps(tasks: Iterable[CompleteTask]) -> Sequence[Same]:
    """For `groups`, over all claims of these tasks. Texts that the process has embedded once are not embedded again."""
    claims = [claim for task in tasks for one in task.annotations for claim in one.kept]
    return (*STEPS, alike(claims, _embedder()))


@cache
def _embedder() -> OnnxEmbedder:
    return OnnxEmbedder()
