"""The four steps by rules of English: what is split, and what stays whole."""

from __future__ import annotations

import pytest

from tests.raising import raises
from vista_guard import Guard, JudgeError, Role, Turn
from vista_guard.judges.decomposers.rules import EmbeddedSteps, answer_of, finer
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
]


@pytest.mark.parametrize("claim", SPLIT)
def test_what_can_be_checked_alone_is_split_off(claim: str) -> None:
    assert finer(claim) == SPLIT[claim]


@pytest.mark.parametrize("claim", WHOLE)
def test_what_depends_on_something_stays_whole(claim: str) -> None:
    assert finer(claim) == [claim]


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
    assert report.judge.version.endswith("claims by steps:embedded 1")
