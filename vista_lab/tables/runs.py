"""Runs prepared for tables: gold and predictions by turn and claim.

Also which runs may share a table, and the names of their rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

from vista_guard.errors import InputError
from vista_guard.types import Finding, Label, TurnReport
from vista_lab.logs.source import Task
from vista_lab.metrics.detection import Detection, Reading, balanced_interval, has_any_label, labels_of, target_labels
from vista_lab.metrics.intervals import Discordant, bootstrap_interval, share_interval
from vista_lab.metrics.labels import Confusion, Spending, macro_f1, spending
from vista_lab.runs.folder import GoldLine, Manifest, Rows, TurnName, read_evaluation, read_gold, read_run_reports
from vista_lab.runs.reading import Run, why_not_comparable
from vista_lab.runs.summary import gold_of

DATA_SETS = ("AIS", "BEGIN", "FaithDial", "FADE")
"""VISTA's data sets, in the order of its tables."""

SYSTEMS = {
    "vista": "VISTA",
    "vista+ctx": "VISTA+ctx",
    "no-ac": "No Accumulated Claims",
    "no-ac+ctx": "−AC",
    "no-history": "No Dialogue History",
    "zero-shot": "Zero-Shot",
    "factscore": "FActScore",
    "llm-judge": "LLM-as-Judge",
}
"""VISTA's names of systems, by ours."""

CONFUSED = (*sorted([*Label, "NONE"]),)
"""Labels in the order of VISTA's confusion matrices; NONE is a claim that was not found."""

Answers = Mapping[TurnName, tuple[bool, bool | None]]
"""Gold and prediction of each turn; the prediction is None where the turn was not judged."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class RunMeasures:
    """A run read from its folder. `name` identifies it in messages and notes."""

    name: str
    manifest: Manifest
    rows: Rows
    gold: Mapping[TurnName, GoldLine]
    reports: Mapping[TurnName, TurnReport]
    folder: Path

    @property
    def data_set(self) -> str:
        """The data set's name, with its split where there are several."""
        return self.rows.name

    @property
    def task(self) -> Task:
        """The kind of turn to find."""
        return self.rows.task

    @property
    def system(self) -> str:
        """The system's name, as tables print it."""
        return self.manifest.system.name

    @property
    def judge(self) -> str:
        """The judge's name; the system's own where it has no judge."""
        return self.manifest.system.judge.name

    @property
    def complete(self) -> bool:
        """True when each turn to be judged has a report."""
        return len(self.reports) >= self.rows.turns

    @property
    def labelled(self) -> bool:
        """True when its claims can be compared with people's: they are the data set's own, and people labelled them."""
        return self.manifest.claims == "given" and any(line.claims for line in self.gold.values())

    def answers(self, reading: Reading) -> Answers:
        """Gold and prediction of each turn that has gold under this reading. A turn without a report was not judged."""
        return self._answers[reading]

    @cached_property
    def _answers(self) -> Mapping[Reading, Answers]:
        return {reading: self._read(reading) for reading in Reading}

    def _read(self, reading: Reading) -> Answers:
        targets = target_labels(reading, self.task)
        answers = {}
        for name, line in self.gold.items():
            gold = gold_of(line, reading, targets)
            if gold is not None:
                report = self.reports.get(name)
                found = None if report is None else has_any_label(labels_of(report.outcomes), targets)
                answers[name] = gold, found
        return answers

    def detection(self, reading: Reading) -> Detection | None:
        """Counts of turns found and missed. None where the data set has no gold under this reading."""
        answers = self.answers(reading)
        return Detection.of(answers.values()) if answers else None

    def judged(self, reading: Reading) -> frozenset[TurnName]:
        """The turns that a figure under this reading is of."""
        return frozenset(name for name, (_, predicted) in self.answers(reading).items() if predicted is not None)

    @property
    def reading(self) -> Reading:
        """`ORIGINAL` if the data set labels turns, else `STRICT`."""
        return Reading.ORIGINAL if self.answers(Reading.ORIGINAL) else Reading.STRICT

    def accuracy_interval(self, reading: Reading) -> Interval | None:
        """95 % interval of the accuracy over judged turns; see `share_interval`."""
        known = [(name, own) for name, own in self.answers(reading).items() if own[1] is not None]
        judged = [(self.gold[name].drawn_with, gold is found) for name, (gold, found) in known]
        return share_interval([group for group, _ in judged], [right for _, right in judged])

    def balanced_interval(self, reading: Reading) -> Interval | None:
        """95 % interval of the balanced accuracy over judged turns, by drawing documents, or conversations, again."""
        answers = self.answers(reading).items()
        judged = [(self.gold[name].drawn_with, gold, found) for name, (gold, found) in answers if found is not None]
        return balanced_interval([(gold, found) for _, gold, found in judged], [group for group, _, _ in judged])

    def f1_interval(self, reading: Reading) -> Interval | None:
        """95 % interval of F1, by drawing documents, or conversations, again."""
        answers = self.answers(reading).items()
        judged = [(self.gold[name].drawn_with, *pair) for name, pair in answers if pair[1] is not None]
        if not judged:
            return None
        gold, predicted = (np.array([row[place] for row in judged], bool) for place in (1, 2))

        def f1(rows: np.ndarray) -> float:
            tp = int((gold[rows] & predicted[rows]).sum())
            total = int(gold[rows].sum() + predicted[rows].sum())
            return 2 * tp / total if total else float("nan")

        return _interval_or_none(bootstrap_interval([row[0] for row in judged], f1))

    @cached_property
    def claims(self) -> Sequence[tuple[TurnName, Label, Label | None]]:
        """Turn, people's label and the run's label (None: unjudged) of each labelled claim of the reported turns."""
        if not self.labelled:
            return []
        rows = []
        for name, line in self.gold.items():
            report = self.reports.get(name)
            if report is not None:
                judged = {finding.claim.id: finding.label for finding in report.findings}
                rows += [(name, human, judged.get(claim)) for claim, human in line.claims.items()]
        return rows

    @property
    def confusion(self) -> Confusion:
        """Claims by human and by model label. Empty where claims cannot be compared with people's."""
        return Counter((human, judged) for _, human, judged in self.claims)

    def macro_f1_interval(self) -> Interval | None:
        """95 % interval of macro-F1, by drawing documents, or conversations, again."""
        if not self.claims:
            return None
        labels = [*Label, None]
        codes = np.array([labels.index(human) * len(labels) + labels.index(judged) for _, human, judged in self.claims])

        def figure(rows: np.ndarray) -> float:
            counts = np.bincount(codes[rows], minlength=len(labels) ** 2).reshape(len(labels), len(labels))
            pairs = {(labels[one], labels[other]): int(counts[one, other]) for one, other in np.argwhere(counts)}
            return macro_f1(Counter(pairs)) or 0.0

        return _interval_or_none(bootstrap_interval([self.gold[name].drawn_with for name, _, _ in self.claims], figure))

    @cached_property
    def spending(self) -> Spending | None:
        """Tokens, cost and time. None without reports."""
        return spending(list(self.reports.values()))

    @property
    def confidences(self) -> list[tuple[float, bool]]:
        """Confidence and correctness of each claim that people labelled and the run judged."""
        pairs = []
        for name, line in self.gold.items() if self.labelled else ():
            report = self.reports.get(name)
            for finding in report.findings if report is not None else ():
                if finding.claim.id in line.claims:
                    pairs.append((finding.confidence, finding.label is line.claims[finding.claim.id]))
        return pairs

    def scores_by_place(self) -> Mapping[int, list[float]]:
        """VISTA scores of turns by their place among the reported turns of a conversation, from 1."""
        places: dict[str, list[TurnReport]] = defaultdict(list)
        for name in sorted(self.reports):
            places[name[0]].append(self.reports[name])
        scores: dict[int, list[float]] = defaultdict(list)
        for turns in places.values():
            for place, report in enumerate(turns, 1):
                if report.score is not None:
                    scores[place].append(report.score)
        return dict(sorted(scores.items()))

    @property
    def unchecked(self) -> int:
        return sum(not isinstance(outcome, Finding) for report in self.reports.values() for outcome in report.outcomes)


def read_measured(folder: Path, name: str | None = None) -> RunMeasures:
    """Reads a run from its folder. It may be incomplete; a last line that is still being written is left out.

    Raises:
        ConfigError: the folder is no run, or of a version that cannot be read.
        InputError: a file of it cannot be read; names the line.
    """
    manifest, rows = read_evaluation(folder)
    gold = read_gold(folder, rows.turns)
    reports = {(report.conversation_id or "", report.turn_index): report for report in read_run_reports(folder, gold)}
    return RunMeasures(name or str(folder), manifest, rows, gold, reports, folder)


def discordant(first: RunMeasures, second: RunMeasures, reading: Reading) -> Discordant:
    """Turns that only one of two runs gets right, among those both judged."""
    one, other = first.answers(reading), second.answers(reading)
    shared = [(one[name], other[name]) for name in one.keys() & other.keys()]
    known = (one for one in shared if one[0][1] is not None and one[1][1] is not None)
    return Discordant.of((left is gold, right is gold) for (gold, left), (_, right) in known)


def _interval_or_none(interval: Interval) -> Interval | None:
    return interval if interval[0] < interval[1] else None


def check_comparable(runs: Sequence[RunMeasures], *, any_claims: bool = False) -> None:
    """Checks that runs on one data set can be compared.

    Args:
        runs: of any data sets.
        any_claims: allow runs over the data's own claims beside runs over a judge's, as where sentences are compared.

    Raises:
        InputError: two runs differ in files, gold, evidence or claims, share no turn, or are of the same system; names them.
    """
    for first, second in combinations(runs, 2):
        if first.data_set == second.data_set:
            why = _why_not(first, second, any_claims=any_claims)
            if why is not None:
                raise InputError(f"the two runs cannot be compared: {why}")


def names_of(runs: Sequence[RunMeasures], *, across: bool = False) -> Mapping[str, str]:
    """Row labels by the run's name: its judge, and the settings that distinguish it from others of its system.

    With `across`, runs of one system share a label on all data sets, and systems never do.
    """
    alike: dict[tuple[str, str, str], list[RunMeasures]] = defaultdict(list)
    for run in runs:
        alike["" if across else run.data_set, "" if across else run.system, run.judge].append(run)
    names: dict[str, str] = {}
    for group in alike.values():
        settings = [{"system": run.system} | _varying_settings(run) for run in group]
        every = {key for options in settings for key in options}
        differing = sorted(key for key in every if len({other.get(key) for other in settings}) > 1)
        # The rules' fingerprint changes with the judge: shown only where nothing else distinguishes two runs.
        for keys in ([key for key in differing if key != "option rules"], differing):
            labels = [", ".join(options[key] for key in keys if key in options) for options in settings]
            if len(set(labels)) == len({frozenset(options.items()) for options in settings}):
                break
        both = zip(group, labels, strict=True)
        names |= {run.name: f"{run.judge} ({options})" if options else run.judge for run, options in both}
    return names


def notes_of(runs: Sequence[RunMeasures]) -> list[str]:
    """Notes that belong beside the figures of these runs: their data sets, missing reports, unchecked turns."""
    notes = []
    for name in dict.fromkeys(run.data_set for run in runs):
        rows = next(run.rows for run in runs if run.data_set == name)
        split = f"{rows.split}, a test set: choose nothing by it" if rows.test else rows.split
        skipped = sum(rows.skipped.values())
        limited = (run for run in runs if run.data_set == name and run.manifest.limit)
        samples = ", ".join(dict.fromkeys(map(_sample_text, limited)))
        split = f"{split}; {samples}" if samples else split
        parts = [f"{name} ({split})", rows.sample, f"{skipped:,} rows could not be read" if skipped else ""]
        rest = "; ".join(filter(None, parts[1:])) or "no word on the paper's rows"
        notes.append(f"{parts[0]}: {rest}")
    for run in runs:
        if not run.complete:
            reported, total = len(run.reports), run.rows.turns
            notes.append(f"{run.name} is not complete: {reported:,} of {total:,} turns are reported")
        detection = run.detection(run.reading)
        if detection is not None and detection.unchecked:
            lost = f"{detection.unchecked:,} of {detection.turns:,} turns were not judged"
            worst = f"accuracy is of the others, and {100 * detection.worst.value:.2f} if all of these were wrong"
            notes.append(f"{run.name}: {lost}; {worst}")
    return notes


def _why_not(first: RunMeasures, second: RunMeasures, *, any_claims: bool) -> str | None:
    files, other_files = first.rows.files, second.rows.files
    both = sorted(files.keys() | other_files.keys())
    changed_file = next((name for name in both if files.get(name) != other_files.get(name)), None)
    if changed_file is not None:
        return (
            f"{first.name} and {second.name} are of {first.data_set}, and {changed_file} was not the same file (sha256 "
            f"{files.get(changed_file, 'none')[:12]} and {other_files.get(changed_file, 'none')[:12]}). Run one of them again"
        )
    if _varying_settings(first) == _varying_settings(second) and first.system == second.system:
        return f"{first.name} and {second.name} are of the same system on {first.data_set}. Give one of them"
    why = _other_evidence(first, second) or why_not_comparable(_as_run(first), _as_run(second), any_claims=any_claims)
    return why or _other_gold(first, second)


def _other_evidence(first: RunMeasures, second: RunMeasures) -> str | None:
    one, other = (run.manifest.system.evidence for run in (first, second))
    if (one is None and other is None) or (one is not None and one.same_as(other)):
        return None
    settings, other_settings = (info.model_dump(exclude={"replayed"}) if info else {} for info in (one, other))
    differing = [name for name in settings | other_settings if settings.get(name) != other_settings.get(name)]
    sides = [(name, settings.get(name, "none"), other_settings.get(name, "none")) for name in differing]
    differences = ", ".join(f"{name} {one} and {other}" for name, one, other in sides)
    sets = f"{first.name} and {second.name} had other evidence on {first.data_set} ({differences})"
    how = "Run one of them again with the same --evidence, or replay it with --evidence recorded:FILE"
    return f"{sets}. {how}"


def _other_gold(first: RunMeasures, second: RunMeasures) -> str | None:
    for name in sorted(first.gold.keys() & second.gold.keys()):
        if first.gold[name] != second.gold[name]:
            where = f"turn {name[1]} of conversation {name[0]}"
            return f"{where} has other gold in {first.name} than in {second.name}: the data set is read in another way"
    return None


def _as_run(run: RunMeasures) -> Run:
    return Run(run.name, run.manifest, run.reports)


def _sample_text(run: RunMeasures) -> str:
    return f"{len(run.rows.conversations):,} conversations drawn by seed {run.manifest.seed}"


def _varying_settings(run: RunMeasures) -> dict[str, str]:
    """Settings that may differ between runs of one system and judge, and the chosen conversations."""
    manifest = run.manifest
    limit = "" if manifest.limit is None else _sample_text(run)
    claims = f"claims {manifest.claims}"
    judge = manifest.system.judge
    settings = {"judge": judge.name, "version": judge.version, "limit": limit, "claims": claims}
    options = {f"option {name}": f"{name} {value}" for name, value in manifest.system.options.items()}
    return {key: value for key, value in {**settings, **options}.items() if value}


def paper_set(name: str) -> str | None:
    """The paper's name of a data set: BEGIN for `begin-dev-wow`. None where the paper does not have it."""
    first = name.lower().split("-")[0].split("_")[0]
    return next((data_set for data_set in DATA_SETS if data_set.lower() == first), None)


def title_of(system: str) -> str:
    """The paper's name of a system; its own where the paper has none."""
    return SYSTEMS.get(system, system)


def systems_of(runs: Sequence[RunMeasures]) -> list[str]:
    """Systems in the paper's order, then the others in the order in which they come."""
    systems = dict.fromkeys(run.system for run in runs)
    return [*(name for name in SYSTEMS if name in systems), *(name for name in systems if name not in SYSTEMS)]


def data_sets_of(runs: Sequence[RunMeasures]) -> list[str]:
    """Data sets in the paper's order, then the others in the order in which they come."""
    data_sets = list(dict.fromkeys(run.data_set for run in runs))
    return sorted(data_sets, key=lambda name: DATA_SETS.index(own) if (own := paper_set(name)) else len(DATA_SETS))


def confusion_counts(met: Confusion) -> list[list[int]]:
    """Counts with margins, in the order of `CONFUSED`."""
    labels = [None if name == "NONE" else Label(name) for name in CONFUSED]
    rows = [[met[human, judged] if human is not None else 0 for judged in labels] for human in labels]
    with_totals = [*rows, [sum(column) for column in zip(*rows, strict=True)]]
    return [[*counts, sum(counts)] for counts in with_totals]
