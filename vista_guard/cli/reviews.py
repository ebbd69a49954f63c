"""`vista-guard reviews`: complaints, and the export of people's decisions."""

from __future__ import annotations

from typing import Annotated

import typer

from vista_guard.cli.common import exit_codes
from vista_guard.cli.reports import DataDirOption, ReportsOption, configured  # typer reads them

reviews = typer.Typer(
    name="reviews",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="People's complaints, reviews and annotations.",
)


@reviews.command()
def complain(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="The report's `id`.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The error in the verdict.")],
    who: Annotated[str, typer.Option(metavar="NAME", help="Who complains.")] = "user",
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Report a wrong verdict on a turn.

    The turn goes into the review queue of the dashboard, first among its reasons; one that was decided is open again.
    """
    with exit_codes():
        from contextlib import closing

        from vista_guard.stores.reviews.queue import Reviews

        with closing(Reviews(configured(reports, data_dir)[1])) as queue:
            queue.complain(report, reason, who)
        typer.echo("the turn waits for review", err=True)
