"""What every preset does with turns that were judged once: policies are pure, so reports are weighed again, not judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vista_guard.evaluation.metrics.intervals import Share
from vista_guard.policy.label_policy import LabelPolicy
from vista_guard.policy.presets import PRESETS, SEVERITY
from vista_guard.policy.turn_risk import HELD_AGAINST, TurnRisk
from vista_guard.types import Action, Finding, TurnReport

WITHOUT_RISK = "balanced, each alarm flags"
"""`balanced` as it is for a judge without a fitted risk."""
HEADER = ("| turns | n | policy | flagged or withheld | of all withheld |", "|---|---:|---|---:|---:|")


def policies(risk: TurnRisk | None) -> Mapping[str, LabelPolicy]:
    """The presets as a guard has them whose judge has this risk; and `balanced` without it, where there is one."""
    fitted = {name: preset.fitted_to(risk) for name, preset in PRESETS.items()}
    return {**fitted, WITHOUT_RISK: PRESETS["balanced"].fitted_to(None)} if risk else fitted


def action(report: TurnReport, policy: LabelPolicy) -> Action:
    """What the policy does with a turn that a guard with the same judge reported on."""
    return policy.weigh(report.outcomes, evidence_missing=report.evidence_missing, risk=report.risk).action


def reaches(report: TurnReport, policy: LabelPolicy, least: Action) -> bool:
    """Whether the policy does as much as `least`, or something harder."""
    return SEVERITY[action(report, policy)] >= SEVERITY[least]


def lines(turns: str, reports: Sequence[TurnReport], chosen: Mapping[str, LabelPolicy]) -> Iterator[str]:
    """A line of the table for each policy: shares of these turns, with Wilson's intervals. Repaired ones are withheld."""
    for name, policy in chosen.items():
        flagged, withheld = (
            Share.of(reaches(report, policy, least) for report in reports) for least in (Action.FLAG, Action.REPAIR)
        )
        yield f"| {turns} | {len(reports)} | {name} | {flagged} | {withheld} |"


def held_against(report: TurnReport) -> list[float]:
    """Confidences of what is held against a turn."""
    return [one.confidence for one in report.outcomes if isinstance(one, Finding) and one.label in HELD_AGAINST]


def claims_held(reports: Sequence[TurnReport]) -> Share:
    """Of the claims that were judged, those held against their turns."""
    judged = sum(isinstance(one, Finding) for report in reports for one in report.outcomes)
    return Share(sum(len(held_against(report)) for report in reports), judged)
