"""Commands of the lab, added to `vista-guard` by the entry point `vista_guard.commands`.

Runs and replays (`eval`, `replay`, `compare`), data sets, calibration, people's annotations, and the list of stored reports.
"""

from __future__ import annotations

from typing import Annotated

import typer

from vista_guard.cli.common import exit_codes
from vista_guard.cli.reports import DataDirOption, Done, ReportsOption, configured
from vista_guard.cli.reports import reports as reports_app
from vista_lab.cli import calibrate, compare, datasets, replay
from vista_lab.cli.calibrate import verifiers
from vista_lab.cli.eval import evaluate
from vista_lab.cli.oasis import oasis_app
from vista_lab.cli.people import agree, annotations_app


def list_reports(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="The newest N.")] = 20,
    action: Annotated[
        list[Done] | None, typer.Option(case_sensitive=False, help="The decision; may be repeated.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Of this tenant only.")] = None,
    conversation: Annotated[str | None, typer.Option(metavar="ID", help="Only this conversation.")] = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """List stored reports, newest first: id, time (UTC), decision, claims by label, conversation and turn."""
    with exit_codes():
        from contextlib import closing

        from vista_guard.reading.visible import turn_name, visible
        from vista_guard.stores.reports import ReportFilter, ReportReader
        from vista_guard.types import Action

        actions = tuple(Action(one.value) for one in action or ())
        asked = ReportFilter(tenant=tenant, actions=actions, conversation_id=conversation)
        with closing(ReportReader(configured(reports, data_dir)[1])) as reader:
            rows = reader.page(asked, limit=limit).rows
        for row in rows:
            labels = ", ".join(f"{count} {label}" for label, count in row.labels.items()) or "no claims"
            told = f"{row.id}  {row.created_at:%Y-%m-%d %H:%M}  {row.action:6}  {labels}"
            typer.echo(visible(f"{told}  {turn_name(row.conversation_id, row.turn_index)}").encode())
        if not rows:
            typer.echo("no report is stored that matches", err=True)


def register(app: typer.Typer) -> None:
    """Adds the lab's commands to the app."""
    app.command("replay")(replay.replay)
    app.command("datasets")(datasets.datasets)
    app.command("eval")(evaluate)
    app.command("compare")(compare.compare)
    app.command("calibrate")(calibrate.calibrate)
    app.add_typer(verifiers, name="verifiers")
    app.add_typer(annotations_app, name="annotations")
    app.command("agree")(agree)
    app.add_typer(oasis_app, name="oasis")
    reports_app.command("list")(list_reports)
