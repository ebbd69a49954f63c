"""KnowMT-Bench's figures from runs: 4 and 14 (relations), 5 (turns), 6 to 9 (settings side by side) and 15 (n-grams)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean

from vista_guard.errors import ConfigError
from vista_lab.dialogues.delivery import PairReading, delivery, figures
from vista_lab.dialogues.scored import Cohort
from vista_lab.dialogues.settings import read_setting
from vista_lab.dialogues.tables.papers import FOUR, OVERLAPS, four, least_squares, overlaps, setting_pairs
from vista_lab.dialogues.tables.settings import EXPERIMENTS, FEWEST, SIGNS, comparisons
from vista_lab.tables.output import Picture
from vista_lab.tables.plots import Mark, Panel, panels, scatter
from vista_lab.tables.writers import file_name

_AXES = {"S_f": "S_f, % ↑", "S_h": "S_h, % ↓", "D_f": "D_f, tokens ↓", "D_h": "D_h, tokens ↑"}


def draw(cohorts: Sequence[Cohort], folder: Path, reading: PairReading = PairReading.CODE) -> list[Picture]:
    """Draws every figure that the cohorts fill as SVG and PNG, in separate files for each data set and judge.

    Raises ConfigError: matplotlib is not installed, or the folder cannot be written.
    """
    scored = sorted((cohort for cohort in cohorts if cohort.by_id), key=lambda cohort: cohort.judged_by)
    pictures: list[Picture] = []
    for judged_by, together in groupby(scored, key=lambda cohort: cohort.judged_by):
        drawing = _Drawing(list(together), folder, judged_by[:3], reading)
        pictures += [*drawing.relations(), *drawing.turns(), *drawing.experiments(), *drawing.overlap()]
    return pictures


class _Drawing:
    def __init__(
        self, cohorts: Sequence[Cohort], folder: Path, judged_by: tuple[str, str, str], reading: PairReading
    ) -> None:
        self._cohorts, self._folder, self._judged_by, self._reading = cohorts, folder, judged_by, reading
        self._figures = [(one, dict(zip(FOUR, four(figures(one.answers, reading)), strict=True))) for one in cohorts]

    def _file(self, figure: str) -> str:
        return file_name(figure, *self._judged_by)

    def relations(self) -> Iterator[Picture]:
        """Figure 4 with its lines, and Figure 14 with each row's residuals."""
        beyond: dict[str, dict[int, float]] = {}
        for first, second in (("S_f", "S_h"), ("D_f", "D_h")):
            factor = 100 if first == "S_f" else 1
            points = [(cohort, factor * x, factor * y) for cohort, of in self._figures
                      if (x := of[first]) is not None and (y := of[second]) is not None]  # fmt: skip
            line = least_squares([x for _, x, _ in points], [y for *_, y in points])
            if line is None:
                continue
            marks = [Mark(cohort.model, read_setting(cohort.setting).history, x, y) for cohort, x, y in points]
            caption = f"{first} and {second} over {len(points)} rows, R² {line.rvalue**2:.2f} (the paper's Figure 4)"
            axes, slope = (_AXES[first], _AXES[second]), (line.slope, line.intercept)
            name = self._file(f"figure-4-{second}")
            yield Picture(caption, *scatter(self._folder, name, caption, axes, marks, line=slope))
            beyond[second] = {id(cohort): y - (line.slope * x + line.intercept) for cohort, x, y in points}
        if len(beyond) == 2:
            whole = [one for one in self._cohorts if all(id(one) in residuals for residuals in beyond.values())]
            left = [(one, -beyond["S_h"][id(one)], beyond["D_h"][id(one)]) for one in whole]
            marks = [Mark(one.model, read_setting(one.setting).history, x, y) for one, x, y in left]
            caption = "Better than the lines tell: up and to the right (the paper's Figure 14)"
            axes = ("S_h below its line, points", "D_h above its line, tokens")
            files = scatter(self._folder, self._file("figure-14"), caption, axes, marks, quadrants=(0.0, 0.0))
            yield Picture(caption, *files)

    def turns(self) -> Iterator[Picture]:
        """Figure 5: relative changes from one question, by the number of turns."""
        lines: dict[str, dict[int, list[float | None]]] = {}
        for before, after in setting_pairs(self._cohorts, guarded=False):
            counts = {name: len(after.items[name].questions) for name in after.by_id if name in before.by_id}
            for number in sorted(set(counts.values())):
                names = [name for name, count in counts.items() if count == number]
                both = [four(figures([one.by_id[name] for name in names], self._reading)) for one in (before, after)]
                lines.setdefault(f"{after.model}, {after.setting}", {})[number] = [
                    100 * (y / x - 1) if x and y is not None else None for x, y in zip(*both, strict=True)
                ]
        places = sorted({number for by_turns in lines.values() for number in by_turns})
        if len(places) > 1:
            nothing: list[float | None] = [None] * len(FOUR)
            drawn = [
                Panel(
                    f"Δ {name}, %", [(label, [own.get(n, nothing)[at] for n in places]) for label, own in lines.items()]
                )
                for at, name in enumerate(FOUR)
            ]
            caption = "Change from one question by number of turns (the paper's Figure 5)"
            files = panels(self._folder, self._file("figure-5"), caption, [*map(str, places)], drawn)
            yield Picture(caption, *files)

    def experiments(self) -> Iterator[Picture]:
        """Figures 6 to 9, and Tables 3, 4, 19 and 20 in the same form."""
        for experiment in EXPERIMENTS:
            groups = list(comparisons(self._cohorts, experiment, self._reading))
            places = list(dict.fromkeys(row.label for group in groups for row in group))
            if not groups:
                continue
            drawn_panels = [
                Panel(_AXES[name], [
                    (group[0].cohort.model, [{row.label: row.values[name] for row in group}.get(at) for at in places])
                    for group in groups
                ])
                for name in SIGNS
            ]  # fmt: skip
            counts = ", ".join(f"{group[0].cohort.model} {group[0].figures.answers}" for group in groups)
            caption = f"{experiment.title}. Answers: {counts}"
            name = self._file(experiment.title.split(".")[0])
            yield Picture(caption, *panels(self._folder, name, caption, places, drawn_panels))

    def overlap(self) -> Iterator[Picture]:
        """Figure 15: S_f beside ROUGE-L and BLEU-4, where the extra `ngrams` is installed."""
        if len(self._cohorts) < FEWEST:
            return
        for name in ("ROUGE-L", "BLEU-4"):
            marks = []
            for cohort in self._cohorts:
                try:
                    both = [(cohort.lines[one].answer or "", cohort.items[one].answer) for one in cohort.by_id]
                    values = [overlaps(*texts)[OVERLAPS.index(name)] for texts in both]
                except ConfigError:
                    return
                s_f = fmean(delivery(answer, self._reading).s_f for answer in cohort.by_id.values())
                marks.append(Mark(cohort.model, read_setting(cohort.setting).history, 100 * fmean(values), 100 * s_f))
            caption = f"S_f beside {name} (the paper's Figure 15)"
            files = scatter(self._folder, self._file(f"figure-15-{name}"), caption, (f"{name}, %", _AXES["S_f"]), marks)
            yield Picture(caption, *files)
