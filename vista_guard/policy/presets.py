"""Policies: what happens to a turn, given what was found in it. Pure.

| preset   | contradicted            | lacking evidence          | could not be judged | no evidence at all |
|----------|-------------------------|---------------------------|---------------------|--------------------|
| monitor  | flag                    | flag                      | flag                | flag               |
| balanced | block when confident    | flag                      | flag                | flag               |
| strict   | block                   | regenerate, else redact   | block               | block              |

Code is let through by each of them, and the decision's reason says that it was not judged: `on_code` changes that.
With `max_false_alarm_rate` the confidences from which rules withhold come from a risk table (`docs/design/risk-control.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vista_guard.errors import ConfigError
from vista_guard.policy.risk import ALARMS, RiskTable
from vista_guard.types import Action, Decision, Finding, Label, Outcome, Probability, RepairMode

SEVERITY = {Action.ALLOW: 0, Action.FLAG: 1, Action.REPAIR: 2, Action.BLOCK: 3}

MESSAGE = "I can't answer that reliably: part of my answer did not agree with my sources."
"""Default text in place of a withheld turn."""

_NEEDS_NO_EVIDENCE = frozenset({Label.OUT_OF_SCOPE, Label.ABSTENTION})


class Rule(BaseModel):
    """What one label leads to: `action` from `min_confidence` on, else `otherwise`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Action
    min_confidence: Probability = 0.0
    otherwise: Action = Action.FLAG

    def __call__(self, confidence: float) -> Action:
        return self.action if confidence >= self.min_confidence else self.otherwise

    @property
    def withholds(self) -> bool:
        """Whether a turn may not be delivered as it is because of this rule."""
        return _withholds(self.action) or _withholds(self.otherwise)


class LabelPolicy(BaseModel):
    """Decides by the hardest rule that any outcome meets. Labels without a rule are allowed.

    `on_unchecked` is the explicit choice between fail-open (FLAG, or ALLOW) and fail-closed (BLOCK); `on_no_evidence` applies
    when the turn had nothing at all to be verified against and says something that needs it.

    `on_code` is for blocks of code, which no document could prove or refute: what their strings and comments say is claims like
    any other.

    `max_false_alarm_rate` is the largest share of fine turns that the rules may withhold (repair or block): the guard then takes
    the `min_confidence` of each rule that withholds from a risk table. The two choices above do not look at confidence, and
    what they withhold is not counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    rules: Mapping[Label, Rule]
    on_unchecked: Action
    on_no_evidence: Action
    on_code: Action = Action.ALLOW
    repair: RepairMode = RepairMode.REGENERATE
    fallback: RepairMode = RepairMode.REFUSE
    max_attempts: int = Field(default=1, ge=0, le=10)
    message: str = Field(default=MESSAGE, min_length=1)
    max_false_alarm_rate: Probability | None = None
    calibration: str | None = None
    """The risk table that the thresholds were taken from; written by `calibrated`."""

    @model_validator(mode="after")
    def _monitor_withholds_nothing(self) -> Self:
        actions = [rule.action for rule in self.rules.values()] + [rule.otherwise for rule in self.rules.values()]
        if (
            self.name == "monitor"
            and SEVERITY[
                max([*actions, self.on_unchecked, self.on_no_evidence, self.on_code], key=SEVERITY.__getitem__)
            ]
            > 1
        ):
            raise ValueError("the monitor policy never withholds: use ALLOW or FLAG, or start from balanced")
        if self.fallback is RepairMode.REGENERATE:
            raise ValueError("fallback is what happens when regenerating failed: use redact, annotate or refuse")
        return self

    @property
    def awaits_calibration(self) -> bool:
        """Whether a false alarm rate was asked for and there is a rule that could break it."""
        return self.max_false_alarm_rate is not None and any(rule.withholds for rule in self.rules.values())

    def calibrated(self, table: RiskTable) -> LabelPolicy:
        """The policy with each withholding rule's `min_confidence` as low as `max_false_alarm_rate` allows.

        Raises:
            ConfigError: a rule that no threshold can hold to the rate, or a table that is too small for it.
        """
        if self.max_false_alarm_rate is None:
            return self
        ruled = [label for label, rule in self.rules.items() if rule.withholds]
        for label in ruled:
            if label not in ALARMS:
                raise ConfigError(
                    f"policy.rules.{label} withholds, but policy.max_false_alarm_rate covers only rules for "
                    f"{' and '.join(ALARMS)}. Let it FLAG, or drop the rate"
                )
            if _withholds(self.rules[label].otherwise):
                raise ConfigError(
                    f"policy.rules.{label}.otherwise is {self.rules[label].otherwise}, which withholds below any threshold, and "
                    "policy.max_false_alarm_rate is set. Use ALLOW or FLAG, or drop the rate"
                )
        found = table.thresholds(ruled, self.max_false_alarm_rate)
        changed = {
            label: self.rules[label].model_copy(update={"min_confidence": limit}) for label, limit in found.items()
        }
        return self.model_copy(update={"rules": {**self.rules, **changed}, "calibration": table.name})

    def __call__(self, outcomes: Sequence[Outcome], *, evidence_missing: bool) -> Decision:
        if self.awaits_calibration and self.calibration is None:
            raise ConfigError(
                f"policy.max_false_alarm_rate is {self.max_false_alarm_rate}, and its thresholds were not chosen yet. Pass the "
                "policy to a Guard, or call calibrated() on it"
            )
        verdicts = [(self._action(outcome), outcome) for outcome in outcomes]
        needing = [outcome for outcome in outcomes if _needs_evidence(outcome)]
        if evidence_missing and needing:
            verdicts += [(self.on_no_evidence, outcome) for outcome in needing]
        hardest = max((action for action, _ in verdicts), key=SEVERITY.__getitem__, default=Action.ALLOW)
        if hardest is Action.ALLOW:
            return Decision(action=Action.ALLOW, reason=_allowed(outcomes, evidence_missing))
        # A repair must mend every claim that asked for more than a flag, not only the worst.
        least = min(SEVERITY[hardest], SEVERITY[Action.REPAIR])
        meant = {outcome.claim.id: outcome for action, outcome in verdicts if SEVERITY[action] >= least}
        reason = "; ".join(self._because(outcome) for outcome in meant.values())
        missing = "there was no evidence to verify against; " if evidence_missing and needing else ""
        return Decision(action=hardest, reason=missing + reason, claim_ids=tuple(meant))

    def _action(self, outcome: Outcome) -> Action:
        if not isinstance(outcome, Finding):
            return self.on_code if outcome.what == "code" else self.on_unchecked
        rule = self.rules.get(outcome.label)
        return rule(outcome.confidence) if rule else Action.ALLOW

    def _because(self, outcome: Outcome) -> str:
        if not isinstance(outcome, Finding):
            if outcome.what == "code":
                return f"{outcome.claim.id} is code, which is not judged"
            return f"{outcome.claim.id} could not be judged: {_short(outcome.error)}"
        label = outcome.label.replace("_", " ").lower()
        rule = self.rules.get(outcome.label)
        limit = f", withheld from {rule.min_confidence:.4f} on" if self.calibration and rule and rule.withholds else ""
        return f"{outcome.claim.id} {label} ({outcome.confidence:.2f}{limit}): {_short(outcome.claim.text)}"


def _withholds(action: Action) -> bool:
    return SEVERITY[action] >= SEVERITY[Action.REPAIR]


def _needs_evidence(outcome: Outcome) -> bool:
    if not isinstance(outcome, Finding):
        return outcome.what != "code"
    return outcome.label not in _NEEDS_NO_EVIDENCE


def _allowed(outcomes: Sequence[Outcome], evidence_missing: bool) -> str:
    claims = [outcome for outcome in outcomes if isinstance(outcome, Finding) or outcome.what != "code"]
    code = "" if len(claims) == len(outcomes) else "; code was not judged"
    if not claims:
        return f"the turn makes no claim{code}"
    return f"{'no claim needs evidence' if evidence_missing else 'every claim is supported or needs no support'}{code}"


def _short(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


PRESETS: Mapping[str, LabelPolicy] = {
    "monitor": LabelPolicy(
        name="monitor",
        rules={Label.CONTRADICTED: Rule(action=Action.FLAG), Label.LACKING_EVIDENCE: Rule(action=Action.FLAG)},
        on_unchecked=Action.FLAG,
        on_no_evidence=Action.FLAG,
    ),
    "balanced": LabelPolicy(
        name="balanced",
        rules={
            Label.CONTRADICTED: Rule(action=Action.BLOCK, min_confidence=0.8),
            Label.LACKING_EVIDENCE: Rule(action=Action.FLAG),
        },
        on_unchecked=Action.FLAG,
        on_no_evidence=Action.FLAG,
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
    _one_choice(policy, rules)
    return policy


def _one_choice(policy: LabelPolicy, rules: Mapping[str, object]) -> None:
    """A threshold that the user wrote must not be replaced behind their back."""
    for label, rule in rules.items():
        if policy.max_false_alarm_rate is None or not isinstance(rule, Mapping) or "min_confidence" not in rule:
            continue
        if policy.rules[Label(label)].withholds:
            raise ConfigError(
                f"policy.rules.{label}.min_confidence is {rule['min_confidence']} and policy.max_false_alarm_rate is "
                f"{policy.max_false_alarm_rate}, which chooses it. Drop one of them"
            )
