"""The card of a generated set, README.md in its folder: its sources, method, outcome and intended use.

Built from the manifest and the records alone, so it can be rebuilt at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from vista_guard.stores.line_file import write_whole
from vista_lab.oasis.records import read_records
from vista_lab.oasis.statistics import SetFigures, figures
from vista_lab.runs.folder import read_manifest
from vista_lab.runs.made import Grade, State

CARD = "README.md"
E = TypeVar("E", bound=StrEnum)
_FIT = """\
## What it is fit for

Records that are `accepted` passed every gate. `doubtful` ones were failed by none, but one gate could not decide; a verifier
that does not see a paraphrase doubts it, so leaving them out leaves mostly near copies. A measure of a judge that was also the
gate is too good: let another verifier be the gate, or let people check a sample (`vista-guard oasis sheets`). Names in
`made_by` say who wrote the texts: pairs made by rule copy much of the passage and change one relation.
"""


def write_card(folder: Path) -> None:
    """Writes the card of a set.

    Raises:
        ConfigError: the disk refuses, or the set's description cannot be read.
        InputError: its records cannot be read.
    """
    manifest = read_manifest(folder)
    set_figures = figures(read_records(folder), shortcuts=False)
    options = "\n".join(f"| {name} | {value} |" for name, value in sorted(manifest.system.options.items()))
    judge = manifest.system.judge
    rows = manifest.rows
    source = f"{len(rows.files):,} documents of `{rows.name}`" if rows is not None else "documents"
    text = (
        f"# Pairs of {source}\n\nMade by {judge.name} {judge.version} with {manifest.made_by}, {manifest.created:%Y-%m-%d}.\n\n"
        f"| how | |\n|---|---|\n{options}\n\n{_counts(set_figures)}\n{_FIT}"
    )
    write_whole(folder / CARD, text, "All records are safe: make room and run the same command again")


def _lines(counts: Mapping[str, Mapping[E, int]], kinds: type[E]) -> str:
    return "\n".join(
        f"| {' | '.join([name, *(f'{of.get(kind, 0):,}' for kind in kinds)])} |" for name, of in counts.items()
    )


def _counts(set_figures: SetFigures) -> str:
    states = "\n".join(f"| {state} | {set_figures.states.get(state, 0):,} |" for state in State)
    reasons = "\n".join(f"| {reason} | {count:,} |" for reason, count in list(set_figures.reasons.items())[:12])
    gates = _lines(set_figures.gates, Grade)
    bands = _lines(set_figures.overlaps, State)
    table = set_figures.table
    counts = ("pages", "passages", "claims")
    means = {name.replace("_", " "): value for name, value in vars(table).items() if name not in counts}
    lines = "\n".join(f"| {name} | {'-' if value is None else f'{value:.1f}'} |" for name, value in means.items())
    return (
        f"| records | |\n|---|---|\n{states}\n\n| why not accepted | |\n|---|---|\n{reasons}\n\n"
        f"| gate | passed | doubtful | failed |\n|---|---|---|---|\n{gates}\n\n"
        f"| overlap of F and passage | accepted | doubtful | rejected |\n|---|---|---|---|\n{bands}\n\n"
        f"| Table 2, without rejected ones | {table.passages:,} passages, {table.claims:,} claims |\n|---|---|\n{lines}\n"
    )
