"""Lines: the score over turns, and how far confidences can be taken at their word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.evaluation.figures.plots.canvas import COLOURS, LINES, MARKERS, drawn, pick, save, titled


@dataclass(frozen=True)
class Point:
    """A place on a line, with its interval, and of how many it is. Figures are shares in [0, 1]."""

    x: float
    y: float
    n: int
    low: float | None = None
    high: float | None = None


Lines = Sequence[tuple[str, Sequence[Point]]]
"""Lines by their names."""


def over_turns(folder: Path, name: str, title: str, lines: Lines) -> tuple[Path, Path]:
    """A score by the turn's place in its conversation, with intervals as bands and edges."""
    with drawn(7.2, 3.6 + 0.22 * len(lines)) as figure:
        axes = figure.subplots()
        for place, (label, points) in enumerate(lines):
            colour, turns = pick(COLOURS, place), [point.x for point in points]
            axes.plot(turns, [100 * point.y for point in points], color=colour, label=label, ls=pick(LINES, place),
                      marker=pick(MARKERS, place), markersize=5)  # fmt: skip
            lows = [100 * point.low for point in points if point.low is not None]
            highs = [100 * point.high for point in points if point.high is not None]
            if len(lows) == len(highs) == len(points):
                axes.fill_between(turns, lows, highs, color=colour, alpha=0.15, linewidth=0)
        axes.set(title=titled(title, 7.2), xlabel="turn of the conversation", ylabel="VISTA score, %", ylim=(0, 102))
        axes.set_xticks(sorted({int(point.x) for _, points in lines for point in points}))
        figure.legend(loc="outside lower center", ncols=1)
        return save(figure, folder, name)


def reliability(folder: Path, name: str, title: str, lines: Lines) -> tuple[Path, Path]:
    """How often judgements were right, by how sure the judge was. On the diagonal confidence means what it says."""
    with drawn(5.2, 5.0 + 0.22 * len(lines)) as figure:
        axes = figure.subplots()
        axes.plot([0, 100], [0, 100], color="black", linewidth=0.8, linestyle=(0, (1, 2)))
        for place, (label, points) in enumerate(lines):
            xs, ys = [100 * point.x for point in points], [100 * point.y for point in points]
            axes.plot(
                xs,
                ys,
                color=pick(COLOURS, place),
                label=label,
                ls=pick(LINES, place),
                marker=pick(MARKERS, place),
                markersize=6,
            )
            for point, x, y in zip(points, xs, ys, strict=True):
                axes.annotate(f"{point.n}", (x, y), xytext=(5, -9), textcoords="offset points", fontsize=7)
        axes.set(title=titled(title, 5.2), xlabel="mean confidence, %", ylabel="right, %", xlim=(0, 102), ylim=(0, 102))
        figure.legend(loc="outside lower center", ncols=1)
        return save(figure, folder, name)
