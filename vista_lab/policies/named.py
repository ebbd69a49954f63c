"""Policies by name: a preset, the settings' own, or a file.

Policies are fitted to each judge: "auto" thresholds, promised rates and the turn's risk depend on the judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from vista_guard.assembly import calibrate_policy
from vista_guard.errors import ConfigError
from vista_guard.policy.label_policy import PRESETS, LabelPolicy, Recipe
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.settings.sources import POLICY_FILES, Settings, policy_file
from vista_guard.types import Decision, JudgeInfo, TurnReport
from vista_lab.policies.comparison import PolicyCase, case_of, decision

SETTINGS: Final = "settings"
"""Name of the policy that the settings configure."""


@dataclass(frozen=True)
class NamedPolicy:
    """A policy with its name. `risk_table` has its rates and risks; the judge's own when None."""

    name: str
    recipe: Recipe
    risk_table: Path | None = None


def named_policy(told: str, settings: Settings) -> NamedPolicy:
    """Finds a policy by its name.

    Args:
        told: `monitor`, `balanced` or `strict`, without overrides; `settings`, for the policy of the settings with its overrides;
            or a TOML or YAML file with `policy`, `policy_overrides` and `risk_table`, as in `vista-guard.toml`.
        settings: have the policy `settings`, and the risk table for files without one.

    Raises:
        ConfigError: the name or file is unknown, or the policy is invalid.

    Examples:
        >>> named_policy("strict", Settings.load()).recipe.policy().on_unchecked
        <Action.BLOCK: 'BLOCK'>
    """
    if told in PRESETS:
        policy = NamedPolicy(told, Recipe(told), settings.risk_table)
    elif told == SETTINGS:
        policy = NamedPolicy(told, Recipe(settings.policy, settings.policy_overrides), settings.risk_table)
    else:
        policy = _read_policy(told, settings)
    try:
        policy.recipe.policy()
    except ConfigError as exc:
        raise ConfigError(f"the policy {told}: {exc}") from exc
    return policy


def _read_policy(name: str, settings: Settings) -> NamedPolicy:
    path = Path(name)
    if path.suffix not in POLICY_FILES:
        known = ", ".join([*PRESETS, SETTINGS])
        raise ConfigError(
            f"policy is {name!r}; choose one of {known}, or a file that ends in {', '.join(POLICY_FILES)}"
        )
    content = policy_file(path)
    table = content.get("risk_table", settings.risk_table)
    return NamedPolicy(name, Recipe(content["policy"], content["policy_overrides"]), table)


def as_toml(recipe: Recipe) -> str:
    """Formats the recipe as the first lines of `vista-guard.toml`.

    >>> print(as_toml(Recipe("strict", {"on_code": "FLAG"})), end="")
    policy = "strict"
    <BLANKLINE>
    [policy_overrides]
    on_code = "FLAG"

    Raises:
        ConfigError: TOML cannot hold an override's value, such as None.
    """
    tables = [f"policy = {_value('policy', recipe.preset)}\n"]
    tables += _table(("policy_overrides",), recipe.overrides)
    return "\n".join(tables)


def _table(path: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[str]:
    """Formats a table with its own values, then its nested tables."""
    own = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    if own:
        yield f"[{'.'.join(path)}]\n" + "".join(f"{name} = {_value(name, value)}\n" for name, value in own.items())
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _table((*path, str(name)), value)


def _value(name: str, value: object) -> str:
    if isinstance(value, bool | int | float | str):
        # JSON writes these four as TOML does, but for one character that TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(name, item) for item in value)}]"
    raise ConfigError(f"{name} is {value!r}, which TOML cannot hold; leave it out")


def fit_of(judge: JudgeInfo, table: Path | None) -> TurnRisk | None:
    """The risk model of this judge, from its own table when `table` is None; None if nothing was fitted for it."""
    return calibrate_policy(PRESETS["monitor"], judge, table)[1]


def policies_by_judge(
    policy: LabelPolicy, judges: Iterable[JudgeInfo], table: Path | None
) -> dict[JudgeInfo, LabelPolicy]:
    """The policy fitted to each judge.

    Raises ConfigError if it promises a rate, and no table of a judge reaches that rate.
    """
    by_judge = {}
    for judge in judges:
        fitted, _ = calibrate_policy(policy, judge, table)
        assert isinstance(fitted, LabelPolicy)  # what was given is one
        by_judge[judge] = fitted
    return by_judge


@dataclass
class Decider:
    """One policy, applied to reports of any judge. `fits` has the risk models of the judges so far."""

    policy: LabelPolicy
    table: Path | None = None
    fits: dict[JudgeInfo, TurnRisk | None] = field(default_factory=dict)
    _standing: dict[JudgeInfo, LabelPolicy] = field(default_factory=dict)

    def __call__(self, report: TurnReport) -> tuple[PolicyCase, Decision]:
        """The report as a case, with the risk by this policy's table, and the policy's decision.

        Raises ConfigError if the policy promises a rate that no table of this judge reaches.
        """
        judge = report.judge
        if judge not in self.fits:
            self._standing |= policies_by_judge(self.policy, [judge], self.table)
            self.fits[judge] = fit_of(judge, self.table)
        case = case_of(report, self.fits[judge])
        return case, decision(case, self._standing)
