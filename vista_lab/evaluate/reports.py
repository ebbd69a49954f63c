"""`vista-guard reports`: stored reports, as a list and as a file for other programs."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vista_guard.cli.common import DataDirOption, exit_codes, visible  # typer reads it
from vista_guard.cli.reports import ReportsOption, settings_and_url, stored_conversation

CONVERSATION_HELP = "Only this conversation. The proxy's ids are TENANT/ID; or name the tenant with --tenant."


class Format(StrEnum):
    """The kind of file."""

    JSONL = "jsonl"
    PARQUET = "parquet"


class Done(StrEnum):
    """A copy of `Action`: importing its package would slow down `--help`."""

    ALLOW = "ALLOW"
    FLAG = "FLAG"
    REPAIR = "REPAIR"
    BLOCK = "BLOCK"


def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; it must not exist.")],
    format: Annotated[
        Format, typer.Option(help="jsonl: a report a line. parquet: a row a turn, with its claims.")
    ] = Format.JSONL,
    start: Annotated[datetime | None, typer.Option(help="Reports from this time on (UTC).")] = None,
    end: Annotated[datetime | None, typer.Option(help="Reports before this time (UTC).")] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Only this tenant's reports.")] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="Only turns that this policy decided.")] = None,
    action: Annotated[
        list[Done] | None, typer.Option(case_sensitive=False, help="Only turns with this action; may be repeated.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="Only turns with a claim of this label, or UNCHECKED; may be repeated."),
    ] = None,
    conversation: Annotated[str | None, typer.Option(metavar="ID", help=CONVERSATION_HELP)] = None,
    texts: Annotated[bool, typer.Option("--texts", help="Include the kept texts (see the setting record).")] = False,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Write reports to a file, newest first.

    Example: `vista-guard reports export blocked.jsonl --action block`
    """
    with exit_codes():
        from vista_guard.stores.reports import ReportFilter, ReportReader
        from vista_guard.types import Action
        from vista_lab.evaluate.export import write

        with closing(ReportReader(settings_and_url(reports, data_dir)[1])) as reader:
            query = ReportFilter(
                start=start,
                end=end,
                tenant=tenant,
                policy=policy,
                actions=tuple(Action(one.value) for one in action or ()),
                labels=tuple(label or ()),
                conversation_id=stored_conversation(reader, conversation, tenant),
            )
            count = write(reader.reports(query), out, format.value, texts=texts)
        typer.echo(f"wrote {count:,} reports to {out}", err=True)


def list_reports(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="The newest N.")] = 20,
    action: Annotated[
        list[Done] | None, typer.Option(case_sensitive=False, help="Only turns with this action; may be repeated.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Only this tenant's reports.")] = None,
    conversation: Annotated[str | None, typer.Option(metavar="ID", help=CONVERSATION_HELP)] = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """List stored reports, newest first: id, time (UTC), action, claims by label, conversation and turn.

    Example: `vista-guard reports list --action block`
    """
    with exit_codes():
        from vista_guard.policy.labels import turn_name
        from vista_guard.stores.reports import ReportFilter, ReportReader
        from vista_guard.types import Action

        actions = tuple(Action(one.value) for one in action or ())
        with closing(ReportReader(settings_and_url(reports, data_dir)[1])) as reader:
            name = stored_conversation(reader, conversation, tenant)
            query = ReportFilter(tenant=tenant, actions=actions, conversation_id=name)
            rows = reader.page(query, limit=limit).rows
        for row in rows:
            labels = ", ".join(f"{count} {label}" for label, count in row.labels.items()) or "no claims"
            line = f"{row.id}  {row.created_at:%Y-%m-%d %H:%M}  {row.action:6}  {labels}"
            typer.echo(visible(f"{line}  {turn_name(row.conversation_id, row.turn_index)}").encode())
        if not rows:
            typer.echo("no report is stored that matches", err=True)
