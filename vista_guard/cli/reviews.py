"""`vista-guard reviews`: complaints, and the export of people's decisions."""

from __future__ import annotations

from pathlib import Path
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


@reviews.command()
def export(
    out: Annotated[Path, typer.Argument(metavar="REPORTS", help="File for the reports; replaced if it exists.")],
    labels: Annotated[Path, typer.Option(metavar="FILE", help="File for people's labels; replaced if it exists.")],
    judge: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The judge's name and version.  [default: the one with most decided turns]"),
    ] = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Export the decisions of reviewers and annotators for calibrate.

    vista-guard calibrate REPORTS --labels FILE --out risk.json then makes a risk table of it. Turns that were written anew and
    those of other judges are left out, and counted.
    """
    with exit_codes():
        from contextlib import closing

        from vista_guard.evaluation.runners.decided import export as run
        from vista_guard.stores.reports import Database, ReportReader
        from vista_guard.stores.reviews.annotation import Annotations
        from vista_guard.stores.reviews.queue import Reviews

        database = Database(configured(reports, data_dir)[1], create=False)
        with closing(database):
            found = run(ReportReader(database), Reviews(database), Annotations(database), out, labels, judge=judge)
        typer.echo(f"wrote {found.turns:,} turns of {found.judge} and {found.labels:,} labels", err=True)
        for why, count in found.left_out.items():
            typer.echo(f"left out: {count:,} {why}", err=True)
