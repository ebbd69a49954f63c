"""`vista-guard calibrate`: labelled reports become a risk table, from which a policy takes thresholds that hold a rate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.errors import exit_codes
from vista_guard.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from vista_guard.evaluation.metrics.calibration import Calibration

LevelName = Literal["turn", "claim"]


def calibrate(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the risk table or the calibration goes. Replaces what is there.")
    ],
    reports: Annotated[
        Path | None, typer.Argument(metavar="REPORTS", help="What replay wrote with --policy monitor.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With REPORTS: people's word on turns or claims, JSON lines, see docs/design."
        ),
    ] = None,
    verifier: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="In place of REPORTS: fit temperature and thresholds of this verifier."),
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
        str | None,
        typer.Option(metavar="TEXT", help="What the turns or pairs are, for people.  [default: the file's name]"),
    ] = None,
) -> None:
    """Let labelled turns choose the thresholds, or labelled claims those of a verifier.

    Writes what the judge wrongly held against fine turns: numbers only, no text. With risk_table set to that file,
    policy.max_false_alarm_rate withholds at most that share of fine turns, as far as future turns are like the labelled
    ones. With at least 30 fine and 30 other turns it fits the turn's risk too, by which policies flag and withhold (needs the
    extra evaluation). Prints the threshold for some rates, what it still catches, and how far confidences can be taken at their
    word.

    With --verifier it fits a verifier of your own: verifier_options.calibration names the file.
    Exits with 0 when the file was written, 2 for wrong usage or input, 1 when the verifier failed.
    """
    with exit_codes():
        if verifier is not None:
            from vista_guard.cli.verifiers.fit import fit

            if reports is not None or labels is not None:
                raise InputError("--verifier fits a verifier, REPORTS and --labels a policy; give one of the two")
            fit(verifier, pairs, out, source)
            return
        if reports is None or labels is None or pairs is not None:
            raise InputError(
                "calibrate takes REPORTS with --labels FILE, or --verifier MODEL, which --pairs FILE goes with"
            )
        _fit_policy(reports, labels, out, level, source or reports.name)


def _fit_policy(reports: Path, labels: Path, out: Path, level: LevelName, source: str) -> None:
    """The risk table of labelled reports, written and told."""
    from datetime import UTC, datetime

    from rich.console import Console

    from vista_guard.cli.render import visible
    from vista_guard.evaluation.metrics.calibration import calibrate as run
    from vista_guard.policy.risk import Level

    found = run(reports, labels, level=Level(level), source=source, today=datetime.now(UTC).date())
    found.table.save(out)
    console = Console(highlight=False)
    console.print(tables(found))
    console.print(f"wrote {visible(str(out))}: {visible(found.table.name)}", markup=False, soft_wrap=True)
    if found.unfitted:
        console.print(f"the turn's risk was not fitted: {visible(found.unfitted)}", markup=False, soft_wrap=True)
    if found.unknown or found.unmatched:
        typer.echo(
            f"{found.unknown:,} reported {level}s without a label and {found.unmatched:,} labels without a report are "
            "not counted",
            err=True,
        )


def tables(found: Calibration) -> RenderableType:
    """Thresholds by rate, and the reliability table."""
    from rich.console import Group

    from vista_guard.evaluation.figures.tables import reliability_table, risk_table, turn_risk_table

    parts = [risk_table(found.table, found.missed)]
    if found.fit is not None:
        parts.append(turn_risk_table(found.fit))
    if found.reliability is not None:
        parts.append(reliability_table(found.reliability))
    return Group(*parts)
