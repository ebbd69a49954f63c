"""`vista-guard calibrate`: labelled reports become a risk table, from which a policy takes thresholds that hold a rate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.errors import exit_codes

if TYPE_CHECKING:
    from rich.console import RenderableType

    from vista_guard.evaluation.metrics.calibration import Calibration

LevelName = Literal["turn", "claim"]


def calibrate(
    reports: Annotated[Path, typer.Argument(metavar="REPORTS", help="What replay wrote with --policy monitor.")],
    labels: Annotated[
        Path, typer.Option(metavar="FILE", help="People's word on turns or claims: JSON lines, see docs/design.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the risk table goes. Replaces what is there.")],
    level: Annotated[
        LevelName,
        typer.Option(
            help="turn: count fine turns that are withheld. claim: count fine claims, as a share of each turn."
        ),
    ] = "turn",
    source: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the turns are, for people.  [default: name of REPORTS]")
    ] = None,
) -> None:
    """Let labelled turns choose the thresholds.

    Writes what the judge wrongly held against fine turns: numbers only, no text. With risk_table set to that file,
    policy.max_false_alarm_rate withholds at most that share of fine turns, as far as future turns are like the labelled
    ones. With at least 30 fine and 30 other turns it fits the turn's risk too, by which policies flag and withhold (needs the
    extra evaluation). Prints the threshold for some rates, what it still catches, and how far confidences can be taken at their
    word.
    Exits with 0 when the table was written, 2 for wrong usage or input.
    """
    with exit_codes():
        from datetime import UTC, datetime

        from rich.console import Console

        from vista_guard.cli.render import visible
        from vista_guard.evaluation.metrics.calibration import calibrate as run
        from vista_guard.policy.risk import Level

        found = run(reports, labels, level=Level(level), source=source or reports.name, today=datetime.now(UTC).date())
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
