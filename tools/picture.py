"""Draws the README's picture of guarded turns, as the demo shows them on a terminal: `make picture`.

Times and confidences in it are those of the machine and of the weights it is drawn with.
"""

from __future__ import annotations

import re
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.terminal_theme import DIMMED_MONOKAI

PICTURE = Path("docs/pictures/demo.svg")
TURNS = (4, 5)
"""Turns of the demo that are shown: one flagged, one blocked."""
COLUMNS = 84


class Kept(Console):
    """A console that shows nothing and keeps all objects."""

    def __init__(self) -> None:
        super().__init__(file=StringIO(), width=COLUMNS)
        self.views: list[RenderableType] = []

    def print(self, *objects: Any, **_: Any) -> None:
        """Keeps the objects."""
        self.views += objects


def views() -> list[RenderableType]:
    """The demo's output for the chosen turns."""
    from vista_guard import demo

    console = Kept()
    demo.run(console=console)
    return [console.views[number] for number in TURNS]


def picture() -> str:
    """The chosen turns as an SVG."""
    recorder = Console(record=True, file=StringIO(), width=COLUMNS, highlight=False, force_terminal=True)
    recorder.print(*views())
    svg = recorder.export_svg(title="vista-guard demo", theme=DIMMED_MONOKAI)
    # Rich's own markup makes the reader's browser load a font from a content network.
    return re.sub(r"@font-face {.*?}\s*", "", svg, flags=re.DOTALL)


def shown(svg: str) -> list[str]:
    """The words of a picture without its numbers, which differ from run to run."""
    lines = re.findall(r"<text [^>]*>(.*?)</text>", svg)
    return re.findall(r"[^\W\d]+", unescape(" ".join(lines)))


def main() -> None:
    """Draws the picture into the folder it is called in."""
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
