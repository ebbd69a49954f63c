"""One line a run: what it found, how sure that is, what was not judged, and what it took."""

from __future__ import annotations

from collections.abc import Sequence

from vista_guard.evaluation.figures.sheets import NOTHING, Column, Row, Sheet, percent, row
from vista_guard.evaluation.metrics.detection import Detection, Reading
from vista_guard.evaluation.metrics.intervals import Share
from vista_guard.evaluation.metrics.labels import accuracy, macro_f1
from vista_guard.evaluation.reporting.comparable import names_of, notes_of
from vista_guard.evaluation.reporting.measured import Interval, Measured
from vista_guard.policy.scoring import macro_score, micro_score

COLUMNS = (
    Column("data set", figures=False), Column("system", figures=False), Column("judge", figures=False), Column("n"),
    Column("coverage"), Column("strict", "turn accuracy"), Column("safe", "turn accuracy"),
    Column("original", "turn accuracy"), Column("P", "turns found"), Column("R", "turns found"), Column("F1", "turns found"),
    Column("claims"), Column("accuracy", "labels of claims"), Column("macro-F1", "labels of claims"),
    Column("micro", "VISTA score"), Column("macro", "VISTA score"), Column("median", "seconds a turn"),
    Column("95 %", "seconds a turn"), Column("calls", "a turn"), Column("tokens", "a turn"), Column("USD", "a turn"),
)  # fmt: skip

NOTES = (
    "strict: some claim is not VERIFIED; safe: some claim is LACKING_EVIDENCE or CONTRADICTED; both by people's labels on "
    "claims. original: the data set's own label. P, R and F1 are by the last one where there is any, else strict.",
    "Brackets: 95 %, by Wilson where each conversation brings one turn; else, and for F1, over conversations drawn again.",
    "Turns that were not judged are in coverage and in no other figure. A claim that was not judged is an error among labels.",
)


def overview(runs: Sequence[Measured]) -> Sheet:
    """All runs, in the order in which they were given."""
    names = names_of(runs)
    rows = [_row(run, names[run.name]) for run in runs]
    return Sheet("overview", "Overview", COLUMNS, tuple(rows), (*NOTES, *notes_of(runs)))


def bracketed(value: float | None, interval: Interval | None) -> str:
    """A percentage with its interval: 84.60 [81.2–87.5]."""
    if value is None or value != value:
        return NOTHING
    return percent(value) + (f" [{percent(interval[0], 1)}–{percent(interval[1], 1)}]" if interval else "")


def _row(run: Measured, name: str) -> Row:
    met = run.detection(run.reading)
    return row(run.data_set, run.system, name, *_turns(run, met), *_found(run, met), *_claims(run), *_taken(run))


def _turns(run: Measured, met: Detection | None) -> list[str]:
    n = met.turns if met is not None else len(run.reports)
    reports = list(run.reports.values())
    # Without gold there is still to say of how many turns each claim was judged.
    covered = met.coverage if met is not None else Share.of(not report.unchecked for report in reports)
    return [f"{n:,}", percent(covered.value, 1), *(_accuracy(run, reading) for reading in Reading)]


def _accuracy(run: Measured, reading: Reading) -> str:
    met = run.detection(reading)
    return NOTHING if met is None else bracketed(met.accuracy.value, run.accuracy_interval(reading))


def _found(run: Measured, met: Detection | None) -> list[str]:
    if met is None:
        return [NOTHING] * 3
    return [percent(met.precision.value), percent(met.recall.value), bracketed(met.f1, run.f1_interval(run.reading))]


def _claims(run: Measured) -> list[str]:
    reports = list(run.reports.values())
    scores = [percent(micro_score(reports)), percent(macro_score(reports))]
    met = run.confusion
    if not met:
        return [NOTHING, NOTHING, NOTHING, *scores]
    return [f"{met.total():,}", percent(accuracy(met)), bracketed(macro_f1(met), run.macro_f1_interval()), *scores]


def _taken(run: Measured) -> list[str]:
    took = run.spending
    if took is None:
        return [NOTHING] * 5
    used = took.usage
    tokens = (used.input_tokens + used.output_tokens) / took.turns
    cost = NOTHING if took.cost is None else f"{took.cost:.5f}"
    return [f"{took.median:.3f}", f"{took.p95:.3f}", f"{used.calls / took.turns:.1f}", f"{tokens:,.0f}", cost]
