"""The command line. Commands import what they need when they run: `--help` and completion stay quick."""

from __future__ import annotations

from typing import Annotated

import typer

from vista_guard import __version__
from vista_guard.cli import check, dashboard, demo, serve
from vista_guard.cli import demo as schema
from vista_guard.cli.documents import documents
from vista_guard.cli.reports import database, forget, reports
from vista_guard.cli.reviews import reviews
from vista_lab.cli import calibrate, compare, datasets, replay
from vista_lab.cli.calibrate import verifiers
from vista_lab.cli.eval import evaluate
from vista_lab.cli.people import agree, annotations_app

app = typer.Typer(
    name="vista-guard",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vista-guard {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Verifies what conversational agents say, claim by claim, before the user reads it."""


app.command("demo")(demo.demo)
app.command("check")(check.check)
app.command("replay")(replay.replay)
app.command("datasets")(datasets.datasets)
app.command("eval")(evaluate)
app.command("compare")(compare.compare)
app.command("calibrate")(calibrate.calibrate)
app.add_typer(documents, name="documents")
app.add_typer(verifiers, name="verifiers")
app.add_typer(reports, name="reports")
app.add_typer(reviews, name="reviews")
app.add_typer(annotations_app, name="annotations")
app.command("agree")(agree)
app.add_typer(database, name="db")
app.command("forget")(forget)
app.command("serve")(serve.serve)
app.command("dashboard")(dashboard.dashboard)
app.command("schema")(schema.schema)


def main() -> None:
    """Runs the command line and exits."""
    app(prog_name="vista-guard")
