"""Options that name two policies and what is shown of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FirstPolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="monitor, balanced, strict, settings, or a TOML or YAML file with policy and policy_overrides.",
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A second policy: turns are judged once, and it is shown what each would have done with them.",
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --against: people's word on turns, as for calibrate, or a labelled log.  [default: what the log says]",
    ),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="With --against: one page with the turns, to be sent around. Needs the extra evaluation."
    ),
]
