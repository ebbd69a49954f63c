"""The commands `replay`, `datasets`, `eval` and `compare`, and those that the guard's `reports` gets.

Alone because a task's commands are registered in one place.
"""

from __future__ import annotations

import typer

from vista_guard.cli.common import EVALUATING
from vista_guard.cli.reports import reports as reports_app
from vista_lab.evaluate import compare, datasets, reports
from vista_lab.evaluate import eval as evaluation
from vista_lab.evaluate import replay as replaying


def register(app: typer.Typer) -> None:
    """Adds the commands to the app."""
    app.command("replay", rich_help_panel=EVALUATING)(replaying.replay)
    app.command("datasets", rich_help_panel=EVALUATING)(datasets.datasets)
    app.command("eval", rich_help_panel=EVALUATING)(evaluation.evaluate)
    app.command("compare", rich_help_panel=EVALUATING)(compare.compare)
    reports_app.command("export")(reports.export)
    reports_app.command("list")(reports.list_reports)
