"""Plots: bars with intervals, lines over turns, calibration, confusion matrices, accuracy against cost.

Only this module makes matplotlib draw without a display.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

from vista_guard._extras import require
from vista_lab.files import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe and Ito's palette, which people with any colour vision tell apart."""
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "+++", "ooo")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h", ">", "d")
LINES = ("-", "--", "-.", ":")
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: it can be searched, and read aloud
    "svg.hashsalt": "vista-guard",  # the same figure is the same file
    "text.parse_math": False,  # a dollar in a name is a dollar
}


@contextmanager
def open_figure(width: float, height: float) -> Iterator[Figure]:
    """An empty figure in the house style, sized in inches. Raises ConfigError: matplotlib is not installed."""
    require("drawing figures", "matplotlib", extra="evaluation")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Writes `name.svg` and `name.png` and returns their paths. Call it inside `open_figure`.

    Raises ConfigError: the folder cannot be written.
    """
    svg, png = folder / f"{name}.svg", folder / f"{name}.png"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with catch_warnings():
            # A name in letters that the font lacks is boxes in the PNG; in the SVG it is text, and the reader's fonts have it.
            filterwarnings("ignore", "Glyph")
            figure.savefig(svg, format="svg", metadata={"Date": None})
            figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
    return svg, png


def pick(choices: tuple[str, ...], place: int) -> str:
    """The choice at a place, wrapping around."""
    return choices[place % len(choices)]


def set_titles(title: str, width: float) -> str:
    """A title wrapped to a figure's width in inches. Its line breaks stay."""
    return "\n".join(line for part in title.split("\n") for line in wrap(part, int(10 * width)))


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
    """Horizontal bars grouped by label, in order, with their values in percent.

    `axis` names the values; `kinds` are those of the bars, in the legend's order.
    """
    labels = list(dict.fromkeys(bar.label for bar in shown))
    places = _places(labels, shown)
    with open_figure(7.2, 1.1 + 0.34 * (max(places.values()) + 1) + 0.07 * len(kinds)) as figure:
        axes = figure.subplots()
        for bar, at in places.items():
            _bar(axes, bar, at, kinds.index(bar.kind))
        axes.set_yticks([fmean(places[bar] for bar in shown if bar.label == label) for label in labels], labels)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set(xlabel=axis, xlim=(0, 112))
        figure.suptitle(set_titles(title, 7.2))  # over the figure: beside long labels the axes are narrow
        axes.set_xticks(range(0, 101, 20))
        if len(kinds) > 1:
            from matplotlib.patches import Patch

            keys = [Patch(**_fill(kind)) for kind in range(len(kinds))]
            figure.legend(keys, kinds, loc="outside lower center", ncols=3)
        return save(figure, folder, name)


def _bar(axes: Axes, bar: Bar, at: float, kind: int) -> None:
    axes.barh(at, 100 * bar.value, height=0.8, **_fill(kind))
    reach = _reach(bar.value, bar.low, bar.high)
    axes.errorbar(100 * bar.value, at, xerr=reach, fmt="none", ecolor="black", elinewidth=1.1, capsize=3)
    end = (100 * max(bar.value, bar.value if bar.high is None else bar.high), at)
    axes.annotate(f"{100 * bar.value:.1f}", end, xytext=(4, 0), textcoords="offset points", va="center")


def _places(labels: Sequence[str], drawn: Sequence[Bar]) -> dict[Bar, float]:
    """Position of each bar: bars of a label side by side, with some room between labels."""
    places, at = {}, 0.0
    for label in labels:
        for bar in (candidate for candidate in drawn if candidate.label == label):
            places[bar] = at
            at += 0.85
        at += 0.45
    return places


def _fill(kind: int) -> dict[str, Any]:
    return {"facecolor": pick(COLOURS, kind), "hatch": pick(HATCHES, kind), "edgecolor": "black", "linewidth": 0.6}


def _reach(value: float, low: float | None, high: float | None) -> list[list[float]]:
    """Length of an interval to either side, in percent; 0 without one."""
    return [[0 if low is None else max(100 * (value - low), 0)], [0 if high is None else max(100 * (high - value), 0)]]


def _stroke(place: int) -> dict[str, Any]:
    return {"color": pick(COLOURS, place), "ls": pick(LINES, place)}


@dataclass(frozen=True)
class Point:
    """A point of a line over `n` cases, with its interval. `y`, `low` and `high` are shares in [0, 1]."""

    x: float
    y: float
    n: int
    low: float | None = None
    high: float | None = None


Lines = Sequence[tuple[str, Sequence[Point]]]
"""Lines by their names."""


def over_turns(folder: Path, name: str, title: str, lines: Lines) -> tuple[Path, Path]:
    """A score by the turn's place in its conversation, with intervals as bands and edges."""
    with open_figure(7.2, 3.6 + 0.22 * len(lines)) as figure:
        axes = figure.subplots()
        for place, (label, points) in enumerate(lines):
            turns, scores = [point.x for point in points], [100 * point.y for point in points]
            axes.plot(turns, scores, label=label, marker=pick(MARKERS, place), markersize=5, **_stroke(place))
            lows = [100 * point.low for point in points if point.low is not None]
            highs = [100 * point.high for point in points if point.high is not None]
            if len(lows) == len(highs) == len(points):
                axes.fill_between(turns, lows, highs, color=pick(COLOURS, place), alpha=0.15, linewidth=0)
        axes.set(xlabel="turn of the conversation", ylabel="VISTA score, %", ylim=(0, 102))
        axes.set_title(set_titles(title, 7.2))
        axes.set_xticks(sorted({int(point.x) for _, points in lines for point in points}))
        figure.legend(loc="outside lower center", ncols=1)
        return save(figure, folder, name)


def recall_curves(folder: Path, name: str, title: str, lines: Lines) -> tuple[Path, Path]:
    """Recall over k, a curve for each retriever."""
    with open_figure(7.2, 3.6 + 0.22 * len(lines)) as figure:
        axes = figure.subplots()
        for place, (label, points) in enumerate(lines):
            recalls = [100 * point.y for point in points]
            axes.plot([point.x for point in points], recalls, label=label, **_stroke(place))
        axes.set(title=set_titles(title, 7.2), xlabel="k", ylabel="recall at k, %", ylim=(0, 102))
        figure.legend(loc="outside lower center", ncols=1)
        return save(figure, folder, name)


def reliability(folder: Path, name: str, title: str, lines: Lines) -> tuple[Path, Path]:
    """Accuracy by confidence, with the diagonal of perfect calibration."""
    with open_figure(5.2, 5.0 + 0.22 * len(lines)) as figure:
        axes = figure.subplots()
        axes.plot([0, 100], [0, 100], color="black", linewidth=0.8, linestyle=(0, (1, 2)))
        for place, (label, points) in enumerate(lines):
            xs, ys = [100 * point.x for point in points], [100 * point.y for point in points]
            axes.plot(xs, ys, label=label, marker=pick(MARKERS, place), markersize=6, **_stroke(place))
            for point, x, y in zip(points, xs, ys, strict=True):
                axes.annotate(f"{point.n}", (x, y), xytext=(5, -9), textcoords="offset points", fontsize=7)
        axes.set(xlabel="mean confidence, %", ylabel="right, %", xlim=(0, 102), ylim=(0, 102))
        axes.set_title(set_titles(title, 5.2))
        figure.legend(loc="outside lower center", ncols=1)
        return save(figure, folder, name)


def matrix(
    folder: Path, name: str, title: str, rows: Sequence[str], columns: Sequence[str], counts: Sequence[Sequence[int]]
) -> tuple[Path, Path]:
    """Counts with their share of the row, which shades the cell."""
    shares = [[count / sum(line) if sum(line) else 0.0 for count in line] for line in counts]
    with open_figure(1.6 + 0.95 * len(columns), 1.5 + 0.62 * len(rows)) as figure:
        axes = figure.subplots()
        axes.imshow(shares, cmap="Greys", vmin=0, vmax=1.25, aspect="auto")
        for y, line in enumerate(counts):
            for x, count in enumerate(line):
                dark = shares[y][x] > 0.6
                text = f"{count}\n{shares[y][x]:.0%}" if count else "0"
                axes.text(x, y, text, ha="center", va="center", color="white" if dark else "black", fontsize=8)
        axes.set_xticks(range(len(columns)), [column.replace("_", "\n").lower() for column in columns])
        axes.set_yticks(range(len(rows)), [row.replace("_", "\n").lower() for row in rows])
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.set(title=set_titles(title, 6.0), xlabel="model", ylabel="human")
        return save(figure, folder, name)


@dataclass(frozen=True)
class Spot:
    """One run: accuracy in [0, 1] with its interval, against `x`, a number or a name."""

    label: str
    x: float | str
    y: float
    low: float | None = None
    high: float | None = None


def trade(folder: Path, name: str, title: str, axis: str, spots: Sequence[Spot]) -> tuple[Path, Path]:
    """One marker per run, with its interval. The axis is logarithmic where numbers lie far apart."""
    with open_figure(6.6, 3.6 + 0.2 * len(spots)) as figure:
        axes = figure.subplots()
        for place, spot in enumerate(spots):
            reach = _reach(spot.y, spot.low, spot.high)
            axes.errorbar(spot.x, 100 * spot.y, yerr=reach, label=spot.label, capsize=3, linestyle="none",
                          color=pick(COLOURS, place), marker=pick(MARKERS, place), mec="black", markersize=7)  # fmt: skip
        numbers = [spot.x for spot in spots if not isinstance(spot.x, str)]
        if numbers and min(numbers) > 0 and max(numbers) > 20 * min(numbers):
            _logarithmic(axes)
        axes.set(title=set_titles(title, 6.6), xlabel=axis, ylabel="turn accuracy, %")
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


@dataclass(frozen=True)
class Mark:
    """A table's row as a point. Marks of one `series` share their look and a legend entry."""

    label: str
    series: str
    x: float
    y: float


def scatter(
    folder: Path,
    name: str,
    title: str,
    axes_of: tuple[str, str],
    marks: Sequence[Mark],
    *,
    line: tuple[float, float] | None = None,
    quadrants: tuple[float, float] | None = None,
) -> tuple[Path, Path]:
    """Rows as labelled marks. `line` is the slope and intercept of a line, `quadrants` the point where the axes cross."""
    series = list(dict.fromkeys(mark.series for mark in marks))
    with open_figure(7.2, 5.2) as figure:
        axes = figure.subplots()
        for place, series_name in enumerate(series):
            members = [mark for mark in marks if mark.series == series_name]
            axes.scatter([mark.x for mark in members], [mark.y for mark in members], label=series_name,
                         color=pick(COLOURS, place), marker=pick(MARKERS, place), edgecolors="black", linewidths=0.6)  # fmt: skip
            for mark in members:
                axes.annotate(mark.label, (mark.x, mark.y), xytext=(4, 4), textcoords="offset points", fontsize=7)
        if line is not None:
            axes.axline((0.0, line[1]), slope=line[0], color="black", linewidth=0.8, linestyle="--")
            axes.set(xlim=_around([mark.x for mark in marks]), ylim=_around([mark.y for mark in marks]))
        if quadrants is not None:
            axes.axvline(quadrants[0], color="black", linewidth=0.8)
            axes.axhline(quadrants[1], color="black", linewidth=0.8)
        axes.set(title=set_titles(title, 7.2), xlabel=axes_of[0], ylabel=axes_of[1])
        if len(series) > 1:
            figure.legend(loc="outside lower center", ncols=3)
        return save(figure, folder, name)


def _around(values: Sequence[float]) -> tuple[float, float]:
    room = 0.08 * (max(values) - min(values)) or 1.0
    return min(values) - room, max(values) + room


@dataclass(frozen=True)
class Panel:
    """One of several small plots: a value for each place and series, None where missing."""

    axis: str
    series: Sequence[tuple[str, Sequence[float | None]]]


def panels(folder: Path, name: str, title: str, places: Sequence[str], shown: Sequence[Panel]) -> tuple[Path, Path]:
    """Small plots side by side over the same places, such as settings or numbers of turns."""
    with open_figure(11.0, 3.2 + 0.1 * max(map(len, places)) + 0.22 * len(shown[0].series)) as figure:
        for axes, panel in zip(figure.subplots(1, len(shown)), shown, strict=True):
            for place, (label, values) in enumerate(panel.series):
                present = [(at, value) for at, value in enumerate(values) if value is not None]
                places_of, values_of = [at for at, _ in present], [value for _, value in present]
                axes.plot(
                    places_of, values_of, label=label, marker=pick(MARKERS, place), markersize=5, **_stroke(place)
                )
            axes.set_xticks(range(len(places)), places, rotation=90 if max(map(len, places)) > 4 else 0)
            axes.set(title=panel.axis, xlim=(-0.5, len(places) - 0.5))
        figure.suptitle(set_titles(title, 11.0))
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        return save(figure, folder, name)
