"""The overview, one line a run, and Tables 8 to 11.

Score, interval, coverage, cost; McNemar's exact test on the turns that both runs judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from vista_guard.policy.turn_risk import macro_score, micro_score
from vista_lab.metrics.detection import Detection, Reading
from vista_lab.metrics.intervals import Share
from vista_lab.metrics.labels import accuracy, macro_f1
from vista_lab.papers.vista import differences, table
from vista_lab.tables.runs import Interval, RunMeasures, discordant, names_of, notes_of
from vista_lab.tables.vista import PAPER, data_sets_of, paper_set, systems_of, title_of
from vista_lab.tables.writers import NOTHING, Row, Sheet, file_name, headings, percent, row

COLUMNS = headings(
    ("data set", "system", "judge"),
    "n",
    "coverage",
    ("turn accuracy", "strict", "safe", "original"),
    ("turns found", "P", "R", "F1"),
    "claims",
    ("labels of claims", "accuracy", "macro-F1"),
    ("VISTA score", "micro", "macro"),
    ("seconds a turn", "median", "95 %"),
    ("a turn", "calls", "tokens", "USD"),
)

NOTES = (
    "strict: some claim is not VERIFIED; safe: some claim is LACKING_EVIDENCE or CONTRADICTED; both by people's labels on "
    "claims. original: the data set's own label. P, R and F1 are by the last one where there is any, else strict.",
    "Brackets: 95 %, by Wilson where each conversation brings one turn; else, and for F1, over conversations drawn again.",
    "Turns that were not judged are in coverage and in no other figure. A claim that was not judged is an error among labels.",
)


def overview(runs: Sequence[RunMeasures]) -> Sheet:
    """One row per run, in the order given."""
    names = names_of(runs)
    rows = [_row(run, names[run.name]) for run in runs]
    return Sheet("overview", "Overview", COLUMNS, tuple(rows), (*NOTES, *notes_of(runs)))


def in_brackets(value: float | None, interval: Interval | None) -> str:
    """A percentage with its interval: 84.60 [81.2–87.5]."""
    if value is None or value != value:
        return NOTHING
    return percent(value) + (f" [{percent(interval[0], 1)}–{percent(interval[1], 1)}]" if interval else "")


def _row(run: RunMeasures, name: str) -> Row:
    detection = run.detection(run.reading)
    return row(
        run.data_set,
        run.system,
        name,
        *_turns(run, detection),
        *_score_cells(run, detection),
        *_claims(run),
        *_cost_cells(run),
    )


def _turns(run: RunMeasures, detection: Detection | None) -> list[str]:
    n = detection.turns if detection is not None else len(run.reports)
    reports = list(run.reports.values())
    # Coverage needs no gold.
    covered = detection.coverage if detection is not None else Share.of(not report.unchecked for report in reports)
    return [f"{n:,}", percent(covered.value, 1), *(accuracy_text(run, reading) for reading in Reading)]


def accuracy_text(run: RunMeasures, reading: Reading) -> str:
    """A run's turn accuracy under a reading, with its interval; a dash without gold."""
    detection = run.detection(reading)
    return NOTHING if detection is None else in_brackets(detection.accuracy.value, run.accuracy_interval(reading))


def _score_cells(run: RunMeasures, detection: Detection | None) -> list[str]:
    if detection is None:
        return [NOTHING] * 3
    return [
        percent(detection.precision.value),
        percent(detection.recall.value),
        in_brackets(detection.f1, run.f1_interval(run.reading)),
    ]


def _claims(run: RunMeasures) -> list[str]:
    reports = list(run.reports.values())
    scores = [percent(micro_score(reports)), percent(macro_score(reports))]
    confusion = run.confusion
    if not confusion:
        return [NOTHING, NOTHING, NOTHING, *scores]
    return [
        f"{confusion.total():,}",
        percent(accuracy(confusion)),
        in_brackets(macro_f1(confusion), run.macro_f1_interval()),
        *scores,
    ]


def _cost_cells(run: RunMeasures) -> list[str]:
    spending = run.spending
    if spending is None:
        return [NOTHING] * 5
    usage = spending.usage
    tokens = (usage.input_tokens + usage.output_tokens) / spending.turns
    cost = NOTHING if spending.cost is None else f"{spending.cost:.5f}"
    return [
        f"{spending.median:.3f}",
        f"{spending.p95:.3f}",
        f"{usage.calls / spending.turns:.1f}",
        f"{tokens:,.0f}",
        cost,
    ]


SIGNIFICANCE_NOTES = (
    "Δ: accuracy of the first less that of the second, in percent, over the n turns that both judged; b: turns that the first "
    "alone has right, c: that the second alone has. p: McNemar's exact test, two-sided, not corrected for the number of rows.",
    "* p < .05, ** p < .01, *** p < .001, ns: else.",
)
OF_PAPER = "Of the paper's rows n is its sample; p is as printed, and Δ and the pairs are of different items there."

SIGNIFICANCE_COLUMNS = headings(("model", "comparison"), "n", "Δ", "p", "sig.", "b", "c")


def tables_8_to_11(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """A table for each data set with at least two runs, with the paper's rows below where it has the data set.

    Compares systems of one judge, one system with several judges, and all runs with systems that ask no judge.
    """
    tables = []
    for name in data_sets_of(runs):
        set_runs = [run for run in runs if run.data_set == name and run.answers(run.reading)]
        rows = [_significance_row(first, second, names_of(set_runs)) for first, second in _pairs(set_runs)]
        if rows:
            paper_name = paper_set(name)
            number = f"Table {table('table08_11')[paper_name]['number']}. " if paper_name else ""
            title = f"{number}{name}: {table('table08_11')['title']}"
            notes = (*SIGNIFICANCE_NOTES, *([OF_PAPER] if paper_name else []), *notes_of(set_runs))
            sheet = Sheet(file_name("significance", name), title, SIGNIFICANCE_COLUMNS, tuple(rows), notes)
            tables.append(sheet.below(_paper_rows(paper_name) if paper_name else []))
    return tables


def _pairs(runs: Sequence[RunMeasures]) -> Iterator[tuple[RunMeasures, RunMeasures]]:
    order = systems_of(runs)
    ranked = sorted(runs, key=lambda run: order.index(run.system))
    for pair in combinations(ranked, 2):
        first, second = pair
        asks_nobody = any(run.judge == run.system for run in pair)
        if first.judge == second.judge or first.system == second.system or asks_nobody:
            yield pair


def _significance_row(first: RunMeasures, second: RunMeasures, names: Mapping[str, str]) -> Row:
    left, right = names[first.name], names[second.name]
    test = discordant(first, second, first.reading)
    pair = f"{title_of(first.system)} – {title_of(second.system)}"
    p = f"{test.p:.6f}" if test.n else NOTHING
    model = left if left == right else f"{left} / {right}"
    return row(model, pair, f"{test.n:,}", percent(test.difference), p, test.stars, f"{test.first}", f"{test.second}")


def _paper_rows(data_set: str) -> list[Row]:
    turns = f"{table('table02')['turns'][data_set]:,}"
    return [
        row(PAPER + difference.model, f"{title_of(difference.first)} – {title_of(difference.second)}", turns,
            str(difference.difference), str(difference.p), difference.stars, str(difference.only_first),
            str(difference.only_second))
        for difference in differences()
        if difference.data_set == data_set
    ]  # fmt: skip
