"""Evidence that says the same with another figure."""

from __future__ import annotations

import pytest

from vista_guard.judges.embedded.veto import other_figure, replaced_figure


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The pool holds only 90 cubic metres.", "The pool holds 412 cubic metres."),
        ("The pool closes at 9 p.m. in the evening.", "In the evening the pool closes at 6 p.m."),
        ("A locker costs 15 crowns.", "A locker costs twenty crowns."),
        ("The pool was dug in 1931.", "The pool was dug in 1913 by the town."),
        ("The pool you swim in holds 90 cubic metres.", "The pool holds 412 cubic metres."),
    ],
)
def test_another_figure_of_the_same_kind_in_its_place(claim: str, evidence: str) -> None:
    assert other_figure(claim, evidence)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The pool holds 412 cubic metres.", "The pool holds 412 cubic metres."),
        ("The small pool holds 90 cubic metres.", "The pool holds 412 cubic metres."),
        ("A locker costs 15 crowns.", "A locker costs 5 crowns, a cabin 20 crowns."),
        ("The pool was dug before 1931.", "The pool was dug in 1913."),
        ("The mayor was 15 years in office.", "The pool was dug in 15 months."),
        ("The pool was dug in 1931.", "The pool was dug by 40 men."),
        ("The pool was dug by the town.", "The pool was dug in 1931."),
        ("The pool holds about 400 cubic metres.", "The pool holds 412 cubic metres."),
    ],
)
def test_nothing_that_leaves_a_doubt(claim: str, evidence: str) -> None:
    assert not other_figure(claim, evidence)


def test_a_cell_with_one_of_the_claims_own_figures_replaces_none() -> None:
    claim = "Single kayak: £12 an hour, £30 for half a day."
    assert replaced_figure(claim, "Half day: £30") is None
    assert not other_figure(claim, "A single kayak is £30 for half a day.")
    assert replaced_figure("Single kayak: £12 an hour, £30 for half a day.", "Half day: £35") == "12"
