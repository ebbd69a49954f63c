"""Thresholds that are never chosen on what they are measured on: each fold of documents takes that of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vista_guard._extras import require
from vista_guard.errors import InputError

require("cross-fitted thresholds", "sklearn", extra="evaluation")

from sklearn.metrics import roc_curve  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: E402
from sklearn.model_selection import GroupKFold  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: E402

FOLDS = 10


def balanced(gold: NDArray[np.bool_], found: NDArray[np.bool_]) -> float:
    """Mean of the recalls of both classes, in [0, 1]; not a number when the gold has one class only."""
    if gold.all() or not gold.any():
        return float("nan")
    return float((found[gold].mean() + (~found[~gold]).mean()) / 2)


def best_limit(gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """The score from which on to say yes so that balanced accuracy is highest; infinite where never is best."""
    false, true, limits = roc_curve(gold, scores)
    return float(limits[int(np.argmax(true - false))])


def crossed(gold: NDArray[np.bool_], scores: NDArray[np.float64], groups: Sequence[str]) -> NDArray[np.bool_]:
    """What is found when each fold's threshold is the best of the other folds.

    Args:
        gold: what is so, by row.
        scores: higher where it is likelier.
        groups: what must not be on both sides of a fold, by row: documents, conversations.

    Returns:
        Yes or no, by row.

    Raises:
        InputError: fewer than two groups, or one class only in all folds but one.
    """
    count = len(set(groups))
    if count < 2:
        raise InputError(f"thresholds are cross-fitted over documents, and there is {count}: take more rows")
    found = np.zeros(len(gold), bool)
    for rest, fold in GroupKFold(min(FOLDS, count)).split(scores, gold, groups):
        if gold[rest].all() or not gold[rest].any():
            raise InputError(f"{len(rest)} rows to choose a threshold on are all of one kind: take more rows")
        found[fold] = scores[fold] >= best_limit(gold[rest], scores[rest])
    return found
