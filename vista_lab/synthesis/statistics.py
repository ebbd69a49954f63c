"""Figures of a generated set: the paper's Table 2, what became of the passages, what each gate passed, and shortcuts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from vista_lab.suites.loaders import SUPPORTED_CLASS
from vista_lab.synthesis.exports import Exporting, verifier_triplets
from vista_lab.synthesis.judged import copied
from vista_lab.synthesis.records import Grade, Record, State
from vista_lab.synthesis.shortcuts import Result, Row, check

_TOKEN = re.compile(r"\w+(?:[-'’.,]\w+)*|[^\w\s]")
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Edges of the bands of word overlap between F and its passage."""


@dataclass
class _Lengths:
    """A count and a sum of tokens."""

    count: int = 0
    tokens: int = 0

    def add(self, text: str) -> None:
        self.count += 1
        self.tokens += tokens(text)

    @property
    def mean(self) -> float | None:
        return self.tokens / self.count if self.count else None


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
    `overlaps`: by band of word overlap, records by state. `shortcuts` and `crossed`: what a bag of words learns of the labels;
    empty where there are too few pairs.
    """

    table: Table2
    states: Mapping[State, int]
    reasons: Mapping[str, int]
    gates: Mapping[str, Mapping[Grade, int]]
    overlaps: Mapping[str, Mapping[State, int]]
    shortcuts: Sequence[Result] = field(default=())
    """On claims and their falsified versions against t and F."""
    crossed: Sequence[Result] = field(default=())
    """With U too, where each claim is true once and false once."""


def tokens(text: str) -> int:
    """Words and marks, a hyphened or apostrophed word as one.

    Examples:
        >>> tokens("The hall's doors, twenty-two in all, open.")
        9
    """
    return len(_TOKEN.findall(text))


def figures(records: Iterable[Record], *, shortcuts: bool = True) -> SetFigures:
    """Counts a set's records. Table 2 is of the accepted and doubtful ones."""
    states: Counter[State] = Counter()
    reasons: Counter[str] = Counter()
    gates: dict[str, Counter[Grade]] = defaultdict(Counter)
    overlaps: dict[str, Counter[State]] = defaultdict(Counter)
    kept: list[Record] = []
    for record in records:
        states[record.state] += 1
        if record.reason:
            reasons[reason_of(record)] += 1
        for gate, grade in worst_grades(record).items():
            gates[gate][grade] += 1
        if record.pair is not None:
            overlaps[band(copied(record.pair.factual, record.passage.text))][record.state] += 1
        if record.state is not State.REJECTED:
            kept.append(record)
    accepted = [record for record in kept if record.state is State.ACCEPTED] or kept
    found = shortcut_results(accepted) if shortcuts else ((), ())
    return SetFigures(table_2(kept), states, dict(reasons.most_common()), gates, dict(sorted(overlaps.items())), *found)


def reason_of(record: Record) -> str:
    """A record's reason without what it is about: the gate's name, or the first words."""
    return re.split(r": | \(", record.reason, maxsplit=1)[0]


def worst_grades(record: Record) -> dict[str, Grade]:
    """The worst grade that each gate gave to a record."""
    order = {Grade.PASSED: 0, Grade.DOUBTFUL: 1, Grade.FAILED: 2}
    found: dict[str, Grade] = {}
    for verdict in record.verdicts:
        if order[verdict.grade] >= order[found.get(verdict.gate, Grade.PASSED)]:
            found[verdict.gate] = verdict.grade
    return found


def band(share: float) -> str:
    """The band of word overlap that a share falls in: `0.50-0.75`."""
    for low, high in pairwise(OVERLAPS):
        if share < high or high == OVERLAPS[-1]:
            return f"{low:.2f}-{high:.2f}"
    raise AssertionError("unreachable")


def table_2(records: Sequence[Record]) -> Table2:
    """Table 2 of these records."""
    texts: dict[str, _Lengths] = defaultdict(_Lengths)
    for record in records:
        texts["passage"].add(record.passage.text)
        if record.pair is not None:
            for claim in record.pair.claims:
                texts["claim"].add(claim)
            texts["falsified"].add(record.pair.falsified)
            texts["factual"].add(record.pair.factual)
            texts["unfactual"].add(record.pair.unfactual)
    passages, claims = texts["passage"].count, texts["claim"].count
    return Table2(
        pages=len({record.passage.document for record in records}),
        passages=passages,
        tokens_a_passage=texts["passage"].mean,
        claims=claims,
        claims_a_passage=claims / passages if passages else None,
        tokens_a_claim=texts["claim"].mean,
        tokens_an_unfactual_claim=texts["falsified"].mean,
        tokens_a_factual_text=texts["factual"].mean,
        tokens_an_unfactual_text=texts["unfactual"].mean,
    )


def shortcut_results(records: Sequence[Record]) -> tuple[list[Result], list[Result]]:
    """The shortcut check on the twins of these records: against t and F, and with U as well."""
    twins = [
        one
        for one in verifier_triplets(records, Exporting())
        if one.twin.count("/") and one.twin.endswith(("/t", "/F", "/U"))
    ]
    rows = [
        Row(one.passage, one.claim, one.label == SUPPORTED_CLASS, one.twin[-1], one.twin.rpartition("/")[0])
        for one in twins
    ]
    plain = [row for row in rows if row.kind != "U"]
    return _checked(plain), _checked(rows)


def _checked(rows: Sequence[Row]) -> list[Result]:
    return check(rows) if len(rows) >= 40 else []
