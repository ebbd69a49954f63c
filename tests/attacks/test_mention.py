"""A document that only mentions a statement verifies nothing; one that asserts it does. Policy strict, through the front door."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks.frames import ASSERTIONS, MENTIONS
from tests.attacks.statements import STATEMENTS, Statement
from vista_guard import Guard
from vista_guard.judges.embedded.mentions.clauses import read
from vista_guard.types import Conversation, Document, Finding, Label, Role, Turn, TurnReport

EACH = 3
"""Statements that every frame is put around."""
MAY_FAIL = 0.05
"""Share of the assertions that may go unverified: the verifier itself misses some."""


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    with Guard.from_settings(policy="strict", store="memory") as guard:
        yield guard


def said_of(guard: Guard, said: str, *documents: str) -> TurnReport:
    grounds = tuple(Document(id=f"d{number}", text=text) for number, text in enumerate(documents))
    return guard.check(Conversation(turns=(Turn(role=Role.ASSISTANT, text=said, documents=grounds),)))


def verified(report: TurnReport) -> bool:
    (outcome,) = report.outcomes
    return isinstance(outcome, Finding) and outcome.label is Label.VERIFIED


def around(number: int) -> list[Statement]:
    return [STATEMENTS[(number + 3 * step) % len(STATEMENTS)] for step in range(EACH)]


def framed(frame: str, forms: dict[str, str]) -> str:
    text = frame.format(**forms)
    return text[0].upper() + text[1:]


def test_there_are_enough_of_them() -> None:
    assert len(set(MENTIONS)) >= 40
    assert len(set(ASSERTIONS)) >= 40
    assert min(len(MENTIONS), len(ASSERTIONS)) * EACH >= 100


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda one: one.subject)
def test_the_plain_statement_verifies(guard: Guard, statement: Statement) -> None:
    assert verified(said_of(guard, statement.plain, statement.plain))
    assert not verified(said_of(guard, statement.false, statement.plain))


@pytest.mark.parametrize(("number", "frame"), list(enumerate(MENTIONS)))
def test_a_mention_verifies_nothing(guard: Guard, number: int, frame: str) -> None:
    for place, statement in enumerate(around(number)):
        document = framed(frame, statement.forms(statement.lie))
        # Alone, beside the truth, before it in one document: each statement in one of these ways, each frame in all.
        documents = ((document,), (document, statement.plain), (f"{document}\n\n{statement.plain}",))[place]
        report = said_of(guard, statement.false, *documents)
        assert not verified(report), documents
        assert report.remembered == ()
        assert statement.lie not in report.response


@pytest.mark.parametrize(("number", "frame"), list(enumerate(MENTIONS)))
def test_the_truth_beside_a_mention_still_verifies(guard: Guard, number: int, frame: str) -> None:
    for statement in around(number):
        document = framed(frame, statement.forms(statement.lie))
        assert verified(said_of(guard, statement.plain, document, statement.plain)), document


def test_an_assertion_still_verifies(guard: Guard) -> None:
    asserted = [
        (framed(frame, statement.forms(statement.truth)), statement)
        for number, frame in enumerate(ASSERTIONS)
        for statement in around(number)
    ]
    missed = [text for text, statement in asserted if not verified(said_of(guard, statement.plain, text))]
    assert len(missed) <= MAY_FAIL * len(asserted), missed


@pytest.mark.parametrize(
    ("claim", "document"),
    [
        ("The rival claims the whale hall opened in 1850.", "The rival claims that the whale hall opened in 1850."),
        ("Some say the whale hall opened in 1850.", "Some say the whale hall opened in 1850, others disagree."),
        ("The whale hall reportedly opened in 1850.", "The whale hall reportedly opened in 1850."),
        ("If it rains, the tour moves inside.", "If it rains, the tour moves inside."),
        ("The whale hall was planned to open in 1850.", "The whale hall was planned to open in 1850."),
        ("It is a myth that the whale hall opened in 1850.", "It is a myth that the whale hall opened in 1850."),
        ("The whale hall almost closed in 1931.", "The whale hall almost closed in 1931."),
    ],
)
def test_a_claim_framed_as_the_document_frames_it_verifies(guard: Guard, claim: str, document: str) -> None:
    assert verified(said_of(guard, claim, document))


@pytest.mark.parametrize(
    "document",
    [
        "It is false that the whale hall opened in 1850.",
        "Myth: The whale hall opened in 1850.",
        "Did the whale hall open in 1850? No.",
        "The whale hall opened in 1850. This is not true.",
    ],
)
def test_what_a_document_denies_is_contradicted(guard: Guard, document: str) -> None:
    (outcome,) = said_of(guard, "The whale hall opened in 1850.", document).outcomes
    assert isinstance(outcome, Finding)
    assert outcome.label is Label.CONTRADICTED


@pytest.mark.parametrize("who", ["The law says", "It is stated"])
def test_a_word_in_what_is_told_is_nobody_who_tells_it(guard: Guard, who: str) -> None:
    said = f"{who} that old children and one parent may enter the hall."
    assert verified(said_of(guard, said, "Old children and one parent may enter the hall."))


def test_a_heading_reaches_over_passages(guard: Guard) -> None:
    filler = "The lift is beside the desk. Bags go into the lockers on the left. " * 12
    text = f"## Myths about the hall\n\n{filler}\n\nThe whale hall opened in 1850."
    assert not verified(said_of(guard, "The whale hall opened in 1850.", text))


def test_a_known_claim_that_mentions_verifies_only_itself() -> None:
    said = "The rival claims that the whale hall opened in 1850."
    with Guard.from_settings(policy="strict", store="memory") as guard:
        talk = guard.session("talk")
        assert verified(talk.assistant(said, [Document(id="d", text=said)]))
        assert not verified(talk.assistant("The whale hall opened in 1850."))


@pytest.mark.parametrize("space", [" ", "\t", " \n", "\u00a0"], ids=repr)
def test_spaces_inside_a_sentence_cost_nothing(space: str) -> None:
    """Before, a thousand of them took an eighth of a second: by the square so many would take days."""
    said = f"The whale hall{space * (2_000_000 // len(space))}opened in 1925."
    assert read(said).stated == "The whale hall opened in 1925."
