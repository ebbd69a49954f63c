"""Turns to claims: what is claimed, what is not, and where it stands."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vista_guard.judges.embedded.english.decompose import decompose
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
        ("The mill was built in 1890. It burned down.", ["The mill was built in 1890.", "The mill burned down."]),
        ("Dr. Ito met J. R. Vale at 9 a.m. in St. Ives.", ["Dr. Ito met J. R. Vale at 9 a.m. in St. Ives."]),
        ("See https://tides.example/a.b?c=1.5 for it.", ["See https://tides.example/a.b?c=1.5 for it."]),
        ("The mill is old, and it is closed.", ["The mill is old.", "The mill is closed."]),
        ("The mill is old; the bridge was rebuilt.", ["The mill is old.", "The bridge was rebuilt."]),
        ("Vale was a painter and was born in Oslo.", ["Vale was a painter.", "Vale was born in Oslo."]),
        ("The mill opened in 1890 and closed in 1950.", ["The mill opened in 1890.", "The mill closed in 1950."]),
        (
            "The Tide Hall, which opened in 1925, is free.",
            ["The Tide Hall opened in 1925.", "The Tide Hall is free."],
        ),
        ("Ada Vale, a Norwegian painter, won it.", ["Ada Vale was a Norwegian painter.", "Ada Vale won it."]),
        ("She moved to Bergen, which is rainy.", ["She moved to Bergen.", "Bergen is rainy."]),
        ("The mill, which was built in 1890, is old.", ["The mill was built in 1890.", "The mill is old."]),
        ("The book, which sold well, was printed in Oslo.", ["The book sold well.", "The book was printed in Oslo."]),
        (
            "It was painted by Ada Vale who was born in Oslo.",
            ["It was painted by Ada Vale.", "Ada Vale was born in Oslo."],
        ),
        ("They met Bo Lind, a sailor.", ["They met Bo Lind, a sailor."]),
        (
            "He wrote novels, painted portraits and taught music.",
            ["He wrote novels.", "He painted portraits.", "He taught music."],
        ),
        ("Ada owns a mill and sells flour.", ["Ada owns a mill.", "Ada sells flour."]),
        ("Vale was a painter and a poet.", ["Vale was a painter.", "Vale was a poet."]),
        (
            "Vale was a painter, poet and engineer.",
            ["Vale was a painter.", "Vale was a poet.", "Vale was an engineer."],
        ),
        ("The film stars Ada Vale and Bo Lind.", ["The film stars Ada Vale.", "The film stars Bo Lind."]),
        ("We visited Oslo, Bergen and Narvik.", ["We visited Oslo.", "We visited Bergen.", "We visited Narvik."]),
        (
            "Trials began in 1950; serious work followed in 1960.",
            ["Trials began in 1950.", "Serious work followed in 1960."],
        ),
        ("It is old and the bridge was rebuilt.", ["It is old.", "The bridge was rebuilt."]),
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
        "It is made of flour, water and salt.",
        "He wrote Crime and Punishment.",
        "They starred in The Tide and the Storm.",
        "The flag is a red, white and blue cloth.",
        "It was a crime, thriller and action film.",
        "The mill opened in 1890, closed by the war.",
        "Young Danes who like boats come early.",
        "They like Oslo, a boat, and the sea.",
    ],
)
def test_what_does_not_surely_stand_alone_is_not_split(text: str) -> None:
    assert said(text) == [text]


@pytest.mark.parametrize(
    "text",
    ["", "   \n", "Hello!", "What do you think?", "do you like boats", "Sure, thanks!", "😀 👍", "...", "Wow! Great.",
     "You're welcome!", "What a lovely day!", "Let me know if you need more.", "# Tides\n---"],
)  # fmt: skip
def test_turns_that_claim_nothing(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Glad that the hall is open.", ["The hall is open.", "The assistant is glad that the hall is open."]),
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
        ("You might like Oslo.", ["The user might like Oslo."]),
        ("I painted it myself.", ["The assistant painted it itself."]),
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
        ("I'm afraid the hall is closed.", ["The hall is closed."]),
        ("I'm sorry we cannot ship it.", ["We cannot ship it."]),
        ("I am afraid of dogs that bark.", ["The assistant is afraid of dogs that bark."]),
        ("It is a shame that Vale left Oslo.", ["Vale left Oslo.", "It is a shame that Vale left Oslo."]),
        ("I'm glad that Vale was Danish.", ["Vale was Danish.", "The assistant is glad that Vale was Danish."]),
        ("As far as I know, Vale was Danish.", ["Vale was Danish."]),
        ("Isn't it owned by Bo Lind?", ["It is owned by Bo Lind."]),
        ("Ah so you must live in Oslo?", ["The user must live in Oslo."]),
        ("So it must be old.", ["It must be old."]),
        ("I recommend Oslo.", ["The assistant recommends Oslo."]),
        (
            "I know some about mills, like how flour is ground.",
            ["The assistant knows some about mills, like how flour is ground."],
        ),
    ],
)
def test_presuppositions_and_frames(text: str, claims: list[str]) -> None:
    assert said(text) == claims


def test_a_bare_answer_keeps_its_question() -> None:
    question = Turn(role=Role.USER, text="Hi. Is your hall open on Monday?")
    assert said("Yes, it is!", question) == ["Our hall is open on Monday."]
    assert said("No, it isn't. It is open on Tuesday.", question) == [
        "It is not true that our hall is open on Monday.",
        "It is open on Tuesday.",
    ]
    assert said("Yes, it is!") == []
    assert said("Yes!", Turn(role=Role.USER, text="What is it?")) == []


@pytest.mark.parametrize(
    ("question", "answer", "claims"),
    [
        ("Do you like to swim?", "I do!", ["The assistant likes to swim."]),
        ("Do you know anything about boats?", "Yes.", ["The assistant knows something about boats."]),
        ("Have you ever been to Oslo?", "No.", ["It is not true that the assistant has been to Oslo."]),
        ("Did he paint it?", "Nope.", ["It is not true that he did paint it."]),
        ("Does she own a mill?", "Yes, she does.", ["She owns a mill."]),
        ("So that's a mill?", "Yes, it is.", ["That's a mill."]),
        ("Do you like tea or coffee?", "Yes.", ["The assistant likes tea or coffee."]),
        ("And how many are there?", "Yes.", []),
        ("In which town are you?", "Yes.", []),
    ],
)
def test_a_bare_answer_turns_a_question_about_a_pronoun_round(question: str, answer: str, claims: list[str]) -> None:
    assert said(answer, Turn(role=Role.USER, text=question)) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Ada Vale was born in Oslo. She painted.", ["Ada Vale was born in Oslo.", "Ada Vale painted."]),
        ("Bo Lind was a painter. He died in 1950.", ["Bo Lind was a painter.", "Bo Lind died in 1950."]),
        ("The mill burned down. Its owner left.", ["The mill burned down.", "The mill's owner left."]),
        ("The mill is old. It's been sold.", ["The mill is old.", "The mill has been sold."]),
        ("A mill was built in 1890. It is old.", ["A mill was built in 1890.", "The mill is old."]),
        ("The mills are old. They're closed.", ["The mills are old.", "The mills are closed."]),
        ("The mills are old. Their roofs leak.", ["The mills are old.", "The mills' roofs leak."]),
        ("My mill is old. It is red.", ["The assistant's mill is old.", "The assistant's mill is red."]),
        ("I love The Tides. It was long.", ["The assistant loves The Tides.", "The Tides was long."]),
        ("Have you seen The Tides? It was long.", ["The Tides was long."]),
        ("The mill is old. Yes! It is red.", ["The mill is old.", "The mill is red."]),
    ],
)
def test_a_pronoun_with_one_possible_noun_is_named(text: str, claims: list[str]) -> None:
    assert said(text) == claims


@pytest.mark.parametrize(
    ("before", "text", "claims"),
    [
        ("Do you know Bo Lind?", "Yes. He is tall.", ["The assistant knows Bo Lind.", "Bo Lind is tall."]),
        ("Of course I've heard of Bo Lind!", "He is tall.", ["Bo Lind is tall."]),
        ("Tell me about the Golden Hall.", "It has a pool.", ["The Golden Hall has a pool."]),
        ("What do you think about the Oslo Sharks?", "They're strong.", ["The Oslo Sharks are strong."]),
        ("Ada Vale is a great singer.", "She was born in Oslo.", ["Ada Vale was born in Oslo."]),
        ("My sister likes Ada Vale.", "She is tall.", ["She is tall."]),
        ("Do you like Ada Vale or Bo Lind?", "He is tall.", ["He is tall."]),
        ("I like Ada Vale. A friend met her.", "She is tall.", ["She is tall."]),
        ("My mill is old.", "It is red.", ["It is red."]),
        ("Do you like boats?", "They are fast.", ["They are fast."]),
    ],
)
def test_a_pronoun_may_go_back_to_the_turn_before(before: str, text: str, claims: list[str]) -> None:
    assert said(text, Turn(role=Role.USER, text=before)) == claims


@pytest.mark.parametrize(
    "text",
    [
        "Ada Vale married Bo Lind. She was tall.",
        "Ada Vale met the painter. She was tall.",
        "Ada Vale painted the mill. It is old.",
        "Ada Vale lives in Oslo. It is big.",
        "Oslo is nice. He lived there.",
        "New Haven is nice. He loves it.",
        "The hall has a pool. It is free.",
        "The mill was closed by the king. It was old.",
        "The mill is closed. They left.",
        "The mill is closed. He left.",
        "The mill is closed. It is raining.",
        "The mill is closed. It is sad that it burned.",
        "The mill is closed. It takes an hour by boat.",
        "Everyone is happy. They left.",
        "She moved to Bergen, which is rainy. She liked it.",
        "The mill is old; the bridge was rebuilt. It is red.",
    ],
)
def test_a_pronoun_that_may_mean_another_noun_stays(text: str) -> None:
    pronoun = re.findall(r"\b(?:He|She|It|They)\b[^.]*\.", text)[-1]
    assert said(text)[-1] == pronoun


def test_a_resolved_claim_keeps_its_place() -> None:
    text = "Bo Lind was a painter. He died in 1950."
    assert sources(text) == ["Bo Lind was a painter.", "He died in 1950."]


def test_the_parts_of_a_list_share_their_place() -> None:
    assert sources("Vale was a painter and a poet.") == ["Vale was a painter and a poet."] * 2


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
     "<a" * 20_000, "so much so " * 3_600, "A, a b, " * 5_000, "\n" * 40_000, "1. " * 13_000, "you can " * 5_000,
     ("Ada Vale, a b c, " * 80 + ".\n\n") * 10, ("It is a b, a b, and " * 60 + ".\n\n") * 10,
     ("Ada Vale who " * 100 + ".\n\n") * 10,
     ("He wrote a, " * 100 + "and wrote b.\n\n") * 10, ("wrote Ada Vale and " * 70 + ".\n\n") * 10],
)  # fmt: skip
def test_hostile_turns_end(text: str) -> None:
    # A pattern that backtracks takes hours here: pytest's own patience is the limit.
    decompose(Turn(role=Role.ASSISTANT, text=text), ())


@pytest.mark.parametrize(
    "text",
    [
        "It is old.[^1] It is red.[^note]",
        "It is old.¹ It is red.²",
        "It is old【4:0†guide.pdf】. It is red.【4:12†source】",
        "**It is old. It is red.**",
    ],
)
def test_marks_of_footnotes_and_of_wide_emphasis_are_no_words(text: str) -> None:
    assert said(text) == ["It is old.", "It is red."]


@pytest.mark.parametrize("question", ["What does the kayak cost?", "How much does the kayak cost?"])
@pytest.mark.parametrize("answer", ["The kayak seats two people.", "Two people fit.", "The ride lasts 2 hours."])
def test_what_counts_things_is_no_price(question: str, answer: str) -> None:
    history = (Turn(role=Role.USER, text=question),)
    assert [claim.text for claim in decompose(Turn(role=Role.ASSISTANT, text=answer), history)] == [answer]


@pytest.mark.parametrize("answer", ["40 euros.", "40.", "40 bucks.", "2 %."])
def test_a_bare_price_answers_the_question_for_it(answer: str) -> None:
    history = (Turn(role=Role.USER, text="What does the kayak cost?"),)
    claims = decompose(Turn(role=Role.ASSISTANT, text=answer), history)
    assert [claim.text for claim in claims] == [f"The kayak costs {answer.rstrip('.')}."]


def test_a_power_is_no_footnote() -> None:
    assert said("The flat has 40 m².") == ["The flat has 40 m²."]


def test_a_repeated_claim_is_one() -> None:
    assert said("It is old. It is old!  It is old.") == ["It is old.", "It is old!"]


_PIECES = st.sampled_from(
    ["The hall opened in 1925", ", and it is free", "; the mill was sold", ", which is old,", " 😀 ", "\n", "\n- ", "\r\n\r\n",
     "今日は。", "| a | b |\n|--|--|\n", "```\n", "\ud83d",
     "He is tall. ", "Its roof", "Ada Vale, a painter and a poet, ", "It stars Ada Vale and Bo Lind",
     "I love it", "you can't", "Dr. ", "e.g. ", "https://a.b/c.d ", "**", "[x](",
     ". ", "? ", "! ", "\x00", "A\u0301", " (", '"', "…", "1. ", "> ", "# ", "\t", "did you know that ", "not sure, "]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=150, deadline=None)
@example("a opened mill . it mill")
@example("was a and and a the")
@given(st.lists(_WORDS, min_size=1, max_size=25).map(" ".join))
def test_claims_invent_no_words(text: str) -> None:
    # "It" after "a mill" is "the mill"; an aside becomes a sentence with "is" or "was", and may put "a" before a vowel.
    known = set(re.findall(r"\w+", text.lower())) | {"was", "is", "the", "an"}
    for claim in said(text):
        assert set(re.findall(r"\w+", claim.lower())) <= known


def test_what_was_not_known_is_a_fact_whatever_its_verb() -> None:
    assert said("I didn't know that whales sleep upright.") == [
        "Whales sleep upright.",
        "The assistant didn't know that whales sleep upright.",
    ]


def test_the_numbers_of_a_list_in_one_line_claim_nothing() -> None:
    assert said("The tips are old. 1. Drink water. 2. Sleep well.") == [
        "The tips are old.",
        "Drink water.",
        "Sleep well.",
    ]


def test_a_block_of_code_is_one_claim_and_what_it_says_others() -> None:
    code = '```python\nx = 1\nprint("The hall opened in 1925.")\n```'
    text = f"Look:\n\n{code}\nThanks!"
    claims = decompose(Turn(role=Role.ASSISTANT, text=text), ())
    assert [claim.text for claim in claims] == ["The hall opened in 1925.", code]
    assert [text[claim.span.start : claim.span.end] for claim in claims if claim.span] == [
        "The hall opened in 1925.",
        code,
    ]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who was its last keeper?", "Marta Eide left in 1999."),
        ("When do you close on Saturdays?", "At weekends we close at 6 p.m."),
        ("When do you close?", "We close at 6 p.m."),
        ("Where do we board?", "Port Hallow has two piers."),
        ("What does a ticket cost?", "A ticket for adults costs four crowns."),
        ("Who were the allies?", "Some of the smaller powers included Hungary."),
        ("Who were the allies?", "Some of the major Axis nations included Hungary."),
        ("Who runs the ferry?", "The Larsen bus waits at the pier."),
        ("Where is he buried?", "Andrew Carnegie passed away on August 11, 1919, at the age of 83."),
        ("How much money do I need?", "These two rules will help."),
        ("How much is a visit?", "Children under 16 pay 4 pounds."),
        ("What does a ticket cost?", "Members with a card pay 4 pounds."),
        ("How much is the annual fee?", "You can withdraw up to $500 a day."),
        ("How long does delivery take?", "You may return items within 30 days."),
        ("Until when can I park there?", "The garage never closes."),
        ("When can I check in?", "The desk never sleeps."),
    ],
)
def test_a_statement_that_holds_the_asked_value_is_the_claim(question: str, text: str) -> None:
    assert said(text, Turn(role=Role.USER, text=question)) == [text]


def test_may_i_is_no_month() -> None:
    asked = Turn(role=Role.USER, text="When did the whale hall open?")
    assert said("It opened in 1925. May I suggest the tide hall?", asked) == ["The whale hall opened in 1925."]


@pytest.mark.parametrize(
    ("question", "text", "claims"),
    [
        (
            "What does the Pro plan cost?",
            "| | Basic | Pro |\n|---|---|---|\n| Price | 5 € | 9 € |",
            ["Price; Basic: 5 €.", "Price; Pro: 9 €."],
        ),
        (
            "What does it cost?",
            "- Adults: £12\n- Children (8–14): £6",
            ["Adults: £12.", "It costs £12.", "Children (8–14): £6.", "It costs £6."],
        ),
        ("What does it cost?", "Step 2: Pay at the desk.", ["Step 2: Pay at the desk."]),
        ("What does it cost?", "Call us on 01539 555 0142.", ["Call us on 01539 555 0142."]),
        (
            "How long does it last?",
            "Call 1-800-555-0199 or +44 1539 555 014.",
            ["Call 1-800-555-0199 or +44 1539 555 014."],
        ),
        (
            "What does it cost?",
            "Leave a deposit of £50 for each.",
            ["Leave a deposit of £50 for each.", "It costs £50."],
        ),
        ("When did it open?", "In 1925: see the archive.", ["In 1925: see the archive.", "It did open in 1925."]),
    ],
)
def test_a_value_keeps_the_name_that_it_stands_under(question: str, text: str, claims: list[str]) -> None:
    assert said(text, Turn(role=Role.USER, text=question)) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("**Can I bring my dog?**\nYes.", ["You can bring your dog."]),
        ("### How many bags may I take?\nTwo.", ["You may take two bags."]),
        ("Q: Is alcohol allowed?\nA: No.", ["It is not true that alcohol is allowed."]),
        (
            "### Do I pay?\nNo.\n### Do we open on Sundays?\nYes.",
            ["It is not true that the user pays.", "We open on Sundays."],
        ),
    ],
)
def test_a_question_in_an_answer_is_its_readers(text: str, claims: list[str]) -> None:
    assert said(text) == claims


@pytest.mark.parametrize("text", ["Parking costs 28 euros a night.", "Shipping takes 3 days."])
def test_a_statement_about_an_activity_answers_no_other_question(text: str) -> None:
    asked = Turn(role=Role.USER, text="When is breakfast served?")
    assert said(text, asked) == [text]
    assert said(f"Breakfast is served from 7. {text}", asked) == ["Breakfast is served from 7.", text]


def test_a_value_with_a_remark_answers_the_question() -> None:
    asked = Turn(role=Role.USER, text="Who was its last keeper?")
    assert said("Marta Eide is what I had in mind.", asked)[-1] == "Its last keeper was Marta Eide."


@pytest.mark.parametrize(
    ("question", "answer", "claim"),
    [
        ("When do you close?", "6 p.m.", "We close at 6 p.m."),
        ("How old are you?", "30 years.", "The assistant is 30 years old."),
        ("How old is it?", "It is ninety.", "It is ninety."),
        ("I sent the form off, so that's settled?", "Yes.", "That's settled."),
        ("What is a day pass?", "Lockers are by the stairs.", "Lockers are by the stairs."),
        ("Is the hall open on Mondays?", "Always.", "The hall is open on Mondays always."),
        ("The hall opened in 1850, right?", "Yes.", "The hall opened in 1850."),
        ("The hall opened in 1850, right?", "Wrong.", "It is not true that the hall opened in 1850."),
        ("Is the hall open, right?", "Correct.", "The hall is open."),
        # where the value stands
        ("Who does the repairs?", "Ida Moss.", "Ida Moss does the repairs."),
        ("Who does it?", "Ida Moss.", "Ida Moss does it."),
        ("How many people?", "Six.", "There are six people."),
        ("How far?", "Two miles.", "It is two miles."),
        ("Who does the garden club meet?", "Ida Moss.", "The garden club meets Ida Moss."),
        ("Until when is the sauna open?", "10 pm.", "The sauna is open until 10 pm."),
        ("Since when has the mill been closed?", "May.", "The mill has been closed since May."),
        ("At what time is supper?", "Half past six.", "Supper is at half past six."),
        ("When is the choir?", "Every Thursday.", "The choir is every Thursday."),
        ("When is the film over?", "At ten.", "The film is over at ten."),
        ("Which languages are the signs in?", "Welsh and English.", "The signs are in Welsh and English."),
        ("What year was it built in?", "1931.", "It was built in 1931."),
        ("What's the latest I can check in?", "Ten pm.", "The latest you can check in is ten pm."),
        ("How much is it to rent a boat?", "£12 an hour.", "It is £12 an hour to rent a boat."),
        ("How long does it take to get there?", "Two hours.", "It takes two hours to get there."),
        ("How far is the inn from the lake?", "Two miles.", "The inn is two miles from the lake."),
        ("How old do riders have to be to join?", "At least nine.", "Riders have to be at least nine to join."),
        ("What should I bring to the lesson?", "A towel.", "You should bring a towel to the lesson."),
        ("What does a kayak cost for a day?", "€9, plus a deposit.", "A kayak costs for a day €9, plus a deposit."),
        ("Where do I pick up my badge?", "At the gate.", "The user picks up the user's badge at the gate."),
        ("How many people fit in the boat?", "Six.", "Six people fit in the boat."),
        ("How many books can I borrow?", "Four at a time.", "You can borrow four books at a time."),
        ("How many guests can I bring?", "As many as you like.", "You can bring as many guests as you like."),
        ("What happens if it doesn't arrive?", "Nothing.", "Nothing happens if it doesn't arrive."),
        ("Who leads the walk?", "Ana and Rui.", "Ana and Rui leads the walk."),
        # the value is the subject
        ("How many people can travel with one car?", "Up to 5.", "Up to 5 people can travel with one car."),
        ("Who can use the gym?", "Anyone over 16.", "Anyone over 16 can use the gym."),
        ("Who should I ask for?", "Ida Moss.", "You should ask for Ida Moss."),
        ("How much will be charged?", "£40.", "£40 will be charged."),
        ("How many rooms are available?", "Three.", "Three rooms are available."),
        ("How many rooms are there?", "Three.", "There are three rooms."),
        ("Who has the key?", "The caretaker.", "The caretaker has the key."),
        ("What has the school planned?", "A trip.", "The school has planned a trip."),
        ("Which cabins have a window?", "A and B.", "A and B have a window."),
        ("Which rooms have been painted?", "Rooms 2 and 3.", "Rooms 2 and 3 have been painted."),
        ("How many hours can staff work?", "40.", "Staff can work 40 hours."),
        ("Which pupils get free lunches?", "Those in years 1 and 2.", "Those in years 1 and 2 get free lunches."),
        ("When are you open?", "9 to 5.", "We are open from 9 to 5."),
        ("What time is breakfast?", "8 am.", "Breakfast is at 8 am."),
        ("When was it built?", "2019-05-03.", "It was built on 2019-05-03."),
        ("When do I get it back?", "30 days after you move out.", "You get it back in 30 days after you move out."),
        ("How many can I take?", "Two, if nobody has reserved them.", "You can take two, if nobody has reserved them."),
        # who does it, and to whom
        ("Who leads the walk?", "Ida Moss does.", "Ida Moss leads the walk."),
        ("Who pays for it?", "You do.", "The user pays for it."),
        ("Who has to pay for it?", "You do, within a week.", "The user has to pay for it, within a week."),
        ("Who will repair the lock?", "We will!", "We will repair the lock."),
        ("Who is responsible for the garden?", "You are.", "The user is responsible for the garden."),
        ("Who is responsible for the garden?", "The tenant is.", "The tenant is responsible for the garden."),
        ("Who pays for it?", "The landlord doesn't.", "It is not true that the landlord pays for it."),
        ("Who pays for it?", "Not the landlord.", "It is not true that the landlord pays for it."),
        ("Which plan includes roaming?", "Plan L does.", "Plan L includes roaming."),
        ("Which plan includes roaming?", "Plan L.", "Plan L includes roaming."),
        ("What does trip 7 cost?", "Trip 7 costs 107 kronor.", "Trip 7 costs 107 kronor."),
        ("And bus 4?", "Bus 4 stops at noon.", "Bus 4 stops at noon."),
        ("Can my dog stay with you?", "Yes.", "The user's dog can stay with us."),
        ("Can I leave my case at your desk?", "No.", "It is not true that you can leave your case at our desk."),
        ("Is the ferry running?", "Not until May.", "The ferry is not running until May."),
        ("Is it free or do I have to pay?", "It's free.", "It is free."),
        ("Is it 14 days or 30 days?", "30.", "It is 30 days."),
        # what it is or was done to it is no value
        ("How old is the ferry?", "It was built in 1931.", "The ferry was built in 1931."),
        ("When is the sauna open?", "It is closed on Mondays.", "The sauna is closed on Mondays."),
        ("When does the ferry leave?", "It is delayed until 9:30.", "It is delayed until 9:30."),
        ("Who designed the tower?", "It was built by Otto Ferrer.", "It was built by Otto Ferrer."),
        ("What colour is the door?", "It is painted red.", "The door is painted red."),
        # two questions in one
        ("How old is it, and can I bring my bike?", "It was built in 1931.", "It was built in 1931."),
        ("How old is the ferry, and can I bring my bike?", "Yes.", "You can bring your bike."),
        ("When does it open and how much is a ticket?", "12 euros.", "A ticket is 12 euros."),
        ("Which hall is closed and is being painted?", "Hall 2.", "Hall 2 is closed and is being painted."),
    ],
)
def test_an_answer_is_what_was_asked(question: str, answer: str, claim: str) -> None:
    assert said(answer, Turn(role=Role.USER, text=question)) == [claim]


@pytest.mark.parametrize(
    ("question", "answer", "claim"),
    [
        ("Did the hotel cancel the free breakfast?", "There is free breakfast.", "There is free breakfast."),
        ("Do you like the free coffee here?", "There is free coffee here.", "There is free coffee here."),
        ("Has the flight to Oslo been cancelled?", "There is a flight to Oslo.", "There is a flight to Oslo."),
        ("Is there a charge for towels?", "There are towels.", "There are towels."),
        ("Are there no lockers?", "There are lockers.", "There are lockers."),
        ("Did I forget that it was free?", "It was free.", "It was free."),
        ("Is the pool without a lifeguard?", "It has a lifeguard.", "It has a lifeguard."),
        ("Has the café stopped serving lunch?", "It serves lunch.", "The café serves lunch."),
        ("Has the shop run out of the blue lamp?", "It has the blue lamp.", "It has the blue lamp."),
        ("Is the lift out of service?", "It is in service.", "The lift is in service."),
        ("Does the app fail to save drafts?", "It saves drafts.", "It saves drafts."),
        ("Does the flat come without a balcony?", "It comes with a balcony.", "It comes with a balcony."),
        ("Is it free except on Sundays?", "It is free on Sundays.", "It is free on Sundays."),
        ("Does the ferry leave before 9 am?", "It leaves at 9 am.", "It leaves at 9 am."),
        ("Does it cost more than 18 euros?", "It costs 18 euros.", "It costs 18 euros."),
        ("Do I have to pay for the towels?", "You have the towels.", "The user has the towels."),
    ],
)
def test_what_leaves_out_the_point_of_its_question_is_its_own_claim(question: str, answer: str, claim: str) -> None:
    assert said(answer, Turn(role=Role.USER, text=question)) == [claim]


@pytest.mark.parametrize(
    ("question", "answer", "claim"),
    [
        ("Is the pool open on Mondays?", "It is open.", "The pool is open on Mondays."),
        ("Is the guided walk free on Mondays?", "It is free.", "The guided walk is free on Mondays."),
        ("Does the ferry leave at 9 am?", "It leaves at 9 am.", "The ferry leaves at 9 am."),
        ("Does the 9 am ferry stop at Lisk?", "It stops at Lisk.", "The 9 am ferry stops at Lisk."),
        ("Is there a pool in the hotel?", "There is a pool.", "There is a pool in the hotel."),
        ("Are there tours in Polish?", "There are tours in Polish.", "There are tours in Polish."),
        ("Can I bring my bike?", "You can bring it.", "You can bring your bike."),
        ("Can I enter without a ticket?", "You can enter.", "You can enter without a ticket."),
        ("Is the lift out of service?", "It is out of service.", "The lift is out of service."),
        ("Has the café stopped serving lunch?", "It has stopped.", "The café has stopped serving lunch."),
        ("Is smoking allowed on the terrace?", "It isn't.", "It is not true that smoking is allowed on the terrace."),
    ],
)
def test_what_repeats_its_question_with_a_pronoun_answers_it(question: str, answer: str, claim: str) -> None:
    assert said(answer, Turn(role=Role.USER, text=question)) == [claim]


def test_two_nouns_with_what_belongs_to_both_are_one_claim() -> None:
    text = "Tides are the rise and fall of the ocean waters, caused by the Moon."
    assert said(text) == [text]


@pytest.mark.parametrize("title", ["**Weight & size**", "__Key points__", "**1. Battery life**"])
def test_a_line_of_a_few_words_in_bold_is_a_heading_where_something_follows(title: str) -> None:
    assert said(f"It is red.\n\n{title}\n\nIt lasts long.") == ["It is red.", "It lasts long."]
    assert len(said(f"It is red.\n\n{title}")) == 2
    assert said("**Blue**\n\nIt fits.", Turn(role=Role.USER, text="Which colour does it have?"))[0] == "It has Blue."


@pytest.mark.parametrize(
    "title", ["### 2. How to book", "## 2.1 How to book", "**2. How to book**", "## **2) How to book**"]
)
def test_the_number_of_a_heading_is_no_answer(title: str) -> None:
    asked = Turn(role=Role.USER, text="What does it cost?")
    assert said(f"{title}\n\nThe desk is shut.", asked) == ["The desk is shut."]
    assert said("## 12 euros\n\nThe desk is shut.", asked) == ["It costs 12 euros.", "The desk is shut."]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (
            "- Weekdays:\n  - Summer: 9–18\n- Weekends:\n  - Summer: 8–20\n",
            ["Weekdays: Summer: 9–18.", "Weekends: Summer: 8–20."],
        ),
        (
            "You need:\n\n* A passport\n* A proof of address, e.g.:\n    * a bill\n* Two photos",
            ["You need: A passport.", "You need: A proof of address, e.g.: a bill.", "You need: Two photos."],
        ),
        (
            "1. **Book in one of these ways:**\n- online\n- by phone\n2. Pay at the desk.",
            ["Book in one of these ways: online.", "Book in one of these ways: by phone.", "Pay at the desk."],
        ),
    ],
)
def test_an_item_introduces_those_below_it(text: str, claims: list[str]) -> None:
    assert said(text) == claims


@pytest.mark.parametrize("claim", ["No refunds", "Free breakfast", "The pool is heated", "Check-in from 15:00"])
def test_a_line_in_bold_that_claims_something_is_a_claim(claim: str) -> None:
    assert said(f"**{claim}**\n\nTowels are red.") == [f"{claim}.", "Towels are red."]


@pytest.mark.parametrize(
    "claim", ["Breakfast included", "Pets welcome", "Closed on Sundays", "Refunds within fourteen days", "Don't swim"]
)
def test_a_line_in_bold_without_a_verb_may_claim_something(claim: str) -> None:
    assert len(said(f"It is red.\n\n**{claim}**\n\nTowels are red.")) == 3
    assert len(said("It is red.\n\n**Open questions**\n\nTowels are red.")) == 2


def test_a_line_in_bold_answers_behind_small_talk() -> None:
    question = Turn(role=Role.USER, text="Which colour does it have?")
    assert said("Sure!\n\n**Blue**\n\nIt fits.", question)[0] == "It has Blue."
    assert said("Sure!\n\n**Colour**\n\nIt fits.", question) == ["It fits."]


@pytest.mark.parametrize(
    ("question", "answer", "claims"),
    [
        (
            "Is the eye test free?",
            "Yes. It lasts ten minutes.",
            ["The eye test is free.", "The eye test lasts ten minutes."],
        ),
        (
            "When is the yoga class?",
            "At 9. It lasts an hour.",
            ["The yoga class is at 9.", "The yoga class lasts an hour."],
        ),
        ("May I bring my dog?", "Of course, bring it along!", ["You may bring your dog.", "Bring it along!"]),
        (
            "When does school start?",
            "8:15, and the doors open at 7:45.",
            ["School starts at 8:15.", "The doors open at 7:45."],
        ),
        ("How much is a ticket?", "£12, children pay £6.", ["A ticket is £12.", "Children pay £6."]),
        (
            "When are you open on Saturdays?",
            "9 to 1, and on Sundays we close at 12.",
            ["We are open on Saturdays from 9 to 1.", "On Sundays we close at 12."],
        ),
        ("How much is a ticket?", "£12, kids go free.", ["A ticket is £12.", "Kids go free."]),
        ("And on Sundays?", "We're closed.", ["We're closed on Sundays."]),
        ("And on Sundays?", "Closed, I'm afraid.", ["It is closed on Sundays."]),
        ("And on Sundays?", "10 to 12.", ["It is 10 to 12 on Sundays."]),
        ("And on Sundays?", "Sorry, we're closed.", ["We're closed on Sundays."]),
        ("And for children?", "They're free.", ["They're free for children."]),
        ("And with plan M?", "You get 20 GB with plan M.", ["You get 20 GB with plan M."]),
        ("And for children?", "I'm not sure.", ["The assistant is not sure."]),
        ("And by post?", "Yes, we send it by letter.", ["We send it by letter."]),
        (
            "We are six people, any rebate?",
            "Yes, groups of five or more get 5 % off.",
            ["There is rebate.", "Groups of five or more get 5 % off."],
        ),
        ("Group rebate?", "Groups of five or more get 5 % off.", ["Groups of five or more get 5 % off."]),
        ("the harbour gate", "No, use the north gate.", ["Use the north gate."]),
        ("The rim's wet. Is it leaking?", "Yes, dry it.", ["It is leaking.", "Dry it."]),
        ("She has no badge. Which one?", "Dolphin will do.", ["Dolphin will do."]),
        ("I'm 15, may I dive?", "No.", ["It is not true that you may dive."]),
        (
            "What happens if I come late?",
            "If you come an hour late, we may sell your seat.",
            ["If you come an hour late, we may sell your seat."],
        ),
        (
            "What if I come late?",
            "After half an hour we may sell the seat.",
            ["After half an hour we may sell the seat."],
        ),
        ("What helps against moss?", "On damp walls use chalk.", ["On damp walls use chalk."]),
        ("Does parking cost anything?", "Yes, parking costs £4.", ["Parking costs £4."]),
        ("leave early?", "Yes, you have to leave early.", ["The user has to leave early."]),
        ("How late may I pay?", "You need to pay 3 days before.", ["You need to pay 3 days before."]),
        (
            "How much is a wetsuit?",
            "A wetsuit costs £7 a day, and you'll need two fins.",
            ["A wetsuit costs £7 a day.", "You'll need two fins."],
        ),
        (
            "Can I swap it after two weeks?",
            "No, not in the first three weeks.",
            [
                "It is not true that you can swap it after two weeks.",
                "You can not swap it after two weeks in the first three weeks.",
            ],
        ),
        ("I thought it was Ida", "You're right, my mistake!", ["It was Ida."]),
        ("When do I get it?", "It'll be with you within a week.", ["It'll be with the user within a week."]),
        ("I lost my key!", "Don't worry, a new one is £5.", ["A new one is £5."]),
        ("I lost my key!", "No problem, we replace it for free.", ["We replace it for free."]),
        ("Can my cat come?", "Feel free to bring your cat.", ["You can bring your cat."]),
        ("Thanks!", "You're welcome. Feel free to ask if you have questions.", []),
    ],
)
def test_an_answer_may_leave_to_its_question_what_it_is_about(question: str, answer: str, claims: list[str]) -> None:
    assert said(answer, Turn(role=Role.USER, text=question)) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The bar is upstairs ☕ It closes at 9.", ["The bar is upstairs.", "The bar closes at 9."]),
        ("🎉 Tickets are free! 🐕", ["Tickets are free!"]),
        ("It is late 😊, and we close at 9.", ["It is late 😊, and we close at 9."]),
        ("🐶", []),
    ],
)
def test_an_emoji_ends_a_sentence_and_is_no_part_of_it(text: str, claims: list[str]) -> None:
    assert said(text) == claims


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"answer": "The ferry leaves at ten. Dogs travel free.", "sources": ["doc-7"], "language": "en", "id": 7}',
            ["The ferry leaves at ten.", "Dogs travel free."],
        ),
        (
            '{\n  "reply": {"text": "The ferry leaves at ten."},\n  "next": ["When does it come back?"]\n}\n',
            ["The ferry leaves at ten."],
        ),
        ('["The ferry leaves at ten.", "Dogs travel free."]', ["The ferry leaves at ten.", "Dogs travel free."]),
        (
            '{"text": "The \\"Heron\\" leaves at ten.\\n\\nDogs travel free."}',
            ['The "Heron" leaves at ten.', "Dogs travel free."],
        ),
        ('{"answer": "22 euros"}', ["22 euros."]),
        (
            '{"note": "The ferry leaves at ten.", "price_in_euros": 22, "opened": "2026-05-01", "trip_id": 7}',
            ["The ferry leaves at ten.", "Price in euros: 22.", "Opened: 2026-05-01."],
        ),
    ],
)
def test_an_answer_in_json_says_what_its_values_say(text: str, said: list[str]) -> None:
    *claims, code = decompose(Turn(role=Role.ASSISTANT, text=text), [])
    assert [claim.text for claim in claims] == said
    assert not any(claim.in_code for claim in claims)  # they are judged like any other sentence
    assert code.text.split() == ["```", *text.split()]


@pytest.mark.parametrize(
    "text",
    ['{"id": "doc-7", "language": "en"}', "[The ferry leaves at ten.]", '{"a": "The ferry leaves at ten."', "{}" * 3],
)
def test_what_only_looks_like_json_is_read_as_before(text: str) -> None:
    assert not any(claim.text.startswith("```") for claim in decompose(Turn(role=Role.ASSISTANT, text=text), []))
