"""A policy by labels and by the turn's risk, its presets, and recipes made from them. Pure.

| preset   | contradicted         | lacking evidence        | not judged | no evidence at all | by the turn's risk | links  |
|----------|----------------------|-------------------------|------------|--------------------|--------------------|--------|
| monitor  | flag                 | in the risk             | flag       | flag               | flag               | flag   |
| balanced | flag; block from 0.8 | in the risk             | flag       | flag               | flag, else block   | flag   |
| strict   | block                | regenerate, else redact | block      | block              | –                  | remove |

A claim *in the risk* keeps its label: the turn's risk weighs it with all others, and one that surely lacks evidence (0.97)
flags alone. For a judge without a calibrated risk, each such claim flags the turn, as a rule with `flags_alone` does.
With `max_false_alarm_rate` and `max_flag_rate` the thresholds come from a risk table (docs/design/risk-control.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from vista_guard.errors import ConfigError
from vista_guard.policy.links import LinkMode, as_hosts, check_host
from vista_guard.policy.risk import ALARMS, RiskTable
from vista_guard.policy.turn_risk import FACTS, HELD_AGAINST, TurnRisk
from vista_guard.protocols import Policy
from vista_guard.types import Action, Decision, Finding, Label, Outcome, Probability, RepairMode

SEVERITY = {Action.ALLOW: 0, Action.FLAG: 1, Action.REPAIR: 2, Action.BLOCK: 3}

MESSAGE = "I can't answer that reliably: part of my answer did not agree with my sources."
"""Default text in place of a withheld turn."""


def _risk(value: object) -> object:
    """A number in [0, 1], "auto" or None as it is. Raises ValueError: anything else; `True` is no number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    if value is None or value == "auto" or is_number:
        return value
    raise ValueError('give a number from 0 to 1, "auto" or nothing')


AtRisk = Annotated[float | Literal["auto"] | None, BeforeValidator(_risk)]
"""Risk of the turn from which an action is taken: a number, the one fitted for the judge, or never."""


class Rule(BaseModel):
    """The action for one label: `action` from `min_confidence` on, `otherwise` below."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Action
    min_confidence: Probability = 0.0
    otherwise: Action = Action.FLAG
    flags_alone: bool | Probability = True
    """True if a FLAG of this rule flags the turn whatever its risk is; a number: from that confidence on. Otherwise the
    turn's risk has to reach `flag_at_risk`. Rules that withhold always act alone."""

    def __call__(self, confidence: float) -> Action:
        return self.action if confidence >= self.min_confidence else self.otherwise

    def acts_alone(self, confidence: float) -> bool:
        """True if a FLAG for a claim of this confidence does not wait for the turn's risk."""
        return self.flags_alone if isinstance(self.flags_alone, bool) else confidence >= self.flags_alone

    @property
    def withholds(self) -> bool:
        """True when this rule can keep a turn from being delivered as it is."""
        return _withholds(self.action) or _withholds(self.otherwise)


class LabelPolicy(BaseModel):
    """Decides by the strictest rule that an outcome meets, and by the turn's risk. Labels without a rule are allowed.

    `flag_at_risk` and `block_at_risk` are the risks of the turn (`TurnReport.risk`) from which it is flagged or blocked, where
    anything is held against it at all. "auto" takes what was fitted for the judge, and nothing for a judge without a fit: its
    claims then flag the turn one by one.

    `on_unchecked` is the explicit choice between fail-open (FLAG, or ALLOW) and fail-closed (BLOCK). It is also the least that
    happens to an `unconfirmed` finding. `on_no_evidence` applies
    when the turn had nothing at all to be verified against and says something that needs it.

    `on_code` is for blocks of code, which no document could prove or refute: what their strings and comments say is claims like
    any other.

    `links` is for links, pictures and scripts that lead to a host which is in no document of the turn, in no message of the user
    and not in `link_hosts` (`docs.example.com`, or `*.example.org` for its subdomains): `remove` takes them out of the text.

    `max_false_alarm_rate` is the largest share of fine turns that the rules may withhold (repair or block): the guard then takes
    the `min_confidence` of each rule that withholds from a risk table. The two choices above do not look at confidence, and
    what they withhold is not counted. `max_flag_rate` is the largest share of fine turns that the risk may flag: the guard then
    takes `flag_at_risk` from the table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    rules: Mapping[Label, Rule]
    on_unchecked: Action
    on_no_evidence: Action
    on_code: Action = Action.ALLOW
    links: LinkMode = "allow"
    link_hosts: Annotated[tuple[Annotated[str, AfterValidator(check_host)], ...], BeforeValidator(as_hosts)] = ()
    repair: RepairMode = RepairMode.REGENERATE
    fallback: RepairMode = RepairMode.REFUSE
    max_attempts: int = Field(default=1, ge=0, le=10)
    message: str = Field(default=MESSAGE, min_length=1)
    flag_at_risk: AtRisk = None
    block_at_risk: AtRisk = None
    max_false_alarm_rate: Probability | None = None
    max_flag_rate: Probability | None = None
    calibration: str | None = None
    """The risk table that the thresholds were taken from; written by `calibrated`."""

    @model_validator(mode="after")
    def _monitor_withholds_nothing(self) -> Self:
        if self.name == "monitor" and (self.withholds or self.links == "remove"):
            raise ValueError(
                "the monitor policy never withholds: use ALLOW or FLAG, links = flag or allow, and no block_at_risk, or start "
                "from balanced"
            )
        if self.fallback is RepairMode.REGENERATE:
            raise ValueError("fallback is what happens when regenerating failed: use redact, annotate or refuse")
        return self

    @property
    def withholds(self) -> bool:
        """Implements `Policy.withholds`: by a rule, an explicit choice or the turn's risk."""
        return self.block_at_risk is not None or any(map(_withholds, self._actions()))

    @property
    def repairs(self) -> bool:
        """Implements `Policy.repairs`."""
        return Action.REPAIR in self._actions()

    def _actions(self) -> set[Action]:
        rules = [action for rule in self.rules.values() for action in (rule.action, rule.otherwise)]
        return {self.on_unchecked, self.on_no_evidence, self.on_code, *rules}

    @property
    def awaits_calibration(self) -> bool:
        """True when a rate is promised and a rule or risk could break it."""
        withholds = self.block_at_risk is not None or any(rule.withholds for rule in self.rules.values())
        return (self.max_false_alarm_rate is not None and withholds) or self.max_flag_rate is not None

    def calibrated(self, table: RiskTable) -> LabelPolicy:
        """Returns the policy with each withholding rule's `min_confidence`, and the risks, as low as the rates allow.

        Raises:
            ConfigError: a rule that no threshold can hold to the rate, or a table that is too small for it.
        """
        changed: dict[str, Any] = {"calibration": table.name} if self.awaits_calibration else {}
        if self.max_false_alarm_rate is not None:
            changed |= self._withholding(table, self.max_false_alarm_rate)
        if self.max_flag_rate is not None:
            rules: dict[Label, Rule] = dict(changed.get("rules", self.rules))
            for label, rule in self.rules.items():
                if rule.flags_alone is True and Action.FLAG in (rule.action, rule.otherwise):
                    raise ConfigError(
                        f"policy.max_flag_rate is {self.max_flag_rate:g}, and policy.rules.{label} flags alone, whatever the "
                        "turn's risk is. Set its flags_alone to false, or drop the rate"
                    )
                if not isinstance(rule.flags_alone, bool):  # the rate bounds what the risk flags
                    rules[label] = rules[label].model_copy(update={"flags_alone": False})
            changed["rules"] = rules
            changed["flag_at_risk"] = table.risk_threshold(self.max_flag_rate, "policy.max_flag_rate")
        return self.model_copy(update=changed)

    def _withholding(self, table: RiskTable, rate: float) -> dict[str, object]:
        """Chooses the thresholds of everything that withholds. They share the rate."""
        ruled = [label for label, rule in self.rules.items() if rule.withholds]
        for label in ruled:
            self._check_ruled(label)
        # Tables of older versions know nothing of risks.
        by_risk = self.block_at_risk is not None and bool(table.turns)
        sharing = max(len(ruled) + by_risk, 1)
        thresholds = table.thresholds(ruled, rate, rules=sharing)
        changed = {
            label: self.rules[label].model_copy(update={"min_confidence": limit}) for label, limit in thresholds.items()
        }
        name = (
            f"policy.max_false_alarm_rate, shared by {sharing} rules," if sharing > 1 else "policy.max_false_alarm_rate"
        )
        block = table.risk_threshold(rate / sharing, name) if by_risk else None
        return {"rules": {**self.rules, **changed}, "block_at_risk": block}

    def _check_ruled(self, label: Label) -> None:
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

    def fitted_to(self, risk: TurnRisk | None) -> LabelPolicy:
        """Returns the policy with "auto" replaced by the judge's fitted thresholds, or by None."""
        fitted = {"flag_at_risk": risk and risk.flag, "block_at_risk": risk and risk.block}
        changed = {name: limit for name, limit in fitted.items() if getattr(self, name) == "auto"}
        return self.model_copy(update=changed) if changed else self

    def __call__(self, outcomes: Sequence[Outcome], *, evidence_missing: bool) -> Decision:
        return self.weigh(outcomes, evidence_missing=evidence_missing, risk=None)

    def weigh(self, outcomes: Sequence[Outcome], *, evidence_missing: bool, risk: float | None) -> Decision:
        """Decides with the turn's risk in [0, 1]. A risk of None decides nothing, nor does any risk without evidence.

        Raises:
            ConfigError: a rate was asked for, and no guard chose its thresholds yet.
        """
        if self.awaits_calibration and self.calibration is None:
            name = "max_false_alarm_rate" if self.max_false_alarm_rate is not None else "max_flag_rate"
            raise ConfigError(
                f"policy.{name} is {getattr(self, name)}, and its thresholds were not chosen yet. Pass the "
                "policy to a Guard, or call calibrated() on it"
            )
        if evidence_missing:
            risk = None  # What becomes of such turns is an explicit choice: on_no_evidence.
        risk_action = self._risk_action(risk, outcomes)
        verdicts = [(self._action(outcome, risk_action), outcome) for outcome in outcomes]
        needing = [outcome for outcome in outcomes if evidence_missing and _needs_evidence(outcome)]
        verdicts += [(self.on_no_evidence, outcome) for outcome in needing]
        hardest = max((action for action, _ in verdicts), key=SEVERITY.__getitem__, default=Action.ALLOW)
        if hardest is Action.ALLOW:
            return Decision(action=Action.ALLOW, reason=self._allow_reason(outcomes, evidence_missing, risk))
        # A repair must mend every claim that asked for more than a flag, not only the worst.
        least = min(SEVERITY[hardest], SEVERITY[Action.REPAIR])
        decisive = {outcome.claim.id: outcome for action, outcome in verdicts if SEVERITY[action] >= least}
        reason = "; ".join(self._reason_for(outcome) for outcome in decisive.values())
        missing = "there was no evidence to verify against; " if needing else ""
        # A stricter rule needs no risk: "flagged from 0.50 on" is no reason for a block.
        at_risk = risk_action is hardest and any(_is_held(cause) for cause in decisive.values())
        risk_text = self._risk_reason(risk, risk_action) if at_risk else ""
        return Decision(action=hardest, reason=missing + risk_text + reason, claim_ids=tuple(decisive))

    def _risk_action(self, risk: float | None, outcomes: Sequence[Outcome]) -> Action | None:
        """The action that the risk requires, ALLOW to BLOCK; None for a policy without risk thresholds.

        A turn that a rule repairs is not blocked for its risk as well: it is withheld already, in the chosen way.
        """
        flag, block = (at if isinstance(at, float) else None for at in (self.flag_at_risk, self.block_at_risk))
        limit = block if flag is None else flag
        if risk is None or limit is None:
            return None
        if block is not None and risk >= block:
            findings = [finding for finding in outcomes if isinstance(finding, Finding) and finding.label in self.rules]
            if all(self.rules[finding.label](finding.confidence) is not Action.REPAIR for finding in findings):
                return Action.BLOCK
        return Action.FLAG if risk >= limit else Action.ALLOW

    def _action(self, outcome: Outcome, risk_action: Action | None) -> Action:
        if not isinstance(outcome, Finding):
            return self.on_code if outcome.what == "code" else self.on_unchecked
        action = self._action_on_finding(outcome, risk_action)
        return max(action, self.on_unchecked, key=SEVERITY.__getitem__) if outcome.unconfirmed else action

    def _action_on_finding(self, outcome: Finding, risk_action: Action | None) -> Action:
        rule = self.rules.get(outcome.label)
        own = rule(outcome.confidence) if rule else Action.ALLOW
        if rule is None or own is Action.ALLOW or risk_action is None or not _is_held(outcome):
            return own
        waits = own is Action.FLAG and not rule.acts_alone(outcome.confidence) and self.flag_at_risk is not None
        return max(Action.ALLOW if waits else own, risk_action, key=SEVERITY.__getitem__)

    def _reason_for(self, outcome: Outcome) -> str:
        if not isinstance(outcome, Finding):
            if outcome.what == "code":
                return f"{outcome.claim.id} is code, which is not judged"
            return f"{outcome.claim.id} could not be judged: {_short(outcome.error)}"
        label = outcome.label.replace("_", " ").lower()
        rule = self.rules.get(outcome.label)
        limit = rule.min_confidence if self.calibration and rule and rule.withholds else None
        confidence = _compare(outcome.confidence, limit, "withheld")
        unconfirmed = ", unconfirmed" if outcome.unconfirmed else ""
        return f"{outcome.claim.id} {label} ({confidence}{unconfirmed}): {_short(outcome.claim.text)}"

    def _risk_reason(self, risk: float | None, risk_action: Action | None) -> str:
        limit, done = (
            (self.block_at_risk, "withheld") if risk_action is Action.BLOCK else (self.flag_at_risk, "flagged")
        )
        if risk is None or risk_action in (None, Action.ALLOW) or not isinstance(limit, float):
            return ""
        return f"risk {_compare(risk, limit, done)}; "

    def _allow_reason(self, outcomes: Sequence[Outcome], evidence_missing: bool, risk: float | None) -> str:
        held = sum(_is_held(outcome) for outcome in outcomes)
        if held and risk is not None and isinstance(self.flag_at_risk, float):
            claims = f"{held} of {len(outcomes)} claims {'is' if held == 1 else 'are'} not supported"
            return f"{claims}; risk {_compare(risk, self.flag_at_risk, 'flagged')}"
        judged = [outcome for outcome in outcomes if isinstance(outcome, Finding) or outcome.what != "code"]
        code = "" if len(judged) == len(outcomes) else "; code was not judged"
        if not judged:
            return f"the turn makes no claim{code}"
        return (
            f"{'no claim needs evidence' if evidence_missing else 'every claim is supported or needs no support'}{code}"
        )


def _compare(value: float, limit: float | None, done: str) -> str:
    """Formats a probability and its limit with enough digits to show on which side it lies."""
    if limit is None:
        return f"{value:.2f}"
    digits = next((n for n in range(2, 6) if (round(value, n) >= limit) == (value >= limit)), 6)
    limit_text = f"{limit:.2f}" if round(limit, 2) == limit else f"{limit:.6g}"
    return f"{value:.{digits}f}, {done} from {limit_text} on"


def _withholds(action: Action) -> bool:
    return SEVERITY[action] >= SEVERITY[Action.REPAIR]


def _is_held(outcome: Outcome) -> bool:
    return isinstance(outcome, Finding) and outcome.label in HELD_AGAINST


def _needs_evidence(outcome: Outcome) -> bool:
    if not isinstance(outcome, Finding):
        return outcome.what != "code"
    # What a fact about the chat verifies has its evidence, where there was none for anything else.
    verified = outcome.label is Label.VERIFIED and bool(outcome.evidence)
    return not verified and outcome.label in FACTS


def _short(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


CONTRADICTED_ALONE = 0.5
"""Confidence from which a contradicted claim flags a turn by itself, however fine the rest is: the embedded judge says so where
three of four are right."""
SURELY_LACKING = 0.97
"""Confidence from which a claim without evidence flags a turn by itself: a figure found nowhere reaches it, and 1.9 % of
faithful answers (MTRAG-UN, development) say something that does."""

PRESETS: Mapping[str, LabelPolicy] = {
    "monitor": LabelPolicy(
        name="monitor",
        rules={
            Label.CONTRADICTED: Rule(action=Action.FLAG, flags_alone=CONTRADICTED_ALONE),
            Label.LACKING_EVIDENCE: Rule(action=Action.FLAG, flags_alone=SURELY_LACKING),
        },
        on_unchecked=Action.FLAG,
        on_no_evidence=Action.FLAG,
        links="flag",
        flag_at_risk="auto",
    ),
    "balanced": LabelPolicy(
        name="balanced",
        rules={
            Label.CONTRADICTED: Rule(action=Action.BLOCK, min_confidence=0.8, flags_alone=CONTRADICTED_ALONE),
            Label.LACKING_EVIDENCE: Rule(action=Action.FLAG, flags_alone=SURELY_LACKING),
        },
        on_unchecked=Action.FLAG,
        on_no_evidence=Action.FLAG,
        links="flag",
        flag_at_risk="auto",
        block_at_risk="auto",
    ),
    "strict": LabelPolicy(
        name="strict",
        rules={Label.CONTRADICTED: Rule(action=Action.BLOCK), Label.LACKING_EVIDENCE: Rule(action=Action.REPAIR)},
        on_unchecked=Action.BLOCK,
        on_no_evidence=Action.BLOCK,
        links="remove",
        fallback=RepairMode.REDACT,
    ),
}


def build_policy(base: str, overrides: Mapping[str, object] | None = None) -> LabelPolicy:
    """Returns a preset with single rules or fields replaced.

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
    if "calibration" in changed:
        raise ConfigError(
            f"policy.calibration is {changed['calibration']!r}, which the guard writes; name a table with risk_table, beside "
            "policy_overrides"
        )
    try:
        policy = LabelPolicy.model_validate({**fields, **changed, "rules": {**fields["rules"], **rules}})
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in ("policy", *first["loc"]) if part != "[key]")
        if first["type"] == "extra_forbidden":
            known = Rule if len(first["loc"]) > 1 else LabelPolicy
            names = ", ".join(name for name in known.model_fields if name != "calibration")
            raise ConfigError(f"there is no field {where}; the fields are {names}") from exc
        if first["type"] == "missing":
            raise ConfigError(f"{where} is missing; a rule replaces all of the preset's rule for its label") from exc
        given = repr(first["input"]) if first["loc"] else f"{base!r} with {dict(overrides)!r}"
        raise ConfigError(f"{where} is {given}: {first['msg'].removeprefix('Value error, ')}") from exc
    _refuse_both(policy, overrides, rules)
    return policy


def _refuse_both(policy: LabelPolicy, overrides: Mapping[str, object], rules: Mapping[str, object]) -> None:
    """Refuses a threshold that the user set and a rate that would replace it."""
    chosen = {"block_at_risk": "max_false_alarm_rate", "flag_at_risk": "max_flag_rate"}
    for name, rate in chosen.items():
        promised, written = getattr(policy, rate), overrides.get(name)
        if promised is not None and isinstance(written, int | float):
            raise ConfigError(
                f"policy.{name} is {written} and policy.{rate} is {promised}, which chooses it. Drop one of them"
            )
    for label, rule in rules.items():
        if policy.max_false_alarm_rate is None or not isinstance(rule, Mapping) or "min_confidence" not in rule:
            continue
        if policy.rules[Label(label)].withholds:
            raise ConfigError(
                f"policy.rules.{label}.min_confidence is {rule['min_confidence']} and policy.max_false_alarm_rate is "
                f"{policy.max_false_alarm_rate}, which chooses it. Drop one of them"
            )


def rules_key(policy: Policy) -> str | None:
    """Fingerprints everything that the policy decides by (16 hex digits). Overrides change it.

    None for a policy of another kind, which is known by its name alone.
    """
    return sha256(policy.model_dump_json().encode()).hexdigest()[:16] if isinstance(policy, BaseModel) else None


__all__ = ["MESSAGE", "PRESETS", "SEVERITY", "LabelPolicy", "Rule", "build_policy"]


@dataclass(frozen=True)
class Recipe:
    """A preset with overrides, as in the settings `policy` and `policy_overrides`."""

    preset: str
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def policy(self) -> LabelPolicy:
        """Builds the policy.

        Raises:
            ConfigError: an unknown preset, or an invalid override.
        """
        return build_policy(self.preset, self.overrides)
