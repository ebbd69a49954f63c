"""Policies as people name them on the command line: a preset, the one of the settings, or a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vista_guard._mappings import read_mapping
from vista_guard.errors import ConfigError
from vista_guard.evaluation.whatif.recipe import Recipe
from vista_guard.policy.presets import PRESETS
from vista_guard.settings.sources import Settings

SETTINGS: Final = "settings"
"""The name of the policy that the settings configure."""

SUFFIXES: Final = (".toml", ".yaml", ".yml")


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

    Example:
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
    if path.suffix not in SUFFIXES:
        known = ", ".join([*PRESETS, SETTINGS])
        raise ConfigError(f"policy is {told!r}; choose one of {known}, or a file that ends in {', '.join(SUFFIXES)}")
    content = _content(path)
    unknown = [key for key in content if key not in Settings.model_fields]
    if unknown:
        raise ConfigError(
            f"the policy file {path} has {unknown[0]!r}, which is no setting; it may hold policy, policy_overrides and risk_table"
        )
    preset, overrides = content.get("policy", "balanced"), content.get("policy_overrides") or {}
    if not isinstance(preset, str) or not isinstance(overrides, Mapping):
        raise ConfigError(f"the policy file {path}: policy must be a preset's name, and policy_overrides a table")
    table = content.get("risk_table")
    return NamedPolicy(told, Recipe(preset, overrides), settings.risk_table if table is None else Path(str(table)))


def _content(path: Path) -> Mapping[str, Any]:
    try:
        content = read_mapping(path)
    except OSError as exc:
        raise ConfigError(f"the policy file {path} cannot be read: {exc.strerror}") from exc
    except ValueError as exc:
        raise ConfigError(f"the policy file {path} cannot be read as {path.suffix[1:].upper()}: {exc}") from exc
    if not content:
        raise ConfigError(f'the policy file {path} says nothing; write for example: policy = "strict"')
    return content
