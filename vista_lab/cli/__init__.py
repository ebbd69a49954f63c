"""The command line that all tasks share: progress, models, options; and the entry point that adds every task's commands."""

from __future__ import annotations

import typer

from vista_lab.registry import additions, load


def register(app: typer.Typer) -> None:
    """Adds the commands of all tasks to `vista-guard`, by the entry point `vista_guard.commands`."""
    for task in additions():
        load(task.commands)(app)
