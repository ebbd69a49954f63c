"""Turns to claims: what is claimed, what is not, and where it stands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vista_guard.judges.embedded.decompose import decompose
from vista_guard.types import Claim, Role, Span, Turn


def said(text: str, *history: Turn) -> list[str]:
    """The claims' texts of an assistant's turn."""
    return [claim.text for claim in decompose(Turn(role=Role.ASSISTANT, text=text), history)]


def sources(text: str) -> list[str]:
    """The pieces of the turn that its claims come from."""
    spans = [claim.span for claim in decompose(Turn(role=Role.ASSISTANT, text=text), ())]
    return [text[span.start : span.end] for span in spans if span is not None]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The mill was built in 1890. It burned down.", ["The mill was built in 1890.", "It burned down."]),
        ("Dr. Ito met J. R. Vale at 9 a.m. in St. Ives.", ["Dr. Ito met J. R. Vale at 9 a.m. in St. Ives."]),
        ("See https://tides.example/a.b?c=1.5 for it.", ["See https://tides.example/a.b?c=1.5 for it."]),
        ("The mill is old, and it is closed.", ["The mill is old.", "It is closed."]),
        ("The mill is old; the bridge was rebuilt.", ["The mill is old.", "The bridge was rebuilt."]),
        ("Vale was a painter and was born in Oslo.", ["Vale was a painter.", "Vale was born in Oslo."]),
        ("The mill opened in 1890 and closed in 1950.", ["The mill opened in 1890.", "The mill closed in 1950."]),
        (
            "The Tide Hall, which opened in 1925, is free.",
            ["The Tide Hall opened in 1925.", "The Tide Hall is free."],
        ),
        ("Ada Vale, a Norwegian painter, won it.", ["Ada Vale was a Norwegian painter.", "Ada Vale won it."]),
        ("She moved to Bergen, which is rainy.", ["Bergen is rainy.", "She moved to Bergen."]),
    ],
)
def test_atomic_claims(text: str, claims: list[str]) -> None:
    assert said(text) == claims


@pytest.mark.parametrize(
    "text",
    [
        "If it rains, the hall is closed, and it is quiet.",
        "The hall has boats, nets and old maps.",
        "People who like boats, and the ones who fish, come early.",
        'He said "it is old, and it is mine" at noon.',
        "The mill and the bridge are old.",
        "Many visitors love the crabs and starfish near the pool.",
    ],
)
def test_what_does_not_surely_stand_alone_is_not_split(text: str) -> None:
    assert said(text) == [text]


@pytest.mark.parametrize(
    "text",
    ["", "   \n", "Hello!", "What do you think?", "do you like boats", "Sure, thanks!", "😀 👍", "...", "Wow! Great.",
     "You're welcome!", "What a lovely day!", "Let me know if you need more.", "```\nx = 1.\n```", "# Tides\n---"],
)  # fmt: skip
def test_turns_that_claim_nothing(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("I can't help with that.", ["The assistant can't help with that."]),
        ("I'm sorry, but I don't know.", ["The assistant doesn't know."]),
        ("Not sure, I think it is Oslo.", ["The assistant is not sure.", "It is Oslo."]),
        ("No idea.", ["The assistant has no idea."]),
    ],
)
def test_refusals_and_doubt_are_claims(text: str, claims: list[str]) -> None:
    assert said(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("I love my boat.", ["The assistant loves the assistant's boat."]),
        ("I am Mira and I have two dogs.", ["The assistant is Mira.", "The assistant has two dogs."]),
        (
            "I have two dogs and have never owned a cat.",
            ["The assistant has two dogs.", "The assistant has never owned a cat."],
        ),
        ("I've never been there.", ["The assistant has never been there."]),
        ("I don't fish, but I try.", ["The assistant doesn't fish.", "The assistant tries."]),
        ("Your boat is ready.", ["The user's boat is ready."]),
        ("You said that you like it.", ["The user said that the user likes it."]),
        ("You can see it if you want.", ["You can see it if you want."]),
        ("It was painted by I. Vale.", ["It was painted by I. Vale."]),
    ],
)
def test_speakers_are_named(text: str, claims: list[str]) -> None:
    assert said(text) == claims


def test_a_users_turn_is_the_users() -> None:
    assert [claim.text for claim in decompose(Turn(role=Role.USER, text="I like your boat."), ())] == [
        "The user likes the assistant's boat."
    ]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (
            "I didn't know that Vale was Danish.",
            ["Vale was Danish.", "The assistant didn't know that Vale was Danish."],
        ),
        ("Did you know that Vale was Danish?", ["Vale was Danish."]),
        ("I know that Vale was Danish.", ["Vale was Danish."]),
        ("I think the hall opens at nine.", ["The hall opens at nine."]),
        ("It's funny that Vale was Danish.", ["Vale was Danish.", "It's funny that Vale was Danish."]),
        ("Vale was Danish, right?", ["Vale was Danish."]),
        ("The hall is big, isn't it?", ["The hall is big."]),
    ],
)
def test_presuppositions_and_frames(text: str, claims: list[str]) -> None:
    assert said(text) == claims


def test_a_bare_answer_keeps_its_question() -> None:
    question = Turn(role=Role.USER, text="Hi. Is your hall open on Monday?")
    assert said("Yes, it is!", question) == ["""The answer to "Is the assistant's hall open on Monday?" is yes."""]
    assert said("No, it isn't. It is open on Tuesday.", question) == [
        """The answer to "Is the assistant's hall open on Monday?" is no.""",
        "It is open on Tuesday.",
    ]
    assert said("Yes, it is!") == []
    assert said("Yes!", Turn(role=Role.USER, text="What is it?")) == []


def test_lists_tables_and_markup() -> None:
    text = (
        "The hall has:\n- a **cafe**\n* [a shop](https://x.example)\n1. The pool is `warm`[2].\n\n"
        "| Town | People |\n|---|---|\n| Oslo | 709,000 |\n"
    )
    assert said(text) == [
        "The hall has: a cafe.",
        "The hall has: a shop.",
        "The pool is warm.",
        "Town: Oslo; People: 709,000.",
    ]
    assert sources(text) == [
        "a **cafe**",
        "[a shop](https://x.example)",
        "The pool is `warm`[2].",
        "| Oslo | 709,000 |",
    ]


def test_hard_wrapped_prose_is_one_sentence() -> None:
    text = "The hall was built by a shipping family from the north, and the\ncustoms house is older."
    assert said(text) == [
        "The hall was built by a shipping family from the north.",
        "The customs house is older.",
    ]


def test_whole_claims() -> None:
    turn = Turn(role=Role.ASSISTANT, text="Yes, it opened in 1925 . I like it.")
    history = (Turn(role=Role.USER, text="Hello there"), Turn(role=Role.ASSISTANT, text="Hi!"))
    assert decompose(turn, history) == (
        Claim(id="t2.c1", text="It opened in 1925.", span=Span(start=0, end=24)),
        Claim(id="t2.c2", text="The assistant likes it.", span=Span(start=25, end=35)),
    )


@pytest.mark.parametrize(
    "text",
    ["a" * 40_000, "A " * 20_000, "*a " * 13_000, "[" * 40_000, "haha" * 10_000, '"' * 40_000, "I am, " * 6_600, ", " * 20_000,
     "| " * 20_000, "- a\n" * 10_000, "and it is " * 4_000, "The hall is old. " * 2_300, "Is. " * 10_000, "_" * 40_000,
     "<a" * 20_000, "so much so " * 3_600, "A, a b, " * 5_000, "\n" * 40_000, "1. " * 13_000, "you can " * 5_000],
)  # fmt: skip
def test_hostile_turns_end(text: str) -> None:
    # A pattern that backtracks takes hours here: pytest's own patience is the limit.
    decompose(Turn(role=Role.ASSISTANT, text=text), ())


def test_a_repeated_claim_is_one() -> None:
    assert said("It is old. It is old!  It is old.") == ["It is old.", "It is old!"]


_PIECES = st.sampled_from(
    ["The hall opened in 1925", ", and it is free", "; the mill was sold", ", which is old,", " 😀 ", "\n", "\n- ", "\r\n\r\n",
     "今日は。", "| a | b |\n|--|--|\n", "```\n", "\ud83d",
     "I love it", "you can't", "Dr. ", "e.g. ", "https://a.b/c.d ", "**", "[x](",
     ". ", "? ", "! ", "\x00", "A\u0301", " (", '"', "…", "1. ", "> ", "# ", "\t", "did you know that ", "not sure, "]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=14).map("".join)))
def test_any_text_decomposes_with_exact_spans(text: str) -> None:
    claims = decompose(Turn(role=Role.ASSISTANT, text=text), ())
    assert [claim.id for claim in claims] == [f"t0.c{number}" for number in range(1, len(claims) + 1)]
    for claim in claims:
        assert claim.span is not None
        source = text[claim.span.start : claim.span.end]
        assert source == source.strip() != ""
        claim.text.encode()


_WORDS = st.sampled_from(
    re.findall(r"\S+", "the mill hall Vale Oslo opened was is old and , ; but which it has a painter in 1925 .")
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_WORDS, min_size=1, max_size=25).map(" ".join))
def test_claims_invent_no_words(text: str) -> None:
    known = set(re.findall(r"\w+", text.lower())) | {"was", "is"}
    for claim in said(text):
        assert set(re.findall(r"\w+", claim.lower())) <= known
