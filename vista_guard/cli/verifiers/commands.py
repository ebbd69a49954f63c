"""`vista-guard verifiers`: how well a verifier of one's own does, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.errors import exit_codes

if TYPE_CHECKING:
    from vista_guard.evaluation.suites.challenge.results import JudgedPair
    from vista_guard.evaluation.verifiers.timing import TimedVerifier
    from vista_guard.judges.verifiers.named import Chosen

verifiers = typer.Typer(
    name="verifiers",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Verifiers in place of the shipped one: models from a folder, from the Hugging Face hub, or behind an endpoint.",
)


@verifiers.callback()
def _group() -> None:
    """Verifiers in place of the shipped one: models from a folder, from the Hugging Face hub, or behind an endpoint."""


@verifiers.command("test")
def measure(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="shipped, hf:ORG/MODEL, a folder, openai:MODEL@URL, veto:A,B or split:A,B."
        ),
    ],
    calibration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What calibrate --verifier wrote for it.  [default: none]")
    ] = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help="monitor, balanced or strict.")] = "balanced",
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the documents of the first N items.  [default: all]")
    ] = None,
) -> None:
    """Judge the challenge's development half with a verifier.

    1,220 claims in 610 minimal pairs, written by hand: through the whole embedded judge, by phenomenon, with
    the time that the verifier takes. The settings say how a model is read and run (verifier_options, model). Exits with 0
    when all was judged, 2 for wrong usage or settings, 1 for other failures.
    """
    with exit_codes():
        import asyncio

        from vista_guard.cli.render import visible
        from vista_guard.evaluation.suites.challenge.results import as_text, rows
        from vista_guard.evaluation.verifiers.timing import TimedVerifier

        chosen = chosen_verifier(model, calibration)
        timed = TimedVerifier(chosen.verifier)
        judged = asyncio.run(_judged(timed, chosen, policy, limit))
        typer.echo(f"challenge, development half, verifier {visible(timed.name)}, policy {policy}")
        typer.echo(as_text(rows(judged)))
        typer.echo(f"{timed.pairs:,} pairs of evidence and claim, {timed.milliseconds or 0.0:.1f} ms a pair")


def chosen_verifier(model: str, calibration: Path | None) -> Chosen:
    """The verifier as the settings would run it, with this calibration and no other.

    Raises:
        ConfigError: it cannot be built.
    """
    from vista_guard.judges.verifiers import build_verifier
    from vista_guard.settings.sources import Settings

    settings = Settings.load()
    return build_verifier(
        model, settings.verifier_options.model_copy(update={"calibration": calibration}), settings.model
    )


async def _judged(timed: TimedVerifier, chosen: Chosen, policy: str, limit: int | None) -> list[JudgedPair]:
    from itertools import islice

    from vista_guard.cli.verifiers.progress import steps
    from vista_guard.evaluation.suites.challenge.items import read_items
    from vista_guard.evaluation.suites.challenge.judging import judge_items
    from vista_guard.guard import Guard
    from vista_guard.judges.embedded import EmbeddedJudge
    from vista_guard.stores.embeddings import OnnxEmbedder

    items = list(islice(read_items("development"), limit))
    guard = Guard(EmbeddedJudge.load(OnnxEmbedder(), verifier=timed, thresholds=chosen.thresholds), policy)
    judged: list[JudgedPair] = []
    try:
        with steps("documents", len(items)) as done:
            for item in items:
                judged += await judge_items(guard, [item])
                done(1)
    finally:
        await guard.aclose()
    return judged
