"""Converts a report to rows of the tables. Pure."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_core import PydanticSerializationError

from vista_guard.reading.visible import storable
from vista_guard.stores.entries import digest
from vista_guard.stores.reports.rollups import judge_name
from vista_guard.stores.reports.tables import LABELS
from vista_guard.telemetry.instruments import error_types
from vista_guard.types import (
    UNCHECKED,
    Action,
    FailedPart,
    Finding,
    PartFailure,
    TurnReport,
    TurnTexts,
    failed_stores,
    label_of,
)

QUESTION_CHARS = 1000
"""Characters of a question that lists and searches have."""

_WITHOUT_NUL = str.maketrans({"\x00": "�"})


def report_row(report: TurnReport) -> dict[str, Any]:
    """Returns the row of `REPORTS`, without its number."""
    return {
        **_place(report),
        "action": report.decision.action.value,
        "score": report.score,
        "schema_version": report.schema_version,
        "report": _json(report),
    }


def turn_row(report: TurnReport, number: int, texts: TurnTexts | None = None) -> dict[str, Any]:
    """Returns the row of `TURNS`."""
    confidences = [finding.confidence for finding in report.findings]
    counts = Counter(label_of(outcome) for outcome in report.outcomes)
    return {
        **_place(report),
        "id": number,
        "report_id": report.id,
        "tenant": report.tenant or "",
        "judge": judge_name(report),
        "policy": report.policy,
        "rules": report.rules or "",
        "gate": report.gate or "",
        "trace_id": report.trace_id,
        "span_id": report.span_id,
        "turn_key": report.turn_key,
        "action": report.decision.action.value,
        "first_action": first_action(report).value,
        "score": report.score,
        "risk": report.risk,
        "lowest_confidence": min(confidences, default=None),
        "duration_ms": report.timings.total,
        "evidence_missing": report.evidence_missing,
        "cost": report.usage.cost,
        **{label.lower(): counts[label] for label in LABELS},
        "question": None if texts is None else question(texts.user_text),
    }


def question(text: str | None) -> str | None:
    """Returns the beginning of a user's message on one line, as lists show it and a search reads it."""
    return None if text is None else plain(" ".join(text[: 2 * QUESTION_CHARS].split())[:QUESTION_CHARS])


def finding_rows(report: TurnReport, number: int) -> list[dict[str, Any]]:
    """Returns a row of `FINDINGS` for each outcome, in order."""
    rows = []
    for n, outcome in enumerate(report.outcomes):
        claim, finding = outcome.claim, outcome if isinstance(outcome, Finding) else None
        evidence = finding.evidence[0] if finding and finding.evidence else None
        rows.append(
            {
                "report": number,
                "n": n,
                "claim_id": plain(claim.id),
                "claim_key": digest(claim.text),
                "label": label_of(outcome),
                "confidence": finding.confidence if finding else None,
                "span_start": claim.span.start if claim.span else None,
                "span_end": claim.span.end if claim.span else None,
                "source": evidence.source.value if evidence else None,
                "source_id": plain(evidence.source_id) if evidence else None,
                "created_at": report.created_at.astimezone(UTC),
                "claim": plain(claim.text),
            }
        )
    return rows


def conversation_row(report: TurnReport) -> dict[str, Any]:
    """Returns the row of `CONVERSATIONS` that the report adds."""
    action, labels = report.decision.action, Counter(map(label_of, report.outcomes))
    place = _place(report)
    return {
        **{name: place[name] for name in ("conversation_key", "conversation_id")},
        "tenant": report.tenant or "",
        "first_at": place["created_at"],
        "last_at": place["created_at"],
        "turns": 1,
        "flagged": int(action is Action.FLAG),
        "repaired": int(action is Action.REPAIR),
        "blocked": int(action is Action.BLOCK),
        "contradicted": labels["CONTRADICTED"],
        "unchecked": labels[UNCHECKED],
    }


NOT_ERRORS = frozenset({"code", "encoded"})
"""Classes of unjudged claims that are no failure: the guard did not expect to judge them."""


def failures_of(report: TurnReport) -> list[PartFailure]:
    """Returns what failed in judge and stores, once for each kind."""
    failed = failed_stores(report.warnings)
    kinds: list[tuple[FailedPart, str]] = [("store", kind) for kind in failed]
    if "read" not in failed:  # else the claims are unjudged for want of evidence
        kinds += [("judge", kind) for kind in sorted(error_types(report) - NOT_ERRORS)]
    owner: dict[str, Any] = {"tenant": report.tenant, "conversation_id": report.conversation_id}
    return [PartFailure(part=part, kind=kind, at=report.created_at, **owner) for part, kind in kinds]


def failure_row(failure: PartFailure, number: int | None = None) -> dict[str, Any]:
    """Returns the row of `FAILURES`; `number` is its report's."""
    name = failure.conversation_id
    return {
        "at": failure.at.astimezone(UTC),
        "part": failure.part,
        "kind": failure.kind,
        "tenant": failure.tenant or "",
        "conversation_key": None if name is None else digest(name),
        "conversation_id": None if name is None else storable(name),
        "report": number,
    }


def text_row(report: TurnReport, texts: TurnTexts, number: int, days: float | None) -> dict[str, Any]:
    """Returns the row of `TEXTS`."""
    created_at = report.created_at.astimezone(UTC)
    return {
        "report": number,
        "texts": _json(texts),
        "expires_at": None if days is None else expiry(created_at, days),
    }


def expiry(made: datetime, days: float) -> datetime:
    """Returns the time of expiry; the end of the calendar where that overflows."""
    try:
        return made + timedelta(days=days)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def first_action(report: TurnReport) -> Action:
    """Returns the decision about the first draft."""
    return report.attempts[0].decision.action if report.attempts else report.decision.action


def plain(text: str) -> str:
    """Removes characters that a database refuses; the report's JSON keeps them."""
    return storable(text).translate(_WITHOUT_NUL)


def _place(report: TurnReport) -> dict[str, Any]:
    name = report.conversation_id
    return {
        "conversation_key": None if name is None else digest(name),
        "conversation_id": None if name is None else storable(name),
        "turn_index": report.turn_index,
        "created_at": report.created_at.astimezone(UTC),
    }


def _json(model: TurnReport | TurnTexts) -> str:
    try:
        return model.model_dump_json()
    except PydanticSerializationError:  # a lone surrogate in a text; only escaped does it come back as it was
        return json.dumps(model.model_dump(mode="json"))
