"""Numbers in figures and words: one value for the many ways to write it."""

from __future__ import annotations

import pytest

from vista_guard.judges.embedded.quantities import numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,200 chairs", [1200]),
        ("twelve hundred chairs", [1200]),
        ("1.2 thousand chairs", [1200]),
        ("two million three hundred and five thousand", [2305000]),
        ("in nineteen eighty-four", [1984]),
        ("one and a half cups", [1.5]),
        ("2½ hours and 1 1/2 hours", [2.5, 1.5]),
        ("two thirds of them, half of us", [2 / 3, 0.5]),
        ("one in five pays", [0.2]),
        ("a thousand and one nights", [1001]),
        ("the twenty-first of June, the 3rd floor", [21, 3]),
        ("three hundred, four, five", [300, 4, 5]),
        ("a dozen eggs, both halves", [12, 2, 0.5]),
        ("no number here, no one either", [1]),
    ],
)
def test_values(text: str, values: list[float]) -> None:
    assert [number.value for number in numbers(text)] == pytest.approx(values)
