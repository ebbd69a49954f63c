"""A policy as people choose it, and as lines for the settings file. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vista_guard.errors import ConfigError
from vista_guard.policy.label_policy import LabelPolicy
from vista_guard.policy.presets import build_policy


@dataclass(frozen=True)
class Recipe:
    """A preset and what is changed in it: `policy` and `policy_overrides` of the settings."""

    preset: str
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def policy(self) -> LabelPolicy:
        """The policy.

        Raises:
            ConfigError: unknown preset, or an override that makes no sense.
        """
        return build_policy(self.preset, self.overrides)

    def toml(self) -> str:
        """Lines for `vista-guard.toml`, at its top: what is read from them is this recipe.

        Raises:
            ConfigError: an override that TOML has no words for, such as None.
        """
        tables = [f"policy = {_value('policy', self.preset)}\n"]
        tables += _table(("policy_overrides",), self.overrides)
        return "\n".join(tables)


def _table(path: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[str]:
    """The table with its own values, then the tables in it."""
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
    raise ConfigError(f"{name} is {value!r}, which a settings file in TOML cannot say; leave it out")
