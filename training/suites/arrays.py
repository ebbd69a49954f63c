"""Metrics over lists of labels and scores, by scikit-learn; the calibration error that it lacks; cross-fitted thresholds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vista_guard._extras import require
from vista_guard.errors import InputError

require("the benchmark's table", "sklearn", extra="evaluation")

from sklearn import metrics  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: E402  # said first what it needs
from sklearn.model_selection import GroupKFold  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: E402


def accuracy(gold: Sequence[str], found: Sequence[str]) -> float:
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


FOLDS = 10


def binary_balanced_accuracy(gold: NDArray[np.bool_], found: NDArray[np.bool_]) -> float:
    """Mean of the recalls of both classes, in [0, 1]; not a number when the gold has one class only."""
    if gold.all() or not gold.any():
        return float("nan")
    return float((found[gold].mean() + (~found[~gold]).mean()) / 2)


def best_limit(gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """The threshold with the highest balanced accuracy; infinite where it is best never to say yes."""
    false, true, limits = metrics.roc_curve(gold, scores)
    return float(limits[int(np.argmax(true - false))])


def cross_validated_predictions(
    gold: NDArray[np.bool_], scores: NDArray[np.float64], groups: Sequence[str]
) -> NDArray[np.bool_]:
    """Cross-validated predictions: each fold's threshold is the best of the other folds.

    Args:
        gold: the truth, by row.
        scores: higher where it is likelier.
        groups: units that a fold must not split, by row: documents, conversations.

    Returns:
        Yes or no, by row.

    Raises:
        InputError: fewer than two groups, or one class only in all folds but one.
    """
    count = len(set(groups))
    if count < 2:
        raise InputError(f"thresholds are cross-fitted over documents and need more than {count}: take more rows")
    predictions = np.zeros(len(gold), bool)
    for train, fold in GroupKFold(min(FOLDS, count)).split(scores, gold, groups):
        if gold[train].all() or not gold[train].any():
            raise InputError(f"all {len(train)} rows to choose a threshold on have one label: take more rows")
        predictions[fold] = scores[fold] >= best_limit(gold[train], scores[train])
    return predictions
