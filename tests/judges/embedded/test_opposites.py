"""The same words and one opposite: the evidence does not verify the claim."""

from __future__ import annotations

import pytest

from vista_guard.judges.embedded.opposites import opposite_word
from vista_guard.judges.embedded.veto import other_terms


def test_a_bound_the_other_way_round_is_named() -> None:
    assert other_terms("Guests 16 or older may use the pool.", "Guests 16 and under may use the pool.") == "16"
    assert other_terms("Guests 16 or older may use the pool.", "Guests aged 16 and over may use the pool.") is None


@pytest.mark.parametrize(
    ("claim", "evidence", "figure"),
    [
        ("It should not exceed 28% of your income.", "It should be no more than 28% of your income.", None),
        ("It should exceed 28% of your income.", "It should be no more than 28% of your income.", "28"),
        ("You can keep 750 backups per volume.", "You can keep 750 backups of a volume.", None),
        ("You can keep 750 backups per region.", "You can keep 750 backups of a volume.", "750"),
        ("For a week, the label can be opened.", "The label can be opened for 7 days, once a month.", None),
        ("Once a week, the label can be opened.", "The label can be opened for 7 days, once a month.", "time 604800"),
    ],
)
def test_bounds_and_rates_in_other_words_are_the_same(claim: str, evidence: str, figure: str | None) -> None:
    assert other_terms(claim, evidence) == figure


@pytest.mark.parametrize(
    ("claim", "evidence", "word"),
    [
        ("Take it before meals.", "Take it after meals.", "before meal"),
        ("Serve it with milk.", "Serve it without milk.", "with milk"),
        ("Dogs are allowed in the garden.", "Dogs are forbidden in the garden.", "allowed"),
        ("Booking a seat is optional.", "Booking a seat is mandatory.", "optional"),
        ("The minimum stay is 3 nights.", "The maximum stay is 3 nights.", "minimum"),
        ("You need at least 5 players.", "You need at most 5 players.", "least"),
        ("Sales rose in May.", "Sales fell in May.", "rose"),
        ("Breakfast is included in the price.", "Breakfast is excluded from the price.", "included"),
        ("Take it before meals.", "The syrup is red. Take it after meals. Do not drink milk.", "before meal"),
    ],
)
def test_an_opposite_in_the_same_words_is_named(claim: str, evidence: str, word: str) -> None:
    assert opposite_word(claim, evidence) == word


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Dogs are forbidden in the garden.", "No dogs allowed in the garden."),
        ("Dogs are allowed in the garden.", "Dogs are allowed in the garden and forbidden in the hall."),
        ("Dogs are allowed in the garden.", "Dogs are allowed in the garden. Dogs are not allowed in the hall."),
        ("Serve it with sugar.", "Serve it with sugar and without milk."),
        ("The pool is open in July.", "The pool was closed until July."),
        ("The lamp was lit before the storm.", "The storm came after the lamp was lit."),
        ("The minimum stay is 3 nights.", "Stay at least 3 nights; the maximum is 9 nights."),
        ("You must be at least 18.", "Nobody under 18 may enter."),
        ("The fee rose in May.", "The fee went up in May, and the number of visitors fell."),
        ("Evening courts are available on Mondays.", "Evening courts meet on Mondays. Interpreters are not available."),
    ],
)
def test_other_ways_of_saying_it_are_not_opposed(claim: str, evidence: str) -> None:
    assert opposite_word(claim, evidence) is None
