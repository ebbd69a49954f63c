"""Claims of two runs, paired, and the figures over the pairs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vista_guard.policy.labels import Gold, GoldTurn, Word, is_right
from vista_guard.policy.risk import Reliability, reliability
from vista_guard.types import Action, Claim, Finding, Label, Outcome
from vista_lab.metrics.intervals import Share, mcnemar, wilson
from vista_lab.runs.folder import TurnName
from vista_lab.runs.reading import Run

LEAST_OVERLAP: Final = 0.5
"""Two claims of one turn match if their spans overlap by at least this share."""

UNCHECKED: Final = "UNCHECKED"


@dataclass(frozen=True)
class ClaimPair:
    """A claim in two runs; None where a run has no such claim. `word` is a person's on it."""

    turn: TurnName
    first: Outcome | None
    second: Outcome | None
    word: Word | None = None

    @property
    def claim(self) -> Claim:
        """The claim of the first run, else of the second."""
        outcome = self.first or self.second
        assert outcome is not None  # pairs are made of claims
        return outcome.claim

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """Both labels, `UNCHECKED` among them; None where the claim is missing."""
        return label_of(self.first), label_of(self.second)

    @property
    def right(self) -> tuple[bool | None, bool | None]:
        """Agreement of each run with the person; None where the claim has no label, or is missing in the run."""
        return _right(self.first, self.word), _right(self.second, self.word)

    @property
    def regressed(self) -> bool:
        """True if only the first run was right; without a person's word, if only the first could judge the claim."""
        if self.word is not None and self.first and self.second:
            return self.right == (True, False)
        return isinstance(self.first, Finding) and self.labels[1] == UNCHECKED

    @property
    def improved(self) -> bool:
        """The reverse of `regressed`."""
        return ClaimPair(self.turn, self.second, self.first, self.word).regressed

    @property
    def changed(self) -> bool:
        return self.labels[0] != self.labels[1]


def label_of(outcome: Outcome | None) -> str | None:
    """The outcome's label, or `UNCHECKED`; None of no outcome."""
    if outcome is None:
        return None
    return str(outcome.label) if isinstance(outcome, Finding) else UNCHECKED


def pair_claims(first: Run, second: Run, gold: Gold | None = None) -> tuple[ClaimPair, ...]:
    """Claims of the turns that both runs have, in the order of turns.

    Within a turn, claims match by id if the log brought them, else by text, else by the largest overlap of their spans. Claims
    without a partner are paired with None.
    """
    by_id = first.manifest.claims == "given"
    pairs: list[ClaimPair] = []
    for name in sorted(first.reports.keys() & second.reports.keys()):
        word_of = (gold or {}).get(name) or GoldTurn()
        left, right = first.reports[name].outcomes, second.reports[name].outcomes
        for one, other in _partners(left, right, by_id=by_id):
            words = [word_of.word(outcome) for outcome in (one, other) if outcome is not None]
            pairs.append(ClaimPair(name, one, other, next((word for word in words if word is not None), None)))
    return tuple(pairs)


def _partners(
    left: Sequence[Outcome], right: Sequence[Outcome], *, by_id: bool
) -> Iterator[tuple[Outcome | None, Outcome | None]]:
    """Each left outcome with its partner, then the right outcomes without one."""
    free = list(right)
    chosen: dict[int, Outcome] = {}
    ways: list[Callable[[Claim, Claim], float]] = [lambda one, other: float(one.text == other.text), _same_place]
    if by_id:
        ways.insert(0, lambda one, other: float(one.id == other.id))
    for same in ways:
        for place, outcome in enumerate(left):
            if place in chosen:
                continue
            score, best = max(((same(outcome.claim, other.claim), n) for n, other in enumerate(free)), default=(0.0, 0))
            if score >= LEAST_OVERLAP:
                chosen[place] = free.pop(best)
    for place, outcome in enumerate(left):
        yield outcome, chosen.get(place)
    for other in free:
        yield None, other


def _same_place(one: Claim, other: Claim) -> float:
    return 0.0 if one.span is None or other.span is None else one.span.overlap(other.span)


def _right(outcome: Outcome | None, word: Word | None) -> bool | None:
    return None if outcome is None or word is None else is_right(outcome, word)


@dataclass(frozen=True)
class PairedRuns:
    """Two runs over the claims that people labelled and both runs judged or tried to.

    `better` counts claims that only the second run has right, `worse` those that only the first has; `p` is McNemar's exact
    two-sided p-value, 1 if nothing differs.
    """

    first: Share
    second: Share
    better: int
    worse: int
    p: float


def paired_accuracy(pairs: Sequence[ClaimPair]) -> PairedRuns | None:
    """Accuracy of each run against people, on the same claims. None if no claim of both runs is labelled."""
    known = [(left, right) for pair in pairs for left, right in [pair.right] if left is not None and right is not None]
    first = wilson(sum(left for left, _ in known), len(known))
    second = wilson(sum(right for _, right in known), len(known))
    if first is None or second is None:
        return None
    better, worse = known.count((False, True)), known.count((True, False))
    return PairedRuns(first, second, better, worse, mcnemar(better, worse))


def transitions(pairs: Sequence[ClaimPair]) -> Counter[tuple[str, str]]:
    """Claims that both runs have, by their labels in the first and the second; `UNCHECKED` among them."""
    labels = (pair.labels for pair in pairs)
    return Counter((left, right) for left, right in labels if left is not None and right is not None)


def confusion(pairs: Sequence[ClaimPair], *, second: bool) -> Counter[tuple[str, str]]:
    """Confusion matrix of one run against people, by (person's label, judge's label). Other words don't count."""
    counted: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        judged = pair.labels[second]
        if isinstance(pair.word, Label) and judged is not None:
            counted[str(pair.word), judged] += 1
    return counted


def calibration(pairs: Sequence[ClaimPair], *, second: bool) -> Reliability | None:
    """Calibration of one run's confidences on the claims that people labelled. None without any."""
    outcomes = ((pair.second if second else pair.first, pair.word) for pair in pairs)
    judged = [(one, word) for one, word in outcomes if isinstance(one, Finding) and word is not None]
    return reliability([one.confidence for one, _ in judged], [is_right(one, word) for one, word in judged])


@dataclass(frozen=True)
class TurnChange:
    """A turn with different actions in two runs. `fine` is people's verdict; None if there is none."""

    turn: TurnName
    first: Action
    second: Action
    fine: bool | None


def turn_changes(first: Run, second: Run, gold: Gold | None = None) -> tuple[TurnChange, ...]:
    """Turns with another action in the second run, in the order of turns."""
    known: Gold = gold or {}
    changes = []
    for name in sorted(first.reports.keys() & second.reports.keys()):
        one, other = first.reports[name], second.reports[name]
        if one.decision.action is not other.decision.action:
            fine = known[name].verdict(other.outcomes) if name in known else None
            changes.append(TurnChange(name, one.decision.action, other.decision.action, fine))
    return tuple(changes)


def in_order(pairs: Sequence[ClaimPair]) -> tuple[ClaimPair, ...]:
    """Pairs with different labels: regressions, other changes, then improvements; each in the order of turns."""

    def rank(pair: ClaimPair) -> int:
        return 0 if pair.regressed else 2 if pair.improved else 1

    return tuple(sorted((pair for pair in pairs if pair.changed), key=rank))
