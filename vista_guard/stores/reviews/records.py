"""The nouns of review and annotation. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from vista_guard.stores.reports.queueing import Reason
from vista_guard.types import Label, Span


class Verdict(StrEnum):
    """What a reviewer says of what the guard did with a turn."""

    UPHELD = "upheld"
    """It was right: what was let through is fine, what was flagged, repaired or blocked is not."""
    OVERTURNED = "overturned"
    """It was wrong."""


@dataclass(frozen=True)
class Review:
    """One turn in the queue, or out of it. `report_id` is the report's.

    `assignee` holds it until `reserved_until`; after that anybody may take it. `verdict`, `verdict_reason`, `decided_by` and
    `decided_at` are None until somebody decided.
    """

    report_id: str
    number: int
    tenant: str | None
    conversation_id: str | None
    turn_index: int
    action: str
    reason: Reason
    open: bool
    queued_at: datetime
    assignee: str | None = None
    reserved_until: datetime | None = None
    verdict: Verdict | None = None
    verdict_reason: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None

    def held_by(self, now: datetime) -> str | None:
        """Who has it now; None when nobody has, or when their time is over."""
        until = self.reserved_until
        return self.assignee if until is not None and until > now else None


@dataclass(frozen=True)
class ReviewEvent:
    """One line of a turn's trail. `what`: queued, complaint, reserved, released, upheld, overturned or comment."""

    at: datetime
    who: str
    what: str
    text: str


class Op(StrEnum):
    """What an annotator did with a claim (VISTA, App. C.2)."""

    CONFIRM = "confirm"
    EDIT = "edit"
    DELETE = "delete"
    ADD = "add"


class Condition(StrEnum):
    """What an annotator saw of the judge while they worked."""

    BLIND = "blind"
    SUGGESTIONS = "suggestions"
    """The judge's labels, since they asked for them."""


class AnnotatedClaim(BaseModel):
    """One claim as an annotator left it.

    `source_claim_id` is the judge's claim it came from, None for an added one. `span` is its place in the judged draft, where it
    has one. `label` is None until it was chosen, and always None for a deleted claim.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(max_length=10_000)
    op: Op = Op.CONFIRM
    label: Label | None = None
    source_claim_id: str | None = None
    span: Span | None = None

    @property
    def kept(self) -> bool:
        """Whether it belongs to the annotator's set of claims."""
        return self.op is not Op.DELETE


class ConsensusClaim(BaseModel):
    """One claim of the consensus. `op` says whether the judge's claim stood as it was, was edited, or was missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    label: Label
    op: Op = Op.CONFIRM
    source_claim_id: str | None = None
    span: Span | None = None


class Method(StrEnum):
    """How annotators came to one answer."""

    UNANIMOUS = "unanimous"
    MAJORITY = "majority"
    DISCUSSION = "discussion"


@dataclass(frozen=True)
class Annotation:
    """One annotator's work on one turn. `version` grows by one with each save; `seconds` is the time spent on it."""

    id: int
    task: int
    annotator: str
    version: int
    submitted: bool
    condition: Condition
    seconds: float
    notes: str
    claims: tuple[AnnotatedClaim, ...]
    saved_at: datetime

    @property
    def kept(self) -> tuple[AnnotatedClaim, ...]:
        """The annotator's set of claims."""
        return tuple(claim for claim in self.claims if claim.kept)


@dataclass(frozen=True)
class Task:
    """One turn that annotators are to label. `mine` is the state of the one who asked: `free`, `draft`, `submitted`, or `full`
    when as many as are wanted have begun and they have not. `submitted` counts annotators who are done."""

    id: int
    report_id: str
    batch: str
    wanted: int
    submitted: int
    mine: str
    settled: bool


@dataclass(frozen=True)
class Batch:
    """Tasks made together. `complete` are those with as many submitted annotations as wanted, `settled` those with consensus."""

    name: str
    tasks: int
    complete: int
    settled: int
    wanted: int


@dataclass(frozen=True)
class CompleteTask:
    """A task that all wanted annotators submitted: from then on their work may be compared."""

    id: int
    report_id: str
    batch: str
    annotations: Sequence[Annotation]
    consensus: Consensus | None = None


@dataclass(frozen=True)
class Consensus:
    """What a task's annotators agreed on, how, and who settled it."""

    task: int
    report_id: str
    claims: tuple[ConsensusClaim, ...]
    method: Method
    by: str
    at: datetime
