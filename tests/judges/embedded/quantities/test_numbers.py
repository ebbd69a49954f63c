"""Numbers in figures and words: one value for the many ways to write it."""

from __future__ import annotations

import pytest

from vista_guard.judges.embedded.quantities import in_one_form, numbers


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


@pytest.mark.parametrize(
    ("claim", "evidence", "same"),
    [
        ("It opened on 2021-06-17.", "It opened on 17 June 2021.", True),
        ("It opened on 17.6.2021.", "It opened on June 17th, 2021.", True),
        ("It opened on 3/3/21.", "It opened on the 3rd of March 2021.", True),
        ("It opened on Feb 1, 2020.", "It opened on 1/2/2020.", True),
        ("It opened on 2021-06-18.", "It opened on 17 June 2021.", False),
        ("It opened on 2021-06-17.", "It opened on 17 June 2020.", False),
        ("It cost 1,400,000 crowns.", "It cost 1.4 million crowns.", True),
        ("It cost 1,400,000 crowns.", "It cost 14 million crowns.", False),
        ("It begins at half past seven.", "It begins at 19:30.", True),
        ("It begins at half past eight.", "It begins at 19:30.", False),
        ("It ran on June 12-15.", "It ran on 12 to 15 June.", False),
    ],
)
def test_the_same_amount_gets_one_form(claim: str, evidence: str, same: bool) -> None:
    first, second = in_one_form(evidence, claim)
    assert (first == second) == same
    assert in_one_form(evidence, evidence) == (evidence, evidence)
