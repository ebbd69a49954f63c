"""Easiness over ROUGE-1, against figures worked out by hand."""

from __future__ import annotations

import pytest

from vista_lab.metrics.claim_sets import DecompositionScore, Easiness, easiness, rouge1, score


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("The mill is old.", "the mill, is OLD", 1.0),
        ("The mill is old.", "Vale painted.", 0.0),
        ("The mill is old.", "The mill burned down.", 0.5),
        # Three words of four against three of six: each counts as often as both have it.
        ("no no no yes", "no no yes it is so", 0.6),
        ("", "The mill is old.", 0.0),
        ("", "...", 0.0),
    ],
)
def test_rouge1(first: str, second: str, shared: float) -> None:
    assert rouge1(first, second) == pytest.approx(shared)
    assert rouge1(second, first) == rouge1(first, second)


def test_easiness_takes_the_best_match_on_either_side() -> None:
    # One human claim is the same, the other shares three words of four.
    assert easiness(["The mill is old."], ["The mill is red.", "The mill is old."]) == Easiness(
        1.0, 0.875, 2 * 0.875 / 1.875
    )


def test_easiness_of_llm_oasis_equations_8_and_9() -> None:
    predicted = ["The mill is old.", "Vale sang in Bruges."]
    gold = ["The mill is old.", "Vale sang in Ghent.", "Vale sang ten songs there."]
    found = easiness(predicted, gold)
    assert [round(value, 4) for value in (found.precision, found.recall, found.f1)] == [0.875, 0.7315, 0.7968]


@pytest.mark.parametrize(
    ("predicted", "reference", "share"), [([], [], 1.0), (["It is old."], [], 0.0), ([], ["It is old."], 0.0)]
)
def test_an_empty_side(predicted: list[str], reference: list[str], share: float) -> None:
    assert easiness(predicted, reference) == Easiness(share, share, share)


def test_micro_counts_claims_and_macro_counts_turns() -> None:
    turns = [
        (["The mill is old."], ["The mill is old."]),
        (["Vale sang.", "Lind sang.", "Moss sang."], ["The hall is open."]),
        ([], []),
    ]
    assert score(turns) == DecompositionScore(
        turns=3,
        micro=Easiness(0.25, 0.5, 1 / 3),
        macro=Easiness(2 / 3, 2 / 3, 2 / 3),
        predicted_per_turn=4 / 3,
        reference_per_turn=2 / 3,
    )


def test_nothing_to_score() -> None:
    assert score([]) is None
    nothing = Easiness(1.0, 1.0, 1.0)
    assert score([([], [])]) == DecompositionScore(1, nothing, nothing, 0.0, 0.0)
