"""Lies inside opinions, refusals, requests, questions, headings and table headers are withheld; truths there mostly pass."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.attacks.speech import FACTS, KEPT, OPEN, Atoms, Form, dealt, forms
from tests.attacks.statements import Statement
from vista_guard import Action, Conversation, Document, Guard, TurnReport
from vista_guard.testing import assistant, conversation, user

MOST_DELIVERED, MOST_HELD = 0.02, 0.26
"""Shares of the lies that may pass, and of the truths that may be flagged or withheld."""
WITHHELD = (Action.BLOCK, Action.REPAIR)


async def judged(guard: Guard, cases: list[tuple[Form, Statement]], *, lies: bool) -> list[TurnReport]:
    told = [
        conversation(
            user(form.asked(fact)),
            assistant(form.said(fact, fact.lie if lies else fact.truth), f"Guests praise the staff. {fact.plain}"),
        )
        for form, fact in cases
    ]
    return list(await asyncio.gather(*map(guard.acheck, told)))


def test_there_are_enough_of_them() -> None:
    texts = {(form.text, form.surface) for atoms in (OPEN, KEPT) for form in forms(atoms)}
    assert len(texts) >= 150
    # What was kept aside shares nothing with what the rules were made on, but the facts.
    assert not any(set(kept) & set(known) for kept, known in zip(vars(KEPT).values(), vars(OPEN).values(), strict=True))


@pytest.mark.parametrize("atoms", [OPEN, KEPT], ids=["open", "kept aside"])
def test_a_lie_inside_other_speech_is_withheld_and_a_truth_is_not(embedded: Guard, atoms: Atoms) -> None:
    cases = list(dealt(forms(atoms), 1))
    lies = asyncio.run(judged(embedded, cases, lies=True))
    delivered = [report.response for report in lies if report.decision.action not in WITHHELD]
    assert len(delivered) <= MOST_DELIVERED * len(cases), delivered
    truths = asyncio.run(judged(embedded, cases, lies=False))
    held = [report.outcomes for report in truths if report.decision.action is not Action.ALLOW]
    assert len(held) <= MOST_HELD * len(cases), held


HONEST = (
    "I can't help with bookings, as I have no access to them.",
    "I'd love to see the whale hall, if I could.",
    "It's a lovely hall, because I like whales so much.",
    "I don't know whether the hall opened in 1850.",
    "The whale hall is my favourite, since nothing beats it.",
    "I'd give it 9 out of 10.",
)


@pytest.mark.parametrize("said", HONEST)
def test_an_opinion_or_a_refusal_without_a_lie_passes(embedded: Guard, said: str) -> None:
    report = embedded.check(conversation(user("Tell me about the whale hall."), assistant(said, FACTS[0].plain)))
    assert report.decision.action is Action.ALLOW, report.outcomes


def test_a_header_that_answers_is_not_shown_before_its_first_row(embedded: Guard) -> None:
    reports = list[TurnReport]()

    def agent(_: Conversation) -> Iterator[str]:
        yield from "| 1850 |\n|---|\n| Have a nice day. |\n"

    documents = [Document(id="d", text=FACTS[0].plain)]
    wrapped: Any = embedded.wrap(agent, documents=documents, on_report=reports.append)
    shown = "".join(wrapped(conversation(user("When did the whale hall open?"))))
    assert "1850" not in shown, reports
    assert reports[-1].decision.action in WITHHELD
