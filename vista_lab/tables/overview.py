"""The overview: one line a run, with score, intervals, coverage and cost."""

from __future__ import annotations

from collections.abc import Sequence

from vista_guard.policy.turn_risk import macro_score, micro_score
from vista_lab.metrics.detection import Detection, Reading
from vista_lab.metrics.intervals import Share
from vista_lab.metrics.labels import accuracy, macro_f1
from vista_lab.tables.runs import Interval, RunMeasures, names_of, notes_of
from vista_lab.tables.writers import NOTHING, Row, Sheet, headings, percent, row

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
