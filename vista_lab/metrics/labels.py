"""The summary of a replay: labels, agreement with people, time, tokens and cost. Pure; one pass, in constant memory.

A claim that could not be judged is an error in every figure of agreement, as in the paper's tables (its "NONE" column): a
judge that fails must not look better than one that answers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Action, Finding, Label, Outcome, TurnReport, Usage
from vista_lab.metrics.detection import UNVERIFIABLE, has_any_label, labels_of

MOST_REASONS = 100
"""Most different reasons that a tally counts: an unreadable answer is quoted in its own."""

Confusion = Counter[tuple[Label, Label | None]]
"""Counts of claims by human and by judge's label; None stands for unchecked."""


def accuracy(confusion: Confusion) -> float | None:
    """Share of claims with the human's label, in [0, 1]. None without claims."""
    return _share(sum(n for (human, judged), n in confusion.items() if human is judged), confusion.total())


def supported_accuracy(confusion: Confusion) -> float | None:
    """Share of claims on which judge and human agree whether it is VERIFIED, in [0, 1]. None without claims."""
    judged_pairs = [(human, judged, n) for (human, judged), n in confusion.items() if judged is not None]
    verified = Label.VERIFIED
    agreed = sum(n for human, judged, n in judged_pairs if (human is verified) == (judged is verified))
    return _share(agreed, confusion.total())


def f1(confusion: Confusion, label: Label) -> float:
    """F1 of one label, in [0, 1]; 0 for a label that nobody gave."""
    hits = confusion[label, label]
    gold = sum(n for (human, _), n in confusion.items() if human is label)
    predicted = sum(n for (_, judged), n in confusion.items() if judged is label)
    return 2 * hits / (gold + predicted) if gold + predicted else 0.0


def macro_f1(confusion: Confusion) -> float | None:
    """Mean F1 over the five labels, in [0, 1] (VISTA, Table 3). None without claims.

    Examples:
        >>> from collections import Counter
        >>> macro_f1(Counter({(label, label): 1 for label in Label}))
        1.0
    """
    return sum(f1(confusion, label) for label in Label) / len(Label) if confusion.total() else None


GAMMA = 10
"""FActScore's γ: shorter responses are penalised. The default of its authors' code."""


def factscore(supported: int, claims: int, gamma: float = GAMMA) -> float | None:
    """FActScore of a response (Min et al., 2023): the supported share of its claims, in [0, 1]. None without claims.

    Up to `gamma` claims the share is multiplied by exp(1 − γ / claims); 0 leaves the penalty out.

    Examples:
        >>> factscore(3, 4, gamma=0), factscore(9, 10)
        (0.75, 0.9)
        >>> round(factscore(5, 5), 4)
        0.3679
    """
    return supported / claims * math.exp(min(0.0, 1 - gamma / claims)) if claims else None


def f1_at_k(supported: int, claims: int, k: float) -> float:
    """F1@K of a response (VeriScore; Song et al., 2024): precision supported / claims, recall min(supported / K, 1).

    `claims` are the verifiable ones. 0 where none is supported.

    Examples:
        >>> f1_at_k(3, 4, k=6), f1_at_k(0, 0, k=6)
        (0.6, 0.0)
    """
    if not supported:
        return 0.0
    precision, recall = supported / claims, min(supported / k, 1.0)
    return 2 * precision * recall / (precision + recall)


def turn_unverifiable(outcomes: tuple[Outcome, ...]) -> bool | None:
    """True when any claim is not VERIFIED (VISTA §6, Table 2). None when that depends on unchecked claims."""
    return has_any_label(labels_of(outcomes), UNVERIFIABLE)


@dataclass(frozen=True)
class LabelAgreement:
    """Agreement of the judge with the human labels of the log. Shares lie in [0, 1]."""

    claims: int
    turns: int
    supported: float | None
    """Accuracy of VERIFIED against the rest, over claims."""
    labels: float | None
    """Accuracy over the five labels, over claims."""
    macro_f1: float | None
    turn: float | None
    """Accuracy of "some claim is not VERIFIED", over turns of which every claim has a human label."""


@dataclass(frozen=True)
class ReplaySummary:
    """The figures of a replay, over the turns of this run and those that an earlier run had judged."""

    conversations: int
    turns: int
    resumed: int
    """Turns that were judged by an earlier run."""
    broken: int
    """Entries of the log that could not be read or judged."""
    claims: int
    labels: Mapping[Label, int]
    unchecked: int
    actions: Mapping[Action, int]
    micro: float | None
    """VISTA score over all claims, in [0, 1]."""
    macro: float | None
    """Mean VISTA score over turns, in [0, 1]."""
    evidence_missing: int
    """Turns without any evidence."""
    seconds: float
    """Wall time of this run."""
    interrupted: bool
    agreement: LabelAgreement | None
    """None when the log carries no human label for the claims that were judged."""
    usage: Usage = field(default_factory=Usage)
    """The judge's usage for these turns, those of earlier runs included."""
    exhausted: str | None = None
    """Reason that the judge stopped before the end: its budget is spent."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why claims are unchecked, the most frequent first; blocks of code and unreadable text are not among them."""

    @property
    def judged_nothing(self) -> bool:
        """True if claims were to be judged, and not one of them was."""
        return bool(self.reasons) and self.unchecked == self.claims

    @property
    def turns_per_second(self) -> float | None:
        """Speed of this run; None when it judged nothing."""
        new = self.turns - self.resumed
        return new / self.seconds if new and self.seconds > 0 else None


@dataclass
class Tally:
    """Adds reports up. `labels` of `add` are a human's, by claim id."""

    turns: int = 0
    resumed: int = 0
    conversations: int = 0
    broken: int = 0
    unchecked: int = 0
    evidence_missing: int = 0
    label_counts: Counter[Label] = field(default_factory=Counter)
    actions: Counter[Action] = field(default_factory=Counter)
    score_sum: float = 0.0
    scored: int = 0
    confusion: Confusion = field(default_factory=Counter)
    turn_hits: Counter[bool] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, report: TurnReport, labels: Mapping[str, Label], *, resumed: bool = False) -> None:
        self.turns += 1
        self.resumed += resumed
        self.unchecked += len(report.unchecked)
        for outcome in report.unchecked:
            if outcome.what == "claim" and (outcome.error in self.reasons or len(self.reasons) < MOST_REASONS):
                self.reasons[outcome.error] += 1
        self.evidence_missing += report.evidence_missing
        self.usage += report.usage
        self.actions[report.decision.action] += 1
        self.label_counts.update(finding.label for finding in report.findings)
        if report.score is not None:
            self.score_sum += report.score
            self.scored += 1
        self._compare(report, labels)

    def summary(self, *, seconds: float, interrupted: bool = False) -> ReplaySummary:
        """The sums so far. `seconds` is the wall time that they took."""
        judged = self.label_counts.total()
        return ReplaySummary(
            conversations=self.conversations,
            turns=self.turns,
            resumed=self.resumed,
            broken=self.broken,
            claims=judged + self.unchecked,
            labels={label: self.label_counts[label] for label in Label},
            unchecked=self.unchecked,
            actions={action: self.actions[action] for action in Action},
            micro=_share(sum(self.label_counts[label] for label in SAFE), judged),
            macro=self.score_sum / self.scored if self.scored else None,
            evidence_missing=self.evidence_missing,
            seconds=seconds,
            interrupted=interrupted,
            usage=self.usage,
            agreement=self._agreement(),
            reasons=dict(self.reasons.most_common()),
        )

    def _compare(self, report: TurnReport, labels: Mapping[str, Label]) -> None:
        human = [labels.get(outcome.claim.id) for outcome in report.outcomes]
        for expected, outcome in zip(human, report.outcomes, strict=True):
            if expected is not None:
                self.confusion[expected, outcome.label if isinstance(outcome, Finding) else None] += 1
        if human and None not in human:
            unverifiable = any(label is not Label.VERIFIED for label in human)
            self.turn_hits[turn_unverifiable(report.outcomes) is unverifiable] += 1

    def _agreement(self) -> LabelAgreement | None:
        if not self.confusion:
            return None
        return LabelAgreement(
            claims=self.confusion.total(),
            turns=self.turn_hits.total(),
            supported=supported_accuracy(self.confusion),
            labels=accuracy(self.confusion),
            macro_f1=macro_f1(self.confusion),
            turn=_share(self.turn_hits[True], self.turn_hits.total()),
        )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True)
class Spending:
    """Time and usage of the turns of one run. Seconds are those of the turn's stages, without queueing."""

    turns: int
    mean: float
    """Seconds a turn."""
    median: float
    p95: float
    """Seconds within which 95 of 100 turns were done."""
    usage: Usage

    @property
    def cost(self) -> float | None:
        """US dollars a turn, an estimate. None where the price of some call is not known: a part is not the cost."""
        return self.usage.cost / self.turns if self.turns and not self.usage.unpriced_calls else None


def spending(reports: Sequence[TurnReport]) -> Spending | None:
    """Time and usage of these reports. None without any."""
    if not reports:
        return None
    seconds = np.asarray([report.timings.total / 1000 for report in reports])
    median, p95 = np.quantile(seconds, [0.5, 0.95])
    usage = sum((report.usage for report in reports), Usage())
    return Spending(len(reports), float(seconds.mean()), float(median), float(p95), usage)
