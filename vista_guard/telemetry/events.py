"""Evaluations as events: one for the turn, one for each claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.trace import Span, set_span_in_context

from vista_guard.telemetry import names
from vista_guard.telemetry.config import Telemetry
from vista_guard.telemetry.told import Told
from vista_guard.types import Action, Finding, Outcome, TurnReport


def tell_evaluations(telemetry: Telemetry, span: Span, report: TurnReport, common: Mapping[str, str]) -> None:
    """Sends the turn's evaluations as log records, as events of its span, or both, as the telemetry says."""
    if telemetry.events in ("logs", "both"):
        context = set_span_in_context(span)
        for told in evaluations(telemetry, report, common, content=telemetry.content_in_events):
            telemetry.event_logger.emit(
                LogRecord(
                    event_name=names.EVALUATION,
                    attributes=told,
                    context=context,
                    severity_number=SeverityNumber.INFO,
                )
            )
    if telemetry.events in ("span", "both"):
        for told in evaluations(telemetry, report, common, content=telemetry.content_in_spans):
            span.add_event(names.EVALUATION, told)


def evaluations(
    telemetry: Telemetry, report: TurnReport, common: Mapping[str, str], *, content: bool
) -> Iterator[Told]:
    """The attributes of each evaluation.

    Args:
        telemetry: redacts what is told.
        report: of the turn.
        common: the conversation's id.
        content: whether reasons may be told. Those of a turn that was not delivered as it was say what it said, and never are.
    """
    shared: Told = {**common, names.REPORT_ID: report.id}
    explained = content and report.decision.action in (Action.ALLOW, Action.FLAG) and not report.attempts
    reason = telemetry.redacted(report.decision.reason) if explained else None
    yield {
        names.EVALUATION_NAME: names.TURN_SCORE,
        names.EVALUATION_LABEL: report.decision.action.value,
        **shared,
        **({} if report.score is None else {names.EVALUATION_SCORE: report.score}),
        **_explanation(reason),
    }
    for outcome in report.outcomes:
        reason = telemetry.redacted(outcome.reason) if explained and isinstance(outcome, Finding) else None
        yield {**_claim(outcome), **shared, **_explanation(reason)}


def _claim(outcome: Outcome) -> Told:
    told: Told = {names.EVALUATION_NAME: names.CLAIM_SCORE, names.CLAIM_ID: outcome.claim.id}
    if outcome.claim.span is not None:
        told |= {names.CLAIM_START: outcome.claim.span.start, names.CLAIM_END: outcome.claim.span.end}
    if isinstance(outcome, Finding):
        return {**told, names.EVALUATION_LABEL: outcome.label.value, names.EVALUATION_SCORE: outcome.confidence}
    return {**told, names.EVALUATION_LABEL: "UNCHECKED"}


def _explanation(reason: str | None) -> Told:
    return {} if reason is None else {names.EXPLANATION: reason}
