"""Two policies over the same turns: totals, changes between them, agreement with people, and limits. Pure.

A case is a stored report's first draft. Its decision comes from a policy, fitted to the judge of each turn, or from
production.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from vista_guard.policy.label_policy import SEVERITY, LabelPolicy
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import Action, Claim, Decision, Finding, JudgeInfo, Outcome, SourceKind, TurnReport, Unchecked
from vista_lab.metrics.intervals import Share, wilson


@dataclass(frozen=True, slots=True)
class PolicyCase:
    """One turn as input of a policy.

    `outcomes` are those of the first draft: later drafts depend on a policy's action. `risk` is that draft's calibrated risk in
    [0, 1], None if the judge has none. `done` is the action on it in production, `delivered` the final action on the
    turn.
    """

    report_id: str
    conversation_id: str | None
    tenant: str | None
    turn_index: int
    created_at: datetime
    judge: JudgeInfo
    policy: str
    rules: str | None
    outcomes: tuple[Outcome, ...]
    evidence_missing: bool
    risk: float | None
    done: Action
    delivered: Action
    rewritten: bool
    """Another draft replaced this one."""
    cut_short: bool
    """The turn was streamed and ended at its first withheld sentence: the rest was never judged."""
    turn_key: str | None
    leans_on: frozenset[str]
    """`turn_key`s of the turns whose knowledge is evidence in this one."""


def case_of(report: TurnReport, risk: TurnRisk | None = None) -> PolicyCase:
    """The report as a case, with all of its texts and the risk by the judge's risk model.

    Without a model it takes the report's own risk, if it is calibrated and the draft's.
    """
    outcomes = report.attempts[0].outcomes if report.attempts else report.outcomes
    done = report.attempts[0].decision.action if report.attempts else report.decision.action
    return PolicyCase(
        report_id=report.id,
        conversation_id=report.conversation_id,
        tenant=report.tenant,
        turn_index=report.turn_index,
        created_at=report.created_at,
        judge=report.judge,
        policy=report.policy,
        rules=report.rules,
        outcomes=outcomes,
        evidence_missing=report.evidence_missing,
        risk=_risk(report, outcomes, risk),
        done=done,
        delivered=report.decision.action,
        rewritten=bool(report.attempts),
        # A dropped sentence does not cut the turn short: the rest was judged.
        cut_short=report.gate == "sentence" and (bool(report.attempts) or report.blocked),
        turn_key=report.turn_key,
        leans_on=_leans_on(outcomes),
    )


def without_texts(case: PolicyCase) -> PolicyCase:
    """The case without its texts, which policies don't need: ten thousand cases fit in memory."""
    return replace(case, outcomes=tuple(map(_strip_outcome, case.outcomes)))


def withholds(action: Action) -> bool:
    """True if the turn does not reach the user as drafted."""
    return SEVERITY[action] >= SEVERITY[Action.REPAIR]


def _risk(report: TurnReport, outcomes: tuple[Outcome, ...], risk: TurnRisk | None) -> float | None:
    if risk is not None:
        return risk(outcomes, evidence_missing=report.evidence_missing)
    return report.risk if report.risk_calibrated and not report.attempts else None


def _leans_on(outcomes: Iterable[Outcome]) -> frozenset[str]:
    """Keys of the turns whose knowledge is quoted, with ids of the form `turn_key:claim id`."""
    quoted = (piece for outcome in outcomes if isinstance(outcome, Finding) for piece in outcome.evidence)
    return frozenset(piece.source_id.partition(":")[0] for piece in quoted if piece.source is SourceKind.KNOWLEDGE)


def _strip_outcome(outcome: Outcome) -> Outcome:
    claim = Claim(id=outcome.claim.id, text="")
    if isinstance(outcome, Finding):
        return Finding(claim=claim, label=outcome.label, confidence=outcome.confidence, reason="")
    return Unchecked(claim=claim, error="", what=outcome.what)


Decide = Callable[[PolicyCase], Action]
"""A policy's action on the first draft of a turn."""

PolicyFor = Mapping[JudgeInfo, LabelPolicy]
"""One policy fitted to each judge: "auto" thresholds and promised rates depend on the judge."""


def recorded_action(case: PolicyCase) -> Action:
    """The action on the turn's first draft in production."""
    return case.done


def by_policy(policies: PolicyFor) -> Decide:
    """A policy's decisions, with the policy fitted to each judge of the cases."""
    return lambda case: decision(case, policies).action


def decision(case: PolicyCase, policies: PolicyFor) -> Decision:
    """The policy's decision on the case, with the reason, which quotes claims if the case has their texts.

    Raises ConfigError if the policy promises a rate, and its thresholds were not chosen.
    """
    return policies[case.judge].weigh(case.outcomes, evidence_missing=case.evidence_missing, risk=case.risk)


@dataclass(frozen=True)
class Totals:
    """The actions of one policy.

    `cut_short` counts delivered turns of which only the part before a withheld sentence was judged: the policy might have
    withheld them later. They are in `actions` by the judged part.
    """

    actions: Mapping[Action, int]
    cut_short: int

    @property
    def turns(self) -> int:
        return sum(self.actions.values())


@dataclass(frozen=True)
class PolicyAgreement:
    """A policy against people's labels of turns. A share without cases is None.

    `alarms` is the precision of flags, repairs and blocks together, `withheld` that of repairs and blocks; `false_alarms` the
    share of fine turns that are withheld, `missed` the share of bad turns that are delivered without a flag.
    """

    labelled: int
    alarms: Share | None
    withheld: Share | None
    false_alarms: Share | None
    missed: Share | None


@dataclass(frozen=True)
class ChangedTurn:
    """A turn on which two policies differ."""

    case: PolicyCase
    first: Action
    second: Action
    censored: bool
    """The milder policy would have delivered a turn that was cut short, whose rest is unknown."""


@dataclass(frozen=True)
class Comparison:
    """Two policies on the same turns; made by `compare`."""

    cases: Sequence[PolicyCase]
    first: Sequence[Action]
    second: Sequence[Action]

    @cached_property
    def totals(self) -> tuple[Totals, Totals]:
        return _totals(self.cases, self.first), _totals(self.cases, self.second)

    @cached_property
    def transitions(self) -> Counter[tuple[Action, Action]]:
        return Counter(zip(self.first, self.second, strict=True))

    @cached_property
    def changed(self) -> tuple[ChangedTurn, ...]:
        """Turns on which the policies differ: largest steps first, then newest first."""
        differing = [one for one in zip(self.cases, self.first, self.second, strict=True) if one[1] is not one[2]]
        kept = [(*one, not (withholds(one[1]) and withholds(one[2]))) for one in differing]
        changes = [ChangedTurn(case, one, other, case.cut_short and shown) for case, one, other, shown in kept]
        return tuple(sorted(changes, key=lambda it: (-_step(it), -it.case.created_at.timestamp())))

    @cached_property
    def leaning(self) -> int:
        """Turns whose evidence is knowledge from a turn that one policy delivers and the other doesn't.

        Under the other policy they would have been judged without that knowledge; the result is unknown.
        """
        keys = {it.case.turn_key for it in self.changed if withholds(it.first) is not withholds(it.second)} - {None}
        return sum(not keys.isdisjoint(case.leans_on) for case in self.cases)

    @property
    def rewritten(self) -> int:
        """Turns with another draft in production. Policies decide on the first draft; a new one would differ."""
        return sum(case.rewritten for case in self.cases)

    def agreement(self, fine: Mapping[str, bool]) -> tuple[PolicyAgreement, PolicyAgreement]:
        """Both policies against people's labels, by report id: True if the turn should have been delivered."""
        return _agreement(self.cases, self.first, fine), _agreement(self.cases, self.second, fine)


def reproduction_share(
    cases: Sequence[PolicyCase], actions: Sequence[Action], rules: Mapping[JudgeInfo, str | None]
) -> Share | None:
    """Share of the turns decided under these same rules on which the policy's `actions` repeat those of production.

    A failed repair was a block in production and is a repair as a policy's decision; they count as the same. `rules` are
    fingerprints of the policy fitted to each judge (`policy.rules.rules_key`).
    """
    known = [(case, done) for case, done in zip(cases, actions, strict=True) if case.rules is not None]
    own = [(case, done) for case, done in known if case.rules == rules.get(case.judge)]
    same = [done is case.done or (done, case.done) == (Action.REPAIR, Action.BLOCK) for case, done in own]
    return wilson(sum(same), len(same))


def compare(
    cases: Sequence[PolicyCase], first: Decide | Sequence[Action], second: Decide | Sequence[Action]
) -> Comparison:
    """Decides on each case twice. Actions that are already known may be given in the order of the cases.

    Examples:
        >>> from vista_guard import Guard, Label
        >>> from vista_guard.policy.label_policy import PRESETS
        >>> from vista_guard.testing import ScriptedJudge, Verdict, assistant, conversation
        >>> judge = ScriptedJudge({"It is old.": [Verdict("It is old.", Label.CONTRADICTED)]})
        >>> case = case_of(Guard(judge, "monitor").check(conversation(assistant("It is old."))))
        >>> compare([case], recorded_action, by_policy({case.judge: PRESETS["strict"]})).transitions[Action.FLAG, Action.BLOCK]
        1
    """
    return Comparison(cases, tuple(_actions(cases, first)), tuple(_actions(cases, second)))


def _actions(cases: Sequence[PolicyCase], by: Decide | Sequence[Action]) -> Iterable[Action]:
    return by if isinstance(by, Sequence) else map(by, cases)


def _totals(cases: Sequence[PolicyCase], actions: Sequence[Action]) -> Totals:
    counts = Counter(actions)
    cut = sum(case.cut_short and not withholds(action) for case, action in zip(cases, actions, strict=True))
    return Totals({action: counts[action] for action in Action}, cut)


def _step(it: ChangedTurn) -> int:
    return abs(SEVERITY[it.first] - SEVERITY[it.second])


def _agreement(cases: Sequence[PolicyCase], actions: Sequence[Action], fine: Mapping[str, bool]) -> PolicyAgreement:
    both = zip(cases, actions, strict=True)
    known = [(action, fine[case.report_id]) for case, action in both if case.report_id in fine]

    def among(of: Callable[[Action, bool], bool], hit: Callable[[Action, bool], bool]) -> Share | None:
        cases_of = [pair for pair in known if of(*pair)]
        return wilson(sum(hit(*pair) for pair in cases_of), len(cases_of))

    return PolicyAgreement(
        labelled=len(known),
        alarms=among(lambda action, _: action is not Action.ALLOW, lambda _, good: not good),
        withheld=among(lambda action, _: withholds(action), lambda _, good: not good),
        false_alarms=among(lambda _, good: good, lambda action, _: withholds(action)),
        missed=among(lambda _, good: not good, lambda action, _: action is Action.ALLOW),
    )
