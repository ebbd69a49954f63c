"""Thresholds with a promise: conformal risk control (Angelopoulos et al. 2022, Theorem 1). Pure, but for reading a file.

A *fine* turn is one that should be delivered as it is; a false alarm is a fine turn that a rule withholds. A rule that
withholds from a confidence `t` on has on fine turn `i` a loss `L_i(t)` in [0, 1] that falls as `t` grows. With `n` fine
turns at hand, the smallest `t` with `(L_1(t) + … + L_n(t) + 1) / (n + 1) <= rate` has an expected loss of at most `rate`
on the next fine turn, when that is exchangeable with the others. What that means is in `docs/design/risk-control.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vista_guard.errors import ConfigError
from vista_guard.types import JudgeInfo, Label, Probability

ALARMS = (Label.CONTRADICTED, Label.LACKING_EVIDENCE)
"""Labels that a fine claim may get wrongly. The others say of a claim that it may be delivered."""

STEP = 10_000
"""Confidences are kept and thresholds are chosen in steps of 1 / STEP."""

_ROUNDING = 1e-9


class Level(StrEnum):
    """What is counted."""

    TURN = "turn"
    """The loss of a fine turn is 1 when any of its claims is withheld, else 0."""
    CLAIM = "claim"
    """The loss of a turn is the share of its fine claims that are withheld; turns without a fine claim do not count."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Alarm(NamedTuple):
    """How much loss begins at a confidence: it is suffered by every threshold up to there. A pair in the file."""

    confidence: Probability
    loss: Annotated[float, Field(gt=0.0)]


class RiskGroup(_Frozen):
    """Fine turns of one kind. `n` of them were judged; most raised no alarm, and are in no list."""

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
        """The smallest confidence from which a rule for `label` may withhold.

        Args:
            label: CONTRADICTED or LACKING_EVIDENCE.
            rate: most expected loss, in [0, 1].

        Returns:
            A multiple of 1 / STEP in [0, 1]; None when none holds the rate with these turns.
        """
        budget = rate * (self.n + 1) - 1 + _ROUNDING
        if budget < 0:
            return None
        suffered = 0.0
        for alarm in sorted(self.alarms.get(label, ()), key=lambda alarm: -alarm.confidence):
            suffered += alarm.loss
            if suffered > budget:
                above = round(alarm.confidence * STEP) + 1
                return above / STEP if above <= STEP else None
        return 0.0

    def loss(self, label: Label, threshold: float) -> float:
        """Mean loss of a rule that withholds `label` from `threshold` on, over these turns, in [0, 1]."""
        return sum(alarm.loss for alarm in self.alarms.get(label, ()) if alarm.confidence >= threshold) / self.n


class RiskTable(_Frozen):
    """What a judge wrongly held against fine turns: numbers only, no text.

    The promise is kept for each group by itself, and so for any mixture of them.
    """

    version: Literal[1] = 1
    judge: JudgeInfo
    level: Level
    created: date
    groups: tuple[RiskGroup, ...] = Field(min_length=1)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a file that `vista-guard calibrate` wrote.

        Raises:
            ConfigError: the file is missing, or is something else.
        """
        advice = "Make one with: vista-guard calibrate REPORTS --labels LABELS --out FILE"
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as exc:
            raise ConfigError(f"risk table {path} cannot be read: {exc.strerror}. {advice}") from exc
        except ValidationError as exc:
            first = exc.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            raise ConfigError(f"risk table {path}: {where}: {first['msg']}. {advice}") from exc

    def save(self, path: Path) -> None:
        """Writes the file whole, or not at all.

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
        """The table in one line."""
        groups = ", ".join(f"{group.source} (n = {group.n:,})" for group in self.groups)
        return f"{self.judge.name} {self.judge.version}, {self.level} level, {self.created}: {groups}"

    def thresholds(self, labels: Sequence[Label], rate: float) -> dict[Label, float]:
        """The smallest confidence for each label, so that all rules together hold the rate.

        Rules share the rate equally: what each may withhold wrongly adds up to what the turn may suffer.

        Raises:
            ConfigError: too few fine turns, or too many that were wrongly judged with full confidence.
        """
        return {
            label: max(self._threshold(group, label, rate, len(labels)) for group in self.groups) for label in labels
        }

    def _threshold(self, group: RiskGroup, label: Label, rate: float, rules: int) -> float:
        found = group.threshold(label, rate / rules)
        if found is not None:
            return found
        shared = f", shared by {rules} rules" if rules > 1 else ""
        asked = f"policy.max_false_alarm_rate is {rate:g}{shared}"
        needed = needed_turns(rate / rules)
        if needed is None or group.n < needed:
            count = "an endless number of" if needed is None else f"{needed:,}"
            raise ConfigError(
                f"{asked}: that needs {count} fine turns, and {group.source} has n = {group.n:,}. Label more turns "
                f"(vista-guard calibrate), or allow a rate of at least {_rounded_up(rules / (group.n + 1)):g}"
            )
        certain = group.loss(label, 1.0)
        raise ConfigError(
            f"{asked}: of the n = {group.n:,} fine turns of {group.source}, {certain:.1%} were called {label} with full "
            f"confidence, so no threshold holds it. Let policy.rules.{label} only FLAG, or allow a rate of at least "
            f"{_rounded_up(rules * (certain * group.n + 1) / (group.n + 1)):g}"
        )


def needed_turns(rate: float) -> int | None:
    """Fewest fine turns with which a rate can be promised at all: `n >= 1 / rate - 1`. None for a rate of 0."""
    return math.ceil(1 / rate - 1 - _ROUNDING) if rate > 0 else None


def alarms(losses: Iterable[tuple[float, float]]) -> tuple[Alarm, ...]:
    """Alarms from (confidence, loss) pairs, the hardest first; equal confidences are added up.

    Confidences are rounded down to steps: whether one reaches a threshold, which is a whole step, stays the same.
    """
    steps: dict[int, float] = {}
    for confidence, loss in losses:
        step = math.floor(confidence * STEP + _ROUNDING)
        steps[step] = steps.get(step, 0.0) + loss
    return tuple(Alarm(confidence=step / STEP, loss=round(steps[step], 9)) for step in sorted(steps, reverse=True))


def _rounded_up(rate: float) -> float:
    return math.ceil(rate * STEP - _ROUNDING) / STEP
