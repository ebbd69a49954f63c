"""Accuracy against what it takes: seconds, money, or how claims are put to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.evaluation.figures.plots.canvas import COLOURS, MARKERS, drawn, pick, save, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Spot:
    """One run: accuracy in [0, 1] with its interval, against `x`, a number or a name."""

    label: str
    x: float | str
    y: float
    low: float | None = None
    high: float | None = None


def trade(folder: Path, name: str, title: str, axis: str, spots: Sequence[Spot]) -> tuple[Path, Path]:
    """A marker a run, with its interval. Numbers that lie far apart stand on a logarithmic axis."""
    with drawn(6.6, 3.6 + 0.2 * len(spots)) as figure:
        axes = figure.subplots()
        for place, spot in enumerate(spots):
            low, high = (spot.y if edge is None else edge for edge in (spot.low, spot.high))
            reach = [[max(100 * (spot.y - low), 0)], [max(100 * (high - spot.y), 0)]]
            axes.errorbar(spot.x, 100 * spot.y, yerr=reach, label=spot.label, capsize=3, linestyle="none",
                          color=pick(COLOURS, place), marker=pick(MARKERS, place), mec="black", markersize=7)  # fmt: skip
        numbers = [spot.x for spot in spots if not isinstance(spot.x, str)]
        if numbers and min(numbers) > 0 and max(numbers) > 20 * min(numbers):
            _logarithmic(axes)
        axes.set(title=titled(title, 6.6), xlabel=axis, ylabel="turn accuracy, %")
        axes.margins(x=0.15)
        figure.legend(loc="outside lower center", ncols=1)
        return save(figure, folder, name)


def _logarithmic(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    # The scale's own labels are mathematics, which the style leaves alone, as names may hold dollars.
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
