"""`vista-guard compare`: runs side by side, in the layouts of the papers' tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import exit_codes, visible
from vista_guard.errors import ConfigError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vista_lab.tables.output import Picture
    from vista_lab.tables.runs import RunMeasures
    from vista_lab.tables.writers import Sheet


Paper = Literal["vista", "oasis", "dad"]

FormatsOption = Annotated[
    str, typer.Option("--format", metavar="LIST", help="md, tex, csv or html; several, with commas, need --out.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Write files here, replacing earlier ones.  [default: print]"),
]
FiguresOption = Annotated[
    bool,
    typer.Option("--figures", help="Also draw figures, as SVG and PNG, into --out (needs the extra evaluation)."),
]


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN...", help="Folders that vista-guard eval wrote, or folders of such folders."),
    ] = None,
    paper: Annotated[
        Paper,
        typer.Option(
            help="Whose tables: those of VISTA; Tables 4, 5, 8 and Figure 2 of LLM-OASIS; or Tables 1 to 4 of DAD."
        ),
    ] = "vista",
    tables: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Tables of the paper by number, such as 2,3,8-11.  [default: all that the runs fill]"
        ),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="oasis: a retriever's recall, as oasis score retriever --json prints it; may be repeated.",
        ),
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="dad: also write the units that some run has wrong into this .xlsx or .tsv, with a cause to fill in.",
        ),
    ] = None,
    formats: FormatsOption = "md",
    out: OutOption = None,
    figures: FiguresOption = False,
) -> None:
    """Put runs side by side: one overview, and the tables of the paper that they fill.

    Nothing is judged again. The paper's figures stand below the measured ones, each with its number of turns. Differences are
    tested on turns that both runs judged (McNemar). Unchecked turns count in the coverage only. Runs on one data set that cannot
    be compared are refused with the reason.
    Exits with 0, or 2 for wrong usage or input.
    """
    with exit_codes():
        from vista_lab.tables.output import chosen_formats, find_folders
        from vista_lab.tables.runs import read_measured

        wanted = chosen_formats(formats, out, figures=figures)
        _check_given(runs or [], scores or [], paper)
        measured = [read_measured(folder, name) for name, folder in find_folders(runs or []).items()]
        sheets, empty, draw = _fill(paper, measured, tables, scores or [])
        if errors is not None:
            _write_errors(measured, paper, errors)
        for note in empty:
            typer.echo(note, err=True)
        for run in measured:
            if not run.complete:
                progress = f"{len(run.reports):,} of {run.rows.turns:,} turns are reported"
                typer.echo(f"{run.name} is not complete: {progress}; its figures are of these", err=True)
        if not sheets:
            raise InputError(
                f"no run fills a table of --paper {paper}; --tables with a number says what that one needs"
            )
        print_or_write(sheets, wanted, out, draw if figures else None)


Draw = Callable[[Path], "list[Picture]"]


def _check_given(runs: Sequence[Path], scores: Sequence[Path], paper: Paper) -> None:
    if scores and paper != "oasis":
        raise ConfigError("--scores fills Table 8 and Figure 2 of LLM-OASIS; give --paper oasis")
    if not runs and not scores:
        raise ConfigError("nothing to compare; give folders that vista-guard eval wrote")


def _fill(
    paper: Paper, runs: Sequence[RunMeasures], tables: str | None, scores: Sequence[Path]
) -> tuple[list[Sheet], list[str], Draw]:
    """The paper's tables, notes on those without runs, and a function that draws the figures."""
    from vista_lab.tables import dad, oasis, output
    from vista_lab.tables.pictures import draw

    if paper == "oasis":
        material = oasis.OasisMaterial(runs, [oasis.read_scores(path) for path in scores])
        sheets, empty = oasis.sheets(material, None if tables is None else oasis.numbers(tables))
        return sheets, empty, lambda folder: [*draw(runs, folder), *oasis.draw(material.scores, folder)]
    layouts = dad if paper == "dad" else output
    sheets, empty = layouts.sheets(runs, None if tables is None else layouts.numbers(tables))
    return sheets, empty, lambda folder: draw(runs, folder)


def _write_errors(runs: Sequence[RunMeasures], paper: Paper, path: Path) -> None:
    from vista_lab.people.dad_errors import write_errors

    if paper != "dad":
        raise ConfigError("--errors lists sentences and responses as DAD judges them; give --paper dad")
    written = write_errors(runs, path)
    typer.echo(f"wrote {written:,} units to {visible(str(path))}", err=True)


def print_or_write(
    found: Sequence[Sheet], formats: Sequence[str], out: Path | None, draw: Draw | None, title: str | None = None
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
