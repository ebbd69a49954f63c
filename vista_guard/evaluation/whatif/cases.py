"""A stored report as the turn that a policy decides on: the first draft's outcomes, and how much of the draft they cover."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from vista_guard.policy.label_policy import SEVERITY
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import Action, Claim, Finding, JudgeInfo, Outcome, SourceKind, TurnReport, Unchecked

GATES_SINCE: Final = (1, 2)
"""The report's schema from which on it says whether the turn was streamed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One turn as a policy meets it.

    `outcomes` are those of the first draft: later ones were written because of what a policy did with it. `risk` is that draft's
    calibrated risk in [0, 1], None where the judge has none. `done` is what was done with it then, `delivered` what became of
    the turn in the end.
    """

    report_id: str
    conversation_id: str | None
    turn_index: int
    created_at: datetime
    judge: JudgeInfo
    policy: str
    rules: str | None
    outcomes: tuple[Outcome, ...]
    evidence_missing: bool
    risk: float | None
    done: Action
    delivered: Action
    rewritten: bool
    """Another draft took this one's place."""
    cut_short: bool
    """The turn was streamed and ended at its first withheld sentence: what would have come behind it was never judged."""
    gate_known: bool
    """Whether the report says how the turn was streamed; those of older versions don't, and may have been cut short as well."""
    turn_key: str | None
    leans_on: frozenset[str]
    """`turn_key`s of the turns whose knowledge is evidence in this one."""


def case_of(report: TurnReport, risk: TurnRisk | None = None) -> Case:
    """The report as a case, with all of its texts.

    Args:
        report: as it is stored.
        risk: the fit of the report's judge. Without it the report's own risk is taken, where it is calibrated and the draft's.
    """
    outcomes = report.attempts[0].outcomes if report.attempts else report.outcomes
    done = report.attempts[0].decision.action if report.attempts else report.decision.action
    return Case(
        report_id=report.id,
        conversation_id=report.conversation_id,
        turn_index=report.turn_index,
        created_at=report.created_at,
        judge=report.judge,
        policy=report.policy,
        rules=report.rules,
        outcomes=outcomes,
        evidence_missing=report.evidence_missing,
        risk=_risk(report, outcomes, risk),
        done=done,
        delivered=report.decision.action,
        rewritten=bool(report.attempts),
        # A sentence that was left out ended nothing: the rest was judged.
        cut_short=report.gate == "sentence" and (bool(report.attempts) or report.blocked),
        gate_known=_version(report.schema_version) >= GATES_SINCE,
        turn_key=report.turn_key,
        leans_on=_leans_on(outcomes),
    )


def without_texts(case: Case) -> Case:
    """The case with all that a policy decides by and none of what was said: for keeping ten thousand of them."""
    return replace(case, outcomes=tuple(map(_bare, case.outcomes)))


def withholds(action: Action) -> bool:
    """Whether a turn does not reach the user as it was drafted."""
    return SEVERITY[action] >= SEVERITY[Action.REPAIR]


def _risk(report: TurnReport, outcomes: tuple[Outcome, ...], risk: TurnRisk | None) -> float | None:
    if risk is not None:
        return risk(outcomes, evidence_missing=report.evidence_missing)
    return report.risk if report.risk_calibrated and not report.attempts else None


def _version(written: str) -> tuple[int, ...]:
    return tuple(int(part) for part in written.split(".") if part.isdecimal())


def _leans_on(outcomes: Iterable[Outcome]) -> frozenset[str]:
    """Knowledge is quoted with the id `turn_key:claim id`."""
    quoted = (piece for one in outcomes if isinstance(one, Finding) for piece in one.evidence)
    return frozenset(piece.source_id.partition(":")[0] for piece in quoted if piece.source is SourceKind.KNOWLEDGE)


def _bare(outcome: Outcome) -> Outcome:
    claim = Claim(id=outcome.claim.id, text="")
    if isinstance(outcome, Finding):
        return Finding(claim=claim, label=outcome.label, confidence=outcome.confidence, reason="")
    return Unchecked(claim=claim, error="", what=outcome.what)
