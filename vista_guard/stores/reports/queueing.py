"""Selects turns for review when their report is written, in the same transaction."""

from __future__ import annotations

from datetime import UTC
from enum import StrEnum
from hashlib import sha256
from typing import Any

import sqlalchemy as sql

from vista_guard.stores.reports.tables import EVENTS, REVIEWS
from vista_guard.types import Action, TurnReport

LOW_CONFIDENCE = 0.6
"""A turn whose least sure finding is below this waits for a person."""

SAMPLE = 100
"""One in so many turns that were let through waits for a person, whatever was found."""

GUARD = "vista-guard"
"""Who queued a turn that no person did."""


class Reason(StrEnum):
    """Reasons for review, the most urgent first."""

    COMPLAINT = "complaint"
    """Somebody said that the verdict is wrong."""
    BLOCKED = "blocked"
    """It was withheld."""
    DISAGREEMENT = "disagreement"
    """The judges of an ensemble did not all say the same of one of its claims."""
    LOW_CONFIDENCE = "low_confidence"
    """Its least sure finding is below `LOW_CONFIDENCE`."""
    SAMPLE = "sample"
    """One of those that were let through, drawn by chance: what the guard misses is seen nowhere else."""


def reason_of(report: TurnReport) -> Reason | None:
    """Returns the reason to review the turn, or None."""
    if report.decision.action is Action.BLOCK:
        return Reason.BLOCKED
    if _disagreed(report):
        return Reason.DISAGREEMENT
    if any(finding.confidence < LOW_CONFIDENCE for finding in report.findings):
        return Reason.LOW_CONFIDENCE
    if report.decision.action is Action.ALLOW and drawn(report.id):
        return Reason.SAMPLE
    return None


def drawn(report_id: str) -> bool:
    """True for a sampled report. A hash of its id decides, so the sample is the same everywhere."""
    return int.from_bytes(sha256(report_id.encode()).digest()[:8]) % SAMPLE == 0


def queue(connection: sql.Connection, report: TurnReport, number: int) -> None:
    """Queues the report if it has a reason."""
    reason = reason_of(report)
    if reason is not None:
        connection.execute(_QUEUED, review_row(number, report.tenant or "", reason, report.created_at.astimezone(UTC)))
        made = report.created_at.astimezone(UTC)
        connection.execute(_TOLD, {"report": number, "at": made, "who": GUARD, "what": "queued", "text": reason.value})


def review_row(number: int, tenant: str, reason: Reason, at: Any) -> dict[str, Any]:
    """Returns the row of an open review."""
    return {"report": number, "tenant": tenant, "reason": reason.value, "state": "open", "queued_at": at}


def _disagreed(report: TurnReport) -> bool:
    """An ensemble's confidence is the share of its judges that agree (`judges.composed.ensemble`)."""
    of_several = report.judge.name.startswith("ensemble:")
    return of_several and any(finding.confidence < 1 for finding in report.findings)


_QUEUED, _TOLD = sql.insert(REVIEWS), sql.insert(EVENTS)
