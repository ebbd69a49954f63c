"""Claims of two runs, paired. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vista_guard.evaluation.comparing.gold import Gold, GoldTurn, Word, is_right
from vista_guard.evaluation.comparing.runs import Run, TurnName
from vista_guard.types import Claim, Finding, Outcome

LEAST_OVERLAP: Final = 0.5
"""Two claims of one turn are the same when they share at least this part of the text that either stands in."""

UNCHECKED: Final = "UNCHECKED"


@dataclass(frozen=True)
class Pair:
    """A claim in two runs; None where a run has no such claim. `word` is a person's on it."""

    turn: TurnName
    first: Outcome | None
    second: Outcome | None
    word: Word | None = None

    @property
    def claim(self) -> Claim:
        """As the first run has it, else as the second."""
        outcome = self.first or self.second
        assert outcome is not None  # pairs are made of claims
        return outcome.claim

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """Both labels, `UNCHECKED` among them; None where the claim is missing."""
        return label_of(self.first), label_of(self.second)

    @property
    def right(self) -> tuple[bool | None, bool | None]:
        """Whether each run agrees with the person; None where nobody spoke of the claim, or the run has none."""
        return _right(self.first, self.word), _right(self.second, self.word)

    @property
    def regressed(self) -> bool:
        """The first run was right and the second is not; where nobody knows: the second could not judge what the first did."""
        if self.word is not None and self.first and self.second:
            return self.right == (True, False)
        return isinstance(self.first, Finding) and self.labels[1] == UNCHECKED

    @property
    def improved(self) -> bool:
        """The other way round."""
        return Pair(self.turn, self.second, self.first, self.word).regressed

    @property
    def changed(self) -> bool:
        """Whether the labels differ."""
        return self.labels[0] != self.labels[1]


def label_of(outcome: Outcome | None) -> str | None:
    """The outcome's label, or `UNCHECKED`; None of no outcome."""
    if outcome is None:
        return None
    return str(outcome.label) if isinstance(outcome, Finding) else UNCHECKED


def paired(first: Run, second: Run, gold: Gold | None = None) -> tuple[Pair, ...]:
    """Claims of the turns that both runs have, in the order of turns.

    Within a turn a claim's partner has its words, else its id where the log brought the claims, else the place in the text that
    shares most with its own. What a run has alone is paired with None.
    """
    given = first.identity.claims == "given"
    found: list[Pair] = []
    for name in sorted(first.reports.keys() & second.reports.keys()):
        word_of = (gold or {}).get(name) or GoldTurn()
        left, right = first.reports[name].outcomes, second.reports[name].outcomes
        for one, other in _partners(left, right, by_id=given):
            said = [word_of.word(outcome) for outcome in (one, other) if outcome is not None]
            found.append(Pair(name, one, other, next((word for word in said if word is not None), None)))
    return tuple(found)


def _partners(
    left: Sequence[Outcome], right: Sequence[Outcome], *, by_id: bool
) -> Iterator[tuple[Outcome | None, Outcome | None]]:
    """Each outcome of the left with its partner, then what the right has alone."""
    free = list(right)
    chosen: dict[int, Outcome] = {}
    for same in ([_same_id] if by_id else []) + [_same_text, _same_place]:
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


def _same_id(one: Claim, other: Claim) -> float:
    return float(one.id == other.id)


def _same_text(one: Claim, other: Claim) -> float:
    return float(one.text == other.text)


def _same_place(one: Claim, other: Claim) -> float:
    return 0.0 if one.span is None or other.span is None else one.span.overlap(other.span)


def _right(outcome: Outcome | None, word: Word | None) -> bool | None:
    return None if outcome is None or word is None else is_right(outcome, word)
