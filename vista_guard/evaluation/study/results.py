"""All that a study comes to: figures, consensus, what is left to discuss, as tables, as files and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from vista_guard.evaluation.study import labelled, settling
from vista_guard.evaluation.study.annotated import AnnotatedTurn, Match, Rates, rates
from vista_guard.evaluation.study.original import Transitions, label_counts, transitions
from vista_guard.evaluation.study.records import Material
from vista_guard.evaluation.study.settling import SettledTurn
from vista_guard.evaluation.study.tables import diverging, table_1, table_6, table_7
from vista_guard.types import Label
from vista_lab.metrics.agreement import Figure
from vista_lab.tables.writers import Sheet


@dataclass(frozen=True)
class Results:
    """What people said, counted. `about` says how the turns were drawn; `how` in words which claims are one."""

    turns: Sequence[AnnotatedTurn]
    match: Match
    how: str
    settled: Sequence[SettledTurn]
    material: Material | None
    about: Sequence[str]
    disfluent: Collection[str] = ()

    @cached_property
    def rates(self) -> Rates:
        """How far people agree."""
        return rates(self.turns, self.match)

    @property
    def agreed(self) -> Sequence[SettledTurn]:
        """Turns with a consensus."""
        return [one for one in self.settled if one.settled]

    @property
    def counted(self) -> Mapping[Label, int]:
        """Labels of the consensus."""
        return label_counts(self.agreed)

    @cached_property
    def transitions(self) -> Transitions | None:
        """Turns by their data set's label and the consensus. None where no turn has both."""
        if self.material is None:
            return None
        known = [(one, self.material.turns[one.turn.id]) for one in self.agreed]
        rows = [
            (turn.id, turn.label or "", turn.positive, [claim.label for claim in one.claims])
            for one, turn in known
            if turn.positive is not None
        ]
        return transitions(rows, self.disfluent) if rows else None

    @property
    def notes(self) -> list[str]:
        """What has to be said beside every figure."""
        left = len(self.settled) - len(self.agreed)
        alone = len(self.turns) - len(self.settled)
        return [
            *self.about,
            *(
                [f"{left:,} of {len(self.settled):,} turns have no consensus yet, and are in no table of it."]
                if left
                else []
            ),
            *([f"{alone:,} turns were annotated by one person alone, and settle nothing."] if alone else []),
        ]

    def sheets(self) -> list[Sheet]:
        """Tables 1, 6 and 7, and the turns behind the last."""
        found = [table_1(self.counted, self.rates, self.notes), table_6(self.rates, self.how, self.notes)]
        if self.transitions is not None:
            found += [table_7(self.transitions, self.notes), diverging(self.transitions)]
        return found

    def files(self) -> dict[str, str]:
        """What is written beside the tables: the consensus, and labels to calibrate with, where the study's texts are known."""
        if self.material is None:
            return {}
        return {
            labelled.LOG: labelled.log(self.settled, self.material),
            labelled.LABELS: labelled.labels(self.settled, self.material),
        }

    def queue(self) -> str | None:
        """The sheet of what is to be discussed; None where nothing is."""
        if len(self.agreed) == len(self.settled):
            return None
        return settling.queue(self.settled, " ".join(self.about))

    def told(self) -> dict[str, Any]:
        """All figures, for programs."""
        figures, moved = self.rates.figures, self.transitions
        return {
            "study": list(self.about),
            "enriched": None if self.material is None else self.material.study.enriched,
            "match": self.how,
            "turns": len(self.turns),
            "settled": len(self.agreed),
            "to_discuss": sum(len(one.open) for one in self.settled),
            "alpha": {**_figure(figures.alpha), "claims": figures.units},
            "fleiss": {"value": self.rates.fleiss, "claims": self.rates.shared},
            "jaccard": figures.jaccard,
            "f1": figures.f1,
            "pairs": [
                {
                    "annotators": list(pair.annotators),
                    "turns": pair.turns,
                    "claims": [pair.first, pair.second],
                    "shared": pair.shared,
                    "jaccard": _figure(pair.jaccard),
                    "f1": _figure(pair.f1),
                    "cohen": None if self.rates.cohen is None else self.rates.cohen[pair.annotators],
                }
                for pair in figures.pairs
            ],
            "labels": {str(label): count for label, count in self.counted.items()},
            "transitions": None if moved is None else {str(name): count for name, count in moved.counted.items()},
        }


def _figure(figure: Figure) -> dict[str, float | None]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}
