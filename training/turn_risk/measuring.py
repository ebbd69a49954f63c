"""What a fitted risk comes to on development turns: what it flags and blocks, how well it ranks, how far it can be believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from training.suites.arrays import auc
from training.turn_risk.judging import JudgedTurn
from vista_guard.policy.label_policy import SEVERITY, LabelPolicy
from vista_guard.policy.risk import STRATA
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import Action, Finding

BINS = 10


def lines(turns: Sequence[JudgedTurn], risk: TurnRisk, policy: LabelPolicy) -> Iterator[str]:
    """All of it, for people."""
    for source, kind, faithful in sorted({(turn.source, turn.kind, turn.faithful) for turn in turns}):
        some = [t for t in turns if (t.source, t.kind, t.faithful) == (source, kind, faithful)]
        yield f"{source} {kind} {'faithful' if faithful else 'unfaithful'} (n {len(some)}): {actions(some, risk, policy)}"
    references = [turn for turn in turns if turn.kind == "reference"]
    for kind in ("twin", "foreign", "elsewhere", "bare"):
        bad = [turn for turn in turns if turn.kind == kind]
        if bad and references:
            yield f"AUC references and {kind}: {ranked(references, bad, risk):.3f}"
    for source in sorted({turn.source for turn in turns}):
        good, bad = ([t for t in turns if t.source == source and t.faithful is word] for word in (True, False))
        if good and bad:
            yield f"AUC {source}: {ranked(good, bad, risk):.3f}"
    for first, last in zip((1, *(cut + 1 for cut in STRATA)), (*STRATA, 999), strict=True):
        some = [turn for turn in turns if first <= claims(turn) <= last]
        fine = [turn for turn in some if turn.kind == "reference"]
        yield (
            f"{first} to {last} claims (n {len(some)}): ECE at even odds {calibration_error(some, risk):.3f}; "
            f"references (n {len(fine)}): {actions(fine, risk, policy)}"
        )
    yield f"all (n {len(turns)}): ECE at even odds {calibration_error(turns, risk):.3f}"


def actions(turns: Sequence[JudgedTurn], risk: TurnRisk, policy: LabelPolicy) -> str:
    """Shares that are flagged at least and blocked, with the whole turn at hand and claim by claim as it is streamed."""
    whole = [action(turn, len(turn.outcomes), risk, policy) for turn in turns]
    streamed = [
        max(
            (action(turn, end, risk, policy) for end in range(1, len(turn.outcomes) + 1)),
            key=rank,
            default=Action.ALLOW,
        )
        for turn in turns
    ]
    flagged, blocked, cut = (
        share([rank(one) >= rank(least) for one in found])
        for found, least in ((whole, Action.FLAG), (whole, Action.BLOCK), (streamed, Action.BLOCK))
    )
    return f"flagged or blocked {flagged:.1%}, blocked {blocked:.1%}, cut when streamed {cut:.1%}"


def action(turn: JudgedTurn, end: int, risk: TurnRisk, policy: LabelPolicy) -> Action:
    """What the policy does when the turn has come so far."""
    outcomes, missing = turn.outcomes[:end], turn.evidence_missing
    found = risk(outcomes, evidence_missing=missing)
    return policy.weigh(outcomes, evidence_missing=missing, risk=found).action


def rank(one: Action) -> int:
    """From mildest to hardest."""
    return SEVERITY[one]


def share(found: Sequence[bool]) -> float:
    """Of what is true; not a number of nothing."""
    return float(np.mean(found)) if found else float("nan")


def claims(turn: JudgedTurn) -> int:
    """That were judged."""
    return sum(isinstance(outcome, Finding) for outcome in turn.outcomes)


def risks(turns: Sequence[JudgedTurn], risk: TurnRisk) -> list[float]:
    """Of each; 0 where nothing was judged."""
    return [risk(turn.outcomes, evidence_missing=turn.evidence_missing) or 0.0 for turn in turns]


def ranked(good: Sequence[JudgedTurn], bad: Sequence[JudgedTurn], risk: TurnRisk) -> float:
    """Area under the ROC curve."""
    return auc([False] * len(good) + [True] * len(bad), risks([*good, *bad], risk))


def calibration_error(turns: Sequence[JudgedTurn], risk: TurnRisk) -> float:
    """Expected calibration error over equal bins, faithful and unfaithful turns weighing the same."""
    bad, found = np.array([not turn.faithful for turn in turns]), np.array(risks(turns, risk))
    if not len(turns) or bad.all() or not bad.any():
        return float("nan")
    weight = np.where(bad, 0.5 / bad.sum(), 0.5 / (~bad).sum())
    places = np.minimum((found * BINS).astype(int), BINS - 1)
    return float(sum(abs((weight * (bad - found))[places == place].sum()) for place in range(BINS)))
