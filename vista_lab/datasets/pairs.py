"""A premise with a hypothesis, as verifiers are trained and measured on, and the classes of its label.

Alone because generated sets, rewriters and training share it.
"""

from __future__ import annotations

from dataclasses import dataclass

SUPPORTED_CLASS, CONTRADICTED_CLASS, NOT_ENOUGH_CLASS = 0, 1, 2
UNSUPPORTED = (CONTRADICTED_CLASS, NOT_ENOUGH_CLASS)
NOT_CONTRADICTED = (SUPPORTED_CLASS, NOT_ENOUGH_CLASS)


@dataclass(frozen=True)
class Pair:
    """One training example; ``allowed`` holds the label ids that would be right."""

    premise: str
    hypothesis: str
    allowed: tuple[int, ...]
    source: str
