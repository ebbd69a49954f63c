"""The tables of published benchmarks: runs by their own papers' measures, with the rows that others printed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vista_guard.types import Finding, Span, TurnReport
from vista_lab.datasets.published.describing import Measure, Published, PublishedSet, find_published, published
from vista_lab.metrics.agreement import pearson
from vista_lab.metrics.detection import UNSAFE, Detection, Reading
from vista_lab.metrics.intervals import bootstrap_interval
from vista_lab.runs.folder import GoldLine
from vista_lab.tables.output import Filled, PaperTables
from vista_lab.tables.overview import in_brackets
from vista_lab.tables.pictures import draw
from vista_lab.tables.runs import RunMeasures, check_comparable, names_of, notes_of
from vista_lab.tables.writers import PAPER, Row, Sheet, headings, percent, row

DRAWN = "Brackets: 95 %, drawing documents or sources again. Turns that were not judged are in the coverage alone."


@dataclass(frozen=True)
class JudgedTurns:
    """The judged turns of a run, one array a column. A number is NaN where the run has none.

    Attributes:
        gold: True for turns that the benchmark looks for.
        predicted: True for turns that the run found.
        risk: the turn's risk, in [0, 1].
        rates: people's share of claims that are not supported, and the run's.
        marked: characters that people marked.
        found: characters of claims that are LACKING_EVIDENCE or CONTRADICTED.
        both: characters that are both.
        part: the part that each turn is of, by its place in `parts`.
        group: what each turn is drawn with.
    """

    gold: np.ndarray
    predicted: np.ndarray
    risk: np.ndarray
    rates: np.ndarray
    marked: np.ndarray
    found: np.ndarray
    both: np.ndarray
    part: np.ndarray
    group: np.ndarray
    parts: tuple[str, ...]

    @classmethod
    def of(cls, run: RunMeasures) -> JudgedTurns:
        """The turns that have gold and a prediction."""
        judged = [(name, *pair) for name, pair in run.answers(Reading.ORIGINAL).items() if pair[1] is not None]
        rows = [(run.gold[name], run.reports[name]) for name, _, _ in judged]
        spans = np.array([_characters(line, report) for line, report in rows], float).reshape(-1, 3)
        parts = tuple(dict.fromkeys(line.part for line, _ in rows))
        return cls(
            gold=np.array([gold for _, gold, _ in judged], bool),
            predicted=np.array([found for _, _, found in judged], bool),
            risk=np.array([report.risk for _, report in rows], float),
            rates=np.array([_rates(line, report) for line, report in rows], float).reshape(-1, 2),
            marked=spans[:, 0],
            found=spans[:, 1],
            both=spans[:, 2],
            part=np.array([parts.index(line.part) for line, _ in rows], int),
            group=np.array([line.drawn_with for line, _ in rows], object),
            parts=parts,
        )

    def __getitem__(self, rows: np.ndarray) -> JudgedTurns:
        columns = {name: column[rows] for name, column in vars(self).items() if name != "parts"}
        return replace(self, **columns)

    def of_part(self, part: str) -> JudgedTurns:
        """The turns of one part; none where the run has none of it."""
        return self[self.part == (self.parts.index(part) if part in self.parts else -1)]

    @property
    def detection(self) -> Detection:
        """Counts of turns found and missed."""
        pairs = ((self.gold & self.predicted), (~self.gold & self.predicted), (self.gold & ~self.predicted))
        tp, fp, fn = (int(held.sum()) for held in pairs)
        return Detection(tp=tp, fp=fp, fn=fn, tn=len(self.gold) - tp - fp - fn)


def _characters(line: GoldLine, report: TurnReport) -> tuple[float, float, float]:
    """Characters that people marked, that the run found, and both; the last two NaN where a found claim has no place."""
    marked = _covered(span for place in line.places if place.positive for span in place.spans)
    objections = [finding.claim.span for finding in report.findings if finding.label in UNSAFE]
    if None in objections:
        return len(marked), np.nan, np.nan
    found = _covered(span for span in objections if span is not None)
    return len(marked), len(found), len(marked & found)


def _covered(spans: Iterable[Span]) -> set[int]:
    return {place for span in spans for place in range(span.start, span.end)}


def _rates(line: GoldLine, report: TurnReport) -> tuple[float, float]:
    findings: Sequence[Finding] = report.findings
    people, judged = [label in UNSAFE for label in line.claims.values()], [one.label in UNSAFE for one in findings]
    return (float(np.mean(people)) if people else np.nan), (float(np.mean(judged)) if judged else 0.0)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    shared: np.ndarray = (counts.cumsum() - (counts - 1) / 2)[inverse]
    return shared


def auroc(turns: JudgedTurns) -> float | None:
    """Area under the ROC curve of the risk, in [0, 1]. None with one class only, or without risks."""
    positive = int(turns.gold.sum())
    negative = len(turns.gold) - positive
    if not positive or not negative or np.isnan(turns.risk).any():
        return None
    return float((_ranks(turns.risk)[turns.gold].sum() - positive * (positive + 1) / 2) / (positive * negative))


def _correlation(turns: JudgedTurns, of: Callable[[np.ndarray], np.ndarray]) -> float | None:
    rates = turns.rates[~np.isnan(turns.rates).any(axis=1)]
    return pearson(of(rates[:, 0]), of(rates[:, 1]))


def _share(hits: np.ndarray, of: np.ndarray) -> float | None:
    total = float(of.sum())
    return float(hits.sum()) / total if total > 0 else None


def _span_f1(turns: JudgedTurns) -> float | None:
    return _share(2 * turns.both, turns.marked + turns.found)


MEASURES: Mapping[Measure, Callable[[JudgedTurns], float | None]] = {
    "accuracy": lambda turns: turns.detection.accuracy.value,
    "balanced accuracy": lambda turns: turns.detection.balanced_accuracy,
    "macro-F1": lambda turns: turns.detection.macro_f1,
    "P": lambda turns: turns.detection.precision.value,
    "R": lambda turns: turns.detection.recall.value,
    "F1": lambda turns: turns.detection.f1,
    "F1 hallucinated": lambda turns: turns.detection.f1,
    "F1 factual": lambda turns: turns.detection.other.f1,
    "AUROC": auroc,
    "span P": lambda turns: _share(turns.both, turns.found),
    "span R": lambda turns: _share(turns.both, turns.marked) if not np.isnan(turns.both).any() else None,
    "span F1": _span_f1,
    "Pearson": lambda turns: _correlation(turns, lambda values: values),
    "Spearman": lambda turns: _correlation(turns, _ranks),
}


def with_thresholds(turns: JudgedTurns, fitted: JudgedTurns) -> JudgedTurns | None:
    """The turns, found where their risk reaches the threshold of their part that is best on the fitted ones.

    Best is the highest balanced accuracy. None where a part has no turn of one class to fit on, or turns have no risk.
    """
    thresholds = [best_threshold(fitted.of_part(part)) for part in turns.parts]
    if None in thresholds or np.isnan(turns.risk).any():
        return None
    return replace(turns, predicted=turns.risk >= np.array(thresholds, float)[turns.part])


def best_threshold(turns: JudgedTurns) -> float | None:
    """The risk from which on turns are found with the highest balanced accuracy; the highest of equals."""
    positive = int(turns.gold.sum())
    if not positive or positive == len(turns.gold) or np.isnan(turns.risk).any():
        return None
    order = np.argsort(-turns.risk, kind="stable")
    risk, gold = turns.risk[order], turns.gold[order]
    balanced = gold.cumsum() / positive - (~gold).cumsum() / (len(gold) - positive)
    last = np.append(risk[1:] != risk[:-1], True)
    return float(risk[last][balanced[last].argmax()])


def tables(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """A table for each published benchmark that some run is over.

    Raises InputError: runs on one data set cannot be compared.
    """
    check_comparable(runs)
    sheets = []
    for about in published():
        members = [(run, found[1]) for run in runs if (found := find_published(run.data_set)) and found[0] is about]
        fitting = [(run, member) for run, member in members if run.answers(Reading.ORIGINAL)]
        if fitting:
            sheets.append(_table(about, fitting))
    return sheets


def _table(about: Published, runs: Sequence[tuple[RunMeasures, PublishedSet]]) -> Sheet:
    only = [run for run, _ in runs]
    names, rows = names_of(only), []
    judged = {run.name: JudgedTurns.of(run) for run in only}
    for run in only:
        rows.append(_row(about, run, names[run.name], judged[run.name]))
        for other in only:
            same = other.data_set == about.thresholds and other.manifest.system == run.manifest.system
            if same and other is not run and (fitted := with_thresholds(judged[run.name], judged[other.name])):
                rows.append(_row(about, run, f"{names[run.name]}, thresholds fitted on {other.data_set}", fitted))
    shown = [line for line in about.printed if any(member.name == line.set for _, member in runs)]
    paper = [row(line.set, "", PAPER + line.system, None, None, *line.cells(about.columns)) for line in shown]
    places = (*about.parts, about.whole_name)
    figures = [(place, *about.measures) for place in places] if about.parts else about.measures
    heads = headings(("data set", "system", "model"), "n", "coverage", *figures)
    notes = (DRAWN, *about.notes, *_sources(about, bool(shown)), *notes_of(only))
    return Sheet(f"sets-{about.name}", f"{about.title}, by its own measures", heads, tuple(rows), notes).below(paper)


def _sources(about: Published, any_printed: bool) -> Iterator[str]:
    if not any_printed:
        yield f"No printed figures of {about.title} are shown: none were at hand when this table was made."
    by_source: dict[str, list[str]] = {}
    for line in about.printed:
        by_source.setdefault(line.where, []).append(line.system)
    for where, systems in by_source.items() if any_printed else ():
        yield f"Printed: {', '.join(dict.fromkeys(systems))}: {where}."


def _row(about: Published, run: RunMeasures, name: str, turns: JudgedTurns) -> Row:
    detection = run.detection(Reading.ORIGINAL)
    assert detection is not None  # only runs with gold are here
    cells = [percent(figure) for part in about.parts for figure in _figures(about, turns.of_part(part))]
    for measure in about.measures:
        whole = _whole(about, measure)
        value = whole(turns) if len(turns.gold) else None
        cells.append(in_brackets(value, _interval(turns, whole) if value is not None else None))
    return row(run.data_set, run.system, name, f"{detection.turns:,}", percent(detection.coverage.value, 1), *cells)


def _figures(about: Published, turns: JudgedTurns) -> list[float | None]:
    return [MEASURES[measure](turns) if len(turns.gold) else None for measure in about.measures]


def _whole(about: Published, measure: Measure) -> Callable[[JudgedTurns], float | None]:
    """The measure over all turns, or its mean over the parts that they are of, None if one of them has none."""
    if about.whole == "pooled":
        return MEASURES[measure]

    def mean(turns: JudgedTurns) -> float | None:
        values = [MEASURES[measure](turns.of_part(part)) for part in turns.parts]
        return None if None in values else float(np.mean([value for value in values if value is not None]))

    return mean


def _interval(turns: JudgedTurns, whole: Callable[[JudgedTurns], float | None]) -> tuple[float, float] | None:
    def figure(rows: np.ndarray) -> float:
        value = whole(turns[rows])
        return np.nan if value is None else value

    low, high = bootstrap_interval(list(turns.group), figure)
    return (low, high) if low < high else None


def _fill(runs: Sequence[RunMeasures], _asked: Collection[int] | None, _scores: Sequence[Path]) -> Filled:
    return Filled(tables(runs), [], lambda folder: draw(runs, folder))


TABLES = PaperTables((), "they have no numbers: leave --tables out", _fill)
"""For `vista-guard compare`."""
