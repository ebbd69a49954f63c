"""`vista-guard decompose`: exemplars to train a decomposer on, rewards of its completions, quality of decompositions.

`exemplars` asks a teacher about the sentences of logs, `rewards` scores completions term by term, `quality` measures the claims
of runs, with people's marks and a judge's. `decompose show` is the guard's.
"""

from __future__ import annotations

import typer

from vista_guard.cli.decompose import decompose_app
from vista_lab.decompose.commands.exemplars import exemplars
from vista_lab.decompose.commands.quality import quality
from vista_lab.decompose.commands.rewards import rewards
from vista_lab.decompose.commands.train import train


def register(_app: typer.Typer) -> None:
    """Adds the commands to the guard's group."""
    decompose_app.command("exemplars")(exemplars)
    decompose_app.command("rewards")(rewards)
    decompose_app.command("train")(train)
    decompose_app.command("quality")(quality)
