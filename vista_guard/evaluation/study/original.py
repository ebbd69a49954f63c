"""What the data sets said of turns, and what people settle: Table 7 of the paper, and the reading of its section 5. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from vista_guard.evaluation.study.settling import SettledTurn
from vista_guard.types import Label
from vista_lab.metrics.detection import UNSAFE, UNVERIFIABLE, Detection, counts
from vista_lab.metrics.intervals import Share


class Category(StrEnum):
    """Where a turn stands, by the data set's label and the consensus. The paper's names."""

    VERIFIED = "1. Verified (agreed)"
    UNVERIFIABLE = "2. Unverifiable (agreed)"
    MISSED = "3. Missed Hallucination"
    """The data set lets it pass; people find a claim contradicted or lacking evidence."""
    MISHANDLED = "4. Mishandled Abstentions and Out-of-Scope"
    """The data set lets it pass; people find claims out of scope or abstentions, and nothing worse."""
    CONTEXT = "5. Verifiable from dialogue context"
    """The data set has it as unverifiable; people find each claim verified."""
    DISFLUENT = "6. Disfluent text"
    """Such a turn, whose text somebody marked as disfluent: that is told by hand."""


@dataclass(frozen=True)
class Standing:
    """One turn and its category."""

    turn_id: str
    label: str
    category: Category


@dataclass(frozen=True)
class Transitions:
    """Turns that have a label of their data set and a consensus. `found` takes the data sets' labels as gold."""

    turns: Sequence[Standing]

    @property
    def counted(self) -> Mapping[Category, int]:
        """By category, all six."""
        met = Counter(one.category for one in self.turns)
        return {category: met[category] for category in Category}

    @property
    def found(self) -> Detection:
        """The consensus as what was found of the data sets' positives, read strictly."""
        met = self.counted
        back = met[Category.CONTEXT] + met[Category.DISFLUENT]
        newly = met[Category.MISSED] + met[Category.MISHANDLED]
        return Detection(tp=met[Category.UNVERIFIABLE], fp=newly, fn=back, tn=met[Category.VERIFIED])

    @property
    def diverged(self) -> Share:
        """Turns that people see in another way than the data set."""
        return Share(self.found.fp + self.found.fn, self.found.turns)

    @property
    def newly(self) -> Share:
        """Of these, the turns that people call unverifiable."""
        return Share(self.found.fp, self.diverged.hits)


def transitions(
    turns: Sequence[tuple[str, str, bool, Collection[Label]]], disfluent: Collection[str] = ()
) -> Transitions:
    """Sorts turns.

    Args:
        turns: of each its id, the data set's word, whether that calls it unverifiable, and the labels of its claims by people.
        disfluent: ids of turns whose text is disfluent.
    """
    return Transitions(
        [Standing(name, word, category(positive, labels, name in disfluent)) for name, word, positive, labels in turns]
    )


def category(positive: bool, labels: Collection[Label], disfluent: bool = False) -> Category:
    """Where a turn stands.

    Example:
        >>> category(False, [Label.VERIFIED, Label.OUT_OF_SCOPE]).value
        '4. Mishandled Abstentions and Out-of-Scope'
    """
    if counts(labels, UNVERIFIABLE):
        if positive:
            return Category.UNVERIFIABLE
        return Category.MISSED if counts(labels, UNSAFE) else Category.MISHANDLED
    if not positive:
        return Category.VERIFIED
    return Category.DISFLUENT if disfluent else Category.CONTEXT


def label_counts(settled: Sequence[SettledTurn]) -> Mapping[Label, int]:
    """Labels of all claims of the consensus (Table 1), all five."""
    met = Counter(claim.label for one in settled for claim in one.claims)
    return {label: met[label] for label in Label}
