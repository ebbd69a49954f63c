"""Measures of decompositions without a model, and a judge's marks read strictly (DAD, App. A)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.raising import raises
from vista_guard.errors import InputError, UnreadableError
from vista_guard.judges.verifiers import build_verifier
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.testing import WordEmbedder
from vista_lab.decompose.measures import Marks, atomicity, best_support, covered, read_desiderata, repeats, supports


class Table:
    """P(supported) by (evidence, claim); what the table lacks is 0. Remembers what it was asked."""

    name = "table"

    def __init__(self, known: dict[tuple[str, str], float]) -> None:
        self.known = known
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self.asked += pairs
        return np.array([[p := self.known.get(pair, 0.0), 0.0, 1 - p] for pair in pairs], np.float32)


def test_a_claims_support_is_its_best_piece() -> None:
    verifier = Table({("b", "x"): 0.75, ("a", "y"): 0.5, ("b", "y"): 0.25})
    assert best_support(verifier, ["x", "y"], ["a", "b"]) == [0.75, 0.5]
    assert best_support(verifier, [], []) == supports(verifier, []) == []
    with raises(InputError, "x"):
        best_support(verifier, ["x"], [])


@pytest.mark.parametrize("odd", [1.5, -0.25, float("nan")])
def test_what_is_no_probability_is_refused(odd: float) -> None:
    with raises(InputError, "table", "x"):
        supports(Table({("a", "x"): odd}), [("a", "x")])


def test_a_repeated_claim_is_found_by_words_and_by_meaning() -> None:
    claims = ["Oslo banned cars in 2019.", "Oslo banned cars in 2019!", "Bergen has a fish market."]
    assert repeats(claims, WordEmbedder()) == [False, True, False]
    paraphrase = ["Microsoft and Google released AI chatbots.", "AI chatbots were released by Microsoft and Google."]
    assert repeats(paraphrase, OnnxEmbedder()) == [False, True]
    assert repeats([], OnnxEmbedder()) == []


def test_a_fact_is_covered_by_one_claim_or_by_those_of_a_sentence() -> None:
    verifier = Table({("Ada sang.", "Ada sang."): 0.9, ("Ada sang. Ben sang.", "Both sang."): 0.6})
    told = [["Ada sang.", "Ben sang."], ["It rained."]]
    assert covered(["Ada sang.", "Both sang.", "It snowed."], told, verifier, WordEmbedder()) == [True, True, False]
    assert covered(["Ada sang."], [[], []], verifier, WordEmbedder()) == [False]
    assert covered([], told, verifier, WordEmbedder()) == []


def test_only_the_nearest_pieces_are_held_against_a_fact() -> None:
    verifier = Table({})
    covered(["Ada sang."], [[f"Number {n} was drawn."] for n in range(20)], verifier, WordEmbedder())
    assert len(verifier.asked) == 5


def test_the_shipped_verifier_knows_a_faithful_claim_from_one_that_is_not() -> None:
    sentence = "The bank cut its rate by 0.5 percent in June, because prices had fallen."
    claims = ["The bank cut its rate in June.", "Prices had fallen.", "The bank raised its rate in June."]
    cut, fallen, raised = best_support(build_verifier(None).verifier, claims, [sentence])
    assert min(cut, fallen) > raised + 0.1


def test_atomicity_is_the_mean_of_log2() -> None:
    assert atomicity([1, 2, 4]) == 1.0
    assert atomicity([]) is None
    with raises(InputError, "0"):
        atomicity([1, 0])


CLEAR = {"verifiability": 1, "faithfulness": 1, "clarity": 1}
VAGUE = {"verifiability": 1, "faithfulness": 1, "clarity": 0}


class TestReadingMarks:
    CLAIMS = ("The hall seats 90.", "It opened in 1925.")

    @staticmethod
    def answer(*of_claims: dict[str, Any], sentence: dict[str, Any] | None = None) -> str:
        marks = {"coverage": 1, "uniqueness": 0} if sentence is None else sentence
        entries = [
            {"id": number, "marks": own, "rationales": dict.fromkeys(own, "It does.")}
            for number, own in enumerate(of_claims, 1)
        ]
        return json.dumps(
            {"claims": entries, "sentence": {"marks": marks, "rationales": dict.fromkeys(marks, "It does.")}}
        )

    def test_marks_come_in_the_claims_order(self) -> None:
        assert read_desiderata(self.answer(CLEAR, VAGUE), self.CLAIMS) == Marks(
            (CLEAR, VAGUE), {"coverage": 1, "uniqueness": 0}
        )

    def test_a_sentence_without_claims_has_marks_of_its_own(self) -> None:
        assert read_desiderata(self.answer(), ()) == Marks((), {"coverage": 1, "uniqueness": 0})

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            (answer(CLEAR), ("2",)),
            (answer(CLEAR, CLEAR, CLEAR), ("3",)),
            (answer(CLEAR, {**CLEAR, "clarity": 2}), ("clarity", "2")),
            (answer(CLEAR, {**CLEAR, "clarity": True}), ("clarity", "2", "True")),
            (answer(CLEAR, {"clarity": 1}), ("marks", "2")),
            (answer(CLEAR, CLEAR, sentence={"coverage": 1}), ("marks", "sentence")),
            ("[]", ()),
            ("fine", ()),
        ],
    )
    def test_what_is_not_whole_is_refused(self, text: str, named: tuple[object, ...]) -> None:
        with raises(UnreadableError, *named):
            read_desiderata(text, self.CLAIMS)
