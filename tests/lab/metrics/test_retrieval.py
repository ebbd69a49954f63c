"""R@k of LLM-OASIS, equation 10: the share of what is relevant among the first k."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raising import raises
from vista_lab.metrics.retrieval import DEPTH, recall, recall_curve


def test_each_relevant_passage_counts_alike_from_its_place_on() -> None:
    assert recall(["c", "a", "d", "b"], {"a", "b"}, depth=5).tolist() == [0.0, 0.5, 0.5, 1.0, 1.0]


def test_what_is_never_found_lowers_every_k() -> None:
    assert recall(["a", "b"], {"a", "z"}, depth=3).tolist() == [0.5, 0.5, 0.5]


def test_the_papers_depth() -> None:
    found = recall([f"p{n}" for n in range(200)], {"p99", "p100"})
    assert len(found) == DEPTH == 100
    assert (found[98], found[99]) == (0.0, 0.5)


def test_a_query_without_relevant_passages_has_no_recall() -> None:
    with raises(ValueError, "none"):
        recall(["a"], set())


def test_a_passage_counts_once() -> None:
    with raises(ValueError, "twice"):
        recall(["a", "a"], {"a"})


def test_the_curve_is_the_mean_over_queries() -> None:
    curve = recall_curve([["a", "b"], ["b", "a"]], [{"a"}, {"a"}], ["one", "two"], depth=2)
    assert (curve.at(1), curve.at(2)) == (0.5, 1.0)
    assert curve.interval(2) == (1.0, 1.0)


@pytest.mark.parametrize("k", [0, 3])
def test_k_beyond_the_ranking_is_refused(k: int) -> None:
    curve = recall_curve([["a", "b"]], [{"a"}], ["one"], depth=2)
    with raises(ValueError, k):
        curve.at(k)


def test_the_interval_draws_documents_not_queries() -> None:
    ranked = [["a"]] * 10 + [["b"]] * 10
    alike = recall_curve(ranked, [{"a"}] * 20, ["x"] * 10 + ["y"] * 10, depth=1)
    apart = recall_curve(ranked, [{"a"}] * 20, [str(n) for n in range(20)], depth=1)
    assert alike.interval(1) == (0.0, 1.0)
    assert 0.2 < apart.interval(1)[0] < apart.interval(1)[1] < 0.8


@given(st.permutations(range(12)), st.sets(st.integers(0, 11), min_size=1))
def test_recall_never_falls_with_k_and_ends_at_one(ranked: list[int], relevant: set[int]) -> None:
    found = recall(ranked, relevant, depth=12)
    assert (np.diff(found) >= 0).all()
    assert found[-1] == pytest.approx(1.0)
