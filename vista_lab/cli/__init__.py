"""The command line that all tasks share: progress, models, options; and the entry point that adds every task's commands."""

from __future__ import annotations

import typer

from vista_lab.registry import additions


def register(app: typer.Typer) -> None:
    """Adds the commands of all tasks to `vista-guard`, by the entry point `vista_guard.commands`. Loads none of them."""
    # Here, as these import the program, which calls this function.
    from vista_guard.cli.common import add_later
    from vista_guard.cli.decompose import decompose_app
    from vista_guard.cli.reports import reports, reviews

    groups = {"": app, "decompose": decompose_app, "reports": reports, "reviews": reviews}
    for task in additions():
        for command in task.commands:
            group, _, name = command.name.rpartition(" ")
            section = None if group else command.section
            add_later(groups[group], name, command.reference, command.summary, section)
