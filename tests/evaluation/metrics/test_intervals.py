"""Intervals around shares."""

from __future__ import annotations

import pytest

from vista_guard.evaluation.metrics.intervals import wilson


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
