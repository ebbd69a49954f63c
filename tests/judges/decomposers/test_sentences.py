"""Sentences, their contexts, and what claims are held to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vista_guard import Claim, JudgeInfo, Role, Turn
from vista_guard.judges.decomposers.coverage import invented, left_out
from vista_guard.judges.decomposers.rules import EmbeddedSteps, SentenceDecomposer
from vista_guard.judges.decomposers.sentences import (
    TracingDecomposer,
    claims_of,
    question_of,
    statements,
    trace_of,
    window,
)
from vista_guard.reading.passages import sentence_spans
from vista_guard.types import Span

TEXT = """# Opening hours

Hello! The hall has:

- a cafe
- a garden

| Day | Hours |
| --- | --- |
| Monday | 9 to 5 |

It *closed* in 1950. Really?"""


def test_headings_lists_tables_and_sentences_have_their_places() -> None:
    found = statements(TEXT)
    assert [one.text for one in found] == [
        "The hall has: a cafe",
        "The hall has: a garden",
        "Day: Monday; Hours: 9 to 5",
        "It closed in 1950.",
        "Really?",
    ]
    assert [TEXT[one.span.start : one.span.end] for one in found] == [
        "a cafe",
        "a garden",
        "| Monday | 9 to 5 |",
        "It *closed* in 1950.",
        "Really?",
    ]


def test_windows_are_cut_at_the_ends_of_the_turn() -> None:
    found = statements("A is 1. B is 2. C is 3. D is 4.")
    assert window(found, 0, 2, 2) == "A is 1. B is 2. C is 3. [...]"
    assert window(found, 3, 2, 2) == "[...] B is 2. C is 3. D is 4."
    assert window(found, 3, 2, 2, complete=False).endswith("D is 4. [...]")
    assert window(found, 1, 0, 0) == "[...] B is 2. [...]"
    assert window(found[:1], 0, 2, 2) == "A is 1."


def test_the_question_is_what_the_user_said_last() -> None:
    turns = [
        Turn(role=Role.USER, text="One?"),
        Turn(role=Role.ASSISTANT, text="Yes."),
        Turn(role=Role.USER, text="Two?"),
    ]
    assert question_of(turns) == ("Two?", turns[:2])
    assert question_of(turns[:2]) == ("One?", turns[1:2])
    assert question_of([]) == ("", [])


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("Harrison Ford's parent was John Christopher Ford.", []),
        ("Harrison Ford's parent was John ChristopherFord.", ["ChristopherFord"]),
        ("Harrison Ford's father was John Christopher Ford.", ["father"]),
        ("Harrison Ford was born in 1943.", ["1943"]),
        ("Harrison Ford was born in 1,942.", []),
        ("Harrison Ford's parents founded a bank.", ["bank"]),
        ("Harrison Ford's parent was named Dorothy.", []),
    ],
)
def test_what_a_claim_makes_up(claim: str, words: list[str]) -> None:
    source = "Tell me of Harrison Ford. He was born in 1942 to his parents John Christopher Ford, founder, and Dorothy."
    assert invented(claim, source) == words


def test_in_other_languages_only_figures_are_compared() -> None:
    assert invented("Die Halle wurde 1851 gebaut.", "Der Saal ist von 1850.", english=False) == ["1851"]


def test_what_claims_leave_out() -> None:
    sentence = 'The hall of Eva Vale opened on 3 May 1925 as "The Whale".'
    assert left_out(sentence, ["Eva Vale's hall opened on 3 May 1925.", "It was called The Whale."]) == []
    assert left_out(sentence, ["The hall of Eva opened in May."]) == ["Vale", "3", "1925", "Whale"]


async def test_each_sentence_is_a_claim_with_its_speaker_named() -> None:
    turn = Turn(role=Role.ASSISTANT, text="I love the hall. It opened in 1925. It opened in 1925.")
    claims = await SentenceDecomposer().decompose(turn, [turn])
    assert [(claim.id, claim.text) for claim in claims] == [
        ("t1.c1", "The assistant loves the hall."),
        ("t1.c2", "It opened in 1925."),
    ]
    assert claims[0].span == Span(start=0, end=16)


class Plain:
    info = JudgeInfo(name="plain", version="1")

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        spans = sentence_spans(turn.text)
        return [Claim(id=f"c{n}", text=turn.text[one.start : one.end], span=one) for n, one in enumerate(spans)]


async def test_a_decomposer_that_tells_nothing_has_its_claims_by_sentence() -> None:
    turn = Turn(role=Role.ASSISTANT, text="The hall opened in 1925. It closed in 1950.")
    assert isinstance(EmbeddedSteps(), TracingDecomposer)
    assert not isinstance(Plain(), TracingDecomposer)
    traces = await trace_of(Plain(), turn, [])
    assert [one.claims for one in traces] == [("The hall opened in 1925.",), ("It closed in 1950.",)]
    assert claims_of(traces, 0)[1].id == "t0.c2"
