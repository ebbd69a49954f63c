"""A turn as pages show it, and what of it is left out for those who may not read withheld drafts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from vista_guard.types import Attempt, Claim, Finding, Outcome, Span, TurnReport, TurnTexts

HIDDEN: Final = "(withheld: this was not delivered, and your role does not include drafts)"

AnyOutcome = TypeVar("AnyOutcome", bound=Outcome)


@dataclass(frozen=True)
class GuardedTurn:
    """A report with its kept texts, or None. `hidden` means that words were removed for this viewer."""

    report: TurnReport
    texts: TurnTexts | None = None
    hidden: bool = False

    @property
    def draft(self) -> str | None:
        """The draft that was judged last, where it is known: it was kept, or all of it was delivered."""
        if self.texts is not None and self.texts.draft is not None:
            return self.texts.draft
        return self.report.response if delivered_whole(self.report) else None

    def delivered(self, claim: Claim) -> tuple[Span, ...]:
        """Returns the claim's spans in the delivered text; none when it was withheld or has no place."""
        return () if claim.span is None else self.report.delivered_spans(claim.span)


def delivered_whole(report: TurnReport) -> bool:
    """True when the user read the judged draft word for word."""
    return report.delivered_spans(Span(start=0, end=len(report.response))) == (Span(start=0, end=len(report.response)),)


def without_withheld(turn: GuardedTurn) -> GuardedTurn:
    """The turn without the words that its user never read: the draft, claims of it that were not delivered, and what quotes them.

    Labels, confidences, places, evidence and figures stay: why a turn was withheld can be seen, what it would have said cannot.
    """
    report = turn.report
    outcomes = tuple(_covered(outcome, turn) for outcome in report.outcomes)
    attempts = tuple(_covered_attempt(attempt) for attempt in report.attempts)
    if outcomes == report.outcomes and not attempts and (turn.texts is None or turn.texts.draft is None):
        return turn
    decision = report.decision.model_copy(update={"reason": _told(report.outcomes)})
    texts = None if turn.texts is None else turn.texts.model_copy(update={"draft": None})
    covered = report.model_copy(
        update={"outcomes": outcomes, "attempts": attempts, "decision": decision, "warnings": ()}
    )
    return replace(turn, report=covered, texts=texts, hidden=True)


def _covered(outcome: Outcome, turn: GuardedTurn) -> Outcome:
    # A claim without a place was somewhere in the draft: it was read only where all of the draft was.
    read = turn.delivered(outcome.claim) if outcome.claim.span else delivered_whole(turn.report)
    return outcome if read else _hide(outcome)


def _covered_attempt(attempt: Attempt) -> Attempt:
    decision = attempt.decision.model_copy(update={"reason": _told(attempt.outcomes)})
    return attempt.model_copy(update={"outcomes": tuple(map(_hide, attempt.outcomes)), "decision": decision})


def _hide(outcome: Outcome) -> Outcome:
    claim = outcome.claim.model_copy(update={"text": HIDDEN})
    if isinstance(outcome, Finding):
        return outcome.model_copy(update={"claim": claim, "reason": HIDDEN})
    return outcome.model_copy(update={"claim": claim, "error": HIDDEN, "raw": None})


def _told(outcomes: Iterable[Outcome]) -> str:
    counts = Counter(str(one.label) if isinstance(one, Finding) else "UNCHECKED" for one in outcomes)
    parts = [f"{count} {name.replace('_', ' ').lower()}" for name, count in counts.items()]
    return f"claims of the draft: {', '.join(parts) or 'none'}"
