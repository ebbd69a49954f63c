"""`vista-guard calibrate --verifier`: temperature and thresholds of a verifier, into a file that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from vista_guard.judges.verifiers import VerifierCalibration


def fit(model: str, pairs: Path | None, out: Path, source: str | None) -> None:
    """Fits, writes the file and prints what was found.

    Raises:
        ConfigError: the verifier cannot be built, or the file cannot be written.
        InputError: the pairs cannot be read, or are all of one kind.
        JudgeError: the verifier failed.
    """
    import asyncio
    from datetime import UTC, datetime

    from rich.console import Console

    from vista_guard.cli.render import visible
    from vista_guard.cli.verifiers.commands import chosen_verifier
    from vista_guard.cli.verifiers.progress import steps
    from vista_guard.evaluation.verifiers.calibrating import calibrate
    from vista_guard.evaluation.verifiers.cases import challenge_cases, read_cases
    from vista_guard.evaluation.verifiers.fitting import HOTTEST
    from vista_guard.judges.verifiers.closing import close
    from vista_guard.stores.embeddings import OnnxEmbedder

    cases = challenge_cases() if pairs is None else read_cases(pairs)
    named = source or ("challenge, development half" if pairs is None else pairs.name)
    verifier = chosen_verifier(model, None).verifier

    async def fitted() -> VerifierCalibration:
        try:
            with steps("claims", 2 * len(cases)) as done:
                today = datetime.now(UTC).date()
                return await calibrate(verifier, OnnxEmbedder(), cases, source=named, today=today, progress=done)
        finally:
            await close(verifier)

    found = asyncio.run(fitted())
    found.save(out)
    console = Console(highlight=False)
    console.print(table(found))
    if found.temperature >= HOTTEST:
        told = (
            "on these claims its probabilities say next to nothing; look at the share that is right before you use it"
        )
        typer.echo(f"{visible(found.verifier)}: the temperature is the highest that is tried: {told}", err=True)
    console.print(f"wrote {visible(str(out))}: set verifier_options.calibration to it", markup=False, soft_wrap=True)


def table(found: VerifierCalibration) -> RenderableType:
    """What was fitted, and how it does on documents that it was not fitted on."""
    from rich.table import Table

    on = found.fitted_on
    precision = "none was" if on.contradicted_precision is None else f"{on.contradicted_precision:.1%}"
    shown = Table("", "value", title=f"{found.verifier}, on {on.claims:,} claims about {on.documents:,} documents")
    shown.add_row("temperature", f"{found.temperature:g}")
    shown.add_row("supported from", f"{found.thresholds.supported:g}")
    shown.add_row("contradicted from", f"{found.thresholds.contradicted:g}")
    shown.add_row("supported or not, right (other documents)", f"{on.supported_or_not:.1%}")
    shown.add_row("called contradicted, and not supported (other documents)", precision)
    return shown
