"""`vista-guard db`, `vista-guard forget` and `vista-guard reviews`: the database of reports, deletion, people's complaints.

The lab adds the commands of `vista-guard reports`, and the export of people's decisions.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import DataDirOption, command_group, exit_codes, given_options

if TYPE_CHECKING:
    from vista_guard.settings.sources import Settings
    from vista_guard.stores.reports import ReportReader


ReportsOption = Annotated[
    str | None,
    typer.Option(
        "--reports",
        metavar="URL",
        help="Database: sqlite, or a SQLAlchemy URL.  [default: from the settings, else the file in the data folder]",
    ),
]


def settings_and_url(reports: str | None, data_dir: Path | None) -> tuple[Settings, str]:
    """Returns the settings and the database's URL, by default the file in the data folder.

    Raises:
        ConfigError: the settings make no sense.
    """
    from vista_guard.settings.sources import Settings
    from vista_guard.stores.folders import reports_url

    settings = Settings.load(**given_options(reports=reports, data_dir=data_dir))
    if settings.reports is None:
        settings = settings.model_copy(update={"reports": "sqlite"})
    return settings, reports_url(settings) or ""


def stored_conversation(reader: ReportReader, conversation: str | None, tenant: str | None) -> str | None:
    """The id under which a conversation's reports are stored: the proxy puts the tenant before it."""
    from vista_guard.stores.reports import ReportFilter

    scoped = f"{tenant}/{conversation}"
    known = tenant and conversation and reader.page(ReportFilter(conversation_id=scoped, tenant=tenant), limit=1).rows
    return scoped if known else conversation


reports = command_group("reports", "List and export stored reports.")


database = command_group("db", "Check, upgrade and prune the database of reports.")


@database.command()
def status(reports: ReportsOption = None, data_dir: DataDirOption = None) -> None:
    """Print the database's schema version and its number of reports.

    Example: `vista-guard db status`
    """
    with exit_codes():
        from vista_guard.stores.reports.retention import state

        name, schema, count = state(settings_and_url(reports, data_dir)[1])
        typer.echo(f"{name}: schema {schema.revision or 'none yet'}, newest {schema.newest}")
        if schema.revision is not None:
            typer.echo(f"{count:,} reports")
        if not schema.is_newest:
            typer.echo("run: vista-guard db upgrade")


@database.command()
def upgrade(reports: ReportsOption = None, data_dir: DataDirOption = None) -> None:
    """Upgrade the tables to this version's schema.

    A SQLite file is upgraded when it is opened; Postgres waits for this command. You may stop it and run it again.

    Example: `vista-guard db upgrade --reports postgresql://host/guard`
    """
    with exit_codes():
        from vista_guard.stores.reports.retention import bring_up_to_date

        bring_up_to_date(settings_and_url(reports, data_dir)[1])
        typer.echo("up to date")


@database.command()
def prune(reports: ReportsOption = None, data_dir: DataDirOption = None) -> None:
    """Delete texts and reports that are past their retention.

    The settings `text_retention_days` and `report_retention_days` set it; the knowledge of conversations of which no
    report is left goes too. A guard that writes reports also does this, every hour and in small batches.

    Example: `vista-guard db prune`
    """
    with exit_codes():
        from vista_guard.assembly import kept_knowledge
        from vista_guard.stores.reports.retention import prune_all

        settings, url = settings_and_url(reports, data_dir)
        days = settings.report_retention_days
        old, texts = prune_all(url, days, None if days is None else kept_knowledge(settings))
        typer.echo(f"deleted {old:,} reports and the texts of {texts:,}")
        if days is None:
            typer.echo("no report is too old: report_retention_days is not set", err=True)


def forget(
    conversation: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="A conversation's id. Behind a proxy with keys, name its tenant with --tenant."
        ),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Everything of this tenant; with --conversation, only that one.")
    ] = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Delete all that is kept of a conversation or a tenant.

    That is reports, texts, claims, reviews, annotations and knowledge. A tenant's documents stay; remove them with
    `vista-guard documents remove --tenant`. A running process keeps its memory until it ends; the proxy's `DELETE
    /guard/conversations/ID` clears that too.

    Example: `vista-guard forget --conversation visitor-7`
    """
    with exit_codes():
        import asyncio

        from vista_guard.errors import InputError

        if conversation is None and tenant is None:
            raise InputError("forget what? Give --conversation ID, or --tenant NAME")
        settings, url = settings_and_url(reports, data_dir)
        deleted, claims = asyncio.run(_forget(settings, url, conversation, tenant))
        typer.echo(f"forgot {deleted:,} reports and {claims or 0:,} claims of knowledge")
        if claims is None and settings.store != "memory":
            typer.echo(
                "no knowledge is kept in the data folder: where the guard keeps it elsewhere, set VISTA_GUARD_CHROMA_URL, or "
                "VISTA_GUARD_STORE and VISTA_GUARD_STORE_URL, as for the guard, and forget again",
                err=True,
            )
        if not deleted and not claims and tenant is None:
            typer.echo(f"nothing is kept of {conversation!r}; behind a proxy with keys, add --tenant NAME", err=True)


async def _forget(settings: Settings, url: str, conversation: str | None, tenant: str | None) -> tuple[int, int | None]:
    """The numbers of reports and of claims of knowledge; None where no knowledge is kept."""
    from vista_guard.assembly import kept_knowledge
    from vista_guard.stores.reports import SqlReports
    from vista_guard.types import ANONYMOUS

    store, knowledge, claims = SqlReports(url), kept_knowledge(settings), None
    try:
        if conversation is None:
            names = store.reader.conversation_ids(tenant or "")
        else:  # as the proxy names it; without a tenant also as it is, as a guard without a proxy does
            names = [f"{tenant or ANONYMOUS}/{conversation}", *([] if tenant else [conversation])]
        # Knowledge first: only the reports know which conversations a tenant had.
        if knowledge is not None:
            claims = sum([await knowledge.forget(name) for name in names])
        if conversation is not None:
            return sum([await store.forget(name) for name in names]), claims
        return await store.forget_tenant(tenant or ""), claims
    finally:
        await store.aclose()
        if knowledge is not None:
            await knowledge.aclose()


reviews = command_group("reviews", "Report wrong verdicts, and export what reviewers decided.")


@reviews.command()
def complain(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="The report's `id`.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="What is wrong with the verdict.")],
    who: Annotated[str, typer.Option(metavar="NAME", help="Name of the person who complains.")] = "user",
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Report a wrong verdict on a turn.

    The turn goes to the top of the dashboard's review queue; a turn that was already decided is opened again.

    Example: `vista-guard reviews complain REPORT --reason "1925 is right"`
    """
    with exit_codes():
        from contextlib import closing

        from vista_guard.stores.reviews.queue import Reviews

        with closing(Reviews(settings_and_url(reports, data_dir)[1])) as queue:
            queue.complain(report, reason, who)
        typer.echo("the turn waits for review", err=True)


@reviews.command()
def facts(
    add: Annotated[str | None, typer.Option(metavar="SENTENCE", help="Add this fact about the chat.")] = None,
    remove: Annotated[int | None, typer.Option(metavar="NUMBER", help="Remove the fact of this number.")] = None,
    tenant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="List only this tenant's facts; with --add, its owner. A fact without one is for guards without tenants.",
        ),
    ] = None,
    who: Annotated[str, typer.Option(metavar="NAME", help="Name of the person who adds or removes.")] = "operator",
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """List the facts about the chat that reviewers added.

    Guards that write to this database verify against them what answers say of the chat, beside the setting `channel`.
    Prints number, tenant, sentence, who added it and when, separated by tabs.

    Example: `vista-guard reviews facts --add "There is a button below the chat to make an appointment."`
    """
    with exit_codes():
        from contextlib import closing

        from vista_guard.errors import InputError
        from vista_guard.reading.visible import visible_line
        from vista_guard.stores.reports import Database
        from vista_guard.stores.reviews.queue import Reviews

        url = settings_and_url(reports, data_dir)[1]
        with closing(Reviews(Database(url, create=add is not None))) as queue:
            if add is not None:
                told = "added" if queue.add_fact(add, who, tenant) else "known already"
                whose = "of guards without tenants" if tenant is None else f"to the tenant {tenant}"
                typer.echo(f"{told}; the next answers {whose} may say it", err=True)
            if remove is not None and not queue.remove_facts([remove], who):
                raise InputError(f"there is no fact {remove}; vista-guard reviews facts lists their numbers")
            for fact in queue.facts():
                if tenant is None or fact.tenant == tenant:
                    cells = (str(fact.id), fact.tenant or "-", fact.text, fact.who, f"{fact.at:%Y-%m-%d}")
                    typer.echo("\t".join(map(visible_line, cells)))
