"""`vista-guard compare`: runs side by side, in the layouts of the papers' tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import exit_codes, visible
from vista_guard.errors import ConfigError, InputError
from vista_lab.cli.tables import FiguresOption, FormatsOption, OutOption, print_or_write
from vista_lab.registry import load, named

if TYPE_CHECKING:
    from vista_lab.tables.output import PaperTables
    from vista_lab.tables.runs import RunMeasures

    Paper = str
else:
    Paper = Literal[tuple(named("tables"))]  # typer reads the choices


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN...", help="Folders that vista-guard eval wrote, or folders of such folders."),
    ] = None,
    paper: Annotated[
        Paper | None,
        typer.Option(
            help="Whose tables: those of VISTA; of published sets, by their own measures; Tables 4, 5, 8 and Figure 2 of "
            "LLM-OASIS; or Tables 1 to 4 of DAD.  [default: vista, and sets]"
        ),
    ] = None,
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
    """Compare runs: one overview, and the tables of a paper.

    Nothing is judged again. The paper's figures stand below the measured ones, each with its number of turns.
    Differences are tested on turns that both runs judged (McNemar). Unchecked turns count in the coverage only. Runs on
    one data set that cannot be compared are refused with the reason. Exits with 0, or 2 for wrong usage or input.

    Example: `vista-guard compare runs/fade-vista runs/fade-overlap`
    """
    with exit_codes():
        from vista_lab.tables.output import chosen_formats, find_folders
        from vista_lab.tables.runs import read_measured

        wanted = chosen_formats(formats, out, figures=figures)
        _check_given(runs or [], scores or [], paper)
        measured = [read_measured(folder, name) for name, folder in find_folders(runs or []).items()]
        layouts: PaperTables = load(named("tables")[paper or "vista"])
        filled = layouts.fill(measured, None if tables is None else layouts.chosen(tables), scores or [])
        if paper is None and tables is None:
            own = load(named("tables")["sets"]).fill(measured, None, ()).sheets
            filled = replace(filled, sheets=[*filled.sheets, *own])
        if errors is not None:
            _write_errors(layouts, measured, errors)
        for note in filled.empty:
            typer.echo(note, err=True)
        for run in measured:
            if not run.complete:
                progress = f"{len(run.reports):,} of {run.rows.turns:,} turns are reported"
                typer.echo(f"{run.name} is not complete: {progress}; its figures are of these", err=True)
        if not filled.sheets:
            of_sets = "a run over a published set has one"
            says = of_sets if paper == "sets" else "--tables with a number says what that one needs"
            raise InputError(f"no run fills a table of --paper {paper or 'vista'}; {says}")
        print_or_write(filled.sheets, wanted, out, filled.draw if figures else None)


def _check_given(runs: Sequence[Path], scores: Sequence[Path], paper: str | None) -> None:
    if scores and paper != "oasis":
        raise ConfigError("--scores fills Table 8 and Figure 2 of LLM-OASIS; give --paper oasis")
    if not runs and not scores:
        raise ConfigError("nothing to compare; give folders that vista-guard eval wrote")


def _write_errors(layouts: PaperTables, runs: Sequence[RunMeasures], path: Path) -> None:
    if not layouts.errors:
        raise ConfigError("--errors lists sentences and responses as DAD judges them; give --paper dad")
    written = load(layouts.errors)(runs, path)
    typer.echo(f"wrote {written:,} units to {visible(str(path))}", err=True)
