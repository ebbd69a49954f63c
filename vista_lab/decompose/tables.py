"""DAD's Tables 1 to 4, filled from runs over its six settings: sentences of FActScore's biographies, and whole responses.

A row is a decomposer with its verifier, a column a setting. A claim's place in the text tells its sentence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from math import log2
from pathlib import Path
from statistics import fmean

from vista_guard.types import Finding, Outcome, Span, TurnReport
from vista_lab.decompose.units import JudgedUnit, UnitFigures
from vista_lab.logs.source import PlaceGold
from vista_lab.metrics.intervals import NOT_SIGNIFICANT, Discordant, holm, stars
from vista_lab.papers import part
from vista_lab.runs.folder import GoldLine
from vista_lab.tables.output import Filled, PaperTables
from vista_lab.tables.overview import claim_scores, in_brackets
from vista_lab.tables.pictures import draw
from vista_lab.tables.runs import RunMeasures, check_comparable, names_of, notes_of
from vista_lab.tables.writers import PAPER, Heading, Row, Sheet, decimals, headings, percent, row

NUMBERS = (1, 2, 3, 4)
_ANY = "a run over a set such as factscore-chatgpt-a1-test, felm-wk or bingcheck"
NEEDS = {1: _ANY, 2: _ANY, 3: "a run over factscore-perplexity-a1-test or felm-wk", 4: _ANY}

UnitName = tuple[str, int, int]
"""Conversation, turn and place in it."""

BALANCED, F1, CLAIMS = range(3)
"""Places in a printed row of Table 1."""
RESPONSES = ("FELM", "BINGCHAT")
"""Settings that judge whole responses; the "macro-F1" printed for them is the F1 of SUPPORTED."""

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


def printed_rows() -> Mapping[str, Sequence[Sequence[Decimal]]]:
    """Table 1 as printed: balanced accuracy, F1 and subclaims in each setting and overall, by decomposer."""
    by_decomposer: Mapping[str, Sequence[Sequence[Decimal]]] = part("dad", "table01")["rows"]
    return by_decomposer


@dataclass(frozen=True)
class Setting:
    """A run's figures in one of the paper's settings. `part` is the split, with `-disjoint` where topics were left out."""

    name: str
    part: str
    run: RunMeasures

    @cached_property
    def units(self) -> Mapping[UnitName, JudgedUnit]:
        """Judged units by name."""
        return units_of(self.run)

    @cached_property
    def results(self) -> UnitFigures:
        return UnitFigures(list(self.units.values()))

    @property
    def n(self) -> str:
        return f"{self.results.detection.judged:,}"

    def values(self) -> tuple[float | None, float | None, float | None]:
        """Figures in the order of `METRICS`, in [0, 1]."""
        detection = self.results.detection
        return detection.balanced_accuracy, detection.macro_f1, detection.other.f1

    def cells(self) -> list[str]:
        """The values with intervals, and the number of claims."""
        results = self.results
        intervals = results.balanced_interval(), results.macro_f1_interval(), results.f1_supported_interval()
        figures = [in_brackets(value, interval) for value, interval in zip(self.values(), intervals, strict=True)]
        return [*figures, decimals(results.claims, 2)]


Lines = Mapping[str, Mapping[str, Setting]]
"""By row, then by the setting's name."""


def units_of(run: RunMeasures) -> dict[UnitName, JudgedUnit]:
    """Units of a run's gold with the outcomes of their claims; those of turns without a report are unjudged.

    Examples: a turn with gold for four sentences gives four units, one with a single label gives one.
    """
    lines = [(name, _units(line, run.reports.get(name))) for name, line in run.gold.items()]
    return {(*name, place): unit for name, units in lines for place, unit in enumerate(units)}


def _units(line: GoldLine, report: TurnReport | None) -> Iterator[JudgedUnit]:
    outcomes = report.outcomes if report is not None else ()
    if line.places:
        lost = report is None or any(outcome.claim.span is None for outcome in outcomes)
        for place, placed in zip(line.places, outcomes_by_place(line.places, outcomes), strict=True):
            yield JudgedUnit(line.drawn_with, "sentence", not place.positive, tuple(placed), place.facts, unplaced=lost)
    elif line.positive is not None:
        facts = len(line.claims) + line.unlabelled
        yield JudgedUnit(line.drawn_with, "response", not line.positive, outcomes, facts, unplaced=report is None)


def outcomes_by_place(places: Sequence[PlaceGold], outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Outcomes by place: a claim belongs to the place it overlaps most, if any.

    An unjudged claim belongs to every place it touches, and leaves them all unknown.
    """
    by_place: list[list[Outcome]] = [[] for _ in places]
    for outcome in outcomes:
        span = outcome.claim.span
        shared = [0 if span is None else sum(_overlap(span, gold) for gold in place.spans) for place in places]
        most = max(shared, default=0)
        for number, length in enumerate(shared):
            if length and (length == most or not isinstance(outcome, Finding)):
                by_place[number].append(outcome)
                if isinstance(outcome, Finding):
                    break
    return by_place


def _overlap(one: Span, other: Span) -> int:
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def setting_of(run: RunMeasures) -> Setting | None:
    """A run in its setting of the paper; None for other data sets."""
    for name, about in part("dad", "settings").items():
        suffix = run.data_set.removeprefix(about["set"])
        if suffix != run.data_set and (not suffix or suffix.startswith("-")):
            return Setting(name, suffix.removeprefix("-") or "test", run)
    return None


def sheets(runs: Sequence[RunMeasures], asked: Collection[int] | None = None) -> tuple[list[Sheet], list[str]]:
    """The tables, and messages about requested ones that no run fills.

    Raises InputError: runs on one data set cannot be compared: other evidence, other files, other gold, or one system twice.
    """
    lines = lines_of(runs)
    makers = {1: [table_1, details, differences], 2: [table_2], 3: [table_3], 4: [table_4]}
    tables: list[Sheet] = []
    empty = []
    for number in sorted(asked or NUMBERS):
        filled = [sheet for make in makers[number] if lines and (sheet := make(lines)).rows]
        tables += filled
        if not filled and asked is not None:
            empty.append(f"nothing fills Table {number}: it needs {NEEDS[number]}")
    if asked is None:
        tables += claim_scores([setting.run for by_setting in lines.values() for setting in by_setting.values()])
    return tables, empty


def lines_of(runs: Sequence[RunMeasures]) -> Lines:
    """The rows of the tables: runs of one system and one part, by setting. Runs over other data sets are left out."""
    settings = [setting for run in runs if (setting := setting_of(run)) is not None]
    check_comparable([one.run for one in settings], any_claims=True)
    names = names_of([one.run for one in settings], across=True)
    lines: dict[str, dict[str, Setting]] = defaultdict(dict)
    for one in settings:
        part = "" if one.part == "test" else f", {one.part}"
        lines[f"{names[one.run.name]}{part}"][one.name] = one
    return lines


def table_1(lines: Lines) -> Sheet:
    """Every row in every setting; the overall mean where a row has all six."""
    settings = list(part("dad", "settings"))
    heads = [Heading(head, name) for name in settings for head in ("n", *METRICS, "claims")]
    heads += [Heading(head, "Overall") for head in (*METRICS, "claims")]
    body = [row(name, *_table_1_cells(by_setting, settings)) for name, by_setting in lines.items()]
    paper = [row(PAPER + name, *_printed_cells(cells, settings)) for name, cells in printed_rows().items()]
    title = f"Table 1. {part('dad', 'table01')['title']}"
    runs = [setting.run for by_setting in lines.values() for setting in by_setting.values()]
    notes = (*ABOUT, BORROWED, *_empty(lines), *_evidence(lines), *notes_of(runs))
    return Sheet("dad-table-1", title, (_NAME, *heads), tuple(body), notes).below(paper)


_NAME = Heading("decomposer and verifier", figures=False)


def _table_1_cells(by_setting: Mapping[str, Setting], settings: Sequence[str]) -> Iterator[str | None]:
    for name in settings:
        setting = by_setting.get(name)
        yield from [None] * 5 if setting is None else [setting.n, *setting.cells()]
    if len(by_setting) < len(settings):
        yield from [None] * 4
        return
    for values in zip(*(setting.values() for setting in by_setting.values()), strict=True):
        yield percent(None if None in values else fmean(value for value in values if value is not None))
    yield decimals(fmean(setting.results.claims or 0 for setting in by_setting.values()), 2)


def _printed_cells(cells: Sequence[Sequence[object]], settings: Sequence[str]) -> Iterator[str | None]:
    sizes = part("dad", "table04")["rows"]
    for name, cell in zip(settings, cells, strict=False):
        f1 = str(cell[F1])
        both_f1 = (None, f1) if name in RESPONSES else (f1, None)
        yield from (str(sizes[name][2]), str(cell[BALANCED]), *both_f1, str(cell[CLAIMS]))
    overall = cells[-1]
    # The printed mean is of both kinds of F1, so it is neither.
    yield from (str(overall[BALANCED]), None, None, str(overall[CLAIMS]))


def details(lines: Lines) -> Sheet:
    """Recall of both classes, size of claims, and cost of a turn."""
    recall, spent = ("recall", "SUPPORTED", "NOT SUPPORTED"), ("a turn", "calls", "tokens", "seconds")
    figures = ("n", "coverage", recall, "units without claims", "claims", "log2 atomicity", spent)
    heads = headings(("decomposer and verifier", "setting"), *figures)
    body = [_details_row(name, setting) for name, by_setting in lines.items() for setting in by_setting.values()]
    note = (
        "log2 atomicity: people's facts (of BingCheck, its own claims) per claim; 0 is one fact a claim, higher is coarser. Of "
        "units that have both."
    )
    return Sheet("dad-recalls", "Recalls, claims and spending", heads, tuple(body), (note,))


def _details_row(name: str, setting: Setting) -> Row:
    detection, spent = setting.results.detection, setting.run.spending
    turns = spent.turns if spent is not None else 0
    usage = spent.usage if spent is not None else None
    tokens = None if usage is None else (usage.input_tokens + usage.output_tokens) / turns
    return row(
        name, setting.name, setting.n, percent(detection.coverage.value, 1),
        percent(detection.specificity.value), percent(detection.recall.value),
        f"{setting.results.without_claims:,}", decimals(setting.results.claims, 2), decimals(setting.results.atomicity, 2),
        decimals(None if usage is None else usage.calls / turns, 2), None if tokens is None else f"{tokens:,.0f}",
        decimals(None if spent is None else spent.mean, 2),
    )  # fmt: skip


def differences(lines: Lines) -> Sheet:
    """McNemar's exact test on the units that both rows judged, for each pair of rows in each setting."""
    heads = headings(("setting", "first", "second"), "n", ("right", "first alone", "second alone"), "p", "p (Holm)")
    body = [line for setting in part("dad", "settings") for line in _differences(setting, lines)]
    note = "p (Holm): corrected for the number of tests in the setting."
    return Sheet("dad-differences", "Differences (McNemar)", heads, tuple(body), (note,))


def _differences(setting: str, lines: Lines) -> Iterator[Row]:
    known = [name for name, by_setting in lines.items() if setting in by_setting]
    data = {name: lines[name][setting].run.data_set for name in known}
    pairs = [(first, second) for first, second in combinations(known, 2) if data[first] == data[second]]
    tests = [discordant_units(*(lines[name][setting].units for name in pair)) for pair in pairs]
    for pair, test, corrected in zip(pairs, tests, holm([test.p for test in tests]), strict=True):
        counts = (f"{count:,}" for count in (test.n, test.first, test.second))
        shown = (f"{p:.4f} {stars(p)}".removesuffix(f" {NOT_SIGNIFICANT}") for p in (test.p, corrected))
        yield row(setting, *pair, *counts, *shown)


def discordant_units(first: Mapping[UnitName, JudgedUnit], second: Mapping[UnitName, JudgedUnit]) -> Discordant:
    """Units that only one of two runs gets right, among those both judged."""
    shared = [(first[name], second[name]) for name in first.keys() & second.keys()]
    verdicts = [(one.supported, one.predicted(), other.predicted()) for one, other in shared]
    return Discordant.of((left is gold, right is gold) for gold, left, right in verdicts if None not in (left, right))


def table_2(lines: Lines) -> Sheet:
    """One row per setting and metric, one column per decomposer and verifier."""
    table = part("dad", "table02")
    columns = headings(("setting", "metric"), *lines, *(PAPER + name for name in table["columns"]))
    body = []
    for setting in part("dad", "settings"):
        settings = [lines[name].get(setting) for name in lines]
        for place, metric in enumerate(METRICS):
            values = [f"{percent(one.values()[place])} (n = {one.n})" if one else None for one in settings]
            if any(values):
                paper = _printed_of_table_2(table["rows"][setting], setting, metric)
                body.append(row(setting, metric, *values, *paper))
    return Sheet("dad-table-2", f"Table 2. {table['title']}", columns, tuple(body), ABOUT[1:2])


def _printed_of_table_2(cells: Sequence[Sequence[object]], setting: str, metric: str) -> list[str | None]:
    """The paper's cells for a metric. Its macro-F1 of responses is F1 of SUPPORTED, as in Table 1."""
    f1 = METRICS[2] if setting in RESPONSES else METRICS[1]
    place = {METRICS[0]: BALANCED, f1: F1}.get(metric)
    return [None, None] if place is None else [str(value) for value in cells[place]]


def table_3(lines: Lines) -> Sheet:
    """F1 and claims on two settings, by how the decomposer was trained."""
    table = part("dad", "table03")
    heads = [Heading(head, name) for name in table["settings"] for head in ("n", *METRICS[1:], "claims")]
    settings = table["settings"]
    fitting = {name: own for name, own in lines.items() if not own.keys().isdisjoint(settings)}
    body = [row(name, *_table_3_cells(own, settings)) for name, own in fitting.items()]
    paper = []
    for name, cells in table["rows"].items():
        texts: list[str | None] = []
        for setting, (f1, claims) in zip(table["settings"], cells, strict=True):
            texts += [str(part("dad", "table04")["rows"][setting][2])]
            texts += [None, str(f1)] if setting in RESPONSES else [str(f1), None]
            texts += [str(claims)]
        paper.append(row(PAPER + name, *texts))
    sheet = Sheet("dad-table-3", f"Table 3. {table['title']}", (_NAME, *heads), tuple(body), ABOUT[1:])
    return sheet.below(paper) if body else sheet


def _table_3_cells(by_setting: Mapping[str, Setting], settings: Sequence[str]) -> Iterator[str | None]:
    for setting in settings:
        scored = by_setting.get(setting)
        yield from [None] * 4 if scored is None else [scored.n, *scored.cells()[1:]]


def table_4(lines: Lines) -> Sheet:
    """The data sets as scored here and as the paper prints them."""
    figures = ("atomicity", "n", "SUPPORTED", "NOT SUPPORTED", "log2 facts")
    heads = (*headings(("setting", "granularity"), *figures), Heading("evidence", figures=False))
    sets = {setting.run.data_set: setting for by_setting in lines.values() for setting in by_setting.values()}
    table = part("dad", "table04")
    body = [row(name, *table["rows"][setting.name][:2], *_sizes(setting)) for name, setting in sorted(sets.items())]
    paper = [
        row(PAPER + name, granularity, atomicity, str(size), None, None, None, source)
        for name, (granularity, atomicity, size, source) in table["rows"].items()
    ]
    return Sheet("dad-table-4", f"Table 4. {table['title']}", heads, tuple(body)).below(paper)


def _sizes(setting: Setting) -> list[str]:
    units = list(setting.units.values())
    supported = sum(unit.supported for unit in units)
    facts = [log2(unit.facts) for unit in units if unit.facts]
    size = [f"{len(units):,}", f"{supported:,}", f"{len(units) - supported:,}"]
    return [*size, decimals(fmean(facts) if facts else None, 2), _source(setting.run)]


def _source(run: RunMeasures) -> str:
    evidence = run.manifest.system.evidence
    if evidence is None:
        return "none of its own" if run.rows.grounded == 0 else "the turn's documents"
    return f"{evidence.kind} {evidence.source}, top {evidence.k}".replace(" ,", ",")


def _empty(lines: Lines) -> Iterator[str]:
    """Figures with units without claims counted as supported, and as not."""
    for name, by_setting in lines.items():
        for setting in by_setting.values():
            if setting.results.without_claims:
                detection = UnitFigures(setting.results.units, empty=False).detection
                balanced, f1 = percent(detection.balanced_accuracy), percent(detection.macro_f1)
                yield (
                    f"{name} on {setting.name}: {setting.results.without_claims:,} of {len(setting.results.units):,} units "
                    f"have no claims and count as supported; "
                    f"as not supported, the balanced accuracy is {balanced} and macro-F1 {f1}"
                )


def _evidence(lines: Lines) -> list[str]:
    runs = [setting.run for by_setting in lines.values() for setting in by_setting.values()]
    sources = {run.data_set: _source(run) for run in runs}
    return [f"Evidence of {name}: {source}." for name, source in sources.items()]


def _fill(runs: Sequence[RunMeasures], asked: Collection[int] | None, _scores: Sequence[Path]) -> Filled:
    return Filled(*sheets(runs, asked), lambda folder: draw(runs, folder))


TABLES = PaperTables(NUMBERS, "Tables 5 and 6: decompose quality", _fill, "vista_lab.decompose.errors:write_errors")
"""For `vista-guard compare`."""
