"""Evaluations as events, one for the turn and one for each claim, and a report as attributes of its turn's span."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.trace import Span, set_span_in_context

from vista_guard.telemetry import attributes as names
from vista_guard.telemetry.config import Telemetry
from vista_guard.types import UNCHECKED, Action, Conversation, Finding, Outcome, Role, TurnReport

_LABELS = tuple(
    name.name.removeprefix(f"{names.CLAIMS}.") for name in names.ATTRIBUTES if f"{names.CLAIMS}." in name.name
)

Told = dict[str, str | bool | int | float]


def turn_attributes(report: TurnReport, repair: str | None) -> Told:
    """Returns the attributes without text: numbers, names and closed sets of words."""
    counts = Counter(one.label.value.lower() if isinstance(one, Finding) else "unchecked" for one in report.outcomes)
    values: dict[str, str | bool | int | float | None] = {
        names.ACTION: report.decision.action.value,
        names.SCORE: report.score,
        names.RISK: report.risk,
        names.POLICY: report.policy,
        names.POLICY_RULES: report.rules,
        names.JUDGE_NAME: report.judge.name,
        names.JUDGE_VERSION: report.judge.version,
        names.EVIDENCE_MISSING: report.evidence_missing,
        names.ATTEMPTS: len(report.attempts),
        names.REPAIR: repair,
        names.REPORT_ID: report.id,
        names.USAGE_INPUT: report.usage.input_tokens,
        names.USAGE_OUTPUT: report.usage.output_tokens,
        names.USAGE_COST: report.usage.cost,
        **{f"{names.CLAIMS}.{label}": counts[label] for label in _LABELS},
    }
    return {name: value for name, value in values.items() if value is not None}


def content_attributes(telemetry: Telemetry, report: TurnReport, conversation: Conversation) -> tuple[Told, Told]:
    """Returns the redacted messages before the turn and the delivered text, and on a root span the plain input and output too.

    The draft is in neither: where it was not delivered, nobody is to read it.
    """
    texts = [(turn.role, telemetry.redacted(turn.text)) for turn in conversation.turns[:-1]]
    answer = telemetry.redacted(report.response)
    asked = next((text for role, text in reversed(texts) if role is Role.USER), None)
    messages = {
        names.INPUT_MESSAGES: _messages((role.value, text) for role, text in texts),
        names.OUTPUT_MESSAGES: _messages([("assistant", answer)]),
    }
    root = {names.INPUT: asked, names.OUTPUT: answer}
    return dict(messages), {name: text for name, text in root.items() if text is not None}


def _messages(texts: Iterable[tuple[str, str | None]]) -> str:
    """Formats messages by OpenTelemetry's conventions."""
    parts = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in texts if text is not None]
    return json.dumps(parts, ensure_ascii=False)


def tell_evaluations(telemetry: Telemetry, span: Span, report: TurnReport, common: Mapping[str, str]) -> None:
    """Sends the turn's evaluations as log records, as events of its span, or both."""
    if telemetry.events in ("logs", "both"):
        context = set_span_in_context(span)
        for values in evaluations(telemetry, report, common, content=telemetry.content_in_events):
            telemetry.event_logger.emit(
                LogRecord(
                    event_name=names.EVALUATION,
                    attributes=values,
                    context=context,
                    severity_number=SeverityNumber.INFO,
                )
            )
    if telemetry.events in ("span", "both"):
        for values in evaluations(telemetry, report, common, content=telemetry.content_in_spans):
            span.add_event(names.EVALUATION, values)


def evaluations(
    telemetry: Telemetry, report: TurnReport, common: Mapping[str, str], *, content: bool
) -> Iterator[Told]:
    """Yields the attributes of each evaluation.

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
    values: Told = {names.EVALUATION_NAME: names.CLAIM_SCORE, names.CLAIM_ID: outcome.claim.id}
    if outcome.claim.span is not None:
        values |= {names.CLAIM_START: outcome.claim.span.start, names.CLAIM_END: outcome.claim.span.end}
    if isinstance(outcome, Finding):
        return {**values, names.EVALUATION_LABEL: outcome.label.value, names.EVALUATION_SCORE: outcome.confidence}
    return {**values, names.EVALUATION_LABEL: UNCHECKED}


def _explanation(reason: str | None) -> Told:
    return {} if reason is None else {names.EXPLANATION: reason}
