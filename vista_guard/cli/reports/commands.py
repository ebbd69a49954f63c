"""`vista-guard reports`: what was kept, for other programs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vista_guard.cli.errors import exit_codes
from vista_guard.cli.reports.options import DataDirOption, ReportsOption, configured  # typer reads them

reports = typer.Typer(
    name="reports",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="The reports that were kept.",
)


class Format(StrEnum):
    """What kind of file."""

    JSONL = "jsonl"
    PARQUET = "parquet"


class Done(StrEnum):
    """`Action`, without its room being loaded for `--help`."""

    ALLOW = "ALLOW"
    FLAG = "FLAG"
    REPAIR = "REPAIR"
    BLOCK = "BLOCK"


@reports.callback()
def _group() -> None:
    """Keeps `export` a command of its own while it is the only one."""


@reports.command()
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; it must not be there yet.")],
    format: Annotated[
        Format, typer.Option(help="jsonl: a report on each line. parquet: a row for each turn, with its claims.")
    ] = Format.JSONL,
    start: Annotated[datetime | None, typer.Option(help="Reports from this time on (UTC).")] = None,
    end: Annotated[datetime | None, typer.Option(help="Reports before this time (UTC).")] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Of this tenant only.")] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="Decided by this policy.")] = None,
    action: Annotated[
        list[Done] | None, typer.Option(case_sensitive=False, help="What was done with the turn; may be repeated.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="With a claim of this label, or UNCHECKED; may be repeated."),
    ] = None,
    conversation: Annotated[str | None, typer.Option(metavar="ID", help="Of this conversation only.")] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="With the texts that were kept (see the setting record).")
    ] = False,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Write reports into a file, the newest first."""
    with exit_codes():
        from contextlib import closing

        from vista_guard.stores.reports import ReportFilter, ReportReader
        from vista_guard.stores.reports.export import write
        from vista_guard.types import Action

        asked = ReportFilter(
            start=start,
            end=end,
            tenant=tenant,
            policy=policy,
            actions=tuple(Action(one.value) for one in action or ()),
            labels=tuple(label or ()),
            conversation_id=conversation,
        )
        with closing(ReportReader(configured(reports, data_dir)[1])) as reader:
            count = write(reader.reports(asked), out, format.value, texts=texts)
        typer.echo(f"wrote {count:,} reports to {out}", err=True)
