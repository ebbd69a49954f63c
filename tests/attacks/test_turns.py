"""A turn that denies a fact, or changes what stands beside its figure, is not verified; the truth passes. Policy strict."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks import denials, operators
from tests.attacks.denials import filled
from tests.attacks.operators import Figure
from tests.attacks.statements import STATEMENTS
from tests.attacks.test_mention import said_of
from vista_guard import Guard
from vista_guard.types import Action, Document, Finding, Label, TurnReport

KNOWN_FRAMES = pytest.mark.parametrize("frames", [denials.DENIALS, denials.ASIDE], ids=["known", "aside"])
KNOWN_FIGURES = pytest.mark.parametrize("figures", [operators.FIGURES, operators.ASIDE], ids=["known", "aside"])
VERIFIED, DELIVERED, WITHHELD = 0.05, 0.02, 0.26
"""Most of the denied facts that may be verified, of the changed figures that may be delivered, of the truths that may not."""


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    with Guard.from_settings(policy="strict", store="memory") as guard:
        yield guard


def any_verified(report: TurnReport) -> bool:
    return any(isinstance(one, Finding) and one.label is Label.VERIFIED for one in report.outcomes)


def is_delivered(report: TurnReport) -> bool:
    return report.decision.action is Action.ALLOW


def test_there_are_enough_of_them() -> None:
    assert len({*denials.DENIALS, *denials.ASIDE}) >= 150
    assert len(denials.ASIDE) * 3 >= len(denials.DENIALS)
    assert sum(len(figure.cases(figure.other)) for figure in (*operators.FIGURES, *operators.ASIDE)) >= 250


@KNOWN_FRAMES
def test_a_denied_fact_is_not_verified(guard: Guard, frames: tuple[str, ...]) -> None:
    turns = filled(frames, true=True)
    passed = [text for text, statement in turns if any_verified(said_of(guard, text, statement.plain))]
    assert len(passed) <= VERIFIED * len(turns), passed


@KNOWN_FRAMES
def test_a_denied_falsehood_is_delivered(guard: Guard, frames: tuple[str, ...]) -> None:
    turns = filled(frames, true=False)
    withheld = [text for text, statement in turns if not is_delivered(said_of(guard, text, statement.plain))]
    assert len(withheld) <= WITHHELD * len(turns), withheld


def test_words_that_deny_something_else_deny_no_fact(guard: Guard) -> None:
    turns = filled(denials.HARMLESS, true=False)
    passed = [text for text, statement in turns if is_delivered(said_of(guard, text, statement.plain))]
    assert len(passed) <= DELIVERED * len(turns), passed


@KNOWN_FIGURES
def test_a_figure_on_other_terms_is_not_delivered(guard: Guard, figures: tuple[Figure, ...]) -> None:
    cases = [case for figure in figures for case in figure.cases(figure.other)]
    passed = [claim for claim, document in cases if is_delivered(said_of(guard, claim, document))]
    assert len(passed) <= DELIVERED * len(cases), passed


@KNOWN_FIGURES
def test_a_figure_in_other_words_is_delivered(guard: Guard, figures: tuple[Figure, ...]) -> None:
    cases = [case for figure in figures for case in figure.cases(figure.same)]
    withheld = [claim for claim, document in cases if not is_delivered(said_of(guard, claim, document))]
    assert len(withheld) <= WITHHELD * len(cases), withheld


@pytest.mark.parametrize("back", ["That is not true.", "Scratch that.", "I made that up."])
def test_a_denial_is_one_claim_over_both_sentences(guard: Guard, back: str) -> None:
    fact = STATEMENTS[0]
    (lie,) = said_of(guard, f"{fact.plain} {back}", fact.plain).findings
    (truth,) = said_of(guard, f"{fact.false} {back}", fact.plain).findings
    assert (lie.label, truth.label) == (Label.CONTRADICTED, Label.VERIFIED)
    assert lie.claim.text == "It is not true that the whale hall opened in 1925."
    assert lie.claim.span is not None
    assert lie.claim.span.end == len(fact.plain) + 1 + len(back)


def test_a_denial_is_remembered_as_one() -> None:
    fact = STATEMENTS[0]
    with Guard.from_settings(policy="monitor", store="memory") as guard:
        talk = guard.session("denials")
        first = talk.assistant(f"{fact.false} That is not true.", [Document(id="d", text=fact.plain)])
        again = talk.assistant(fact.false)
    assert [one.label for one in first.findings] == [Label.VERIFIED]
    assert [one.label for one in again.findings] == [Label.CONTRADICTED]


def test_a_document_denies_in_the_same_words(guard: Guard) -> None:
    fact = STATEMENTS[0]
    (finding,) = said_of(guard, fact.false, f"{fact.false} Scratch that, I made it up.").findings
    assert finding.label is Label.CONTRADICTED
