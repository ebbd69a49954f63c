"""The four steps by rules of English: what is split, and what stays whole."""

from __future__ import annotations

import pytest

from tests.raising import raises
from vista_guard import Guard, JudgeError, Role, Turn
from vista_guard.judges.decomposers.rules import BY_RULES, EmbeddedSteps, answer_of, asked_about, finer, named
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.model.answers.parsing import read_output
from vista_guard.testing import assistant, conversation, user

SPLIT = {
    "Ada Vale painted the hall, which opened in 1850.": ["Ada Vale painted the hall.", "The hall opened in 1850."],
    "Ada Vale was born on July 13, 1942, in Bergen, Norway, to the painter Eva Vale.": [
        "Ada Vale was born on July 13, 1942.",
        "Ada Vale was born in Bergen, Norway.",
        "Ada Vale was born to the painter Eva Vale.",
    ],
    "The museum has a garden, a library and a cafe.": [
        "The museum has a garden.",
        "The museum has a library.",
        "The museum has a cafe.",
    ],
    "Ada Vale was a guest in the first season and a finalist in the third season.": [
        "Ada Vale was a guest in the first season.",
        "Ada Vale was a finalist in the third season.",
    ],
    "Ada Vale was a Danish chemist who measured the tides.": [
        "Ada Vale was a Danish chemist.",
        "Ada Vale measured the tides.",
    ],
    "Ada Vale was born on July 13, 1942, to the smith Tom Moe and the singer Eva Vale.": [
        "Ada Vale was born on July 13, 1942.",
        "Ada Vale was born to the smith Tom Moe.",
        "Ada Vale was born to the singer Eva Vale.",
    ],
    "Ada Vale attended the School of Tides where she won three prizes.": [
        "Ada Vale attended the School of Tides.",
        "Ada Vale won three prizes at the School of Tides.",
    ],
    "Tom Moe moved to Peru in 1929, where he became a citizen.": [
        "Tom Moe moved to Peru in 1929.",
        "Tom Moe became a citizen in Peru.",
    ],
    "Tom Moe plays as a keeper for Gull City, on loan from Tern United and the Norway national team.": [
        "Tom Moe plays as a keeper for Gull City.",
        "Tom Moe is on loan from Tern United.",
        "Tom Moe is on loan from the Norway national team.",
    ],
    "At age 19, Ada Vale was the oldest member of the Danish crew that won the Tide Cup.": [
        "Ada Vale was 19 years old when the Danish crew won the Tide Cup.",
        "Ada Vale was the oldest member of the Danish crew that won the Tide Cup.",
    ],
    "Ada Vale moved to Oslo at the age of nine.": [
        "Ada Vale was nine years old when Ada Vale moved to Oslo.",
        "Ada Vale moved to Oslo.",
    ],
}
WHOLE = [
    "The hall opened in 1925 because the king wished it.",
    "Ada Vale said that the hall opened in 1925 in Oslo.",
    "The hall was not built in 1925 in Oslo.",
    "The bridge was built by the Romans in the first century and restored in 1850.",
    "The deal was signed between France and Spain in 1801.",
    "If it rains, the museum has a film, a talk and a quiz.",
    "Ada Vale played in Oslo in 1925.",
    "The museum has nine rooms.",
    "Was the hall built in 1925 in Oslo?",
    "The hall is larger than a church and a school.",
    "Ada Vale attended the School of Tides where Tom Moe taught.",
    "Ada Vale grew up in Bergen where her father worked.",
    "Ada Vale and Tom Moe moved to Oslo, where they opened a mill.",
    "At age 17, Ada Vale was not famous.",
    "Ada Vale was born to a smith and a singer.",
    "As of 2023, Ada Vale is a free agent.",
]


@pytest.mark.parametrize("claim", SPLIT)
def test_what_can_be_checked_alone_is_split_off(claim: str) -> None:
    assert finer(claim) == SPLIT[claim]


@pytest.mark.parametrize("claim", WHOLE)
def test_what_depends_on_something_stays_whole(claim: str) -> None:
    assert finer(claim) == [claim]


QUESTIONS = {
    "Tell me a bio of Ada Vale.": "Ada Vale",
    "Question: Tell me a bio of Ada Vale (painter).": "Ada Vale",
    "Who is Ada Vale?": "Ada Vale",
    "Can you tell me who Ada Vale is?": "Ada Vale",
    "Ada Vale?": "Ada Vale",
    "In what year was Ada Vale born?": "Ada Vale",
    "What do you know about the painter Ada Vale?": "Ada Vale",
    "Write a paragraph about Ada Vale's life.": "Ada Vale",
    "Tell me about the Tall Mill.": "the Tall Mill",
    "Who was the mother of Ada Vale?": "",
    "Who was Ada Vale's mother?": "",
    "Who painted Ada Vale?": "",
    "When did Ada Vale marry Tom Moe?": "",
    "Tell me about Ada Vale and the sea.": "",
    "What is the capital of Norway?": "",
    "Tell me more.": "",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_a_question_is_about(question: str) -> None:
    assert asked_about(question).noun == QUESTIONS[question]


@pytest.mark.parametrize(
    ("question", "claims", "clear"),
    [
        (
            "Tell me a bio of Ada Vale.",
            ["She was born in Oslo.", "In 1930, she moved to Rome.", "Vale painted.", "Little is known about her death."],
            ["Ada Vale was born in Oslo.", "In 1930, Ada Vale moved to Rome.", "Ada Vale painted.",
             "Little is known about Ada Vale's death."],
        ),
        (
            "Tell me a bio of Tom Moe.",
            ["He was born in Oslo.", "The mill burned.", "He moved.", "It was rebuilt.", "His brother sang.", "He died."],
            ["Tom Moe was born in Oslo.", "The mill burned.", "Tom Moe moved.", "It was rebuilt.",
             "Tom Moe's brother sang.", "He died."],
        ),
        (
            "Tell me a bio of Tom Moe.",
            ["He wrote The Tides.", "Ada Vale drew its pictures.", "He died in 1950."],
            ["Tom Moe wrote The Tides.", "Ada Vale drew its pictures.", "He died in 1950."],
        ),
        (
            "Tell me about Gorsvik Hall.",
            ["It was built in 1850.", "Gorsvik is a village.", "It is nice that it is open.", "It has a mill."],
            ["Gorsvik Hall was built in 1850.", "Gorsvik is a village.", "It is nice that it is open.", "It has a mill."],
        ),
        (
            "Tell me a bio of Ole de Vries Moe.",
            ["Ole de Vries Moe painted.", "Moe sang.", "She left."],
            ["Ole de Vries Moe painted.", "Ole de Vries Moe sang.", "Ole de Vries Moe left."],
        ),
        ("Who was Ada Vale's mother?", ["She was born in Oslo."], ["She was born in Oslo."]),
    ],
)  # fmt: skip
def test_the_question_names_whom_a_pronoun_can_only_mean(question: str, claims: list[str], clear: list[str]) -> None:
    assert named(question, claims) == clear


async def test_the_question_is_read_before_the_claims_are_split() -> None:
    turn = Turn(
        role=Role.ASSISTANT, text='He was born on 3 May 1901 in Oslo, to former singer Eva and the smith Tom "Ty" Moe.'
    )
    (trace,) = await EmbeddedSteps().trace(turn, [Turn(role=Role.USER, text="Tell me a bio of Per Moe.")])
    assert trace.claims == (
        "Per Moe was born on 3 May 1901.",
        "Per Moe was born in Oslo.",
        "Per Moe was born to former singer Eva.",
        'Per Moe was born to the smith Tom "Ty" Moe.',
    )
    assert (trace.status, trace.note) == ("claims", BY_RULES)
    assert "DecontextualizedSentence: Per Moe was born" in trace.thoughts


async def test_claims_are_those_of_the_default_or_finer_and_its_own_stay() -> None:
    turn = Turn(role=Role.ASSISTANT, text=f"{' '.join(SPLIT)} I think it is lovely. I don't know who owns it.")
    before = decompose(turn, ())
    claims = await EmbeddedSteps().decompose(turn, ())
    assert decompose(turn, ()) == before
    assert len(claims) > len(before)
    texts = [claim.text for claim in claims]
    assert "The assistant doesn't know who owns it." in texts
    assert texts[:2] == SPLIT["Ada Vale painted the hall, which opened in 1850."]


async def test_the_trace_reads_like_an_answer() -> None:
    turn = Turn(role=Role.ASSISTANT, text="The hall, which opened in 1925, has a cafe. Would you like more?")
    first, second = await EmbeddedSteps().trace(turn, ())
    assert read_output(answer_of(first)).claims == first.claims == ("The hall opened in 1925.", "The hall has a cafe.")
    assert "STEP 3: Relationships: time." in first.thoughts
    assert (second.status, second.claims) == ("as it stands", ("Would the user like more?",))


async def test_other_languages_are_not_read() -> None:
    with raises(JudgeError, "German"):
        await EmbeddedSteps().trace(
            Turn(role=Role.ASSISTANT, text="Das Haus wurde im Jahr 1850 gebaut und gehört seitdem der Familie."), ()
        )


def test_through_the_guard() -> None:
    said = conversation(
        user("Tell me."),
        assistant("The museum has a garden, a library and a cafe.", "The museum has a garden and a cafe."),
    )
    guard = Guard.from_settings(decomposer="steps:embedded", policy="monitor", store="memory")
    report = guard.check(said)
    assert [outcome.claim.text for outcome in report.outcomes] == SPLIT[
        "The museum has a garden, a library and a cafe."
    ]
    assert [getattr(outcome, "label", None) == "VERIFIED" for outcome in report.outcomes] == [True, False, True]
    assert report.judge.version.endswith("claims by steps:embedded 2")
