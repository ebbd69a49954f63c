"""Plain metrics over lists of labels and scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


def accuracy(gold: Sequence[str], found: Sequence[str]) -> float:
    """Share of equal labels."""
    return sum(g == f for g, f in zip(gold, found, strict=True)) / len(gold)


def majority(gold: Sequence[str]) -> float:
    """Accuracy of always answering the commonest gold label."""
    return Counter(gold).most_common(1)[0][1] / len(gold)


def f1(gold: Sequence[str], found: Sequence[str], label: str) -> float:
    """F1 of one label; 0 when it is never found."""
    hits = sum(g == f == label for g, f in zip(gold, found, strict=True))
    total = list(gold).count(label) + list(found).count(label)
    return 2 * hits / total if total else 0.0


def macro_f1(gold: Sequence[str], found: Sequence[str]) -> float:
    """Mean F1 over the labels that occur in the gold."""
    labels = sorted(set(gold))
    return sum(f1(gold, found, label) for label in labels) / len(labels)


def auc(gold: Sequence[bool], scores: Sequence[float]) -> float:
    """Area under the ROC curve, ties counted half."""
    order = np.argsort(scores, kind="stable")
    values = np.asarray(scores)[order]
    _, first, counts = np.unique(values, return_index=True, return_counts=True)
    ranks = np.repeat(first + (counts + 1) / 2, counts)
    positive = np.asarray(gold)[order]
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n)))


def calibration_error(gold: Sequence[bool], scores: Sequence[float], bins: int = 10) -> float:
    """Expected calibration error of P(supported), equal-width bins (Guo et al. 2017)."""
    truth, p = np.asarray(gold, float), np.asarray(scores)
    places = np.minimum((p * bins).astype(int), bins - 1)
    parts = [(places == b) for b in range(bins)]
    return float(sum(part.mean() * abs(truth[part].mean() - p[part].mean()) for part in parts if part.any()))
