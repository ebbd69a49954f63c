"""`vista-guard db`: the tables that reports are in."""

from __future__ import annotations

import typer

from vista_guard.cli.errors import exit_codes
from vista_guard.cli.reports.options import DataDirOption, ReportsOption, configured  # typer reads them

database = typer.Typer(
    name="db",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="The database of reports: its schema, and what is past its time.",
)


@database.command()
def status(reports: ReportsOption = None, data_dir: DataDirOption = None) -> None:
    """Say which schema the database has, how many reports it holds, and how many of an older version wait."""
    with exit_codes():
        from vista_guard.stores.reports.maintenance import state

        _, url = configured(reports, data_dir)
        found = state(url)
        typer.echo(f"{found.name}: schema {found.revision or 'none yet'}, newest {found.newest}")
        if found.revision is not None:
            typer.echo(f"{found.reports:,} reports, {found.waiting:,} of them to be brought over")
        if not found.is_newest:
            typer.echo("run: vista-guard db upgrade")


@database.command()
def upgrade(reports: ReportsOption = None, data_dir: DataDirOption = None) -> None:
    """Bring the tables up to date, and every report of an older version into them.

    A SQLite file is brought up to date when it is opened; Postgres waits for this command. It may be stopped and run again.
    """
    with exit_codes():
        from vista_guard.stores.reports.maintenance import bring_up_to_date

        _, url = configured(reports, data_dir)
        brought = 0
        for count in bring_up_to_date(url):
            brought += count
            typer.echo(f"{brought:,} reports brought over", err=True)
        typer.echo("up to date")


@database.command()
def prune(reports: ReportsOption = None, data_dir: DataDirOption = None) -> None:
    """Delete texts and reports that are past `text_retention_days` and `report_retention_days`, at once.

    A guard that writes reports does so too, once an hour and a little at a time.
    """
    with exit_codes():
        from vista_guard.stores.reports.maintenance import prune_all

        settings, url = configured(reports, data_dir)
        gone = prune_all(url, settings.report_retention_days)
        typer.echo(f"deleted {gone.reports:,} reports and the texts of {gone.texts:,}")
