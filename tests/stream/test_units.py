"""One decision for each sentence that claims something, and no more."""

from __future__ import annotations

from vista_guard.stream.sentence_gate import Unit, units
from vista_guard.types import Claim, Span, Unchecked


def at(*places: tuple[int, int] | None) -> list[Unchecked]:
    """An outcome for each place."""
    claims = [
        Claim(id=f"t1.c{number}", text="x", span=None if place is None else Span(start=place[0], end=place[1]))
        for number, place in enumerate(places, 1)
    ]
    return [Unchecked(claim=claim, error="x") for claim in claims]


def test_each_sentence_with_a_claim_is_a_unit() -> None:
    assert list(units([10, 20, 30], 0, at((0, 9), (11, 19), (21, 29)), 500)) == [
        Unit(10, 10),
        Unit(20, 20),
        Unit(30, 30),
    ]


def test_sentences_without_a_claim_go_out_together() -> None:
    assert list(units([3, 6, 20, 23, 26, 29], 0, at((8, 19)), 500)) == [Unit(3, 6), Unit(20, 20), Unit(23, 29)]


def test_a_claim_that_reaches_over_sentences_is_each_ones() -> None:
    assert list(units([10, 20, 30, 40], 5, at((0, 25)), 500)) == [
        Unit(10, 10),
        Unit(20, 20),
        Unit(30, 30),
        Unit(40, 40),
    ]


def test_a_claim_without_a_place_makes_no_units() -> None:
    assert list(units([10, 20], 0, at(None, None), 500)) == [Unit(10, 20)]


def test_what_is_behind_the_limit_is_one_unit() -> None:
    outcomes = at((0, 9), (11, 19), (21, 29), (31, 39))
    assert list(units([10, 20, 30, 40], 0, outcomes, 2)) == [Unit(10, 10), Unit(20, 20), Unit(40, 40)]


def test_nothing_waits() -> None:
    assert list(units([], 0, at((0, 9)), 500)) == []
