"""What reviews and annotations are. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from vista_guard.types import Label, Span

Reason = Literal["blocked", "low_confidence", "disagreement", "complaint", "sample"]
"""Why a turn is in the queue."""

Verdict = Literal["upheld", "overturned"]
"""What a reviewer says of the decision."""

Operation = Literal["confirm", "edit", "delete", "add"]
"""What an annotator did with a claim of the judge, or that it is one of their own."""

Condition = Literal["blind", "suggestions"]
"""Whether the annotator saw the judge's claims without its labels, or asked to be shown those."""


@dataclass(frozen=True)
class Review:
    """One turn in the queue. `claim_id` is None for the whole turn; `due_at` is when it should be decided.

    `assignee` has it reserved until `reserved_until`. `verdict` is None until somebody decided.
    """

    id: int
    report_id: str
    tenant: str | None
    reason: Reason
    note: str
    claim_id: str | None
    asked_by: str | None
    created_at: datetime
    due_at: datetime
    assignee: str | None
    reserved_until: datetime | None
    verdict: Verdict | None
    verdict_reason: str | None
    decided_by: str | None
    decided_at: datetime | None

    def is_reserved(self, now: datetime, *, by_other_than: str | None = None) -> bool:
        """Whether somebody (else) has it at that time."""
        taken = self.assignee is not None and self.reserved_until is not None and self.reserved_until > now
        return taken and self.assignee != by_other_than


class AnnotatedClaim(BaseModel):
    """One claim of an annotation, in order. `source_claim_id` is the judge's claim that it came from, None for an added one.

    `span` is its place in the judged draft. A deleted claim has no label; any other needs one before it is submitted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    op: Operation
    text: str
    label: Label | None = None
    span: Span | None = None
    source_claim_id: str | None = None
    note: str = ""


@dataclass(frozen=True)
class AnnotationTask:
    """One turn that `wanted` people annotate, each by themselves. `batch` is the name of the round."""

    id: int
    report_id: str
    tenant: str | None
    batch: str
    wanted: int
    created_at: datetime


@dataclass(frozen=True)
class Annotation:
    """One person's work on a task. `version` counts what was saved; `seconds` is the time they spent, as the page measured it."""

    id: int
    task_id: int
    annotator: str
    version: int
    state: Literal["draft", "submitted"]
    condition: Condition
    seconds: float
    notes: str
    updated_at: datetime
    claims: tuple[AnnotatedClaim, ...]


@dataclass(frozen=True)
class Batch:
    """How far a round is. `wanted` counts annotations, `agreed` tasks with a consensus."""

    name: str
    tasks: int
    wanted: int
    submitted: int
    agreed: int
