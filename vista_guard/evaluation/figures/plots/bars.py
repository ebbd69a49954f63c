"""Bars with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from vista_guard.evaluation.figures.plots.canvas import COLOURS, HATCHES, drawn, pick, save, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch


@dataclass(frozen=True)
class Bar:
    """A share in [0, 1] with its interval. Bars of one `label` stand together; `kind` gives colour and hatch."""

    label: str
    kind: str
    value: float
    low: float | None = None
    high: float | None = None


def bars(
    folder: Path, name: str, title: str, axis: str, shown: Sequence[Bar], kinds: Sequence[str]
) -> tuple[Path, Path]:
    """Horizontal bars, grouped by label in the order in which they come; values in percent stand at their ends.

    Args:
        folder: where the files go.
        name: of the files.
        title: above the bars.
        axis: what the values are.
        shown: the bars.
        kinds: of the bars, in the legend's order.
    """
    labels = list(dict.fromkeys(bar.label for bar in shown))
    places = _places(labels, shown)
    with drawn(7.2, 1.1 + 0.34 * (max(places.values()) + 1) + 0.07 * len(kinds)) as figure:
        axes = figure.subplots()
        for bar, at in places.items():
            _bar(axes, bar, at, kinds.index(bar.kind))
        axes.set_yticks([fmean(places[bar] for bar in shown if bar.label == label) for label in labels], labels)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set(xlabel=axis, title=titled(title, 7.2), xlim=(0, 112))
        axes.set_xticks(range(0, 101, 20))
        if len(kinds) > 1:
            keys = [_key(kind) for kind in range(len(kinds))]
            figure.legend(keys, kinds, loc="outside lower center", ncols=3)
        return save(figure, folder, name)


def _bar(axes: Axes, bar: Bar, at: float, kind: int) -> None:
    colour, hatch = pick(COLOURS, kind), pick(HATCHES, kind)
    axes.barh(at, 100 * bar.value, height=0.8, color=colour, hatch=hatch, edgecolor="black", linewidth=0.6)
    low, high = (bar.value if edge is None else edge for edge in (bar.low, bar.high))
    reach = [[max(100 * (bar.value - low), 0)], [max(100 * (high - bar.value), 0)]]
    axes.errorbar(100 * bar.value, at, xerr=reach, fmt="none", ecolor="black", elinewidth=1.1, capsize=3)
    end = (100 * max(high, bar.value), at)
    axes.annotate(f"{100 * bar.value:.1f}", end, xytext=(4, 0), textcoords="offset points", va="center")


def _places(labels: Sequence[str], shown: Sequence[Bar]) -> dict[Bar, float]:
    """Where each bar stands: those of a label side by side, and some room between labels."""
    found, at = {}, 0.0
    for label in labels:
        for bar in (one for one in shown if one.label == label):
            found[bar] = at
            at += 0.85
        at += 0.45
    return found


def _key(kind: int) -> Patch:
    from matplotlib.patches import Patch

    return Patch(facecolor=pick(COLOURS, kind), hatch=pick(HATCHES, kind), edgecolor="black", linewidth=0.6)
