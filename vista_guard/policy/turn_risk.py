"""A turn's VISTA score, label counts and risk, the probability that it says something its evidence does not support. Pure.

One weak alarm among twelve claims is no verdict; three strong ones are. The risk weighs what is held against a turn (claims
that are CONTRADICTED or LACKING_EVIDENCE) by how much and how surely, beside what is not. It is monotone by construction:
no signal can fall when something more is held against the turn or is held more surely, and no weight is negative.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from vista_guard.types import Finding, Label, Outcome, Probability, TurnReport

SAFE = frozenset({Label.VERIFIED, Label.OUT_OF_SCOPE, Label.ABSTENTION})
"""Labels that the score counts as safe (the reference implementation's definition)."""

HELD_AGAINST = tuple(label for label in Label if label not in SAFE)
"""Labels that speak against a turn: CONTRADICTED, LACKING_EVIDENCE."""

FACTS = (Label.VERIFIED, Label.CONTRADICTED, Label.LACKING_EVIDENCE)
"""Labels of statements of fact. The others need no evidence."""

REMEMBERED = frozenset({Label.VERIFIED, Label.OUT_OF_SCOPE})
"""Labels whose claims enter the knowledge (VISTA §3, steps 4 and 5)."""


def vista_score(outcomes: Iterable[Outcome]) -> float | None:
    """Returns safe claims over judged claims, in [0, 1]. None when nothing was judged; unchecked claims count for nothing."""
    labels = [outcome.label for outcome in outcomes if isinstance(outcome, Finding)]
    if not labels:
        return None
    return sum(label in SAFE for label in labels) / len(labels)


def micro_score(reports: Iterable[TurnReport]) -> float | None:
    """Returns the score over all claims of all turns, as the paper reports for a conversation."""
    return vista_score(outcome for report in reports for outcome in report.outcomes)


def macro_score(reports: Iterable[TurnReport]) -> float | None:
    """Returns the mean of the scored turns' scores. None when no turn was scored."""
    scores = [report.score for report in reports if report.score is not None]
    return sum(scores) / len(scores) if scores else None


def label_counts(reports: Sequence[TurnReport]) -> dict[Label, int]:
    """Counts the claims of each label, zeros included."""
    counts = Counter(finding.label for report in reports for finding in report.findings)
    return {label: counts[label] for label in Label}


_PRIOR = 1.0
"""Claims that every turn is taken to have beside its own, with nothing held against them: one alarm alone is not a share of 1."""

_POWER = 3
"""An alarm's strength is its confidence to this power: three doubts of 0.6 are no certainty."""

Weight = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class Signals(NamedTuple):
    """The inputs of the risk. Each grows, or stays, when more is held against the turn, or more surely."""

    mean: float
    """Mean strength of what is held against the turn, over its claims; weaker alarms that would lower it do not count."""
    share: float
    """Share of the claims that something is held against."""
    unconfirmed: float
    """1 when something is held against the turn and nothing that it states is verified: a short answer that is wrong."""
    worst: float
    """Largest strength."""
    total: float
    """All strengths together: log(1 + sum)."""
    refuted: float
    """Largest confidence of a contradicted claim."""
    no_evidence: float
    """1 when there was nothing to verify against, and something is held against the turn."""


class TurnRisk(BaseModel):
    """Maps outcomes to a risk: a logistic function of `Signals`, fitted to a judge's labelled turns.

    The probability is at even odds: as many turns that say something unsupported as turns that do not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    intercept: float = Field(allow_inf_nan=False)
    mean: Weight = 0.0
    share: Weight = 0.0
    unconfirmed: Weight = 0.0
    worst: Weight = 0.0
    total: Weight = 0.0
    refuted: Weight = 0.0
    no_evidence: Weight = 0.0
    flag: Probability | None = None
    """The threshold of `flag_at_risk = "auto"`. None: never flags by risk."""
    block: Probability | None = None
    """The threshold of `block_at_risk = "auto"`. None: never blocks by risk."""
    source: str
    """The data it was fitted on, for people."""

    def __call__(self, outcomes: Sequence[Outcome], *, evidence_missing: bool) -> float | None:
        """The risk in [0, 1]; None when nothing was judged."""
        values = signals(outcomes, evidence_missing=evidence_missing)
        if values is None:
            return None
        return _logistic(self.intercept + sum(getattr(self, name) * value for name, value in values._asdict().items()))


def uncalibrated(outcomes: Sequence[Outcome]) -> float | None:
    """Returns the risk for a judge without a fit: confidences at face value, alarms as independent.

    Monotone as well, and above every single alarm's confidence; but how often it is right was never measured, so policies
    do not use it.
    """
    findings = [outcome for outcome in outcomes if isinstance(outcome, Finding)]
    if not findings:
        return None
    return 1.0 - math.prod(1.0 - finding.confidence for finding in findings if finding.label in HELD_AGAINST)


def signals(outcomes: Sequence[Outcome], *, evidence_missing: bool) -> Signals | None:
    """Summarises the outcomes of a turn; None when nothing was judged. Unjudged claims count for nothing."""
    findings = [outcome for outcome in outcomes if isinstance(outcome, Finding)]
    if not findings:
        return None
    alarms = [finding for finding in findings if finding.label in HELD_AGAINST]
    refuted = [alarm.confidence for alarm in alarms if alarm.label is Label.CONTRADICTED]
    strengths = sorted((alarm.confidence**_POWER for alarm in alarms), reverse=True)
    claims = len(findings) - len(alarms) + _PRIOR
    # The largest mean of the strongest alarms: one more weak alarm must not improve a turn.
    means = (total / (claims + number) for number, total in enumerate(accumulate(strengths), 1))
    return Signals(
        mean=max(means, default=0.0),
        share=len(alarms) / (len(findings) + _PRIOR),
        unconfirmed=float(bool(alarms) and all(finding.label is not Label.VERIFIED for finding in findings)),
        worst=max(strengths, default=0.0),
        total=math.log1p(math.fsum(strengths)),
        refuted=max(refuted, default=0.0),
        no_evidence=float(evidence_missing and bool(alarms)),
    )


def _logistic(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-score)) if score >= 0 else 1.0 - 1.0 / (1.0 + math.exp(score))
