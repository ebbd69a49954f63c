"""`vista-guard oasis submit`: the verdicts of a run as LLM-OASIS's publishers take them.

Alone because it is about a run, and the group's other commands are about a generated set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vista_guard.cli.common import exit_codes, visible


def submit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that vista-guard eval wrote.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; an existing file is replaced.  [default: print]")
    ] = None,
) -> None:
    """Write a run's verdicts in the benchmark's submission format.

    One line a text: `{"id": …, "factual": true}`. A run with unjudged or unchecked turns is refused, since a missing
    verdict would be scored as one. Exits with 0, or 2 for wrong usage or input.

    Example: `vista-guard oasis submit runs/oasis --out verdicts.jsonl`
    """
    with exit_codes():
        from vista_guard.stores.line_file import write_whole
        from vista_lab.oasis.submission import read_submission

        submission = read_submission(run)
        if out is None:
            typer.echo(submission.text, nl=False)
        else:
            write_whole(out, submission.text)
            typer.echo(f"wrote {visible(str(out))}")
        summary = f"{sum(submission.factual.values()):,} of {len(submission.factual):,} are called factual"
        silent = f"; {submission.silent:,} made no claim, and count as such" if submission.silent else ""
        typer.echo(summary + silent, err=True)
