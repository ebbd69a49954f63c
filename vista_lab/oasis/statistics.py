"""Figures of a generated set: the paper's Table 2, outcomes by state and gate, and shortcuts."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vista_lab.oasis import triplets
from vista_lab.oasis.judged import copied
from vista_lab.oasis.records import Record
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
