"""Options that commands of several tasks share, and the models that they name: all in the same way, and within one budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from vista_guard.judges.model import ChatModel
    from vista_guard.protocols import Verifier

DATA_VARIABLE = "VISTA_GUARD_DATA"
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FOLDER", envvar=DATA_VARIABLE, help="Folder with the data sets' files, at any depth."
    ),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost", min=0, metavar="USD", help="Stop when the model has cost this much.  [default: no limit]"
    ),
]
VerifierOption = Annotated[
    str | None,
    typer.Option(
        "--verifier",
        metavar="NAME",
        help="shipped, hf:ORG/MODEL, a folder or openai:MODEL@URL.  [default: from the settings, else shipped]",
    ),
]


def chat_model_of(
    name: str,
    max_cost: float | None,
    at_once: int,
    max_tokens: int | None = None,
    *,
    option: str = "--model",
    others: str = "",
) -> ChatModel:
    """Builds a model by its name, with a budget for this run; `max_tokens` limits an answer, else the settings do.

    The error about an unknown name says the `option` that it was given with, and with `others` what else that takes. Raises
    ConfigError: the model is unknown, or its price is unknown while its cost is limited.
    """
    from vista_guard.settings.sources import Settings
    from vista_lab.runs.asking import chat_model

    options = Settings.load().model
    run = options.budget.run.model_copy(update={} if max_cost is None else {"cost": max_cost})
    budget = options.budget.model_copy(update={"run": run})
    update: dict[str, object] = {"budget": budget, "concurrency": max(at_once, options.concurrency)}
    if max_tokens is not None:
        update["max_output_tokens"] = max_tokens
    return chat_model(name, options.model_copy(update=update), option, others)


def verifier_of(name: str | None) -> Verifier:
    """Builds a verifier by its name; for None that of the settings, else the shipped one."""
    from vista_guard.judges.verifiers import build_verifier
    from vista_guard.settings.sources import Settings

    settings = Settings.load()
    return build_verifier(name or settings.verifier, settings.verifier_options, settings.model).verifier


def plural(number: int, noun: str) -> str:
    """`1 passage`, `2 passages`. The guard's own is beside the document store, which loads Chroma."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
