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
from typer.completion import completion_init, install_callback, show_callback  # type: ignore[attr-defined]

from vista_guard import __version__
from vista_guard.cli.common import add_later, command_group, exit_codes

COMMANDS = {
    "Guard": {
        "demo": ("init:demo", "Show a guarded conversation."),
        "init": ("init:init", "Write a settings file with every setting and its default."),
        "check": ("check:check", "Check one assistant turn."),
        "verify": ("verify:verify", "Verify texts against documents."),
        "documents": (
            "documents:documents",
            "Manage the documents that verify turns without documents of their own.",
        ),
        "decompose": ("decompose:decompose_app", "Split answers into claims, and train a decomposer of your own."),
    },
    "Serve and watch": {
        "serve": ("serve:serve", "Guard an OpenAI-compatible endpoint."),
        "dashboard": ("dashboard:dashboard", "Show guarded turns and their evidence in the browser."),
        "reports": ("reports:reports", "List and export stored reports."),
        "reviews": ("reports:reviews", "Report wrong verdicts, and export what reviewers decided."),
        "db": ("reports:database", "Check, upgrade and prune the database of reports."),
        "forget": ("reports:forget", "Delete all that is kept of a conversation or a tenant."),
        "schema": ("init:schema", "Print the JSON Schema of a report."),
    },
}
"""The guard's own commands by section of `vista-guard --help`: where each is (in this package), and what it does."""

app = command_group("vista-guard")
# Typer's own options for completion have no default: see `Sections.get_help_option`.
completion_init()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vista-guard {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # noqa: ARG001 - its callback prints it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    install_completion: Annotated[  # noqa: ARG001 - its callback installs it
        bool,
        typer.Option(
            "--install-completion", callback=install_callback, help="Install completion for the current shell."
        ),
    ] = False,
    show_completion: Annotated[  # noqa: ARG001 - its callback prints it
        bool,
        typer.Option("--show-completion", callback=show_callback, help="Print the completion script of this shell."),
    ] = False,
) -> None:
    """Verifies what conversational agents say, claim by claim, before the user reads it."""
    if any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
        from vista_guard.telemetry.sdk import wanted_signals

        with exit_codes():
            wanted_signals()  # commands that send nothing refuse an invalid endpoint, too


for section, commands in COMMANDS.items():
    for name, (reference, summary) in commands.items():
        add_later(app, name, f"{__name__}.{reference}", summary, section)


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
