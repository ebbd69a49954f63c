"""The policies that come with the package, and policies made from them. Pure.

| preset   | contradicted         | lacking evidence        | could not be judged | no evidence at all | by the turn's risk |
|----------|----------------------|-------------------------|---------------------|--------------------|--------------------|
| monitor  | marked               | marked                  | flag                | flag               | flag               |
| balanced | block when confident | marked                  | flag                | flag               | flag, else block   |
| strict   | block                | regenerate, else redact | block               | block              | –                  |

A claim that is *marked* keeps its label and flags nothing alone: the turn's risk weighs it with all others. Where a judge has no
calibrated risk, each marked claim flags the turn, as a rule with `flags_alone` does. Code is let through by each of them, and the
decision's reason says that it was not judged: `on_code` changes that. With `max_false_alarm_rate` and `max_flag_rate` the
thresholds come from a risk table (`docs/design/risk-control.md`).
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from vista_guard.errors import ConfigError
from vista_guard.policy.label_policy import MESSAGE, SEVERITY, LabelPolicy, Rule
from vista_guard.types import Action, Label, RepairMode

PRESETS: Mapping[str, LabelPolicy] = {
    "monitor": LabelPolicy(
        name="monitor",
        rules={
            Label.CONTRADICTED: Rule(action=Action.FLAG, flags_alone=False),
            Label.LACKING_EVIDENCE: Rule(action=Action.FLAG, flags_alone=False),
        },
        on_unchecked=Action.FLAG,
        on_no_evidence=Action.FLAG,
        flag_at_risk="auto",
    ),
    "balanced": LabelPolicy(
        name="balanced",
        rules={
            Label.CONTRADICTED: Rule(action=Action.BLOCK, min_confidence=0.8, flags_alone=False),
            Label.LACKING_EVIDENCE: Rule(action=Action.FLAG, flags_alone=False),
        },
        on_unchecked=Action.FLAG,
        on_no_evidence=Action.FLAG,
        flag_at_risk="auto",
        block_at_risk="auto",
    ),
    "strict": LabelPolicy(
        name="strict",
        rules={Label.CONTRADICTED: Rule(action=Action.BLOCK), Label.LACKING_EVIDENCE: Rule(action=Action.REPAIR)},
        on_unchecked=Action.BLOCK,
        on_no_evidence=Action.BLOCK,
        fallback=RepairMode.REDACT,
    ),
}


def build_policy(base: str, overrides: Mapping[str, object] | None = None) -> LabelPolicy:
    """A preset, with single rules or fields replaced.

    Raises:
        ConfigError: unknown preset, or an override that makes no sense; names the field and the value.
    """
    if base not in PRESETS:
        raise ConfigError(f"policy is {base!r}; choose one of {', '.join(PRESETS)}")
    if not overrides:
        return PRESETS[base]
    fields = PRESETS[base].model_dump(mode="json")
    changed = dict(overrides)
    rules = changed.pop("rules", {})
    if not isinstance(rules, Mapping):
        raise ConfigError(f"policy.rules is {rules!r}; expected a mapping from labels to rules")
    try:
        policy = LabelPolicy.model_validate({**fields, **changed, "rules": {**fields["rules"], **rules}})
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in ("policy", *first["loc"]))
        raise ConfigError(f"{where} is {first['input']!r}: {first['msg']}") from exc
    _one_choice(policy, overrides, rules)
    return policy


def _one_choice(policy: LabelPolicy, overrides: Mapping[str, object], rules: Mapping[str, object]) -> None:
    """A threshold that the user wrote must not be replaced behind their back."""
    chosen = {"block_at_risk": "max_false_alarm_rate", "flag_at_risk": "max_flag_rate"}
    for field, rate in chosen.items():
        asked, written = getattr(policy, rate), overrides.get(field)
        if asked is not None and isinstance(written, int | float):
            raise ConfigError(
                f"policy.{field} is {written} and policy.{rate} is {asked}, which chooses it. Drop one of them"
            )
    for label, rule in rules.items():
        if policy.max_false_alarm_rate is None or not isinstance(rule, Mapping) or "min_confidence" not in rule:
            continue
        if policy.rules[Label(label)].withholds:
            raise ConfigError(
                f"policy.rules.{label}.min_confidence is {rule['min_confidence']} and policy.max_false_alarm_rate is "
                f"{policy.max_false_alarm_rate}, which chooses it. Drop one of them"
            )


__all__ = ["MESSAGE", "PRESETS", "SEVERITY", "LabelPolicy", "Rule", "build_policy"]
