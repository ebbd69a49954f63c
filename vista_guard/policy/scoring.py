"""The VISTA score and label distributions. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from vista_guard.types import Finding, Label, Outcome, TurnReport

SAFE = frozenset({Label.VERIFIED, Label.OUT_OF_SCOPE, Label.ABSTENTION})
"""Labels that the score counts as safe (the reference implementation's definition)."""

REMEMBERED = frozenset({Label.VERIFIED, Label.OUT_OF_SCOPE})
"""Labels whose claims enter the knowledge (VISTA §3, steps 4 and 5)."""


def vista_score(outcomes: Iterable[Outcome]) -> float | None:
    """Safe claims over judged claims, in [0, 1]. None when nothing was judged; unchecked claims count for nothing."""
    labels = [outcome.label for outcome in outcomes if isinstance(outcome, Finding)]
    if not labels:
        return None
    return sum(label in SAFE for label in labels) / len(labels)


def micro_score(reports: Iterable[TurnReport]) -> float | None:
    """The score over all claims of all turns: what the paper reports for a conversation."""
    return vista_score(outcome for report in reports for outcome in report.outcomes)


def macro_score(reports: Iterable[TurnReport]) -> float | None:
    """The mean of the scored turns' scores. None when no turn was scored."""
    scores = [report.score for report in reports if report.score is not None]
    return sum(scores) / len(scores) if scores else None


def label_counts(reports: Sequence[TurnReport]) -> dict[Label, int]:
    """How many claims got each label, every label present."""
    counts = Counter(finding.label for report in reports for finding in report.findings)
    return {label: counts[label] for label in Label}
