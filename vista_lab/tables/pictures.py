"""Figures of runs, each with a caption of one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vista_guard.policy.risk import reliability as binned
from vista_lab.metrics.detection import Reading
from vista_lab.metrics.intervals import mean_interval
from vista_lab.tables.output import Picture
from vista_lab.tables.plots import Bar, Point, Spot, bars, matrix, over_turns, reliability, trade
from vista_lab.tables.runs import CONFUSED, RunMeasures, confusion_counts, data_sets_of, names_of, systems_of, title_of
from vista_lab.tables.writers import file_name, one_line, unique_names

FEWEST = 5
"""Fewest turns for a point: a mean of fewer says nothing."""

ACCURACY = "turn accuracy, %"

STRATEGIES = {"per_claim": "one claim a call", "batched": "a turn's claims a call", "fused": "one call a turn"}
"""Ways to ask a model judge, by the word that its version begins with."""


def draw(runs: Sequence[RunMeasures], folder: Path) -> list[Picture]:
    """Draws every figure that the runs fill, as SVG and PNG.

    Raises ConfigError: matplotlib is not installed, or the folder cannot be written.
    """
    names = {run: one_line(name) for run, name in names_of(runs).items()}
    pictures: list[Picture] = []
    for data_set, file in _files(runs):
        drawing = _Drawing([run for run in runs if run.data_set == data_set], names, folder, file)
        pictures += [*drawing.accuracies(), *drawing.readings(), *drawing.scores(), *drawing.reliabilities()]
        pictures += [*drawing.trade_offs(), *drawing.batching(), *drawing.confusions()]
    return pictures


def draw_readings(runs: Sequence[RunMeasures], folder: Path, remark: str = "") -> list[Picture]:
    """Draws the paper's Figure 2: each data set's runs by its own labels and by people's, where turns have both.

    `remark` is added to the title. Raises ConfigError: matplotlib is not installed, or the folder cannot be written.
    """
    names = {run: one_line(name) for run, name in names_of(runs).items()}
    sets = (([run for run in runs if run.data_set == name], file) for name, file in _files(runs))
    drawings = (_Drawing(own, names, folder, file) for own, file in sets)
    return [picture for drawing in drawings for picture in drawing.readings(remark)]


def _files(runs: Sequence[RunMeasures]) -> Iterator[tuple[str, str]]:
    names = data_sets_of(runs)
    return zip(names, unique_names(map(file_name, names)), strict=True)


@dataclass(frozen=True)
class _Drawing:
    runs: Sequence[RunMeasures]
    names: Mapping[str, str]
    folder: Path
    file: str

    @property
    def of(self) -> str:
        return one_line(self.runs[0].data_set)

    def whole_name(self, run: RunMeasures) -> str:
        """System and judge; one name for a system that asks no judge."""
        return f"{_title(run)}, {self.names[run.name]}" if run.judge != run.system else self.names[run.name]

    def accuracies(self) -> Iterator[Picture]:
        """Bars with intervals, by judge and system."""
        labels = list(dict.fromkeys(self.names[run.name] for run in self.runs))
        systems = systems_of(self.runs)
        ordered = sorted(self.runs, key=lambda run: (labels.index(self.names[run.name]), systems.index(run.system)))
        run_bars = [bar for run in ordered for bar in _bar(run, run.reading, self.names[run.name], _title(run))]
        if run_bars:
            caption = f"{self.of}: turn accuracy with 95 % intervals"
            kinds = [
                kind for kind in map(one_line, map(title_of, systems)) if any(bar.kind == kind for bar in run_bars)
            ]
            yield Picture(caption, *bars(self.folder, self._file("accuracy"), caption, ACCURACY, run_bars, kinds))

    def readings(self, remark: str = "") -> Iterator[Picture]:
        """Figure 2 of the paper: the same turns by the data set's labels and by people's."""
        kinds = {Reading.ORIGINAL: "the data set's own labels", Reading.STRICT: "people's labels, strict"}
        doubly_labelled = [run for run in self.runs if all(run.answers(reading) for reading in kinds)]
        both = [(run, *kind) for run in doubly_labelled for kind in kinds.items()]
        drawn = (_bar(run, reading, self.whole_name(run), kind) for run, reading, kind in both)
        reading_bars = [bar for own in drawn for bar in own]
        if reading_bars:
            caption = f"{self.of}: turn accuracy by both kinds of gold (the paper's Figure 2){remark and '; '}{one_line(remark)}"
            file, names = self._file("figure-2"), list(kinds.values())
            yield Picture(caption, *bars(self.folder, file, caption, ACCURACY, reading_bars, names))

    def scores(self) -> Iterator[Picture]:
        """VISTA score by turn, for runs over longer conversations."""
        lines = [(self.whole_name(run), _over_turns(run)) for run in self.runs]
        drawable = [(name, points) for name, points in lines if len(points) > 1]
        if drawable:
            caption = f"{self.of}: VISTA score over the turns of a conversation, with 95 % intervals"
            yield Picture(caption, *over_turns(self.folder, self._file("score-over-turns"), caption, drawable))

    def reliabilities(self) -> Iterator[Picture]:
        """Reliability diagram over claims that people labelled."""
        lines = []
        for run in self.runs:
            diagram = binned([confidence for confidence, _ in run.confidences], [right for _, right in run.confidences])
            if diagram is not None:
                points = [Point(bucket.confidence, bucket.accuracy, bucket.n) for bucket in diagram.bins]
                lines.append((f"{self.whole_name(run)} (calibration error {diagram.ece:.3f})", points))
        if lines:
            caption = f"{self.of}: reliability of confidences; numbers count claims"
            yield Picture(caption, *reliability(self.folder, self._file("reliability"), caption, lines))

    def trade_offs(self) -> Iterator[Picture]:
        """Accuracy against cost and against latency, where at least two runs recorded them."""
        spendings = [(run, run.spending) for run in self.runs if run.spending is not None]
        costs = [(run, 1000 * spent.cost) for run, spent in spendings if spent.cost is not None]
        yield from self._trade("cost", "US dollars a thousand turns", costs)
        yield from self._trade("latency", "seconds a turn, median", [(run, spent.median) for run, spent in spendings])

    def batching(self) -> Iterator[Picture]:
        """Accuracy by strategy, for each system and judge with more than one."""
        groups: dict[tuple[str, str], dict[str, RunMeasures]] = {}
        for run in self.runs:
            groups.setdefault((run.system, run.judge), {}).setdefault(_strategy(run), run)
        spots = [
            spot
            for (system, judge), by_strategy in groups.items()
            if len(by_strategy.keys() & STRATEGIES.keys()) > 1
            for way, description in STRATEGIES.items()
            if way in by_strategy
            for spot in _spot(by_strategy[way], one_line(f"{title_of(system)}, {judge}, {description}"), description)
        ]
        if spots:
            caption = f"{self.of}: turn accuracy against batching"
            yield Picture(
                caption, *trade(self.folder, self._file("batching"), caption, "how the model is asked", spots)
            )

    def confusions(self) -> Iterator[Picture]:
        """A confusion matrix for each run whose claims people labelled."""
        human = [place for place, label in enumerate(CONFUSED) if label != "NONE"]
        files = unique_names(file_name("confusion", self.file, run.system, self.names[run.name]) for run in self.runs)
        for run, file in zip(self.runs, files, strict=True):
            if run.confusion:
                name, matrix_rows = self.whole_name(run), confusion_counts(run.confusion)
                counts = [matrix_rows[place][:-1] for place in human]
                caption = f"{self.of}: claims by human and by model label. {name}"
                rows = [str(CONFUSED[place]) for place in human]
                yield Picture(caption, *matrix(self.folder, file, f"{self.of}\n{name}", rows, CONFUSED, counts))

    def _trade(self, quantity: str, axis: str, points: Sequence[tuple[RunMeasures, float]]) -> Iterator[Picture]:
        spots = [spot for run, x in points for spot in _spot(run, self.whole_name(run), x)]
        if len(spots) > 1 and any(spot.x for spot in spots):
            caption = f"{self.of}: turn accuracy against {quantity}"
            yield Picture(caption, *trade(self.folder, self._file(quantity), caption, axis, spots))

    def _file(self, figure: str) -> str:
        return file_name(figure, self.file)


def _bar(run: RunMeasures, reading: Reading, label: str, kind: str) -> Iterator[Bar]:
    detection = run.detection(reading)
    if detection is not None and detection.judged:
        yield Bar(label, kind, detection.accuracy.value, *(run.accuracy_interval(reading) or (None, None)))


def _spot(run: RunMeasures, label: str, x: float | str) -> Iterator[Spot]:
    detection = run.detection(run.reading)
    if detection is not None and detection.judged:
        yield Spot(label, x, detection.accuracy.value, *(run.accuracy_interval(run.reading) or (None, None)))


def _over_turns(run: RunMeasures) -> list[Point]:
    points = []
    for place, values in run.scores_by_place().items():
        if len(values) >= FEWEST:
            # Each conversation has one turn at a place, so the bootstrap draws turns.
            low, high = mean_interval([str(number) for number in range(len(values))], values, draws=400)
            points.append(Point(place, float(np.mean(values)), len(values), low, high))
    return points


def _title(run: RunMeasures) -> str:
    return one_line(title_of(run.system))


def _strategy(run: RunMeasures) -> str:
    parts = [part.split("-")[0] for part in run.manifest.system.judge.version.split("; ")]
    return next((part for part in parts if part in STRATEGIES), "")
