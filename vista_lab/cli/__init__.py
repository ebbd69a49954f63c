"""The command line that all tasks share: progress, models, options; and the entry point that adds every task's commands."""

from __future__ import annotations

import typer

from vista_lab.registry import additions, load


def register(app: typer.Typer) -> None:
    """Adds the commands of all tasks to `vista-guard`, by the entry point `vista_guard.commands`.

    Leaves out those that cannot be loaded, and says so on standard error: a program that imports a command's module before
    `vista_guard.cli` comes here in the middle of it.
    """
    for task in additions():
        try:
            load(task.commands)(app)
        except (ImportError, AttributeError) as exc:
            typer.echo(f"commands of {task.commands} are left out: {exc}", err=True)
