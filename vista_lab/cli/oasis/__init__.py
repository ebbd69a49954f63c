"""`vista-guard oasis`: tests and training data of your own documents, and what is made of them (LLM-OASIS).

`training` has `train` and `score`.
"""

from __future__ import annotations

import typer

from vista_lab.cli.oasis import training

oasis_app = typer.Typer(
    name="oasis",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Make tests and training data of your own documents, check them by people, calibrate and train on them.",
)
oasis_app.command("train")(training.train)
oasis_app.command("score")(training.score)
