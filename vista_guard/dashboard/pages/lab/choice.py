"""A policy as it stands in the address, and what it says in the settings. Pure.

`?b=balanced&b.contradicted=BLOCK@0.65&b.flag=0.35` is the second policy: the preset balanced, which blocks contradicted claims
from a confidence of 0.65 on and flags turns from a risk of 0.35 on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from vista_guard.evaluation.whatif.recipe import Recipe
from vista_guard.policy.presets import PRESETS
from vista_guard.types import Action, Label

RECORDED: Final = "recorded"
"""No policy: what was done with the turns."""

CONFIGURED: Final = "configured"
"""The policy of the settings."""

RULED: Final = {"contradicted": Label.CONTRADICTED, "lacking": Label.LACKING_EVIDENCE}
"""Labels whose rules can be changed, by their names in the address."""

RISKS: Final = {"flag": "flag_at_risk", "block": "block_at_risk"}

ALWAYS: Final = {"unchecked": "on_unchecked", "nothing": "on_no_evidence"}


@dataclass(frozen=True)
class Ruled:
    """What a label leads to: `action` from this confidence on, else a flag that the turn's risk has to confirm."""

    action: Action
    at: float


@dataclass(frozen=True)
class Choice:
    """One side of the lab. What is not in the mappings is as in the preset."""

    base: str
    rules: Mapping[str, Ruled] = field(default_factory=dict)
    risks: Mapping[str, float] = field(default_factory=dict)
    always: Mapping[str, Action] = field(default_factory=dict)

    @property
    def own(self) -> bool:
        """Whether anything is changed in the preset."""
        return bool(self.rules or self.risks or self.always)

    def recipe(self, configured: Recipe) -> Recipe | None:
        """As settings have it; None for what was done, which is no policy.

        Args:
            configured: the policy of the settings.
        """
        if self.base == RECORDED:
            return None
        start = configured if self.base == CONFIGURED else Recipe(self.base)
        overrides: dict[str, Any] = dict(start.overrides)
        if self.rules:
            overrides["rules"] = {**overrides.get("rules", {}), **self._rules(start)}
        overrides |= {RISKS[name]: value for name, value in self.risks.items()}
        overrides |= {ALWAYS[name]: str(action) for name, action in self.always.items()}
        return Recipe(start.preset, overrides)

    def _rules(self, start: Recipe) -> dict[str, dict[str, Any]]:
        """Whole rules: what a settings file replaces is a rule, not a field of one."""
        policy = start.policy()
        found = {}
        for name, ruled in self.rules.items():
            before = policy.rules[RULED[name]].model_dump(mode="json")
            # Below the confidence from which a rule flags nothing is left to do but to let through.
            otherwise = Action.ALLOW if ruled.action in (Action.ALLOW, Action.FLAG) else Action.FLAG
            changed = {"action": str(ruled.action), "min_confidence": ruled.at, "otherwise": str(otherwise)}
            found[str(RULED[name])] = {**before, **changed}
        return found


def from_params(side: str, params: Mapping[str, str], default: Choice) -> Choice:
    """The choice that the address names for a side (`a`, `b`); what it names wrongly is left as in the preset."""
    base = params.get(side)
    if base is None:
        return default
    if base not in (*PRESETS, RECORDED, CONFIGURED):
        return default
    rules = {name: found for name in RULED if (found := _ruled(params.get(f"{side}.{name}", "")))}
    risks = {name: value for name in RISKS if (value := _share(params.get(f"{side}.{name}", ""))) is not None}
    actions = set(map(str, Action))
    always = {name: Action(params[f"{side}.{name}"]) for name in ALWAYS if params.get(f"{side}.{name}") in actions}
    return Choice(base, rules, risks, always)


def to_params(side: str, choice: Choice) -> dict[str, str | None]:
    """Parameters of the address; None for those that must not be there."""
    told: dict[str, str | None] = {side: choice.base}
    told |= {f"{side}.{name}": None for name in (*RULED, *RISKS, *ALWAYS)}
    told |= {f"{side}.{name}": f"{ruled.action}@{ruled.at:g}" for name, ruled in choice.rules.items()}
    told |= {f"{side}.{name}": f"{value:g}" for name, value in choice.risks.items()}
    return told | {f"{side}.{name}": str(action) for name, action in choice.always.items()}


def _ruled(told: str) -> Ruled | None:
    action, _, at = told.partition("@")
    limit = _share(at)
    return Ruled(Action(action), limit) if action in set(map(str, Action)) and limit is not None else None


def _share(told: str) -> float | None:
    try:
        value = float(told)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
