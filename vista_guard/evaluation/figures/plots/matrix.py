"""Confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vista_guard.evaluation.figures.plots.canvas import drawn, save, titled


def matrix(
    folder: Path, name: str, title: str, rows: Sequence[str], columns: Sequence[str], counts: Sequence[Sequence[int]]
) -> tuple[Path, Path]:
    """Counts with the share of their row, which is how dark a cell is."""
    shares = [[count / sum(line) if sum(line) else 0.0 for count in line] for line in counts]
    with drawn(1.6 + 0.95 * len(columns), 1.5 + 0.62 * len(rows)) as figure:
        axes = figure.subplots()
        axes.imshow(shares, cmap="Greys", vmin=0, vmax=1.25, aspect="auto")
        for y, line in enumerate(counts):
            for x, count in enumerate(line):
                dark = shares[y][x] > 0.6
                told = f"{count}\n{shares[y][x]:.0%}" if count else "0"
                axes.text(x, y, told, ha="center", va="center", color="white" if dark else "black", fontsize=8)
        axes.set_xticks(range(len(columns)), [_broken(column) for column in columns])
        axes.set_yticks(range(len(rows)), [_broken(row) for row in rows])
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.set(title=titled(title, 6.0), xlabel="model", ylabel="human")
        return save(figure, folder, name)


def _broken(label: str) -> str:
    return label.replace("_", "\n").lower()
