"""Metrics over lists of labels and scores: scikit-learn's, and the calibration error that it lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from vista_guard._extras import require

require("the benchmark's table", "sklearn", extra="evaluation")

from sklearn import metrics  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: E402  # said first what it needs


def accuracy(gold: Sequence[str], found: Sequence[str]) -> float:
    """Share of equal labels."""
    return float(metrics.accuracy_score(list(gold), list(found)))


def balanced_accuracy(gold: Sequence[str], found: Sequence[str]) -> float:
    """Mean recall over the labels that occur in the gold."""
    labels = sorted(set(gold))
    return float(metrics.recall_score(list(gold), list(found), labels=labels, average="macro", zero_division=0))


def majority(gold: Sequence[str]) -> float:
    """Accuracy of always answering the commonest gold label."""
    return Counter(gold).most_common(1)[0][1] / len(gold)


def f1(gold: Sequence[str], found: Sequence[str], label: str) -> float:
    """F1 of one label; 0 when it is never found."""
    return float(metrics.f1_score(list(gold), list(found), labels=[label], average="macro", zero_division=0))


def macro_f1(gold: Sequence[str], found: Sequence[str]) -> float:
    """Mean F1 over the labels that occur in the gold."""
    labels = sorted(set(gold))
    return float(metrics.f1_score(list(gold), list(found), labels=labels, average="macro", zero_division=0))


def auc(gold: Sequence[bool], scores: Sequence[float]) -> float:
    """Area under the ROC curve; not a number when the gold has one class only."""
    if len(set(gold)) < 2:
        return float("nan")
    return float(metrics.roc_auc_score(list(gold), list(scores)))


def calibration_error(gold: Sequence[bool], scores: Sequence[float], bins: int = 10) -> float:
    """Expected calibration error of a probability, equal-width bins (Guo et al. 2017)."""
    truth, p = np.asarray(gold, float), np.asarray(scores, float)
    places = np.minimum((p * bins).astype(int), bins - 1)
    parts = [(places == b) for b in range(bins)]
    return float(sum(part.mean() * abs(truth[part].mean() - p[part].mean()) for part in parts if part.any()))
