"""Who decides on a case: a policy, fitted to the judge of each turn, or what was done then. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vista_guard.evaluation.whatif.cases import Case
from vista_guard.policy.label_policy import LabelPolicy
from vista_guard.types import Action, Decision, JudgeInfo

Decide = Callable[[Case], Action]
"""What would have been done with the first draft of a turn."""

PolicyFor = Mapping[JudgeInfo, LabelPolicy]
"""One policy as it stands for each judge: "auto" thresholds and promised rates hang on who judged."""


def recorded(case: Case) -> Action:
    """What was done with the turn's first draft when it was said."""
    return case.done


def by_policy(policies: PolicyFor) -> Decide:
    """A policy's decisions.

    Args:
        policies: as it stands for each judge of the cases; see `decision`.
    """
    return lambda case: decision(case, policies).action


def decision(case: Case, policies: PolicyFor) -> Decision:
    """What the policy decides on the case, with the reason; the reason quotes claims where the case has their texts.

    Raises:
        ConfigError: the policy asks for a rate, and its thresholds were not chosen.
    """
    return policies[case.judge].weigh(case.outcomes, evidence_missing=case.evidence_missing, risk=case.risk)
