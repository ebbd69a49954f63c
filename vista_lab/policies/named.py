"""Policies by name: a preset, the settings' own, or a file.

Also as lines for the settings file, and fitted to each judge: "auto" thresholds, promised rates and the turn's risk depend on
who judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from vista_guard.assembly import calibrated
from vista_guard.errors import ConfigError
from vista_guard.policy.label_policy import PRESETS, LabelPolicy, Recipe
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.settings.sources import POLICY_FILES, Settings, policy_file
from vista_guard.types import Decision, JudgeInfo, TurnReport
from vista_lab.policies.comparison import PolicyCase, case_of, decision

SETTINGS: Final = "settings"
"""The name of the policy that the settings configure."""


@dataclass(frozen=True)
class NamedPolicy:
    """A policy and what it is called. `risk_table` is where its rates and risks come from, the judge's own when None."""

    name: str
    recipe: Recipe
    risk_table: Path | None = None


def named_policy(told: str, settings: Settings) -> NamedPolicy:
    """The policy of this name.

    Args:
        told: `monitor`, `balanced` or `strict`, plainly; `settings`, for the policy of the settings with its overrides; or a TOML
            or YAML file with `policy`, `policy_overrides` and `risk_table`, as `vista-guard.toml` has them.
        settings: whose policy `settings` is, and whose risk table stands where a file names none.

    Raises:
        ConfigError: no such name or file, or a policy that makes no sense.

    Examples:
        >>> named_policy("strict", Settings.load()).recipe.policy().on_unchecked
        <Action.BLOCK: 'BLOCK'>
    """
    if told in PRESETS:
        found = NamedPolicy(told, Recipe(told), settings.risk_table)
    elif told == SETTINGS:
        found = NamedPolicy(told, Recipe(settings.policy, settings.policy_overrides), settings.risk_table)
    else:
        found = _of_file(told, settings)
    try:
        found.recipe.policy()
    except ConfigError as exc:
        raise ConfigError(f"the policy {told}: {exc}") from exc
    return found


def _of_file(told: str, settings: Settings) -> NamedPolicy:
    path = Path(told)
    if path.suffix not in POLICY_FILES:
        known = ", ".join([*PRESETS, SETTINGS])
        raise ConfigError(
            f"policy is {told!r}; choose one of {known}, or a file that ends in {', '.join(POLICY_FILES)}"
        )
    content = policy_file(path)
    table = content.get("risk_table", settings.risk_table)
    return NamedPolicy(told, Recipe(content["policy"], content["policy_overrides"]), table)


def fit_of(judge: JudgeInfo, table: Path | None) -> TurnRisk | None:
    """How this judge's outcomes become a turn's risk; None where nothing was fitted for it. The judge's own table when None."""
    return calibrated(PRESETS["monitor"], judge, table)[1]


def policies_by_judge(
    policy: LabelPolicy, judges: Iterable[JudgeInfo], table: Path | None
) -> dict[JudgeInfo, LabelPolicy]:
    """The policy as it stands for each judge.

    Raises ConfigError if it promises a rate, and there is no table for a judge, or none that holds the rate.
    """
    found = {}
    for judge in judges:
        fitted, _ = calibrated(policy, judge, table)
        assert isinstance(fitted, LabelPolicy)  # what was given is one
        found[judge] = fitted
    return found


@dataclass
class Decider:
    """One policy, applied to reports of any judge. `fits` are those of the judges that it met."""

    policy: LabelPolicy
    table: Path | None = None
    fits: dict[JudgeInfo, TurnRisk | None] = field(default_factory=dict)
    _standing: dict[JudgeInfo, LabelPolicy] = field(default_factory=dict)

    def __call__(self, report: TurnReport) -> tuple[PolicyCase, Decision]:
        """The report as a case, with its risk as this policy's table has it, and what the policy decides.

        Raises ConfigError if the policy promises a rate that no table of this judge holds.
        """
        judge = report.judge
        if judge not in self.fits:
            self._standing |= policies_by_judge(self.policy, [judge], self.table)
            self.fits[judge] = fit_of(judge, self.table)
        case = case_of(report, self.fits[judge])
        return case, decision(case, self._standing)
