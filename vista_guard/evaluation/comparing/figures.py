"""Figures over paired claims. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vista_guard.evaluation.comparing.gold import Gold, is_right
from vista_guard.evaluation.comparing.pairs import Pair
from vista_guard.evaluation.comparing.runs import Run, TurnName
from vista_guard.evaluation.metrics.intervals import Share, wilson
from vista_guard.evaluation.metrics.labels import Reliability, reliability
from vista_guard.evaluation.metrics.significance import mcnemar
from vista_guard.types import Action, Finding, Label


@dataclass(frozen=True)
class Paired:
    """Two runs over the claims that people labelled and both runs judged or tried to.

    `better` counts claims that only the second has right, `worse` those that only the first has; `p` is McNemar's exact
    two-sided probability of a split at least as uneven if neither were better: 1 where nothing differs.
    """

    first: Share
    second: Share
    better: int
    worse: int
    p: float


def paired_accuracy(pairs: Sequence[Pair]) -> Paired | None:
    """How often each run agrees with people, on the same claims. None where no claim of both runs is labelled."""
    known = [(left, right) for pair in pairs for left, right in [pair.right] if left is not None and right is not None]
    first, second = (
        wilson(sum(left for left, _ in known), len(known)),
        wilson(sum(right for _, right in known), len(known)),
    )
    if first is None or second is None:
        return None
    better, worse = known.count((False, True)), known.count((True, False))
    return Paired(first, second, better, worse, mcnemar(better, worse))


def transitions(pairs: Sequence[Pair]) -> Counter[tuple[str, str]]:
    """Claims that both runs have, by their labels in the first and the second; `UNCHECKED` among them."""
    labels = (pair.labels for pair in pairs)
    return Counter((left, right) for left, right in labels if left is not None and right is not None)


def confusion(pairs: Sequence[Pair], *, second: bool) -> Counter[tuple[str, str]]:
    """One run's labels against people's: by (person's, judge's). Only words that are labels count."""
    counted: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        judged = pair.labels[second]
        if isinstance(pair.word, Label) and judged is not None:
            counted[str(pair.word), judged] += 1
    return counted


def calibration(pairs: Sequence[Pair], *, second: bool) -> Reliability | None:
    """Whether one run's confidences mean what they say, over the claims that people labelled. None without any."""
    outcomes = ((pair.second if second else pair.first, pair.word) for pair in pairs)
    judged = [(one, word) for one, word in outcomes if isinstance(one, Finding) and word is not None]
    return reliability([one.confidence for one, _ in judged], [is_right(one, word) for one, word in judged])


@dataclass(frozen=True)
class TurnChange:
    """A turn that two runs decided on differently. `fine` is what people say of it; None where nobody did."""

    turn: TurnName
    first: Action
    second: Action
    fine: bool | None


def turn_changes(first: Run, second: Run, gold: Gold | None = None) -> tuple[TurnChange, ...]:
    """Turns with another action in the second run, in the order of turns."""
    known: Gold = gold or {}
    found = []
    for name in sorted(first.reports.keys() & second.reports.keys()):
        one, other = first.reports[name], second.reports[name]
        if one.decision.action is not other.decision.action:
            fine = known[name].verdict(other.outcomes) if name in known else None
            found.append(TurnChange(name, one.decision.action, other.decision.action, fine))
    return tuple(found)


def in_order(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Pairs that differ, or that one run lacks: regressions first, what changed, what improved; each in the order of turns."""

    def rank(pair: Pair) -> int:
        return 0 if pair.regressed else 2 if pair.improved else 1

    return tuple(sorted((pair for pair in pairs if pair.changed), key=rank))
