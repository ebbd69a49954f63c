"""`vista-guard schema`: what a report looks like, for other programs."""

from __future__ import annotations

import json

import typer

from vista_guard.cli.errors import exit_codes


def schema() -> None:
    """Print the JSON Schema of a report."""
    with exit_codes():
        typer.echo(report_schema().encode(), nl=False)


def report_schema() -> str:
    """JSON Schema (draft 2020-12) of `TurnReport` as it is written, indented, with a line end."""
    from vista_guard.types import TurnReport

    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return (
        json.dumps({**dialect, **TurnReport.model_json_schema(mode="serialization")}, indent=2, ensure_ascii=False)
        + "\n"
    )
