"""Options and output of commands that print tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import visible

if TYPE_CHECKING:
    from vista_lab.tables.output import Picture
    from vista_lab.tables.writers import Sheet

FormatsOption = Annotated[
    str,
    typer.Option(
        "--format", metavar="LIST", help="Format of tables: md, tex, csv or html; several, with commas, need --out."
    ),
]
OutOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Write files here, replacing earlier ones.  [default: print]")
]
FiguresOption = Annotated[
    bool, typer.Option("--figures", help="Also draw figures, as SVG and PNG, into --out (needs the extra evaluation).")
]


def print_or_write(
    found: Sequence[Sheet],
    formats: Sequence[str],
    out: Path | None,
    draw: Callable[[Path], list[Picture]] | None,
    title: str | None = None,
) -> None:
    """Prints tables in their first format, or writes them to a folder and prints the files' names.

    `draw` draws pictures into a folder; `title` is the HTML page's.
    """
    from vista_lab.tables.output import TITLE, text, write

    if out is None:
        typer.echo(text(found, formats[0], title or TITLE), nl=False)
    else:
        pictures = draw(out / "figures") if draw is not None else []
        tell_written(write(found, formats, out, pictures, title or TITLE))


def tell_written(paths: Iterable[Path], *, err: bool = False) -> None:
    """Prints the written files, one per line."""
    for path in paths:
        typer.echo(f"wrote {visible(str(path))}", err=err)
