"""`vista-guard demo`: the product in a minute, without a key or a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vista_guard.cli.errors import FAILED, exit_codes


def demo(
    data_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where knowledge is kept.  [default: a temporary folder]")
    ] = None,
    judge: Annotated[str, typer.Option(metavar="NAME", help="Who judges.")] = "embedded",
) -> None:
    """Show a guarded conversation.

    Plays a museum guide's conversation with the guard in between. Exits with 1 when a turn did not come out as scripted.
    """
    with exit_codes():
        from vista_guard.demo import run

        as_scripted = run(data_dir=data_dir, judge=judge)
    if not as_scripted:
        raise typer.Exit(FAILED)
