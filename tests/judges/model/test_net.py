"""Labels of a model that do not count, since their quotes are no evidence for such a claim."""

from __future__ import annotations

import pytest

from vista_guard.judges.model.answers.parsing import ParsedCategory
from vista_guard.judges.model.net import doubts
from vista_guard.types import Claim, EvidenceSet, Label, Passage, Role, SourceKind, Turn


def doubt(label: Label, text: str, quote: str, evidence: EvidenceSet) -> str | None:
    category = ParsedCategory(label, "", quote)
    (why,) = doubts([(Claim(id="t1.c1", text=text), category)], evidence)
    return why


@pytest.mark.parametrize("label", [Label.VERIFIED, Label.CONTRADICTED])
@pytest.mark.parametrize(
    ("text", "opinion", "counts"),
    [
        ("You can bring your dog.", "You should not bring your dog.", False),
        ("The museum has a night tour.", "The assistant would take the night tour.", False),
        ("The assistant loves dogs.", "The assistant loves dogs.", True),
    ],
)
def test_an_opinion_decides_no_fact(label: Label, text: str, opinion: str, counts: bool) -> None:
    known = Passage(source=SourceKind.KNOWLEDGE, source_id="k1", text=opinion, label=Label.OUT_OF_SCOPE)
    why = doubt(label, text, opinion, EvidenceSet(knowledge=(known,)))
    assert why == (None if counts else f"gave {label} for what was only an opinion")


@pytest.mark.parametrize(
    ("text", "said", "counts"),
    [
        ("The user lives in Lyon.", "I live in Lyon.", True),
        ("The user portal is open at night.", "The user portal is open at night.", False),
        ("The user is entitled to a refund.", "The user is entitled to a refund.", False),
    ],
)
def test_a_users_words_verify_only_the_users_own_life(text: str, said: str, counts: bool) -> None:
    why = doubt(Label.VERIFIED, text, said, EvidenceSet(history=(Turn(role=Role.USER, text=said),)))
    assert why == (None if counts else "gave VERIFIED for what was only said before")


@pytest.mark.parametrize(
    ("text", "said", "counts"),
    [
        ("The van seats up to 12 passengers.", "The van seats up to 8 passengers.", False),
        ("Children under 16 travel free.", "Adults pay 14 dollars, children under six travel free.", False),
        ("Children under six travel free.", "Adults pay 14 dollars, children under 6 travel free.", True),
        ("The ride takes under 20 minutes.", "The ride takes 14 minutes.", True),
    ],
)
def test_another_limit_of_a_quote_verifies_nothing(text: str, said: str, counts: bool) -> None:
    passage = Passage(source=SourceKind.DOCUMENT, source_id="d1", text=said)
    why = doubt(Label.VERIFIED, text, said, EvidenceSet(documents=(passage,)))
    assert (why is None) == counts, why
