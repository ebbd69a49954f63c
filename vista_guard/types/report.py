"""The report on a guarded turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal
from uuid import uuid4

from pydantic import Field, model_validator

from vista_guard.types.conversation import (
    Action,
    Claim,
    Decision,
    Document,
    Finding,
    Noun,
    Outcome,
    Passage,
    Probability,
    RepairMode,
    Span,
    Unchecked,
)

SCHEMA_VERSION = "1.4"
"""Version of the report's JSON form: the major part changes when a reader of an older one would break."""

Record = Literal["verdicts", "delivered", "full"]
"""What a sink keeps of a turn's texts beside its report: nothing; what was said and shown; the draft too, withheld or not."""


class Attempt(Noun):
    """A draft that was not delivered as it was: what was found in it, and what was done. Its text is not kept."""

    outcomes: tuple[Outcome, ...]
    decision: Decision
    repair: RepairMode | None = None


class JudgeInfo(Noun):
    """Who judged: enough to reproduce the judgement."""

    name: str
    version: str


class Timings(Noun):
    """Milliseconds spent in each stage, summed over attempts."""

    agent: float = 0.0
    gather: float = 0.0
    decompose: float = 0.0
    verify: float = 0.0
    categorize: float = 0.0
    decide: float = 0.0
    repair: float = 0.0
    remember: float = 0.0
    total: float = 0.0


class Usage(Noun):
    """Calls, tokens and cost of the judge. Zero for a local judge.

    `cached_tokens` are those of `input_tokens` that the endpoint read from its own prompt cache. `cost` is an estimate in US
    dollars of the calls whose price is known; `unpriced_calls` counts the others.
    """

    calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0)
    unpriced_calls: int = Field(default=0, ge=0)

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class DraftSpan(Noun):
    """A piece of the judged draft that was delivered word for word: its place in the draft and in the response."""

    draft: Span
    response: Span


class TurnTexts(Noun):
    """The texts around one turn, for sinks that were told to keep them. None of them is in the report.

    `user_text` is what the user said last before the turn. `draft` is the text that was judged, to which the spans of claims
    refer: None where it was delivered as it was, and where only delivered texts are kept. `documents` are those that the turn
    was grounded in, `evidence` the passages of document store, knowledge and persona that the judge could see; of passages that
    were found for single claims (`retrieve_by` is `claim` or `both`) those that findings quote.
    """

    user_text: str | None = None
    draft: str | None = None
    documents: tuple[Document, ...] = ()
    evidence: tuple[Passage, ...] = ()


class TurnReport(Noun):
    """Everything about one guarded turn.

    `response` is what was delivered: the turn as it was, repaired, or the policy's message. `outcomes` are those of the
    draft that was judged last, `score` is their VISTA score in [0, 1], or None when nothing was judged. `risk` is the probability
    that this draft says something its evidence does not carry, None when nothing was judged; `risk_calibrated` says whether it
    was fitted for the judge, or takes confidences at their word. `attempts` are the drafts before it. `remembered` are the
    claims that entered the knowledge. `warnings` name what went wrong without changing the verdict, such as a report store that
    could not be written.

    `id` names the report (32 hex digits); one that was written before there were ids gets one from its content. `trace_id` and
    `span_id` are those of the turn's span in OpenTelemetry, as hex, where it was traced. `gate` says how much of the turn waited
    for its judgement. `tenant` is whose turn it was behind the proxy. `rules` is a fingerprint of the policy's rules, `turn_key`
    the one by which knowledge knows the delivered turn. Spans of claims are places in the judged draft; `draft_spans` say where
    its pieces stand in `response` (see `delivered_spans`).
    """

    schema_version: str = SCHEMA_VERSION
    id: str = Field(default_factory=lambda: uuid4().hex, min_length=1, max_length=64)
    conversation_id: str | None
    turn_index: int
    response: str
    outcomes: tuple[Outcome, ...]
    decision: Decision
    score: Probability | None
    risk: Probability | None = None
    risk_calibrated: bool = False
    evidence_missing: bool
    attempts: tuple[Attempt, ...] = ()
    remembered: tuple[Claim, ...] = ()
    judge: JudgeInfo
    policy: str
    rules: str | None = None
    gate: Literal["none", "sentence", "turn"] | None = None
    tenant: str | None = None
    turn_key: str | None = None
    draft_spans: tuple[DraftSpan, ...] = ()
    trace_id: str | None = None
    span_id: str | None = None
    timings: Timings
    usage: Usage = Usage()
    warnings: tuple[str, ...] = ()
    created_at: datetime = Field(default_factory=lambda: datetime.now(UTC))

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        # A report that was written before reports had ids has the same one whenever it is read.
        if isinstance(data, Mapping) and "schema_version" in data and "id" not in data:
            whole = json.dumps(dict(data), sort_keys=True, default=str)
            return {**data, "id": sha256(whole.encode()).hexdigest()[:32]}
        return data

    def delivered_spans(self, span: Span) -> tuple[Span, ...]:
        """Where a place in the judged draft stands in `response`: no span where it was not delivered, several where it was cut.

        `report.delivered_spans(finding.claim.span)` draws a claim in what the user read. Reports from before there were
        `draft_spans` are taken at their word: what was let through or flagged is the draft.
        """
        if not self.draft_spans and self.gate is None and self.decision.action in (Action.ALLOW, Action.FLAG):
            return (span,) if span.end <= len(self.response) else ()
        spans = []
        for piece in self.draft_spans:
            start, end = max(span.start, piece.draft.start), min(span.end, piece.draft.end)
            if start < end:
                shift = piece.response.start - piece.draft.start
                spans.append(Span(start=start + shift, end=end + shift))
        return tuple(spans)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The outcomes that carry a label."""
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Finding))

    @property
    def unchecked(self) -> tuple[Unchecked, ...]:
        """The outcomes that could not be judged."""
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Unchecked))

    @property
    def blocked(self) -> bool:
        """True if the turn was withheld."""
        return self.decision.action is Action.BLOCK
