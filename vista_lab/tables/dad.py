"""DAD's Tables 1 to 4, filled from runs over its six settings: sentences of FActScore's biographies, and whole responses.

A row is a way to take responses apart together with its verifier, a column a setting. Which sentence a claim is of tells its
place in the text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import log2
from statistics import fmean

from vista_guard.errors import InputError
from vista_guard.types import Finding, Outcome, Span, TurnReport
from vista_lab.logs.source import PlaceGold
from vista_lab.metrics.intervals import NOT_SIGNIFICANT, Discordant
from vista_lab.metrics.units import JudgedUnit, Supported
from vista_lab.papers.dad import BALANCED, CLAIMS, F1, RESPONSES, printed, rows
from vista_lab.runs.folder import GoldLine
from vista_lab.tables.overview import in_brackets
from vista_lab.tables.runs import Measured, check_comparable, names_of, notes_of
from vista_lab.tables.vista import PAPER
from vista_lab.tables.writers import Heading, Row, Sheet, decimals, headings, percent, row

NUMBERS = (1, 2, 3, 4)
_ANY = "a run over a set such as factscore-chatgpt-a1-test, felm-wk or bingcheck"
NEEDS = {1: _ANY, 2: _ANY, 3: "a run over factscore-perplexity-a1-test or felm-wk", 4: _ANY}

UnitName = tuple[str, int, int]
"""Conversation, turn and place in it."""

METRICS = ("B-Acc.", "macro-F1", "F1 of SUPPORTED")

ABOUT = (
    "A sentence is supported where all of its claims are, a response where the harmonic mean of its claims' support exceeds 0.5; "
    "a claim's support is its best evidence's. Claims that were called opinions or abstentions are none here.",
    "The paper prints one F1: macro-F1 of sentences, F1 of SUPPORTED of responses. It stands in the column that it is.",
    "Brackets: 95 %, over responses drawn again. Units that were not judged are in the coverage and in no other figure.",
)

BORROWED = (
    "FActScore's and VeriScore's printed figures on FELM and BINGCHAT are those of Hu et al. (2025), as the paper says."
)


@dataclass(frozen=True)
class Setting:
    """A run's figures in one of the paper's settings. `part` is the split, with `-disjoint` where topics were left out."""

    name: str
    part: str
    run: Measured

    @cached_property
    def units(self) -> Mapping[UnitName, JudgedUnit]:
        """Name of the unit judged there."""
        return units_of(self.run)

    @cached_property
    def met(self) -> Supported:
        return Supported(list(self.units.values()))

    @property
    def n(self) -> str:
        return f"{self.met.detection.judged:,}"

    def values(self) -> tuple[float | None, float | None, float | None]:
        """In the order of `METRICS`, in [0, 1]."""
        met = self.met.detection
        return met.balanced_accuracy, met.macro_f1, met.other.f1

    def cells(self) -> list[str]:
        """The values with intervals, and the number of claims."""
        met = self.met
        intervals = met.balanced_interval(), met.macro_f1_interval(), met.f1_supported_interval()
        figures = [in_brackets(value, interval) for value, interval in zip(self.values(), intervals, strict=True)]
        return [*figures, decimals(met.claims, 2)]


Lines = Mapping[str, Mapping[str, Setting]]
"""Settings by name, by the name of the row."""


def units_of(run: Measured) -> dict[UnitName, JudgedUnit]:
    """The units of a run's gold, each with the outcomes of its claims; those of turns without a report were not judged.

    Examples: a turn with gold of four sentences gives four units, one with a label of the whole gives one.
    """
    return {
        (*name, place): unit
        for name, line in run.gold.items()
        for place, unit in enumerate(_units(line, run.reports.get(name)))
    }


def _units(line: GoldLine, report: TurnReport | None) -> Iterator[JudgedUnit]:
    outcomes = report.outcomes if report is not None else ()
    if line.places:
        lost = report is None or any(one.claim.span is None for one in outcomes)
        for place, some in zip(line.places, outcomes_by_place(line.places, outcomes), strict=True):
            yield JudgedUnit(line.drawn_with, "sentence", not place.positive, tuple(some), place.facts, unplaced=lost)
    elif line.positive is not None:
        facts = len(line.claims) + line.unlabelled
        yield JudgedUnit(line.drawn_with, "response", not line.positive, outcomes, facts, unplaced=report is None)


def outcomes_by_place(places: Sequence[PlaceGold], outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Each place's outcomes: a claim is of the place that it shares most of its text with, if any.

    What was not judged is of each place that it touches: nothing is known of any of them.
    """
    found: list[list[Outcome]] = [[] for _ in places]
    for outcome in outcomes:
        span = outcome.claim.span
        shared = [0 if span is None else sum(_overlap(span, one) for one in place.spans) for place in places]
        most = max(shared, default=0)
        for number, length in enumerate(shared):
            if length and (length == most or not isinstance(outcome, Finding)):
                found[number].append(outcome)
                if isinstance(outcome, Finding):
                    break
    return found


def _overlap(one: Span, other: Span) -> int:
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def setting_of(run: Measured) -> Setting | None:
    """The paper's setting that a run is of; None where it is of another data set."""
    for name, about in printed("settings").items():
        rest = run.data_set.removeprefix(about["set"])
        if rest != run.data_set and (not rest or rest.startswith("-")):
            return Setting(name, rest.removeprefix("-") or "test", run)
    return None


def numbers(asked: str) -> frozenset[int]:
    """The tables in a list such as `1,2`.

    Raises:
        InputError: something in it is no number of such a table.
    """
    parts = [part.strip() for part in asked.split(",")]
    wrong = next((part for part in parts if part not in map(str, NUMBERS)), None)
    if wrong is not None:
        raise InputError(f"--tables has {wrong!r}; of DAD runs fill 1, 2, 3 and 4 (Tables 5 and 6: decompose quality)")
    return frozenset(map(int, parts))


def sheets(runs: Sequence[Measured], asked: frozenset[int] | None = None) -> tuple[list[Sheet], list[str]]:
    """The tables, and which of those asked for nothing fills.

    Raises:
        InputError: runs on one data set cannot be compared: other evidence, other files, other gold, or one system twice.
    """
    lines = lines_of(runs)
    made = {1: [table_1, details, differences], 2: [table_2], 3: [table_3], 4: [table_4]}
    found: list[Sheet] = []
    empty = []
    for number in sorted(asked or NUMBERS):
        filled = [sheet for make in made[number] if lines and (sheet := make(lines)).rows]
        found += filled
        if not filled and asked is not None:
            empty.append(f"nothing fills Table {number}: it needs {NEEDS[number]}")
    return found, empty


def lines_of(runs: Sequence[Measured]) -> Lines:
    """The rows of the tables: runs of one system and one part, by setting. Runs over other data sets are left out."""
    known = [setting for run in runs if (setting := setting_of(run)) is not None]
    check_comparable([one.run for one in known], any_claims=True)
    names = names_of([one.run for one in known], across=True)
    found: dict[str, dict[str, Setting]] = defaultdict(dict)
    for one in known:
        part = "" if one.part == "test" else f", {one.part}"
        found[f"{names[one.run.name]}{part}"][one.name] = one
    return found


def table_1(lines: Lines) -> Sheet:
    """Every row in every setting; the overall mean where a row has all six."""
    settings = list(printed("settings"))
    heads = [Heading(head, name) for name in settings for head in ("n", *METRICS, "claims")]
    heads += [Heading(head, "Overall") for head in (*METRICS, "claims")]
    body = [row(name, *_table_1_cells(found, settings)) for name, found in lines.items()]
    paper = [row(PAPER + name, *_printed_cells(cells, settings)) for name, cells in rows().items()]
    title = f"Table 1. {printed('table01')['title']}"
    runs = [one.run for found in lines.values() for one in found.values()]
    notes = (*ABOUT, BORROWED, *_empty(lines), *_evidence(lines), *notes_of(runs))
    return Sheet("dad-table-1", title, (_NAME, *heads), tuple(body), notes).below(paper)


_NAME = Heading("decomposer and verifier", figures=False)


def _table_1_cells(found: Mapping[str, Setting], settings: Sequence[str]) -> Iterator[str | None]:
    for name in settings:
        one = found.get(name)
        yield from [None] * 5 if one is None else [one.n, *one.cells()]
    if len(found) < len(settings):
        yield from [None] * 4
        return
    for values in zip(*(one.values() for one in found.values()), strict=True):
        yield percent(None if None in values else fmean(value for value in values if value is not None))
    yield decimals(fmean(one.met.claims or 0 for one in found.values()), 2)


def _printed_cells(cells: Sequence[Sequence[object]], settings: Sequence[str]) -> Iterator[str | None]:
    sizes = printed("table04")["rows"]
    for name, cell in zip(settings, cells, strict=False):
        f1 = str(cell[F1])
        both = (None, f1) if name in RESPONSES else (f1, None)
        yield from (str(sizes[name][2]), str(cell[BALANCED]), *both, str(cell[CLAIMS]))
    overall = cells[-1]
    # The printed mean is of both kinds of F1, so it is neither.
    yield from (str(overall[BALANCED]), None, None, str(overall[CLAIMS]))


def details(lines: Lines) -> Sheet:
    """Recalls of both classes, size of claims, and what a turn costs."""
    heads = headings(
        ("decomposer and verifier", "setting"),
        *(
            "n",
            "coverage",
            ("recall", "SUPPORTED", "NOT SUPPORTED"),
            "units without claims",
            "claims",
            "log2 atomicity",
        ),
        ("a turn", "calls", "tokens", "seconds"),
    )
    body = [_details_row(name, one) for name, found in lines.items() for one in found.values()]
    note = (
        "log2 atomicity: people's facts (of BingCheck, its own claims) per claim; 0 is one fact a claim, higher is coarser. Of "
        "units that have both."
    )
    return Sheet("dad-recalls", "Recalls, claims and spending", heads, tuple(body), (note,))


def _details_row(name: str, one: Setting) -> Row:
    met, spent = one.met.detection, one.run.spending
    turns = spent.turns if spent is not None else 0
    used = spent.usage if spent is not None else None
    tokens = None if used is None else (used.input_tokens + used.output_tokens) / turns
    return row(
        name, one.name, one.n, percent(met.coverage.value, 1), percent(met.specificity.value), percent(met.recall.value),
        f"{one.met.without_claims:,}", decimals(one.met.claims, 2), decimals(one.met.atomicity, 2),
        decimals(None if used is None else used.calls / turns, 2), None if tokens is None else f"{tokens:,.0f}",
        decimals(None if spent is None else spent.mean, 2),
    )  # fmt: skip


def differences(lines: Lines) -> Sheet:
    """McNemar's exact test on the units that both rows judged, for each pair of rows in each setting."""
    heads = headings(("setting", "first", "second"), "n", ("right", "first alone", "second alone"), "p")
    body = [
        _difference(setting, first, second, lines)
        for setting in printed("settings")
        for first, second in combinations([name for name, found in lines.items() if setting in found], 2)
        if lines[first][setting].run.data_set == lines[second][setting].run.data_set
    ]
    return Sheet("dad-differences", "Differences (McNemar)", heads, tuple(body))


def _difference(setting: str, first: str, second: str, lines: Lines) -> Row:
    test = discordant_units(lines[first][setting].units, lines[second][setting].units)
    stars = "" if test.stars == NOT_SIGNIFICANT else f" {test.stars}"
    return row(setting, first, second, f"{test.n:,}", f"{test.first:,}", f"{test.second:,}", f"{test.p:.4f}{stars}")


def discordant_units(first: Mapping[UnitName, JudgedUnit], second: Mapping[UnitName, JudgedUnit]) -> Discordant:
    """Units of which one run alone is right, among those that both judged."""
    shared = [(first[name], second[name]) for name in first.keys() & second.keys()]
    said = [(one.supported, one.predicted(), other.predicted()) for one, other in shared]
    return Discordant.of((left is gold, right is gold) for gold, left, right in said if None not in (left, right))


def table_2(lines: Lines) -> Sheet:
    """Every setting and metric in every row: which verifier a decomposer gains from."""
    table = printed("table02")
    columns = headings(("setting", "metric"), *lines, *(PAPER + name for name in table["columns"]))
    body = []
    for setting in printed("settings"):
        found = [lines[name].get(setting) for name in lines]
        for place, metric in enumerate(METRICS):
            values = [None if one is None else f"{percent(one.values()[place])} (n = {one.n})" for one in found]
            if any(values):
                paper = _printed_of_table_2(table["rows"][setting], setting, metric)
                body.append(row(setting, metric, *values, *paper))
    return Sheet("dad-table-2", f"Table 2. {table['title']}", columns, tuple(body), ABOUT[1:2])


def _printed_of_table_2(cells: Sequence[Sequence[object]], setting: str, metric: str) -> list[str | None]:
    """The paper calls its F1 macro-F1 here too; of responses it is F1 of SUPPORTED, as in Table 1."""
    f1 = METRICS[2] if setting in RESPONSES else METRICS[1]
    place = {METRICS[0]: BALANCED, f1: F1}.get(metric)
    return [None, None] if place is None else [str(value) for value in cells[place]]


def table_3(lines: Lines) -> Sheet:
    """F1 and claims on two settings, for ways to train a decomposer."""
    table = printed("table03")
    heads = [Heading(head, name) for name in table["settings"] for head in ("n", *METRICS[1:], "claims")]
    body = [
        row(name, *_table_3_cells(found, table["settings"]))
        for name, found in lines.items()
        if any(setting in found for setting in table["settings"])
    ]
    paper = []
    for name, cells in table["rows"].items():
        texts: list[str | None] = []
        for setting, (f1, claims) in zip(table["settings"], cells, strict=True):
            texts += [str(printed("table04")["rows"][setting][2])]
            texts += [None, str(f1)] if setting in RESPONSES else [str(f1), None]
            texts += [str(claims)]
        paper.append(row(PAPER + name, *texts))
    sheet = Sheet("dad-table-3", f"Table 3. {table['title']}", (_NAME, *heads), tuple(body), ABOUT[1:])
    return sheet.below(paper) if body else sheet


def _table_3_cells(found: Mapping[str, Setting], settings: Sequence[str]) -> Iterator[str | None]:
    for setting in settings:
        one = found.get(setting)
        yield from [None] * 4 if one is None else [one.n, *one.cells()[1:]]


def table_4(lines: Lines) -> Sheet:
    """The data sets as they were scored, and as the paper prints them."""
    heads = (
        *headings(("setting", "granularity"), "atomicity", "n", "SUPPORTED", "NOT SUPPORTED", "log2 facts"),
        Heading("evidence", figures=False),
    )
    sets = {one.run.data_set: one for found in lines.values() for one in found.values()}
    table = printed("table04")
    body = [row(name, *table["rows"][one.name][:2], *_sizes(one)) for name, one in sorted(sets.items())]
    paper = [
        row(PAPER + name, granularity, atomicity, str(size), None, None, None, source)
        for name, (granularity, atomicity, size, source) in table["rows"].items()
    ]
    return Sheet("dad-table-4", f"Table 4. {table['title']}", heads, tuple(body)).below(paper)


def _sizes(one: Setting) -> list[str]:
    units = list(one.units.values())
    supported = sum(unit.supported for unit in units)
    facts = [log2(unit.facts) for unit in units if unit.facts]
    size = [f"{len(units):,}", f"{supported:,}", f"{len(units) - supported:,}"]
    return [*size, decimals(fmean(facts) if facts else None, 2), _source(one.run)]


def _source(run: Measured) -> str:
    evidence = run.manifest.system.evidence
    if evidence is None:
        return "none of its own" if run.rows.grounded == 0 else "the turn's documents"
    return f"{evidence.kind} {evidence.source}, top {evidence.k}".replace(" ,", ",")


def _empty(lines: Lines) -> Iterator[str]:
    """Of rows with units that have no claims: the figures both ways."""
    for name, found in lines.items():
        for one in found.values():
            if one.met.without_claims:
                other = Supported(one.met.units, empty=False).detection
                balanced, f1 = percent(other.balanced_accuracy), percent(other.macro_f1)
                yield (
                    f"{name} on {one.name}: {one.met.without_claims:,} of {len(one.met.units):,} units have no claims and count "
                    f"as supported; as not supported, the balanced accuracy is {balanced} and macro-F1 {f1}"
                )


def _evidence(lines: Lines) -> list[str]:
    found = {one.run.data_set: _source(one.run) for some in lines.values() for one in some.values()}
    return [f"Evidence of {name}: {source}." for name, source in found.items()]
