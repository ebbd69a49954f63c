"""`vista-guard forget`: a conversation, or all of a tenant, out of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.errors import exit_codes
from vista_guard.cli.reports.options import DataDirOption, ReportsOption, configured  # typer reads them

if TYPE_CHECKING:
    from vista_guard.settings.sources import Settings


def forget(
    conversation: Annotated[
        str | None,
        typer.Option(metavar="ID", help="A conversation's id; the proxy's are TENANT/ID, or --tenant says whose."),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="All of this tenant; with --conversation, that one of its.")
    ] = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Forget a conversation or a tenant: reports, kept texts, claims, reviews, annotations, and what was established.

    Documents that were added for a tenant stay: `vista-guard documents remove --tenant`. What a running process has in memory
    is forgotten when it ends; the proxy's own `DELETE /guard/conversations/ID` reaches that too.
    """
    with exit_codes():
        import asyncio

        from vista_guard.errors import InputError

        if conversation is None and tenant is None:
            raise InputError("forget what? Give --conversation ID, or --tenant NAME")
        settings, url = configured(reports, data_dir)
        name = f"{tenant}/{conversation}" if tenant is not None and conversation is not None else conversation
        kept, claims = asyncio.run(_forget(settings, url, name, tenant))
        typer.echo(f"forgot {kept:,} reports and {claims:,} claims of knowledge")


async def _forget(settings: Settings, url: str, conversation: str | None, tenant: str | None) -> tuple[int, int]:
    from vista_guard.assembly import kept_knowledge
    from vista_guard.stores.reports import SqlReports

    store, knowledge, claims = SqlReports(url), kept_knowledge(settings), 0
    try:
        names = [conversation] if conversation is not None else store.reader.conversation_ids(tenant or "")
        # Knowledge first: only the reports know which conversations a tenant had.
        if knowledge is not None:
            claims = sum([await knowledge.forget(name) for name in names])
        if conversation is not None:
            return await store.forget(conversation), claims
        return await store.forget_tenant(tenant or ""), claims
    finally:
        await store.aclose()
        if knowledge is not None:
            await knowledge.aclose()
