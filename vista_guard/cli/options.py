"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JudgeOption = Annotated[
    str | None, typer.Option("--judge", metavar="NAME", help="Who judges.  [default: from the settings, else embedded]")
]
VerifierOption = Annotated[
    str | None,
    typer.Option(
        "--verifier",
        metavar="NAME",
        help="What verifies inside the embedded judge: hf:ORG/MODEL, a folder, openai:MODEL@URL.  [default: from the settings, "
        "else shipped]",
    ),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy", metavar="NAME", help="monitor, balanced or strict.  [default: from the settings, else balanced]"
    ),
]
PersonaOption = Annotated[
    Path | None,
    typer.Option("--persona", metavar="FILE", help="What the agent may take for granted: YAML with name, facts."),
]
DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", metavar="FOLDER", help="Where knowledge and reports are kept.")
]
HostOption = Annotated[
    str | None,
    typer.Option("--host", metavar="ADDRESS", help="Where to listen.  [default: from the settings, else 127.0.0.1]"),
]
