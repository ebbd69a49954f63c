"""`vista-guard calibrate` and `vista-guard verifiers`.

`calibrate` fits a risk table from labelled reports, or with `--verifier` a verifier's temperature and thresholds; `verifiers`
measures one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import command_group, exit_codes, visible
from vista_guard.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from vista_guard.judges.verifiers import VerifierCalibration
    from vista_guard.judges.verifiers.named import Chosen
    from vista_lab.metrics.calibration import Calibration
    from vista_lab.policies.challenge import JudgedPair
    from vista_lab.policies.verifiers import TimedVerifier


WORDS = re.compile(r"\w+")
COPIED = 0.5
"""Share of supported claims without a word of their own above which they say little of free wording."""
LevelName = Literal["turn", "claim"]


def calibrate(
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Write the risk table or the calibration here, replacing an existing file."),
    ],
    reports: Annotated[
        Path | None, typer.Argument(metavar="REPORTS", help="Reports of replay with --policy monitor.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With REPORTS: labels of turns or claims, JSON lines, see docs/design/risk-control.md."
        ),
    ] = None,
    verifier: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Instead of REPORTS: fit temperature and thresholds of this verifier."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --verifier: JSON lines with evidence, claim and label (supported, contradicted or not_enough).  "
            "[default: the challenge's development half]",
        ),
    ] = None,
    level: Annotated[
        LevelName,
        typer.Option(
            help="turn: count fine turns that are withheld. claim: count fine claims, as a share of each turn."
        ),
    ] = "turn",
    source: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Display name of the turns or pairs.  [default: the file's name]")
    ] = None,
) -> None:
    """Choose thresholds from labelled turns, or a verifier's from labelled claims.

    Writes the judge's false alarms on fine turns: numbers only, no text. With risk_table set to that file,
    policy.max_false_alarm_rate withholds at most that share of fine turns, as long as future turns are like the
    labelled ones. With at least 30 fine and 30 other turns it also fits the turn's risk, by which policies flag and
    withhold (needs the extra evaluation). Prints thresholds for some rates, their recall, and how reliable the
    confidences are.

    With --verifier it fits a verifier of your own: name the file in verifier_options.calibration. Exits with 0 when the
    file was written, 2 for wrong usage or input, 1 when the verifier failed.

    Example: `vista-guard calibrate reports.jsonl --labels labels.jsonl --out risk.json`
    """
    with exit_codes():
        if verifier is not None:
            if reports is not None or labels is not None:
                raise InputError(
                    "--verifier calibrates a verifier, REPORTS and --labels calibrate a policy; give one of them"
                )
            fit(verifier, pairs, out, source)
            return
        if reports is None or labels is None or pairs is not None:
            raise InputError(
                "give REPORTS with --labels FILE to calibrate a policy, or --verifier MODEL (with --pairs FILE) for a verifier"
            )
        _fit_policy(reports, labels, out, level, source or reports.name)


def _fit_policy(reports: Path, labels: Path, out: Path, level: LevelName, source: str) -> None:
    from rich.console import Console

    from vista_guard.policy.risk import Level
    from vista_lab.metrics.calibration import calibrate as run

    fitted = run(reports, labels, level=Level(level), source=source, today=datetime.now(UTC).date())
    fitted.table.save(out)
    console = Console(highlight=False)
    console.print(tables(fitted))
    console.print(f"wrote {visible(str(out))}: {visible(fitted.table.name)}", markup=False, soft_wrap=True)
    if fitted.unfitted:
        console.print(f"the turn's risk was not fitted: {visible(fitted.unfitted)}", markup=False, soft_wrap=True)
    if fitted.unknown or fitted.unmatched:
        reported = f"{fitted.unknown:,} reported {level}s without a label"
        typer.echo(f"{reported} and {fitted.unmatched:,} labels without a report are not counted", err=True)


def tables(found: Calibration) -> RenderableType:
    """Thresholds by rate, and the reliability table."""
    from rich.console import Group

    from vista_lab.policies.terminal import reliability_table, risk_table, turn_risk_table

    parts = [risk_table(found.table, found.missed)]
    if found.fit is not None:
        parts.append(turn_risk_table(found.fit))
    if found.reliability is not None:
        parts.append(reliability_table(found.reliability))
    return Group(*parts)


verifiers = command_group("verifiers", "Measure a verifier of your own.")


@verifiers.callback()
def _group() -> None:
    """Measure a verifier of your own."""


@verifiers.command("test")
def measure(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="shipped, hf:ORG/MODEL, a folder, openai:MODEL@URL, veto:A,B or split:A,B."
        ),
    ],
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Calibration that calibrate --verifier wrote for it.  [default: none]"),
    ] = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help="monitor, balanced or strict.")] = "balanced",
    limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Judge only the documents of the first N items.  [default: all]"),
    ] = None,
) -> None:
    """Measure a verifier on handwritten minimal pairs.

    Judges 1,220 claims in 610 pairs (the development half of the challenge) with the whole embedded judge, and shows
    results by phenomenon and the verifier's time. The settings say how a model is read and run (verifier_options,
    model). Exits with 0 when all was judged, 2 for wrong usage or settings, 1 for other failures.

    Example: `vista-guard verifiers test hf:ORG/MODEL`
    """
    with exit_codes():
        import asyncio

        from vista_lab.policies.challenge import as_text, rows
        from vista_lab.policies.verifiers import TimedVerifier

        chosen = chosen_verifier(model, calibration)
        timed = TimedVerifier(chosen.verifier)
        judged = asyncio.run(_judge_challenge(timed, chosen, policy, limit))
        typer.echo(f"challenge, development half, verifier {visible(timed.name)}, policy {policy}")
        typer.echo(as_text(rows(judged)))
        typer.echo(f"{timed.pairs:,} pairs of evidence and claim, {timed.milliseconds or 0.0:.1f} ms a pair")


def chosen_verifier(model: str, calibration: Path | None) -> Chosen:
    """The verifier with the options of the settings, but this calibration. Raises ConfigError: it cannot be built."""
    from vista_guard.judges.verifiers import build_verifier
    from vista_guard.settings.sources import Settings

    settings = Settings.load()
    options = settings.verifier_options.model_copy(update={"calibration": calibration})
    return build_verifier(model, options, settings.model)


async def _judge_challenge(timed: TimedVerifier, chosen: Chosen, policy: str, limit: int | None) -> list[JudgedPair]:
    from vista_guard.guard import Guard
    from vista_guard.judges.embedded import EmbeddedJudge
    from vista_guard.stores.entries import OnnxEmbedder
    from vista_lab.cli.long_runs import steps
    from vista_lab.policies.challenge import judge_items, read_items

    items = list(islice(read_items(), limit))
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


def fit(model: str, pairs: Path | None, out: Path, source: str | None) -> None:
    """Fits a verifier's calibration, writes the file and prints the figures.

    Raises:
        ConfigError: the verifier cannot be built, or the file cannot be written.
        InputError: the pairs cannot be read, or are too few of a label or of documents.
        JudgeError: the verifier failed.
    """
    import asyncio

    from rich.console import Console

    from vista_guard.judges.composed import ensemble
    from vista_guard.stores.entries import OnnxEmbedder
    from vista_lab.cli.long_runs import steps
    from vista_lab.policies.verifiers import HOTTEST, UNLIKELY, calibrate, challenge_cases, read_cases

    cases = challenge_cases() if pairs is None else read_cases(pairs)
    named = source or ("challenge, development half" if pairs is None else pairs.name)
    verifier = chosen_verifier(model, None).verifier

    async def fit_and_close() -> VerifierCalibration:
        try:
            with steps("claims", 2 * len(cases)) as done:
                today = datetime.now(UTC).date()
                return await calibrate(verifier, OnnxEmbedder(), cases, source=named, today=today, progress=done)
        finally:
            await ensemble.aclose(verifier)

    calibration = asyncio.run(fit_and_close())
    supported = [case for case in cases if case.gold == "supported"]
    calibration.save(out)
    console = Console(highlight=False)
    console.print(table(calibration))
    if calibration.temperature >= HOTTEST:
        warning = (
            "on these claims its probabilities say next to nothing; look at the share that is right before you use it"
        )
        typer.echo(
            f"{visible(calibration.verifier)}: the temperature is the highest that is tried: {warning}", err=True
        )
    copies = sum(set(WORDS.findall(one.claim.lower())) <= set(WORDS.findall(one.evidence.lower())) for one in supported)
    if pairs is not None and copies > COPIED * len(supported):
        typer.echo(
            f"{copies} of {len(supported)} supported claims use only words of their evidence: these thresholds fit such text, "
            "and call much not supported that is told in other words",
            err=True,
        )
    low = [f"{name} from {limit:g}" for name, limit in calibration.thresholds if limit < UNLIKELY]
    if low:
        warning = f"{' and '.join(low)}: below {UNLIKELY:g} a claim gets a label that the verifier finds unlikely"
        typer.echo(
            f"{warning}; verify a text that you know before you use it, or calibrate on more documents", err=True
        )
    console.print(f"wrote {visible(str(out))}: set verifier_options.calibration to it", markup=False, soft_wrap=True)


def table(found: VerifierCalibration) -> RenderableType:
    """The fitted values, and their figures on documents left out of the fit."""
    from rich.table import Table

    on = found.fitted_on
    precision = "none was" if on.contradicted_precision is None else f"{on.contradicted_precision:.1%}"
    shown = Table("", "value", title=f"{found.verifier}, on {on.claims:,} claims about {on.documents:,} documents")
    shown.add_row("temperature", f"{found.temperature:g}")
    for name, interval in (("supported", on.supported_interval), ("contradicted", on.contradicted_interval)):
        reach = f" ({interval[0]:.2f}–{interval[1]:.2f})" if interval else ""
        shown.add_row(f"{name} from", f"{getattr(found.thresholds, name):g}{reach}")
    shown.add_row("supported or not, right (other documents)", f"{on.supported_or_not:.1%}")
    shown.add_row("called contradicted, and not supported (other documents)", precision)
    return shown
