"""What a turn's span tells of its report: attributes, and with the user's consent what was said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from vista_guard.telemetry import names
from vista_guard.telemetry.config import Telemetry
from vista_guard.types import Conversation, Finding, Role, TurnReport

_LABELS = tuple(
    name.name.removeprefix(f"{names.CLAIMS}.") for name in names.ATTRIBUTES if f"{names.CLAIMS}." in name.name
)

Told = dict[str, str | bool | int | float]


def turn_attributes(report: TurnReport, repair: str | None) -> Told:
    """What holds no text: numbers, names and closed sets of words."""
    counts = Counter(one.label.value.lower() if isinstance(one, Finding) else "unchecked" for one in report.outcomes)
    told: dict[str, str | bool | int | float | None] = {
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
    return {name: value for name, value in told.items() if value is not None}


def content_attributes(telemetry: Telemetry, report: TurnReport, conversation: Conversation) -> tuple[Told, Told]:
    """What was said before the turn, and what was delivered, each redacted; first the messages, then what a root span shows too.

    The draft is in neither: where it was not delivered, nobody is to read it.
    """
    said = [(turn.role, telemetry.redacted(turn.text)) for turn in conversation.turns[:-1]]
    answer = telemetry.redacted(report.response)
    asked = next((text for role, text in reversed(said) if role is Role.USER), None)
    messages = {
        names.INPUT_MESSAGES: _messages((role.value, text) for role, text in said),
        names.OUTPUT_MESSAGES: _messages([("assistant", answer)]),
    }
    root = {names.INPUT: asked, names.OUTPUT: answer}
    return dict(messages), {name: text for name, text in root.items() if text is not None}


def _messages(said: Iterable[tuple[str, str | None]]) -> str:
    """In the form of OpenTelemetry's conventions."""
    parts = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said if text is not None]
    return json.dumps(parts, ensure_ascii=False)
