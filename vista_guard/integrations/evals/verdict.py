"""A grader's verdict on a case: score, pass or fail, each claim with its quotes, and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from vista_guard.errors import ConfigError
from vista_guard.policy.turn_risk import SAFE, micro_score
from vista_guard.reading.visible import visible
from vista_guard.types import Action, Finding, Label, Outcome, SourceKind, TurnReport
from vista_guard.types.conversation import Noun, Probability


class Quote(Noun):
    """A quote of the evidence for or against a claim. `score` is the judge's probability that it does."""

    text: str
    source: SourceKind
    source_id: str
    title: str | None = None
    score: Probability


class JudgedClaim(Noun):
    """A claim of a judged turn. `label` and `confidence` are None where it could not be judged; `reason` then says why.

    `turn` is the turn's place in the conversation, counted from 0, `quotes` are the strongest first as the judge gave them.
    """

    turn: int
    text: str
    label: Label | None
    confidence: Probability | None
    quotes: tuple[Quote, ...] = ()
    reason: str

    @property
    def safe(self) -> bool:
        """True for safe labels: VERIFIED, OUT_OF_SCOPE or ABSTENTION."""
        return self.label in SAFE


class Verdict(Noun):
    """A case, judged.

    `score` is the VISTA score, safe over judged claims of all judged turns, in [0, 1]; `passed` is whether the policy lets each
    of these turns through as it is. Both are None where nothing was judged: that is neither a 0 nor a 1, and `reason` says why.
    `reports` are the turns' whole reports.
    """

    score: Probability | None
    passed: bool | None
    claims: tuple[JudgedClaim, ...]
    reports: tuple[TurnReport, ...]
    reason: str

    @classmethod
    def of(cls, reports: Sequence[TurnReport]) -> Self:
        """The verdict on the turns of these reports."""
        claims = tuple(_claim(report, outcome) for report in reports for outcome in report.outcomes)
        score = micro_score(reports)
        passed = None if score is None else all(report.decision.action is Action.ALLOW for report in reports)
        reason = _why_unjudged(claims) if score is None else _why(score, claims, reports)
        return cls(score=score, passed=passed, claims=claims, reports=tuple(reports), reason=reason)

    @property
    def judged(self) -> bool:
        """True if any claim was judged."""
        return self.score is not None

    @property
    def unjudged_claims(self) -> int:
        """How many claims could not be judged. They count neither for nor against the score."""
        return sum(claim.label is None for claim in self.claims)

    def holds(self, threshold: float | None = None) -> bool | None:
        """True if the case passes: by the policy, or by a minimum score in [0, 1] if one is given. None: nothing was judged.

        Raises:
            ConfigError: the least score is no number from 0 to 1.
        """
        if threshold is not None and not (isinstance(threshold, int | float) and 0 <= threshold <= 1):
            raise ConfigError(f"the least score is {threshold!r}; give a number from 0 to 1")
        if threshold is None or self.score is None:
            return self.passed
        return self.score >= threshold

    def metadata(self) -> dict[str, Any]:
        """The verdict as JSON types, for the places where tools keep details: counts, claims with quotes, who judged."""
        judge = self.reports[-1].judge if self.reports else None
        return {
            "vista_score": self.score,
            "passed": self.passed,
            "judged_claims": len(self.claims) - self.unjudged_claims,
            "unjudged_claims": self.unjudged_claims,
            "decisions": [report.decision.action.value for report in self.reports],
            "claims": [claim.model_dump(mode="json") for claim in self.claims],
            "judge": None if judge is None else f"{judge.name} {judge.version}",
            "policy": self.reports[-1].policy if self.reports else None,
        }

    def details(self) -> str:
        """The verdict in several lines: what failed first, with its quotes. Safe to show on a terminal."""
        alarming = [claim for claim in self.claims if not claim.safe]
        lines = [self.reason, *(line for claim in alarming for line in _lines(claim))]
        lines += [_head(claim) for claim in self.claims if claim.safe]
        if self.reports:
            last = self.reports[-1]
            lines.append(f"judge {last.judge.name} {last.judge.version}, policy {last.policy}")
        return visible("\n".join(lines))


class NotGrounded(AssertionError):
    """A test's answer is not what its evidence carries.

    Attributes:
        verdict: all that was found.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"not grounded: {verdict.details()}" if verdict.judged else verdict.details())
        self.verdict = verdict


class NotJudged(NotGrounded):
    """Nothing of a test's answer was judged, so the test shows nothing."""


def _claim(report: TurnReport, outcome: Outcome) -> JudgedClaim:
    where = {"turn": report.turn_index, "text": outcome.claim.text}
    if not isinstance(outcome, Finding):
        return JudgedClaim(**where, label=None, confidence=None, reason=outcome.error)
    quotes = tuple(
        Quote(text=one.quote, source=one.source, source_id=one.source_id, title=one.title, score=one.score)
        for one in outcome.evidence
    )
    return JudgedClaim(
        **where, label=outcome.label, confidence=outcome.confidence, quotes=quotes, reason=outcome.reason
    )


def _why_unjudged(claims: Sequence[JudgedClaim]) -> str:
    if not claims:
        return "not judged: no claim was found in what the assistant said"
    what = "the claim" if len(claims) == 1 else f"none of {len(claims)} claims"
    return f"not judged: {what} could {'not ' if len(claims) == 1 else ''}be judged: {claims[0].reason}"


def _why(score: float, claims: Sequence[JudgedClaim], reports: Sequence[TurnReport]) -> str:
    judged = [claim for claim in claims if claim.label is not None]
    safe, unjudged = sum(claim.safe for claim in judged), len(claims) - len(judged)
    parts = [f"VISTA score {score:.2f}: {safe} of {len(judged)} judged claims safe"]
    if unjudged:
        parts.append(f"{unjudged} could not be judged")
    held = [report for report in reports if report.decision.action is not Action.ALLOW]
    parts += [f"turn {report.turn_index}: {report.decision.action}, {report.decision.reason}" for report in held]
    return "; ".join(parts)


def _lines(claim: JudgedClaim) -> list[str]:
    quotes = [
        f'      "{quote.text.strip()}" ({quote.source} {quote.title or quote.source_id}, {quote.score:.2f})'
        for quote in claim.quotes
    ]
    return [_head(claim), *quotes, f"      {claim.reason}"]


def _head(claim: JudgedClaim) -> str:
    label = "NOT JUDGED" if claim.label is None else f"{claim.label} {claim.confidence:.2f}"
    return f"  turn {claim.turn}  {label}  {claim.text}"


__all__ = ["JudgedClaim", "NotGrounded", "NotJudged", "Quote", "Verdict"]
