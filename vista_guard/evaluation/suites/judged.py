"""Turns through the guard, and what came of them: labels and probabilities by claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vista_guard.evaluation.suites.loaders import CONTRADICTED, NOT_ENOUGH, SUPPORTED, Given
from vista_guard.evaluation.suites.product import NOTHING, Measured, Product
from vista_guard.guard import Guard
from vista_guard.types import Claim, Conversation, Finding, Label, Outcome, Role, Turn


@dataclass(frozen=True)
class Judged:
    """One claim: the product's label, None when it could not be judged, and what was measured."""

    label: Label | None
    measured: Measured

    @property
    def supported(self) -> bool:
        return self.label is Label.VERIFIED


Turns = Sequence[Turn]


async def judge_given(product: Product, guard: Guard, row: Given) -> Judged:
    """The row's statement as the one claim of its turn, against the row's documents."""
    claim = Claim(id="given", text=row.text)
    turn = Turn(role=Role.ASSISTANT, text=row.text, documents=row.documents, claims=(claim,))
    return (await judge_last(product, guard, (*row.history, turn)))[0]


async def judge_own(product: Product, guard: Guard, row: Given) -> list[Judged]:
    """The claims that the judge finds in the row's text, against the row's documents."""
    return await judge_last(
        product, guard, (*row.history, Turn(role=Role.ASSISTANT, text=row.text, documents=row.documents))
    )


async def judge_last(product: Product, guard: Guard, turns: Turns) -> list[Judged]:
    """The claims of the last turn; earlier turns establish nothing."""
    product.judge.measured.clear()
    reports = guard.areplay(Conversation(turns=tuple(turns)), turns=(len(turns) - 1,))
    outcomes = [outcome async for report in reports for outcome in report.outcomes]
    return judged(product, outcomes)


async def judge_past(product: Product, guard: Guard, turns: Turns) -> list[Judged]:
    """The claims of the last turn; what earlier turns of the assistant established is known."""
    product.judge.measured.clear()
    report = await guard.acheck(Conversation(turns=tuple(turns)))
    return judged(product, report.outcomes)


def judged(product: Product, outcomes: Sequence[Outcome]) -> list[Judged]:
    """Labels beside what the judge has just measured."""
    known = product.judge.measured
    return [
        Judged(outcome.label if isinstance(outcome, Finding) else None, known.get(outcome.claim.id, NOTHING))
        for outcome in outcomes
    ]


def all_supported(claims: Sequence[Judged]) -> bool:
    """Whether a turn is verified: it claims something, and every claim is VERIFIED (VISTA §6.1)."""
    return bool(claims) and all(claim.supported for claim in claims)


def weakest(claims: Sequence[Judged]) -> float:
    """Least support of a claim; 0 for a turn that claims nothing."""
    return min((claim.measured.supported for claim in claims), default=0.0)


def three_way(claim: Judged, refuted: float) -> str:
    """Supported as the product says; else contradicted from P(contradicted) = `refuted` on."""
    if claim.supported:
        return SUPPORTED
    return CONTRADICTED if claim.measured.contradicted >= refuted else NOT_ENOUGH


def shipped_three_way(claim: Judged) -> str:
    """The product's label, opinions and abstentions counted as not enough."""
    if claim.supported:
        return SUPPORTED
    return CONTRADICTED if claim.label is Label.CONTRADICTED else NOT_ENOUGH
