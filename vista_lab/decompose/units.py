"""Sentences and responses judged by their claims, and the figures over them (DAD, §4.2 and Table 1). Pure.

A sentence is supported where all of its claims are (AND), a response where the harmonic mean of their support exceeds 0.5. Claims
that a judge calls opinions or abstentions are none here: step 1 of the paper drops them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2
from statistics import fmean
from typing import Literal

import numpy as np

from vista_guard.policy.turn_risk import FACTS
from vista_guard.types import Finding, Label, Outcome
from vista_lab.decompose.rewards import response_support
from vista_lab.metrics.detection import Detection, balanced_interval
from vista_lab.metrics.intervals import bootstrap_interval

Level = Literal["sentence", "response"]

LIMIT = 0.5
"""A response is supported above it (§4.2)."""


def support_of(finding: Finding) -> float:
    """P(supported) of a claim in [0, 1]: the best evidence's where the judge gives it, else the confidence of its verdict.

    Examples:
        >>> from vista_guard.types import Claim
        >>> support_of(Finding(claim=Claim(id="c", text="It is."), label=Label.CONTRADICTED, confidence=0.75, reason=""))
        0.25
    """
    if finding.support is not None:
        return finding.support
    return finding.confidence if finding.label is Label.VERIFIED else 1 - finding.confidence


@dataclass(frozen=True)
class JudgedUnit:
    """A sentence, a few that are joined, or a response, with the outcomes of its claims.

    `supported` is the gold, `group` what intervals draw it with. `facts` are people's atomic facts in it, 0 where unknown.
    `unplaced` says that claims of its turn have no place in the text, so that some may belong to it.
    """

    group: str
    level: Level
    supported: bool
    outcomes: tuple[Outcome, ...]
    facts: int = 0
    unplaced: bool = False

    @cached_property
    def claims(self) -> tuple[Outcome, ...]:
        """Outcomes of claims that evidence can support, and those that were not judged."""
        return tuple(one for one in self.outcomes if not isinstance(one, Finding) or one.label in FACTS)

    @property
    def is_empty(self) -> bool:
        """True when there is no claim to support."""
        return not self.claims and not self.unplaced

    def predicted(self, *, empty: bool = True) -> bool | None:
        """True where the unit is supported; `empty` where it has no claims. None where that depends on unjudged claims."""
        if self.is_empty:
            return empty
        findings = [outcome for outcome in self.claims if isinstance(outcome, Finding)]
        complete = len(findings) == len(self.claims) and not self.unplaced
        if self.level == "response":
            return _is_supported(findings) if complete else None
        if any(finding.label is not Label.VERIFIED for finding in findings):
            return False
        return True if complete else None


def _is_supported(findings: Sequence[Finding]) -> bool:
    support = response_support([support_of(finding) for finding in findings])
    return support is not None and support > LIMIT


@dataclass(frozen=True)
class UnitFigures:
    """Units of one run: `n` of them, those without claims, and the figures.

    The positive class is NOT SUPPORTED. Figures count a unit without claims as supported (an AND over nothing holds), unless
    `empty` is False. Units that were not judged count in the coverage alone.
    """

    units: Sequence[JudgedUnit]
    empty: bool = True

    @cached_property
    def pairs(self) -> Sequence[tuple[bool, bool | None]]:
        """Gold and prediction of each unit, True for NOT SUPPORTED."""
        predictions = [unit.predicted(empty=self.empty) for unit in self.units]
        both = zip((unit.supported for unit in self.units), predictions, strict=True)
        return [(not supported, None if found is None else not found) for supported, found in both]

    @cached_property
    def detection(self) -> Detection:
        return Detection.of(self.pairs)

    @property
    def without_claims(self) -> int:
        return sum(unit.is_empty for unit in self.units)

    @property
    def claims(self) -> float | None:
        """Claims a unit, the paper's SC. None without units."""
        return fmean(len(unit.claims) for unit in self.units) if self.units else None

    @property
    def atomicity(self) -> float | None:
        """log2 of people's facts per claim, a mean over units that have both: 0 is one fact a claim (Lu et al. 2025)."""
        known = [log2(unit.facts / len(unit.claims)) for unit in self.units if unit.facts and unit.claims]
        return fmean(known) if known else None

    @property
    def _judged(self) -> Sequence[tuple[str, bool, bool]]:
        pairs = zip(self.units, self.pairs, strict=True)
        return [(unit.group, gold, predicted) for unit, (gold, predicted) in pairs if predicted is not None]

    def balanced_interval(self) -> tuple[float, float] | None:
        """95 % interval of the balanced accuracy, by drawing responses again."""
        judged = self._judged
        return balanced_interval([(gold, predicted) for _, gold, predicted in judged], [group for group, *_ in judged])

    def macro_f1_interval(self) -> tuple[float, float] | None:
        """95 % interval of macro-F1, by drawing responses again."""
        return self._interval(lambda detection: detection.macro_f1)

    def f1_supported_interval(self) -> tuple[float, float] | None:
        """95 % interval of F1 of SUPPORTED, by drawing responses again."""
        return self._interval(lambda detection: detection.other.f1)

    def _interval(self, figure: Callable[[Detection], float | None]) -> tuple[float, float] | None:
        judged = self._judged
        if not judged:
            return None
        codes = np.array([2 * gold + predicted for _, gold, predicted in judged])

        def of(rows: np.ndarray) -> float:
            tn, fp, fn, tp = (int(n) for n in np.bincount(codes[rows], minlength=4))
            value = figure(Detection(tp=tp, fp=fp, fn=fn, tn=tn))
            return float("nan") if value is None else value

        low, high = bootstrap_interval([group for group, *_ in judged], of)
        return (low, high) if low < high else None
