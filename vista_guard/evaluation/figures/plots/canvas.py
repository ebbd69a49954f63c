"""What all figures share: the style, and how one is written. Alone in knowing how to make matplotlib draw without a display."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

from vista_guard._extras import require
from vista_guard.errors import ConfigError

if TYPE_CHECKING:
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
def drawn(width: float, height: float) -> Iterator[Figure]:
    """An empty figure in the style; inches.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    require("drawing figures", "matplotlib", extra="evaluation")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Writes `name.svg` and `name.png` and says where. To be called while the figure's style is in force.

    Raises:
        ConfigError: the folder cannot be written.
    """
    svg, png = folder / f"{name}.svg", folder / f"{name}.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with catch_warnings():
            # A name in letters that the font lacks is boxes in the PNG; in the SVG it is text, and the reader's fonts have it.
            filterwarnings("ignore", "Glyph")
            figure.savefig(svg, format="svg", metadata={"Date": None})
            figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
    except OSError as exc:
        raise ConfigError(f"{folder} cannot be written: {exc.strerror}. Choose another --out") from exc
    return svg, png


def pick(choices: tuple[str, ...], place: int) -> str:
    """One of them, again from the first after the last."""
    return choices[place % len(choices)]


def titled(title: str, width: float) -> str:
    """A title in lines that fit a figure so many inches wide. Line breaks stay."""
    return "\n".join(line for part in title.split("\n") for line in wrap(part, int(10 * width)))
