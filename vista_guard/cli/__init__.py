"""The command line. Commands import what they need when they run: `--help` and completion stay quick."""

from __future__ import annotations

from typing import Annotated

import typer

from vista_guard import __version__
from vista_guard.cli import calibrate, check, compare, dashboard, datasets, demo, replay, schema, serve
from vista_guard.cli.annotations.agree import agree
from vista_guard.cli.annotations.commands import sheets_app
from vista_guard.cli.documents.commands import documents
from vista_guard.cli.reports.commands import reports
from vista_guard.cli.reports.database import database
from vista_guard.cli.reports.forget import forget
from vista_guard.cli.reviews.commands import reviews
from vista_guard.cli.runs.commands import evaluate
from vista_guard.cli.verifiers.commands import verifiers

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
app.add_typer(sheets_app, name="annotations")
app.command("agree")(agree)
app.add_typer(database, name="db")
app.command("forget")(forget)
app.command("serve")(serve.serve)
app.command("dashboard")(dashboard.dashboard)
app.command("schema")(schema.schema)


def main() -> None:
    """Runs the command line and exits."""
    app(prog_name="vista-guard")
