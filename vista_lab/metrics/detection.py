"""Detection of turns, under three readings of a turn. Pure, over (gold, predicted | None).

A prediction is None where it depends on unchecked claims. Such a turn counts in `unchecked` and in no other figure.
`coverage` stands beside every accuracy; `worst` is the accuracy if all unchecked turns were wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from vista_guard.policy.turn_risk import HELD_AGAINST
from vista_guard.types import Finding, Label, Outcome
from vista_lab.logs.source import Task
from vista_lab.metrics.intervals import Share, bootstrap_interval


class Reading(StrEnum):
    """Rules for counting a turn as positive."""

    STRICT = "strict"
    """Gold and prediction: some claim is not VERIFIED (VISTA, Table 3)."""
    SAFE = "safe"
    """Gold and prediction: some claim is LACKING_EVIDENCE or CONTRADICTED, the score's own view."""
    ORIGINAL = "original"
    """Gold: the data set's own label. Prediction: by what the data set looks for (Tables 2, 5 and 20)."""


UNVERIFIABLE = frozenset(Label) - {Label.VERIFIED}
UNSAFE = frozenset(HELD_AGAINST)

_OF_TASK = {
    Task.UNVERIFIABLE: UNVERIFIABLE,
    Task.UNSUPPORTED: UNSAFE,
    Task.CONTRADICTS: frozenset({Label.CONTRADICTED}),
    Task.ABSTAINS: frozenset({Label.ABSTENTION}),
}


def target_labels(reading: Reading, task: Task = Task.UNVERIFIABLE) -> frozenset[Label]:
    """Labels that make a turn positive. `task` is what the data set looks for: it matters for `ORIGINAL` alone."""
    if reading is Reading.STRICT:
        return UNVERIFIABLE
    return UNSAFE if reading is Reading.SAFE else _OF_TASK[task]


def labels_of(outcomes: Iterable[Outcome]) -> list[Label | None]:
    """Labels of a turn's claims; None for one that was not judged."""
    return [outcome.label if isinstance(outcome, Finding) else None for outcome in outcomes]


def has_any_label(labels: Iterable[Label | None], wanted: frozenset[Label]) -> bool | None:
    """True when some claim of a turn has one of these labels. None when that depends on unchecked claims.

    A turn without claims has none.
    """
    known = list(labels)
    if any(label in wanted for label in known):
        return True
    return None if None in known else False


def balanced_interval(pairs: Sequence[tuple[bool, bool]], groups: Sequence[str]) -> tuple[float, float] | None:
    """95 % interval of the balanced accuracy of (gold, predicted), by the bootstrap over groups: documents or conversations.

    None where the gold has one class only, or where all draws come to one figure.
    """
    gold, predicted = (np.array([pair[place] for pair in pairs], bool) for place in (0, 1))
    if not len(pairs) or gold.all() or not gold.any():
        return None

    def figure(rows: np.ndarray) -> float:
        truth, right = gold[rows], predicted[rows] == gold[rows]
        if truth.all() or not truth.any():
            return float("nan")
        return float((right[truth].mean() + right[~truth].mean()) / 2)

    low, high = bootstrap_interval(groups, figure)
    return (low, high) if low < high else None


@dataclass(frozen=True)
class Detection:
    """Turns by gold and prediction: true and false positives, false and true negatives, and those without a prediction.

    Examples:
        >>> str(Detection.of([(True, True), (False, False), (True, False)]).accuracy)
        '66.7 % (20.8–93.9)'
    """

    tp: int
    fp: int
    fn: int
    tn: int
    unchecked: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool | None]]) -> Detection:
        """Counts (gold, predicted | None)."""
        known = list(pairs)
        found, right = known.count((True, True)), known.count((False, False))
        wrong, missed = known.count((False, True)), known.count((True, False))
        return cls(found, wrong, missed, right, unchecked=sum(predicted is None for _, predicted in known))

    @property
    def judged(self) -> int:
        """Turns with a prediction."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def turns(self) -> int:
        return self.judged + self.unchecked

    @property
    def accuracy(self) -> Share:
        """Right predictions, of the turns that have one."""
        return Share(self.tp + self.tn, self.judged)

    @property
    def worst(self) -> Share:
        """Right predictions, of all turns: no system gains by not answering."""
        return Share(self.tp + self.tn, self.turns)

    @property
    def coverage(self) -> Share:
        """Turns that have a prediction, of all."""
        return Share(self.judged, self.turns)

    @property
    def precision(self) -> Share:
        """Positive turns, of those predicted positive."""
        return Share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> Share:
        """Turns predicted positive, of the positive ones that were judged."""
        return Share(self.tp, self.tp + self.fn)

    @property
    def specificity(self) -> Share:
        """Turns predicted negative, of the negative ones that were judged: the recall of the other class."""
        return Share(self.tn, self.tn + self.fp)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of both classes' recalls, in [0, 1] (Brodersen et al., 2010). None where judged turns are of one class only.

        Examples:
            >>> Detection(tp=3, fp=0, fn=1, tn=1).balanced_accuracy
            0.875
        """
        recalls = (self.recall, self.specificity)
        return sum(recall.value for recall in recalls) / 2 if all(recall.n for recall in recalls) else None

    @property
    def f1(self) -> float | None:
        """F1 of the positive class, in [0, 1]. None without positive turns and predictions."""
        total = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / total if total else None

    @property
    def other(self) -> Detection:
        """The same turns with the classes swapped: its `f1` is that of the negative class."""
        return Detection(tp=self.tn, fp=self.fn, fn=self.fp, tn=self.tp, unchecked=self.unchecked)

    @property
    def macro_f1(self) -> float | None:
        """Mean of both classes' F1, in [0, 1]. None where all judged turns are of one class and predicted so.

        Examples:
            >>> round(Detection(tp=3, fp=0, fn=1, tn=1).macro_f1, 4)
            0.7619
        """
        one, other = self.f1, self.other.f1
        return None if one is None or other is None else (one + other) / 2
