"""The command line. Commands import what they need when they run: `--help` and completion stay quick.

Other packages add commands through the entry point group `vista_guard.commands`: a function that takes the app and registers
its own. `vista_lab` does.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points
from typing import Annotated

import typer

from vista_guard import __version__
from vista_guard.cli import check, dashboard, serve
from vista_guard.cli.common import GUARDING, PAPERS, SERVING, command_group, exit_codes
from vista_guard.cli.decompose import decompose_app
from vista_guard.cli.documents import documents
from vista_guard.cli.init import demo, init, schema
from vista_guard.cli.reports import database, forget, reports, reviews
from vista_guard.cli.verify import verify

app = command_group("vista-guard")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vista-guard {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # noqa: ARG001 - its callback prints it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Verifies what conversational agents say, claim by claim, before the user reads it."""
    if any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
        from vista_guard.telemetry.sdk import wanted_signals

        with exit_codes():
            wanted_signals()  # commands that send nothing refuse an invalid endpoint, too


app.command("demo", rich_help_panel=GUARDING)(demo)
app.command("init", rich_help_panel=GUARDING)(init)
app.command("check", rich_help_panel=GUARDING)(check.check)
app.command("verify", rich_help_panel=GUARDING)(verify)
app.add_typer(documents, name="documents", rich_help_panel=GUARDING)
app.add_typer(decompose_app, name="decompose", rich_help_panel=PAPERS)
app.command("serve", rich_help_panel=SERVING)(serve.serve)
app.command("dashboard", rich_help_panel=SERVING)(dashboard.dashboard)
app.add_typer(reports, name="reports", rich_help_panel=SERVING)
app.add_typer(reviews, name="reviews", rich_help_panel=SERVING)
app.add_typer(database, name="db", rich_help_panel=SERVING)
app.command("forget", rich_help_panel=SERVING)(forget)
app.command("schema", rich_help_panel=SERVING)(schema)


def add_plugins(app: typer.Typer) -> None:
    """Registers the commands of other packages. Leaves out those that cannot be loaded and says so on standard error."""
    for point in entry_points(group="vista_guard.commands"):
        try:
            register = point.load()
        except (ImportError, AttributeError) as exc:
            typer.echo(f"commands of {point.value} are left out: {exc}", err=True)
        else:
            register(app)


add_plugins(app)


def main() -> None:
    """Runs the command line and exits. On a terminal, help has boxes and colours; in a pipe or a log it is plain text."""
    if sys.stdout.isatty():
        app.rich_markup_mode = "markdown"
    app(prog_name="vista-guard")
