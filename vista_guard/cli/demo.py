"""`vista-guard demo` and `vista-guard schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vista_guard.cli.common import FAILED, exit_codes


def demo(
    data_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of knowledge.  [default: a temporary folder]")
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


def schema() -> None:
    """Print the JSON Schema of a report."""
    with exit_codes():
        typer.echo(report_schema().encode(), nl=False)


def report_schema() -> str:
    """Returns the JSON Schema (draft 2020-12) of `TurnReport`, indented."""
    from vista_guard.types import TurnReport

    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return (
        json.dumps({**dialect, **TurnReport.model_json_schema(mode="serialization")}, indent=2, ensure_ascii=False)
        + "\n"
    )
