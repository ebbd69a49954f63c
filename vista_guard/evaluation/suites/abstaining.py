"""Whether a whole response abstains: the rule that turns labels of claims into one answer (VISTA section 7.1, App. G)."""

from __future__ import annotations

from collections.abc import Sequence

from vista_guard.protocols import Judge
from vista_guard.types import Check, Claim, EvidenceSet, Finding, Label, Role, Turn

LEADING = 3
"""Claims that are looked at. Who declines says so at once; the thirtieth line of a how-to that reads like a refusal
("You can't log in?") is none, and VISTA's own false positives are of this kind (App. G.2)."""


def abstaining(labels: Sequence[Label | None], response: str) -> bool:
    """Whether a response abstains, given its claims' labels in order; None is a claim that was not judged.

    A response abstains when one of its first claims does: a partial abstention counts. One that claims nothing and ends
    with a question asks back, and counts too.
    """
    if not labels:
        return response.rstrip().endswith("?")
    return Label.ABSTENTION in labels[:LEADING]


async def abstains(judge: Judge, request: str, response: str) -> bool:
    """The rule at work: the judge's own claims, held against nothing, as in VISTA section 7.1 (no document, no history)."""
    asked, answer = Turn(role=Role.USER, text=request), Turn(role=Role.ASSISTANT, text=response)
    claims: Sequence[Claim] = (await judge.decompose(answer, (asked,)))[:LEADING]
    checks = [Check(claim=claim, supported=False, confidence=1.0) for claim in claims]
    findings = await judge.categorize(checks, EvidenceSet()) if checks else ()
    return abstaining([found.label if isinstance(found, Finding) else None for found in findings], response)
