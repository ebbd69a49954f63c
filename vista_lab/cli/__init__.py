"""Commands of the lab, added to `vista-guard` by the entry point `vista_guard.commands`.

Runs and replays (`eval`, `replay`, `compare`), data sets, calibration, people's annotations, sets made from own documents
(`oasis`), decompositions (`decompose`), dialogues (`knowmt`), stored reports.
"""

from __future__ import annotations

import typer

from vista_lab.cli import (  # decompose and reports add their commands to the guard's groups
    calibrate,
    compare,
    datasets,
    decompose,  # noqa: F401
    replay,
    reports,  # noqa: F401
)
from vista_lab.cli.calibrate import verifiers
from vista_lab.cli.eval import evaluate
from vista_lab.cli.knowmt import knowmt_app
from vista_lab.cli.oasis import oasis_app
from vista_lab.cli.people import agree, annotations_app


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
    app.add_typer(knowmt_app, name="knowmt")
