"""A run as tables and figures take it: gold and predictions, turn by turn and claim by claim."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.evaluation.metrics.detection import Detection, Reading, counts, labels_of, looked_for
from vista_guard.evaluation.metrics.intervals import resampled, share_interval
from vista_guard.evaluation.metrics.labels import Confusion, macro_f1
from vista_guard.evaluation.metrics.significance import Discordant
from vista_guard.evaluation.metrics.spending import Spending, spending
from vista_guard.evaluation.runners.folder import TurnName, read_gold, read_manifest, read_run_reports
from vista_guard.evaluation.runners.manifest import GoldLine, Manifest
from vista_guard.evaluation.runners.summary import gold_of
from vista_guard.types import Finding, Label, TurnReport

Answers = Mapping[TurnName, tuple[bool, bool | None]]
"""Whether a turn is one that is looked for, and whether it was found to be: None where it was not judged."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Measured:
    """A run that was read. `name` tells it from the others in messages and notes."""

    name: str
    manifest: Manifest
    gold: Mapping[TurnName, GoldLine]
    reports: Mapping[TurnName, TurnReport]

    @property
    def data_set(self) -> str:
        """Its name; the split is part of it where there are several."""
        return self.manifest.rows.name

    @property
    def task(self) -> Task:
        """What its turns are looked for."""
        return self.manifest.rows.task

    @property
    def system(self) -> str:
        """What judged, by the name that tables print."""
        return self.manifest.system.name

    @property
    def judge(self) -> str:
        """Who judged in it; a system without any has its own name here."""
        return self.manifest.system.judge.name

    @property
    def complete(self) -> bool:
        """Whether each turn that was to be judged has a report."""
        return len(self.reports) >= self.manifest.rows.turns

    @property
    def labelled(self) -> bool:
        """Whether its claims can be held against people's: they are the data set's own, and people labelled them."""
        return self.manifest.claims == "given" and any(line.claims for line in self.gold.values())

    def answers(self, reading: Reading) -> Answers:
        """Gold and prediction of each turn that has gold under this reading. A turn without a report was not judged."""
        return self._answers[reading]

    @cached_property
    def _answers(self) -> Mapping[Reading, Answers]:
        return {reading: self._read(reading) for reading in Reading}

    def _read(self, reading: Reading) -> Answers:
        wanted = looked_for(reading, self.task)
        found = {}
        for name, line in self.gold.items():
            gold = gold_of(line, reading, wanted)
            if gold is not None:
                report = self.reports.get(name)
                found[name] = (gold, counts(labels_of(report.outcomes), wanted) if report is not None else None)
        return found

    def detection(self, reading: Reading) -> Detection | None:
        """How well turns were found. None where the data set has no gold under this reading."""
        answers = self.answers(reading)
        return Detection.of(answers.values()) if answers else None

    @property
    def reading(self) -> Reading:
        """The data set's own where it says something of turns, else the strict one."""
        return Reading.ORIGINAL if self.answers(Reading.ORIGINAL) else Reading.STRICT

    def accuracy_interval(self, reading: Reading) -> Interval | None:
        """95 % interval of the accuracy over judged turns; see `share_interval`."""
        judged = [(name[0], gold is said) for name, (gold, said) in self.answers(reading).items() if said is not None]
        return share_interval([talk for talk, _ in judged], [held for _, held in judged])

    def f1_interval(self, reading: Reading) -> Interval | None:
        """95 % interval of F1, by drawing conversations again."""
        judged = [(name[0], *pair) for name, pair in self.answers(reading).items() if pair[1] is not None]
        if not judged:
            return None
        gold, said = (np.array([row[place] for row in judged], bool) for place in (1, 2))

        def f1(rows: np.ndarray) -> float:
            tp = int((gold[rows] & said[rows]).sum())
            whole = int(gold[rows].sum() + said[rows].sum())
            return 2 * tp / whole if whole else float("nan")

        return _known(resampled([row[0] for row in judged], f1))

    @cached_property
    def claims(self) -> Sequence[tuple[TurnName, Label, Label | None]]:
        """Each claim that people labelled, with the label of the run: None for one that was not judged. Of reported turns."""
        if not self.labelled:
            return []
        found = []
        for name, line in self.gold.items():
            report = self.reports.get(name)
            if report is not None:
                judged = {finding.claim.id: finding.label for finding in report.findings}
                found += [(name, human, judged.get(claim)) for claim, human in line.claims.items()]
        return found

    @property
    def confusion(self) -> Confusion:
        """Claims by human and by model label. Empty where claims cannot be held against people's."""
        return Counter((human, judged) for _, human, judged in self.claims)

    def macro_f1_interval(self) -> Interval | None:
        """95 % interval of macro-F1, by drawing conversations again."""
        if not self.claims:
            return None
        labels = [*Label, None]
        codes = np.array([labels.index(human) * len(labels) + labels.index(judged) for _, human, judged in self.claims])

        def figure(rows: np.ndarray) -> float:
            met = np.bincount(codes[rows], minlength=len(labels) ** 2).reshape(len(labels), len(labels))
            pairs = {(labels[one], labels[other]): int(met[one, other]) for one, other in np.argwhere(met)}
            return macro_f1(Counter(pairs)) or 0.0

        return _known(resampled([name[0] for name, _, _ in self.claims], figure))

    @cached_property
    def spending(self) -> Spending | None:
        """What it took. None without reports."""
        return spending(list(self.reports.values()))

    @property
    def confidences(self) -> list[tuple[float, bool]]:
        """Of each claim that people labelled and the run judged: how sure it was, and whether it was right."""
        found = []
        for name, line in self.gold.items() if self.labelled else ():
            report = self.reports.get(name)
            for finding in report.findings if report is not None else ():
                if finding.claim.id in line.claims:
                    found.append((finding.confidence, finding.label is line.claims[finding.claim.id]))
        return found

    def scores_by_place(self) -> Mapping[int, list[float]]:
        """VISTA scores of turns by their place among the reported turns of a conversation, from 1."""
        places: dict[str, list[TurnReport]] = defaultdict(list)
        for name in sorted(self.reports):
            places[name[0]].append(self.reports[name])
        found: dict[int, list[float]] = defaultdict(list)
        for turns in places.values():
            for place, report in enumerate(turns, 1):
                if report.score is not None:
                    found[place].append(report.score)
        return dict(sorted(found.items()))

    @property
    def unchecked(self) -> int:
        """Claims that were not judged."""
        return sum(not isinstance(outcome, Finding) for report in self.reports.values() for outcome in report.outcomes)


def read_measured(folder: Path, name: str | None = None) -> Measured:
    """A run from its folder. It need not be complete; a last line that is still being written is left out.

    Raises:
        ConfigError: the folder is no run, or one of a version that this one would misread.
        InputError: a file of it cannot be read; names the line.
    """
    manifest = read_manifest(folder)
    gold = read_gold(folder, manifest.rows.turns)
    reports = {(one.conversation_id or "", one.turn_index): one for one in read_run_reports(folder, gold)}
    return Measured(name or str(folder), manifest, gold, reports)


def discordant(first: Measured, second: Measured, reading: Reading) -> Discordant:
    """Turns of which one run alone is right, among those that both judged."""
    one, other = first.answers(reading), second.answers(reading)
    shared = [(one[name], other[name]) for name in one.keys() & other.keys()]
    return Discordant.of(
        (left is gold, right is gold) for (gold, left), (_, right) in shared if left is not None and right is not None
    )


def _known(interval: Interval) -> Interval | None:
    """None where draws have no figure, or all the same: that is no range of it."""
    return interval if interval[0] < interval[1] else None
