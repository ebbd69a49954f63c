"""Every check of the paper, in the order of its tables."""

from __future__ import annotations

from vista_guard.evaluation.paper.checks import accuracy, claims, people
from vista_guard.evaluation.paper.checks.check import Verdict, verdict

CHECKS = (
    people.label_counts,
    accuracy.whole_counts,
    accuracy.superscripts,
    claims.claim_figures,
    accuracy.ablations,
    claims.contradictions,
    people.claim_sets,
    people.turn_labels,
    accuracy.significance,
    claims.margins,
    claims.abstentions,
)


def check_all() -> Verdict:
    """Recomputes what can be had of the paper without a model. Takes well under a second."""
    return verdict(check for checks in CHECKS for check in checks())
