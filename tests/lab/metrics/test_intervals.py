"""Intervals of shares and of figures over documents, and thresholds that are chosen on other documents."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs the extra evaluation")

from tests.raising import raises
from training.suites.arrays import best_limit, binary_balanced_accuracy, cross_validated_predictions
from vista_guard import InputError
from vista_lab.metrics.intervals import Share, bootstrap_interval, mean_interval, wilson


def test_a_share_is_told_with_wilsons_interval() -> None:
    # Newcombe 1998, table I: 15 of 148, Wilson without continuity correction 0.0624 to 0.1605.
    assert Share(15, 148).interval == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert str(Share.of([False] * 10)) == "0.0 % (0.0–27.8)"
    assert str(Share.of([])) == "–"


def test_an_interval_stays_between_0_and_1() -> None:
    assert all(Share(n, n).high <= 1 and Share(0, n).low >= 0 for n in range(1, 300))


def test_an_interval_leaves_a_fortieth_at_either_end() -> None:
    figures = iter(range(1000))
    assert bootstrap_interval(["a", "b"], lambda some: float(next(figures))) == pytest.approx((24.975, 974.025))


def test_documents_are_drawn_and_not_rows() -> None:
    held = np.array([True] * 50 + [False] * 50)
    rows = bootstrap_interval([str(n) for n in range(100)], lambda some: float(held[some].mean()))
    documents = bootstrap_interval(["a"] * 50 + ["b"] * 50, lambda some: float(held[some].mean()))
    assert documents == (0.0, 1.0)
    assert 0.35 < rows[0] < 0.5 < rows[1] < 0.65
    assert all(np.isnan(bootstrap_interval(["a"], lambda some: float("nan"))))


def test_no_document_chooses_its_own_threshold() -> None:
    # In each document the higher score is wrong, on scales of its own: any threshold that fits one misses the others.
    gold, scores = np.array([False, True] * 3), np.array([0.1, 0.2, 0.5, 0.6, 0.8, 0.9])
    documents = ["a", "a", "b", "b", "c", "c"]
    assert best_limit(gold[:2], scores[:2]) == 0.2
    found = cross_validated_predictions(gold, scores, documents)
    assert binary_balanced_accuracy(gold, found) == 0.5
    assert binary_balanced_accuracy(gold, cross_validated_predictions(gold, gold.astype(float), documents)) == 1.0


def test_too_little_to_cross_fit_is_said() -> None:
    gold, scores = np.array([False, True]), np.array([0.0, 1.0])
    with raises(InputError, "1"):
        cross_validated_predictions(gold, scores, ["a", "a"])
    with raises(InputError, "1"):
        cross_validated_predictions(gold, scores, ["a", "b"])


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_textbooks_intervals(hits: int, n: int, low: float, high: float) -> None:
    found = wilson(hits, n)
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)
    assert found.low <= found.value <= found.high


def test_no_cases_have_no_share() -> None:
    assert wilson(0, 0) is None


@pytest.mark.parametrize("rows", [1, 7, 130, 1201])  # the last is drawn in several parts
def test_a_mean_has_the_interval_of_its_draws_one_by_one(rows: int) -> None:
    values = np.random.default_rng(rows).random(rows)
    groups = [str(row) for row in range(rows)]
    assert mean_interval(groups, values.tolist()) == bootstrap_interval(groups, lambda some: float(values[some].mean()))
    pairs = [str(row // 2) for row in range(rows)]
    assert mean_interval(pairs, values.tolist()) == bootstrap_interval(pairs, lambda some: float(values[some].mean()))
