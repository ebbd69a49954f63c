"""Reviews, settled claims, and people's word on turns: what reviewers decided and annotators agreed on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, TypeAdapter

from vista_guard.policy.turn_risk import SAFE
from vista_guard.stores.reports.store import Reason
from vista_guard.types import Action, Label, Span

if TYPE_CHECKING:
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


class ConsensusClaim(BaseModel):
    """A claim of the consensus. `op`: the judge's claim was confirmed, edited, or missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    label: Label
    op: Op = Op.CONFIRM
    source_claim_id: str | None = None
    span: Span | None = None


SETTLED_CLAIMS = TypeAdapter(tuple[ConsensusClaim, ...])
"""The claims of a consensus as the database has them."""


@dataclass(frozen=True)
class Word:
    """People's word on one turn: whether it is fine, and which of the judge's claims are, by id."""

    report_id: str
    fine: bool
    claims: dict[str, bool]


def words(reviews: Reviews) -> dict[str, Word]:
    """People's word on turns, by the report's id.

    A verdict speaks of the turn: upheld, what was let through is fine, and what was not is not. A consensus speaks of the turn
    and of those of the judge's claims that stood as they were: what VERIFIED, OUT_OF_SCOPE or ABSTENTION is, is fine. Where
    both speak of one turn, the consensus of several outweighs the one reviewer.
    """
    verdicts = {review.report_id: Word(review.report_id, _is_fine(review), {}) for review in _decided_reviews(reviews)}
    return verdicts | {report: _of_consensus(report, claims) for report, claims in reviews.consensus().items()}


def _decided_reviews(reviews: Reviews) -> Iterator[Review]:
    after: str | None = None
    while True:
        page = reviews.queue(open=False, after=after, limit=PAGE)
        yield from page.rows
        after = page.next
        if after is None:
            return


def _is_fine(review: Review) -> bool:
    return (review.verdict is ReviewVerdict.UPHELD) == (review.action == Action.ALLOW.value)


def _of_consensus(report_id: str, consensus: Sequence[ConsensusClaim]) -> Word:
    claims: dict[str, bool] = {}
    for claim in consensus:
        # Of an edited claim nobody said what the judge's own words are.
        if claim.source_claim_id is not None and claim.op is Op.CONFIRM:
            claims[claim.source_claim_id] = claim.label in SAFE and claims.get(claim.source_claim_id, True)
    return Word(report_id, all(claim.label in SAFE for claim in consensus), claims)
