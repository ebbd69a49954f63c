"""`vista-guard compare`: runs side by side, in the layouts of the paper's tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import exit_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vista_lab.tables.runs import Measured
    from vista_lab.tables.writers import Sheet


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders that vista-guard eval wrote, or folders of such folders."),
    ],
    tables: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Tables of the paper by number, such as 2,3,8-11.  [default: all that the runs fill]"
        ),
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", metavar="LIST", help="md, tex, csv or html; several, with commas, need --out.")
    ] = "md",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write files here, replacing earlier ones.  [default: print]"),
    ] = None,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Also draw figures, as SVG and PNG, into --out (needs the extra evaluation)."),
    ] = False,
) -> None:
    """Put runs side by side: one overview, and the tables of the paper that they fill.

    Nothing is judged again. The paper's figures stand below the measured ones, each with its number of turns. Differences are
    tested on turns that both runs judged (McNemar). Unchecked turns count in the coverage only. Runs on one data set that cannot
    be compared are refused with the reason.
    Exits with 0, or 2 for wrong usage or input.
    """
    with exit_codes():
        from vista_lab.tables.output import chosen_formats, find_folders, numbers, sheets
        from vista_lab.tables.runs import read_measured

        wanted = chosen_formats(formats, out, figures=figures)
        asked = None if tables is None else numbers(tables)
        read = [read_measured(folder, name) for name, folder in find_folders(runs).items()]
        found, empty = sheets(read, asked)
        for note in empty:
            typer.echo(note, err=True)
        for run in read:
            if not run.complete:
                said = f"{len(run.reports):,} of {run.rows.turns:,} turns are reported"
                typer.echo(f"{run.name} is not complete: {said}; its figures are of these", err=True)
        if out is None:
            from vista_lab.tables.output import text

            typer.echo(text(found, wanted[0]), nl=False)
        else:
            _write(read, found, wanted, out, figures=figures)


def _write(
    runs: Sequence[Measured], found: Sequence[Sheet], wanted: Sequence[str], out: Path, *, figures: bool
) -> None:
    """Files into the folder, and their names to stdout."""
    from vista_guard.cli.common import visible
    from vista_lab.tables.output import write

    pictures = []
    if figures:
        from vista_lab.tables.pictures import draw

        pictures = draw(runs, out / "figures")
    for path in [*write(found, wanted, out, pictures), *(path for picture in pictures for path in picture.files)]:
        typer.echo(f"wrote {visible(str(path))}")
