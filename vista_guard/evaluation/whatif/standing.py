"""A policy as it stands for each judge: "auto" thresholds, promised rates and the turn's risk hang on who judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from vista_guard.assembly import calibrated
from vista_guard.evaluation.whatif.cases import Case, case_of
from vista_guard.evaluation.whatif.deciding import decision
from vista_guard.policy.label_policy import LabelPolicy
from vista_guard.policy.presets import PRESETS
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import Decision, JudgeInfo, TurnReport


def fit_of(judge: JudgeInfo, table: Path | None) -> TurnRisk | None:
    """How this judge's outcomes become a turn's risk; None where nothing was fitted for it.

    Args:
        judge: who judged.
        table: the risk table of the settings; the embedded judge's own when None.
    """
    return calibrated(PRESETS["monitor"], judge, table)[1]


def standing(policy: LabelPolicy, judges: Iterable[JudgeInfo], table: Path | None) -> dict[JudgeInfo, LabelPolicy]:
    """The policy as it stands for each judge.

    Raises:
        ConfigError: it promises a rate, and there is no table for a judge, or none that holds the rate.
    """
    found = {}
    for judge in judges:
        fitted, _ = calibrated(policy, judge, table)
        assert isinstance(fitted, LabelPolicy)  # what was given is one
        found[judge] = fitted
    return found


@dataclass
class Decider:
    """One policy, deciding anew on reports of any judge. `fits` are those of the judges that it met."""

    policy: LabelPolicy
    table: Path | None = None
    fits: dict[JudgeInfo, TurnRisk | None] = field(default_factory=dict)
    _standing: dict[JudgeInfo, LabelPolicy] = field(default_factory=dict)

    def __call__(self, report: TurnReport) -> tuple[Case, Decision]:
        """The report as a case, with its risk as this policy's table has it, and what the policy decides.

        Raises:
            ConfigError: the policy promises a rate that no table of this judge holds.
        """
        judge = report.judge
        if judge not in self.fits:
            self._standing |= standing(self.policy, [judge], self.table)
            self.fits[judge] = fit_of(judge, self.table)
        case = case_of(report, self.fits[judge])
        return case, decision(case, self._standing)
