"""Thresholds with a promise: conformal risk control (Angelopoulos et al. 2022, Theorem 1). Pure, but for reading a file.

A *fine* turn is one that should be delivered as it is; a false alarm is a fine turn that a rule withholds. A rule that
withholds from a confidence `t` on has on fine turn `i` a loss `L_i(t)` in [0, 1] that falls as `t` grows. With `n` fine
turns at hand, the smallest `t` with `(L_1(t) + … + L_n(t) + 1) / (n + 1) <= rate` has an expected loss of at most `rate`
on the next fine turn, when that is exchangeable with the others. What that means is in `docs/design/risk-control.md`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vista_guard.errors import ConfigError, first_problem
from vista_guard.policy.turn_risk import HELD_AGAINST, TurnRisk
from vista_guard.types import JudgeInfo, Label, Probability

ALARMS = HELD_AGAINST
"""Labels that a fine claim may get wrongly. The others say of a claim that it may be delivered."""

STRATA = (3, 6, 9)
"""Last numbers of claims of the ranges in which fine turns are counted apart; the last range is what has more."""

STEP = 10_000
"""Confidences are kept and thresholds are chosen in steps of 1 / STEP."""

_ROUNDING = 1e-9


class Level(StrEnum):
    """The unit of counting."""

    TURN = "turn"
    """The loss of a fine turn is 1 when any of its claims is withheld, else 0."""
    CLAIM = "claim"
    """The loss of a turn is the share of its fine claims that are withheld; turns without a fine claim do not count."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Alarm(NamedTuple):
    """The loss that begins at a confidence, suffered by every lower threshold. A pair in the file."""

    confidence: Probability
    loss: Annotated[float, Field(gt=0.0)]


class RiskGroup(_Frozen):
    """Fine turns of one kind. `n` counts the judged ones; those without an alarm are not listed."""

    source: str
    n: int = Field(ge=1)
    alarms: Mapping[Label, tuple[Alarm, ...]]

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        for label in ALARMS:
            total = sum(alarm.loss for alarm in self.alarms.get(label, ()))
            if total > self.n + _ROUNDING * self.n:
                raise ValueError(f"the losses of {label} add up to {total:g}, more than n = {self.n}")
        return self

    def threshold(self, label: Label, rate: float) -> float | None:
        """Returns the smallest confidence from which a rule for `label` may withhold.

        Args:
            label: CONTRADICTED or LACKING_EVIDENCE.
            rate: most expected loss, in [0, 1].

        Returns:
            A multiple of 1 / STEP in [0, 1]; None when none holds the rate with these turns.
        """
        return smallest_threshold(self.alarms.get(label, ()), self.n, rate)

    def loss(self, label: Label, threshold: float) -> float:
        """Returns the mean loss, in [0, 1], of a rule that withholds `label` from `threshold` on."""
        return sum(alarm.loss for alarm in self.alarms.get(label, ()) if alarm.confidence >= threshold) / self.n


class TurnAlarm(NamedTuple):
    """A fine turn with something held against it: its risk and number of claims. A pair in the file."""

    risk: Probability
    claims: Annotated[int, Field(ge=1)]


class TurnGroup(_Frozen):
    """Fine turns of one kind, with the risks of those with something held against them. Policies ignore the others."""

    source: str
    claims: Mapping[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1)]] = Field(min_length=1)
    """Fine turns by their number of judged claims."""
    alarms: tuple[TurnAlarm, ...] = ()

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        counts = Counter(alarm.claims for alarm in self.alarms)
        for claims, count in counts.items():
            if count > self.claims.get(claims, 0):
                raise ValueError(
                    f"{count} alarms of turns with {claims} claims, and {self.claims.get(claims, 0)} such turns"
                )
        return self

    @property
    def n(self) -> int:
        """Number of fine turns."""
        return sum(self.claims.values())

    def strata(self, least: int = 1) -> list[tuple[int, int]]:
        """Ranges of numbers of claims (first, last) that are counted separately.

        Args:
            least: fewest turns of a range; what has fewer goes with its neighbour.
        """
        ranges: list[tuple[int, int]] = []
        first, turns = 0, 0
        for last in (*STRATA, max(max(self.claims), STRATA[-1] + 1)):
            turns = sum(count for claims, count in self.claims.items() if first <= claims <= last)
            if turns >= least:
                ranges.append((first, last))
                first, turns = last + 1, 0
        if turns and ranges:
            ranges[-1] = (ranges[-1][0], max(self.claims))
        return ranges

    def threshold(self, rate: float, *, stratified: bool = True) -> float | None:
        """Returns the smallest risk from which turns may be flagged or withheld within the rate.

        Args:
            rate: most expected share of fine turns, in [0, 1].
            stratified: hold the rate for few and for many claims separately.

        Returns:
            A multiple of 1 / STEP in [0, 1]; None when none holds the rate with these turns.
        """
        needed = needed_turns(rate)
        if needed is None or self.n < needed:
            return None
        ranges = self.strata(max(needed, 1)) if stratified else [(0, max(self.claims))]
        thresholds = [self._threshold(first, last, rate) for first, last in ranges]
        limits = [limit for limit in thresholds if limit is not None]
        return max(limits) if len(limits) == len(thresholds) else None

    def share(self, limit: float, first: int = 0, last: int | None = None) -> float | None:
        """Returns the share of fine turns, with `first` to `last` claims, of at least this risk. None without turns."""
        turns = sum(count for claims, count in self.claims.items() if first <= claims <= (last or claims))
        alarms = sum(alarm.risk >= limit and first <= alarm.claims <= (last or alarm.claims) for alarm in self.alarms)
        return alarms / turns if turns else None

    def _threshold(self, first: int, last: int, rate: float) -> float | None:
        turns = sum(count for claims, count in self.claims.items() if first <= claims <= last)
        turn_alarms = [Alarm(alarm.risk, 1.0) for alarm in self.alarms if first <= alarm.claims <= last]
        return smallest_threshold(turn_alarms, turns, rate)


class RiskTable(_Frozen):
    """A judge's false alarms on fine turns, and how its outcomes become a turn's risk. Numbers only, no text.

    The promise is kept for each group by itself, and so for any mixture of them.
    """

    version: Literal[1, 2] = 2
    judge: JudgeInfo
    level: Level
    created: date
    groups: tuple[RiskGroup, ...] = Field(min_length=1)
    turn_risk: TurnRisk | None = None
    """How the judge's outcomes become a turn's risk; None where too few turns were labelled to fit it."""
    turns: tuple[TurnGroup, ...] = ()
    """Fine turns, with risks that were given by fits that had not seen them."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a file of `vista-guard calibrate`.

        Raises:
            ConfigError: the file is missing, or is something else.
        """
        advice = "Make one with: vista-guard calibrate REPORTS --labels LABELS --out FILE"
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as exc:
            raise ConfigError(f"risk table {path} cannot be read: {exc.strerror}. {advice}") from exc
        except ValidationError as exc:
            raise ConfigError(f"risk table {path}: {first_problem(exc)}. {advice}") from exc

    def save(self, path: Path) -> None:
        """Writes the file atomically.

        Raises:
            ConfigError: it cannot be written.
        """
        partial = path.with_name(path.name + ".partial")
        try:
            partial.write_text(self.model_dump_json() + "\n", encoding="utf-8")
            partial.replace(path)
        except OSError as exc:
            raise ConfigError(f"risk table {path} cannot be written: {exc.strerror}. Choose another file") from exc

    @property
    def name(self) -> str:
        """Describes the table in one line."""
        groups = ", ".join(f"{group.source} (n = {group.n:,})" for group in self.groups)
        return f"{self.judge.name} {self.judge.version}, {self.level} level, {self.created}: {groups}"

    def thresholds(self, labels: Sequence[Label], rate: float, *, rules: int | None = None) -> dict[Label, float]:
        """Returns the smallest confidence for each label such that all rules together keep the rate.

        Rules share the rate equally: what each may withhold wrongly adds up to what the turn may suffer.

        Args:
            labels: labels whose rules withhold.
            rate: most expected share of fine turns.
            rules: number of rules that share the rate, if not these alone.

        Raises:
            ConfigError: too few fine turns, or too many that were wrongly judged with full confidence.
        """
        sharing = rules or len(labels)
        return {label: max(self._threshold(group, label, rate, sharing) for group in self.groups) for label in labels}

    def risk_threshold(self, rate: float, name: str) -> float:
        """Returns the smallest risk for flagging or withholding such that each group and stratum keeps the rate.

        Args:
            rate: most expected share of fine turns.
            name: the setting that asks for the rate, for errors.

        Raises:
            ConfigError: the table has no risks of fine turns, or too few of them, or too many that are certain.
        """
        if not self.turns:
            raise ConfigError(
                f"{name} is {rate:g}, and the risk table of {self.judge.name} {self.judge.version} has no risks of fine turns. "
                "Make one at the turn level, with fine turns and others: vista-guard calibrate REPORTS --labels LABELS --out FILE"
            )
        thresholds: list[float] = []
        for group in self.turns:
            limit = group.threshold(rate)
            if limit is None:
                raise ConfigError(
                    f"{name} is {rate:g}: that needs {_count(needed_turns(rate))} fine turns below a risk of 1, and "
                    f"{group.source} has n = {group.n:,}. "
                    "Label more turns (vista-guard calibrate), or allow a higher rate"
                )
            thresholds.append(limit)
        return max(thresholds)

    def _threshold(self, group: RiskGroup, label: Label, rate: float, rules: int) -> float:
        threshold = group.threshold(label, rate / rules)
        if threshold is not None:
            return threshold
        shared = f", shared by {rules} rules" if rules > 1 else ""
        rate_text = f"policy.max_false_alarm_rate is {rate:g}{shared}"
        needed = needed_turns(rate / rules)
        if needed is None or group.n < needed:
            raise ConfigError(
                f"{rate_text}: that needs {_count(needed)} fine turns, and {group.source} has n = {group.n:,}. Label more turns "
                f"(vista-guard calibrate), or allow a rate of at least {_round_up(rules / (group.n + 1)):g}"
            )
        certain = group.loss(label, 1.0)
        raise ConfigError(
            f"{rate_text}: of the n = {group.n:,} fine turns of {group.source}, {certain:.1%} were called {label} with full "
            f"confidence, so no threshold holds it. Let policy.rules.{label} only FLAG, or allow a rate of at least "
            f"{_round_up(rules * (certain * group.n + 1) / (group.n + 1)):g}"
        )


def smallest_threshold(alarms: Iterable[Alarm], n: int, rate: float) -> float | None:
    """Returns the smallest threshold, in steps, that keeps the bound above, or None."""
    budget = rate * (n + 1) - 1 + _ROUNDING
    if budget < 0:
        return None
    suffered = 0.0
    for alarm in sorted(alarms, key=lambda alarm: -alarm.confidence):
        suffered += alarm.loss
        if suffered > budget:
            above = math.floor(alarm.confidence * STEP + _ROUNDING) + 1
            return above / STEP if above <= STEP else None
    return 0.0


def needed_turns(rate: float) -> int | None:
    """Returns the fewest fine turns that can promise a rate: `n >= 1 / rate - 1`. None for a rate of 0."""
    return math.ceil(1 / rate - 1 - _ROUNDING) if rate > 0 else None


def alarms(losses: Iterable[tuple[float, float]]) -> tuple[Alarm, ...]:
    """Converts (confidence, loss) pairs to alarms, highest confidence first; equal confidences are added up.

    Confidences are rounded down to steps: whether one reaches a threshold, which is a whole step, stays the same.
    """
    steps: dict[int, float] = {}
    for confidence, loss in losses:
        step = math.floor(confidence * STEP + _ROUNDING)
        steps[step] = steps.get(step, 0.0) + loss
    return tuple(Alarm(confidence=step / STEP, loss=round(steps[step], 9)) for step in sorted(steps, reverse=True))


def _count(needed: int | None) -> str:
    return "an endless number of" if needed is None else f"{needed:,}"


def _round_up(rate: float) -> float:
    return math.ceil(rate * STEP - _ROUNDING) / STEP


@dataclass(frozen=True)
class Bin:
    """Judgements of similar confidence: their mean confidence and the share that was right, both in [0, 1]."""

    n: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram as a table. Calibrated confidences equal the accuracy in each bin."""

    bins: tuple[Bin, ...]
    """Lowest confidence first; empty bins are left out."""
    ece: float
    """Expected calibration error in [0, 1]: the mean gap over judgements (Guo et al. 2017, bins of equal width)."""


def reliability(confidences: Sequence[float], correct: Sequence[bool], bins: int = 10) -> Reliability | None:
    """Computes the reliability diagram and its expected calibration error. None without judgements.

    Args:
        confidences: in [0, 1].
        correct: true for each judgement that was right.
        bins: number of bins of equal width over [0, 1]; a confidence on a border belongs to the upper one.
    """
    members: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in zip(confidences, correct, strict=True):
        members.setdefault(min(int(confidence * bins), bins - 1), []).append((confidence, right))
    if not members:
        return None
    table = []
    for _, similar in sorted(members.items()):
        sums = [sum(column) for column in zip(*similar, strict=True)]
        table.append(Bin(len(similar), sums[0] / len(similar), sums[1] / len(similar)))
    ece = sum(row.n * abs(row.confidence - row.accuracy) for row in table) / len(confidences)
    return Reliability(tuple(table), ece)
