"""Lies that no rule is needed for: the verifier itself sees that the evidence says otherwise."""

from __future__ import annotations

import asyncio

import pytest

from tests.attacks.conftest import embedded
from vista_guard import Guard
from vista_guard.types import Claim, Conversation, Document, Finding, Label, Role, Turn

__all__ = ["embedded"]  # a fixture


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The hall is open on Mondays.", "The hall is closed on Mondays."),
        ("The hall is closed on Mondays.", "The hall is open on Mondays."),
        ("The hall is open on Mondays.", "Closed on Mondays and open Tuesday to Sunday."),
        ("The hall is open on Mondays.", "Open daily except on Mondays."),
        ("The hall is open on Mondays.", "The hall is open daily. It is closed on Mondays."),
        ("The hall is open on Mondays.", "On Mondays the hall is closed, on other days it is open."),
        ("It is open on Tuesdays.", "Mon 10-5, Tue closed, Sat 10–2"),
        ("Dogs are allowed in the garden.", "Dogs are not allowed in the garden."),
        ("Dogs are not allowed in the garden.", "Dogs are allowed in the garden."),
        ("The ticket is valid on trams.", "The ticket is not valid on trams."),
        ("The water is not safe to drink.", "The water is safe to drink."),
        ("The plan was approved by the council.", "The plan was not approved by the council."),
    ],
)
def test_what_the_evidence_denies_is_not_verified(embedded: Guard, claim: str, evidence: str) -> None:
    given = (Claim(id="c1", text=claim),)
    turn = Turn(role=Role.ASSISTANT, text=claim, documents=(Document(id="d", text=evidence),), claims=given)
    (outcome,) = asyncio.run(embedded.acheck(Conversation(turns=(turn,)))).outcomes
    assert isinstance(outcome, Finding)
    assert outcome.label in (Label.CONTRADICTED, Label.LACKING_EVIDENCE)
