"""A reply that needs its question claims what it answers: lies are withheld or marked, truths pass, courtesies claim nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.attacks.confirmations import COURTESIES, Case, cases, other_cases, spoken_cases
from vista_guard import Action, Conversation, Document, Guard, Label, TurnReport
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.english.answers import asked_before, read_reply
from vista_guard.judges.embedded.forms import clean
from vista_guard.reading.canonical import folded
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import assistant, conversation, user
from vista_guard.types import Role, Turn

MOST_DELIVERED, MOST_HELD = 0.02, 0.10
"""Shares of the lies that may pass without a mark, and of the truths that may be flagged or withheld."""


@pytest.fixture(scope="module", params=["strict", "balanced"])
def guarded(request: pytest.FixtureRequest) -> Guard:
    embedder = OnnxEmbedder()
    return Guard(EmbeddedJudge.load(embedder), request.param, knowledge=MemoryKnowledge(embedder))


async def judged(guard: Guard, told: list[Case]) -> list[TurnReport]:
    turns = [conversation(user(c.asked), assistant(c.reply, f"Guests praise the staff. {c.document}")) for c in told]
    return list(await asyncio.gather(*map(guard.acheck, turns)))


def test_there_are_enough_of_them() -> None:
    assert len({(case.asked, case.reply) for case in cases()}) >= 300


@pytest.mark.parametrize("told", [cases(), other_cases()], ids=["cases", "others"])
def test_a_reply_is_judged_by_what_it_answers(guarded: Guard, told: list[Case]) -> None:
    answered = list(zip(told, asyncio.run(judged(guarded, told)), strict=True))
    lies = [(case, report.decision.action) for case, report in answered if not case.holds]
    delivered = [case for case, action in lies if action is Action.ALLOW]
    assert len(delivered) <= MOST_DELIVERED * len(lies), delivered
    truths = [(case, report.decision.action) for case, report in answered if case.holds]
    held = [case for case, action in truths if action is not Action.ALLOW]
    assert len(held) <= MOST_HELD * len(truths), held


def test_questions_and_answers_as_people_say_them(embedded: Guard) -> None:
    told = spoken_cases()
    answered = list(zip(told, asyncio.run(judged(embedded, told)), strict=True))
    passed = [case for case, report in answered if report.decision.action is Action.ALLOW]
    assert [case for case in passed if not case.holds] == []
    held = [case for case in told if case.holds and case not in passed]
    assert len(held) <= MOST_HELD * len(told) / 2, held


@pytest.mark.parametrize(("said", "reply"), COURTESIES)
def test_a_courtesy_is_no_claim_about_facts(embedded: Guard, said: str, reply: str) -> None:
    document = "Guests praise the staff. The whale hall opened in 1925."
    report = embedded.check(conversation(user(said), assistant(reply, document)))
    assert report.decision.action is Action.ALLOW
    assert all(finding.label is Label.OUT_OF_SCOPE for finding in report.findings)


@pytest.mark.parametrize(
    ("asked", "reply", "claims"),
    [
        ("Isn't it closed on Mondays?", "No, it's open.", ("it is not true that it is closed on Mondays",)),
        ("The pool isn't open on Mondays, is it?", "No.", ("The pool isn't open on Mondays",)),
        ("Is the pool open? And is breakfast included?", "Neither.", tuple(
            f"it is not true that {said}" for said in ("the pool is open", "breakfast is included"))),
        ("Where does the choir meet?", "Platform 5, next to the shop", ("the choir meets in Platform 5, next to the shop",)),
        ("Who leads the tour?", "Rui", ("the one who leads the tour is Rui",)),
        ("Does the tram leave at 9 am?", "No, at 7 am.", (
            "it is not true that the tram leaves at 9 am", "the tram leaves at 7 am")),
        ("Can you tell me whether the pool is open?", "Of course!", ()),
        ("u open mondays?", "Sure are!", ("we are open mondays",)),
        ("I'm 14, can I rent a kayak?", "You can.", ("you can rent a kayak",)),
        ("And my dog, does it have to pay?", "Nope.", ("it is not true that your dog has to pay",)),
        ("The pool has no slide. Is that right?", "It is.", ("The pool has no slide",)),
        ("The pool has no slide. Is that right?", "No.", ("it is not true that the pool has no slide",)),
        ("Are withdrawals free?", "They are.", ("withdrawals are free",)),
        ("How many towels do I get?", "Nope, 9.", ("you get 9 towels",)),
        ("What's the monthly spending limit?", "It's 500 euros.", ("the monthly spending limit is 500 euros",)),
        ("Is the tower taller than 50 metres?", "Yes, far more.", ("the tower is taller than 50 metres",)),
        ("Should it be taken with food or on an empty stomach?", "With food.", ("it should be taken with food",)),
        ("Breakfast costs 9 euros. Or was it 12 euros?", "12 euros.", ("Breakfast costs 12 euros",)),
        ("Was it Ana Ruiz or Eva Ruiz who won the race?", "Ana.", ("it was Ana who won the race",)),
        ("Breakfast's free, isn't it", "Sure is.", ("Breakfast's free",)),
        ("And parking?", "It's free.", ("parking is free",)),
        ("Is the free guided tour included?", "Yes.", ("the free guided tour is included",)),
        ("Is the heated indoor pool open in winter?", "Yes.", ("the heated indoor pool is open in winter",)),
        ("What is the water like?", "Cold.", ("the water is cold",)),
        ("What are the rooms like in summer?", "Small but clean.", ("the rooms in summer are small but clean",)),
        ("Is there a fee?", "Yes, $5.", ("there is a fee", "there is a fee: $5")),
        ("Do you take credit cards?", "Yes, Visa and Amex.", (
            "we take credit cards", "we take credit cards: Visa and Amex")),
        ("Is there a lift?", "Yes, next to the café.", ("there is a lift", "there is a lift: next to the café")),
        ("Is parking free?", "No, £5 a day.", ("it is not true that parking is free", "parking is £5 a day")),
        ("Is parking free?", "No, sorry.", ("it is not true that parking is free",)),
        ("Does the room cost anything?", "Not a cent.", ("it is not true that the room costs something",)),
    ],
)  # fmt: skip
def test_claims_of_a_reply(asked: str, reply: str, claims: tuple[str, ...]) -> None:
    found = read_reply(clean(folded(reply)), asked_before([Turn(role=Role.USER, text=asked)]))
    assert found is not None
    assert (found.claims, found.unmade) == (claims, False)


@pytest.mark.parametrize("reply", ["Otto Ferrer rebuilt it in 1888.", "Otto Ferrer rebuilt the keep in 1888."])
def test_a_sentence_whose_verb_is_unknown_keeps_its_figure(embedded: Guard, reply: str) -> None:
    document = "Otto Ferrer rebuilt the keep in 1903."
    for asked in ("Who rebuilt the keep?", "when"):
        report = embedded.check(conversation(user(asked), assistant(reply, document)))
        assert any("1888" in outcome.claim.text for outcome in report.outcomes)
        assert not report.unchecked
        assert report.decision.action is not Action.ALLOW


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        ("Is the pool open on Mondays?", "Yes and no."),
        ("With a towel or without?", "Without."),
        ("Who is open on Mondays?", "They are."),
        ("And on Mondays?", "Yes."),
    ],
)
def test_what_cannot_be_joined_with_its_question_is_unchecked(embedded: Guard, asked: str, reply: str) -> None:
    report = embedded.check(conversation(user(asked), assistant(reply, "The pool is closed on Mondays.")))
    assert [outcome.claim.text for outcome in report.unchecked] == [reply]
    assert report.decision.action is Action.BLOCK


def test_a_confirmed_statement_of_the_turn_before_is_a_claim(embedded: Guard) -> None:
    before = [user("Hi"), assistant("The pool is open on Mondays.", "The pool is closed on Mondays.")]
    report = embedded.check(
        conversation(*before, user("Are you sure?"), assistant("Absolutely.", "The pool is closed on Mondays."))
    )
    assert [finding.label for finding in report.findings] == [Label.CONTRADICTED]


@pytest.mark.parametrize(("reply", "shown"), [("Yes. Have a nice day!", False), ("No. Have a nice day!", True)])
def test_a_stream_judges_the_same_claims(embedded: Guard, reply: str, shown: bool) -> None:
    reports = list[TurnReport]()

    def agent(_: Conversation) -> Iterator[str]:
        yield from reply.split(" ", 1)

    documents = [Document(id="d", text="The pool is closed on Mondays.")]
    wrapped: Any = embedded.wrap(agent, documents=documents, on_report=reports.append)
    text = "".join(wrapped(conversation(user("Is the pool open on Mondays?"))))
    assert ("nice day" in text) is shown
    assert "pool is open on Mondays" in reports[-1].outcomes[0].claim.text
