"""`vista-guard dashboard`: stored reports in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from vista_guard.cli.common import STOPPED, DataDirOption, HostOption, exit_codes, given_options  # typer reads them


def dashboard(
    reports: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Database of the reports: a SQLAlchemy URL.  [default: from the settings, else the data folder]",
        ),
    ] = None,
    data_dir: DataDirOption = None,
    host: HostOption = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="N", help="Port; 0 for a free one.  [default: from the settings, else 8501]"
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            exists=True,
            help="Reports of `vista-guard replay`, or a folder of them; may be repeated.",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="People's labels: a file as for `calibrate`, or a log with labelled claims.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Show the demo agent's conversations, guarded live, in a temporary folder."),
    ] = False,
) -> None:
    """Show guarded turns and their evidence in the browser.

    Prints a link that works once. With a `[dashboard.sign_in]` table in the settings, people sign in instead. On Ctrl-C
    or SIGTERM it exits with 128 + signal; it exits with 2 for wrong usage or settings, 1 for other failures.

    Example: `vista-guard dashboard --demo`
    """
    with exit_codes():
        from vista_guard._extras import require

        require("the dashboard", "streamlit", "authlib", "sqlalchemy", "alembic", extra="dashboard")
        from vista_guard.dashboard.server import run

        options = given_options(host=host, port=port)
        with demonstrating(demo) as folder:
            where = {"reports": "sqlite", "data_dir": folder} if folder else {"reports": reports, "data_dir": data_dir}
            number = run(options, **where, runs=runs or (), labels=labels, tell=lambda line: typer.echo(line, err=True))
    raise typer.Exit(STOPPED + number if number else 0)


@contextmanager
def demonstrating(wanted: bool) -> Iterator[Path | None]:
    """Yields the folder of the demo's reports while visitors talk to it; None without `--demo`."""
    if not wanted:
        yield None
        return
    from tempfile import TemporaryDirectory

    from vista_guard.demo.visitors import visiting

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, visiting(Path(folder)):
        yield Path(folder)
