"""The challenge: the pairs are what they promise to be, and the figures are counted right."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from training.suites.challenge import Half, read_items
from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Action, Label
from vista_lab.policies.challenge import Answer, ChallengeItem, ChallengePair, JudgedPair, as_text, row, rows

HALVES: tuple[Half, ...] = ("development", "sealed")


@pytest.fixture(params=HALVES)
def items(request: pytest.FixtureRequest) -> list[ChallengeItem]:
    return list(read_items(request.param))


def test_each_half_has_the_size_and_the_spread_that_it_promises(items: list[ChallengeItem]) -> None:
    phenomena = Counter(pair.phenomenon for item in items for pair in item.pairs)
    long = [item for item in items if sum(len(document.text.split()) for document in item.documents) >= 300]
    assert (sum(phenomena.values()), len(items)) == (610, 39)
    assert len(phenomena) >= 30
    assert len({item.genre for item in items}) >= 12
    assert len(long) * 3 >= len(items)
    assert len({item.id for item in items}) == len(items)


def test_every_quote_that_decides_stands_in_its_documents(items: list[ChallengeItem]) -> None:
    for item in items:
        for pair in item.pairs:
            told = [*(document.text for document in item.documents), *(message.text for message in item.history)]
            assert [quote for quote in pair.gold if not any(quote in text for text in told)] == []


def test_of_each_pair_one_must_pass_and_the_other_must_not(items: list[ChallengeItem]) -> None:
    for item in items:
        for pair in item.pairs:
            assert pair.right.label in SAFE
            assert pair.wrong.label in (Label.CONTRADICTED, Label.LACKING_EVIDENCE)
            assert pair.right.text != pair.wrong.text


def test_neither_a_negation_nor_a_figure_gives_the_answer_away(items: list[ChallengeItem]) -> None:
    pairs = [pair for item in items for pair in item.pairs]
    for cue in (r"\b(?:not|no|never|nobody|nothing|none|without)\b|n't\b", r"\d", r"\b(?:only|just|all|every)\b"):
        right, wrong = (sum(bool(re.search(cue, one)) for one in texts) for texts in zip(*_texts(pairs), strict=True))
        assert abs(right - wrong) <= 0.08 * len(pairs), cue


def _texts(pairs: list[ChallengePair]) -> list[tuple[str, str]]:
    return [(pair.right.text.lower(), pair.wrong.text.lower()) for pair in pairs]


def test_no_document_is_in_both_halves() -> None:
    first, second = ({document.text for item in read_items(half) for document in item.documents} for half in HALVES)
    assert first & second == set()


def test_a_claim_becomes_a_turn_with_its_documents() -> None:
    item = next(item for item in read_items("development") if item.history)
    conversation = item.saying("It is so.")
    assert [turn.text for turn in conversation.turns] == [*(message.text for message in item.history), "It is so."]
    assert conversation.turns[-1].documents == item.documents


def answer(gold: Label, label: Label | None, action: Action = Action.ALLOW) -> Answer:
    return Answer(gold, label, action)


def test_the_figures() -> None:
    good, bad = Label.VERIFIED, Label.CONTRADICTED
    pairs = [
        JudgedPair("a", "free", answer(good, good), answer(bad, bad, Action.BLOCK)),
        JudgedPair(
            "a", "free", answer(good, Label.LACKING_EVIDENCE, Action.BLOCK), answer(bad, Label.LACKING_EVIDENCE)
        ),
        JudgedPair("b", "free", answer(Label.OUT_OF_SCOPE, good), answer(Label.LACKING_EVIDENCE, good)),
        JudgedPair("b", "free", answer(good, None), answer(bad, None)),
    ]
    whole = row("all", pairs)
    assert (whole.supported_or_not, whole.both) == (4 / 8, 1 / 4)
    assert (whole.true_verified, whole.contradictions_found, whole.wrong_passed) == (1 / 3, 1 / 3, 1 / 4)
    assert (whole.blocks, whole.block_precision) == (2, 1 / 2)
    assert [one.name for one in rows(pairs)] == ["a", "b", "(free wording)", "all"]
    assert row("none", []).both is None
    assert as_text(rows(pairs)).splitlines()[-1].split() == [
        "all",
        "4",
        "50.0",
        "25.0",
        "33.3",
        "33.3",
        "25.0",
        "2",
        "50.0",
    ]
