"""Figures of a generated set: the paper's Table 2, outcomes by state and gate, and shortcuts; and its card, README.md.

The card is built from the manifest and the records alone, so it can be rebuilt at any time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vista_guard.stores.line_file import write_whole
from vista_lab.oasis import triplets
from vista_lab.oasis.judged import copied
from vista_lab.oasis.records import Record, read_records
from vista_lab.runs.folder import read_manifest
from vista_lab.runs.made import Grade, State

if TYPE_CHECKING:
    from vista_lab.oasis.shortcuts import Result

_TOKEN = re.compile(r"\w+(?:[-'’.,]\w+)*|[^\w\s]")
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Edges of the bands of word overlap between F and its passage."""


@dataclass(frozen=True)
class Table2:
    """The paper's Table 2 of one set: counts, and mean tokens. None where there is nothing to take a mean of."""

    pages: int
    passages: int
    tokens_a_passage: float | None
    claims: int
    claims_a_passage: float | None
    tokens_a_claim: float | None
    tokens_an_unfactual_claim: float | None
    tokens_a_factual_text: float | None
    tokens_an_unfactual_text: float | None


@dataclass(frozen=True)
class SetFigures:
    """All figures of a set.

    `states` and `reasons`: of all records. `gates`: by gate, how many records have this as the worst grade of its verdicts.
    `overlaps`: by band of word overlap, records by state. `shortcuts`: what a bag of words learns of c and c̄, by premise: t, F
    and U; empty where there are too few pairs.
    """

    table: Table2
    states: Mapping[State, int]
    reasons: Mapping[str, int]
    gates: Mapping[str, Mapping[Grade, int]]
    overlaps: Mapping[str, Mapping[State, int]]
    shortcuts: Sequence[Result] = field(default=())


def tokens(text: str) -> int:
    """Words and marks, a hyphened or apostrophed word as one.

    Examples:
        >>> tokens("The hall's doors, twenty-two in all, open.")
        10
    """
    return len(_TOKEN.findall(text))


def figures(records: Iterable[Record], *, shortcuts: bool = True) -> SetFigures:
    """Counts a set's records. Table 2 and shortcuts are of the accepted and doubtful ones; a shortcut leaves none accepted."""
    states: Counter[State] = Counter()
    reasons: Counter[str] = Counter()
    gates: dict[str, Counter[Grade]] = defaultdict(Counter)
    overlaps: dict[str, Counter[State]] = defaultdict(Counter)
    usable: list[Record] = []
    every = triplets.settled(list(records)) if shortcuts else records
    for record in every:
        states[record.state] += 1
        if record.reason:
            reasons[reason_of(record)] += 1
        for gate, grade in worst_grades(record).items():
            gates[gate][grade] += 1
        if record.pair is not None:
            overlaps[band(copied(record.pair.factual, record.passage.text))][record.state] += 1
        if record.state is not State.REJECTED:
            usable.append(record)
    found = triplets.shortcuts(usable, [record.passage for record in every]) if shortcuts else ()
    most = dict(reasons.most_common())
    return SetFigures(table_2(usable), states, most, gates, dict(sorted(overlaps.items())), found)


def reason_of(record: Record) -> str:
    """A record's reason without details: the gate's name, or the first words."""
    return re.split(r": | \(", record.reason, maxsplit=1)[0]


def worst_grades(record: Record) -> dict[str, Grade]:
    """The worst grade that each gate gave to a record."""
    order = list(Grade)  # from passed to failed
    worst: dict[str, Grade] = {}
    for verdict in record.verdicts:
        worst[verdict.gate] = max(worst.get(verdict.gate, Grade.PASSED), verdict.grade, key=order.index)
    return worst


def band(share: float) -> str:
    """The band of word overlap that a share falls in: `0.50-0.75`."""
    place = min(bisect_right(OVERLAPS, share), len(OVERLAPS) - 1)
    return f"{OVERLAPS[place - 1]:.2f}-{OVERLAPS[place]:.2f}"


def table_2(records: Sequence[Record]) -> Table2:
    """Table 2 of these records."""
    pairs = [record.pair for record in records if record.pair is not None]
    claims = [tokens(claim) for pair in pairs for claim in pair.claims]
    return Table2(
        pages=len({record.passage.document for record in records}),
        passages=len(records),
        tokens_a_passage=_mean([tokens(record.passage.text) for record in records]),
        claims=len(claims),
        claims_a_passage=len(claims) / len(records) if records else None,
        tokens_a_claim=_mean(claims),
        tokens_an_unfactual_claim=_mean([tokens(pair.falsified) for pair in pairs]),
        tokens_a_factual_text=_mean([tokens(pair.factual) for pair in pairs]),
        tokens_an_unfactual_text=_mean([tokens(pair.unfactual) for pair in pairs]),
    )


def _mean(counts: Sequence[int]) -> float | None:
    return sum(counts) / len(counts) if counts else None


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
