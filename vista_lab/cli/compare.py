"""`vista-guard compare`: runs side by side, in the layouts of the papers' tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import exit_codes, visible
from vista_guard.errors import ConfigError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vista_lab.tables.output import Picture
    from vista_lab.tables.runs import Measured
    from vista_lab.tables.writers import Sheet


Paper = Literal["vista", "oasis", "dad"]


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
        from vista_lab.tables.output import chosen_formats, find_folders
        from vista_lab.tables.runs import read_measured

        wanted = chosen_formats(formats, out, figures=figures)
        places = _places(runs, scores, paper)
        read = [read_measured(folder, name) for name, folder in find_folders(places).items()]
        fill = {"oasis": _of_oasis, "dad": _of_dad, "vista": _of_vista}[paper]
        found, empty, draw = fill(read, tables, scores or [])
        if errors is not None:
            _write_errors(read, paper, errors)
        for note in empty:
            typer.echo(note, err=True)
        for run in read:
            if not run.complete:
                said = f"{len(run.reports):,} of {run.rows.turns:,} turns are reported"
                typer.echo(f"{run.name} is not complete: {said}; its figures are of these", err=True)
        if not found:
            raise InputError(
                f"no run fills a table of --paper {paper}; --tables with a number says what that one needs"
            )
        if out is None:
            from vista_lab.tables.output import text

            typer.echo(text(found, wanted[0]), nl=False)
        else:
            _write(found, wanted, out, draw(out / "figures") if figures else [])


Draw = Callable[[Path], "list[Picture]"]


def _places(runs: Sequence[Path] | None, scores: Sequence[Path] | None, paper: Paper) -> Sequence[Path]:
    if scores and paper != "oasis":
        raise ConfigError("--scores fills Table 8 and Figure 2 of LLM-OASIS; give --paper oasis")
    if not runs and not scores:
        raise ConfigError("nothing to compare; give folders that vista-guard eval wrote")
    return runs or []


def _of_vista(
    runs: Sequence[Measured], tables: str | None, _scores: Sequence[Path]
) -> tuple[list[Sheet], list[str], Draw]:
    from vista_lab.tables.output import numbers, sheets

    found, empty = sheets(runs, None if tables is None else numbers(tables))
    return found, empty, lambda folder: _draw_runs(runs, folder)


def _of_oasis(
    runs: Sequence[Measured], tables: str | None, scores: Sequence[Path]
) -> tuple[list[Sheet], list[str], Draw]:
    from vista_lab.tables import oasis

    material = oasis.OasisMaterial(runs, [oasis.read_scores(path) for path in scores])
    found, empty = oasis.sheets(material, None if tables is None else oasis.numbers(tables))
    return found, empty, lambda folder: [*_draw_runs(runs, folder), *oasis.draw(material.scores, folder)]


def _of_dad(
    runs: Sequence[Measured], tables: str | None, _scores: Sequence[Path]
) -> tuple[list[Sheet], list[str], Draw]:
    from vista_lab.tables import dad

    found, empty = dad.sheets(runs, None if tables is None else dad.numbers(tables))
    return found, empty, lambda folder: _draw_runs(runs, folder)


def _draw_runs(runs: Sequence[Measured], folder: Path) -> list[Picture]:
    from vista_lab.tables.pictures import draw

    return draw(runs, folder)


def _write_errors(runs: Sequence[Measured], paper: Paper, path: Path) -> None:
    from vista_lab.people.dad_errors import write_errors

    if paper != "dad":
        raise ConfigError("--errors lists sentences and responses as DAD judges them; give --paper dad")
    written = write_errors(runs, path)
    typer.echo(f"wrote {written:,} units to {visible(str(path))}", err=True)


def _write(found: Sequence[Sheet], wanted: Sequence[str], out: Path, pictures: Sequence[Picture]) -> None:
    """Files into the folder, and their names to stdout."""
    from vista_lab.tables.output import write

    for path in [*write(found, wanted, out, pictures), *(path for picture in pictures for path in picture.files)]:
        typer.echo(f"wrote {visible(str(path))}")
