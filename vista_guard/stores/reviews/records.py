"""Values of reviews and annotations, and the labels that both come to. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from vista_guard.policy.turn_risk import SAFE
from vista_guard.stores.reports.store import Reason
from vista_guard.types import Action, Label, Span

if TYPE_CHECKING:
    from vista_guard.stores.reviews.annotation import Annotations
    from vista_guard.stores.reviews.queue import Reviews

PAGE = 200
"""Reviews that are read at once."""


class ReviewVerdict(StrEnum):
    """A reviewer's verdict on the guard's decision."""

    UPHELD = "upheld"
    """It was right: what was let through is fine, what was flagged, repaired or blocked is not."""
    OVERTURNED = "overturned"
    """It was wrong."""


@dataclass(frozen=True)
class Review:
    """A turn that waits for review, or was reviewed. `report_id` is the report's.

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
    verdict: ReviewVerdict | None = None
    verdict_reason: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None

    def held_by(self, now: datetime) -> str | None:
        """Returns the reviewer who has the turn now, or None."""
        until = self.reserved_until
        return self.assignee if until is not None and until > now else None


@dataclass(frozen=True)
class ReviewEvent:
    """An event of a turn's trail. `what`: queued, complaint, reserved, released, upheld, overturned or comment."""

    at: datetime
    who: str
    what: str
    text: str


class Op(StrEnum):
    """An annotator's change to a claim (VISTA, App. C.2)."""

    CONFIRM = "confirm"
    EDIT = "edit"
    DELETE = "delete"
    ADD = "add"


class Condition(StrEnum):
    """What the annotator saw: the text alone, or the judge's labels too."""

    BLIND = "blind"
    SUGGESTIONS = "suggestions"
    """The judge's labels, since they asked for them."""


class AnnotatedClaim(BaseModel):
    """A claim after an annotator's work on it.

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
        """True unless the claim was deleted."""
        return self.op is not Op.DELETE


class ConsensusClaim(BaseModel):
    """A claim of the consensus. `op`: the judge's claim was confirmed, edited, or missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    label: Label
    op: Op = Op.CONFIRM
    source_claim_id: str | None = None
    span: Span | None = None


class Method(StrEnum):
    """The way that annotators reached consensus."""

    UNANIMOUS = "unanimous"
    MAJORITY = "majority"
    DISCUSSION = "discussion"


@dataclass(frozen=True)
class Annotation:
    """An annotator's work on a turn. Each save increments `version`; `seconds` is the time spent."""

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
        """The claims without deleted ones."""
        return tuple(claim for claim in self.claims if claim.kept)


@dataclass(frozen=True)
class Task:
    """A turn to annotate. `mine` is the viewer's state: `free`, `draft`, `submitted`, or `full`
    when as many as are wanted have begun and they have not. `submitted` counts annotators who are done."""

    id: int
    report_id: str
    batch: str
    wanted: int
    submitted: int
    mine: str
    settled: bool


@dataclass(frozen=True)
class AnnotationBatch:
    """Tasks created together. `complete` counts those that all wanted annotators submitted, `settled` those with consensus."""

    name: str
    tasks: int
    complete: int
    settled: int
    wanted: int


@dataclass(frozen=True)
class CompleteTask:
    """A task that all wanted annotators submitted, so that their work may be compared."""

    id: int
    report_id: str
    batch: str
    annotations: Sequence[Annotation]
    consensus: Consensus | None = None


@dataclass(frozen=True)
class Consensus:
    """The consensus on a task: its claims, the method, and who settled it."""

    task: int
    report_id: str
    claims: tuple[ConsensusClaim, ...]
    method: Method
    by: str
    at: datetime


@dataclass(frozen=True)
class Word:
    """People's word on one turn: whether it is fine, and which of the judge's claims are, by id."""

    report_id: str
    fine: bool
    claims: dict[str, bool]


def words(reviews: Reviews, annotations: Annotations) -> dict[str, Word]:
    """People's word on turns, by the report's id.

    A verdict speaks of the turn: upheld, what was let through is fine, and what was not is not. A consensus speaks of the turn
    and of those of the judge's claims that stood as they were: what VERIFIED, OUT_OF_SCOPE or ABSTENTION is, is fine. Where
    both speak of one turn, the consensus of several outweighs the one reviewer.
    """
    found = {one.report_id: Word(one.report_id, _is_fine(one), {}) for one in _decided(reviews)}
    for batch in annotations.batches():
        settled = (task.consensus for task in annotations.complete(batch.name))
        found |= {one.report_id: _of_consensus(one) for one in settled if one is not None}
    return found


def _decided(reviews: Reviews) -> Iterator[Review]:
    after: str | None = None
    while True:
        page = reviews.queue(open=False, after=after, limit=PAGE)
        yield from page.rows
        after = page.next
        if after is None:
            return


def _is_fine(review: Review) -> bool:
    return (review.verdict is ReviewVerdict.UPHELD) == (review.action == Action.ALLOW.value)


def _of_consensus(consensus: Consensus) -> Word:
    claims: dict[str, bool] = {}
    for one in consensus.claims:
        # Of an edited claim nobody said what the judge's own words are.
        if one.source_claim_id is not None and one.op is Op.CONFIRM:
            claims[one.source_claim_id] = one.label in SAFE and claims.get(one.source_claim_id, True)
    return Word(consensus.report_id, all(one.label in SAFE for one in consensus.claims), claims)
