"""The overview: one line a run, with score, intervals, coverage and cost; and the scores of FActScore and VeriScore."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median_high

from vista_guard.policy.turn_risk import FACTS, macro_score, micro_score
from vista_guard.types import Label, TurnReport
from vista_lab.metrics.detection import Detection, Reading
from vista_lab.metrics.intervals import Share, mean_interval
from vista_lab.metrics.labels import GAMMA, accuracy, f1_at_k, factscore, macro_f1
from vista_lab.tables.runs import Interval, RunMeasures, data_sets_of, names_of, notes_of, title_of
from vista_lab.tables.writers import NOTHING, Row, Sheet, decimals, headings, percent, row

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
    names, scores = (run.data_set, run.system, name), _score_cells(run, detection)
    return row(*names, *_turns(run, detection), *scores, *_claims(run), *_cost_cells(run))


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
    f1 = in_brackets(detection.f1, run.f1_interval(run.reading))
    return [percent(detection.precision.value), percent(detection.recall.value), f1]


def _claims(run: RunMeasures) -> list[str]:
    reports = list(run.reports.values())
    scores = [percent(micro_score(reports)), percent(macro_score(reports))]
    confusion = run.confusion
    if not confusion:
        return [NOTHING, NOTHING, NOTHING, *scores]
    f1 = in_brackets(macro_f1(confusion), run.macro_f1_interval())
    return [f"{confusion.total():,}", percent(accuracy(confusion)), f1, *scores]


def _cost_cells(run: RunMeasures) -> list[str]:
    spending = run.spending
    if spending is None:
        return [NOTHING] * 5
    usage = spending.usage
    tokens = (usage.input_tokens + usage.output_tokens) / spending.turns
    cost = NOTHING if spending.cost is None else f"{spending.cost:.5f}"
    seconds = f"{spending.median:.3f}", f"{spending.p95:.3f}"
    return [*seconds, f"{usage.calls / spending.turns:.1f}", f"{tokens:,.0f}", cost]


@dataclass(frozen=True)
class _Counted:
    """One turn, all of its claims judged: how many there are, how many can be verified, and how many are VERIFIED.

    `group` is what intervals draw it with.
    """

    group: str
    claims: int
    verifiable: int
    supported: int


SCORE_NOTES = (
    "FActScore (Min et al., 2023): mean share of VERIFIED claims, over turns with claims. With its length penalty, γ = "
    f"{GAMMA}, the share of a turn of up to {GAMMA} claims is multiplied by exp(1 − γ / claims).",
    "VeriScore (Song et al., 2024): mean F1@K, of precision and of recall min(supported / K, 1), over claims that can be "
    "verified: OUT_OF_SCOPE and ABSTENTION are none. K: their median number a turn, over all runs on the data set.",
    "Turns with unjudged claims, and turns that only abstain, are in neither. The papers print neither for these data sets.",
)


def claim_scores(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """FActScore's and VeriScore's scores of the runs that take turns apart; none without such a run."""
    names, counted = names_of(runs), {run.name: _counts(run) for run in runs}
    rows = []
    for data_set in data_sets_of(runs):
        set_runs = [run for run in runs if run.data_set == data_set and counted[run.name]]
        if set_runs:
            k = max(1, median_high(turn.verifiable for run in set_runs for turn in counted[run.name]))
            rows += [_scores_row(run, names[run.name], counted[run.name], k) for run in set_runs]
    factscore, veriscore = ("FActScore", "n", "no penalty", f"γ = {GAMMA}"), ("VeriScore", "n", "K", "F1@K")
    columns = headings(("data set", "system", "judge"), "claims a turn", factscore, veriscore)
    title = "Scores of FActScore and VeriScore"
    return [Sheet("claim-scores", title, columns, tuple(rows), SCORE_NOTES)] if rows else []


def _counts(run: RunMeasures) -> list[_Counted]:
    """The run's turns that were judged whole and do not only abstain; none where each turn is its own claim."""
    if all(_is_one_claim(report) for report in run.reports.values()):
        return []
    checked = {name: report for name, report in run.reports.items() if not report.unchecked}
    labels = {name: [one.label for one in report.findings] for name, report in checked.items()}
    return [
        _Counted(
            run.gold[name].drawn_with,
            len(found),
            sum(label in FACTS for label in found),
            found.count(Label.VERIFIED),
        )
        for name, found in labels.items()
        if not found or set(found) != {Label.ABSTENTION}
    ]


def _is_one_claim(report: TurnReport) -> bool:
    return [outcome.claim.text.strip() for outcome in report.outcomes] == [report.response.strip()]


def _scores_row(run: RunMeasures, name: str, turns: Sequence[_Counted], k: int) -> Row:
    claiming = [turn for turn in turns if turn.claims]
    return row(
        run.data_set,
        title_of(run.system),
        name,
        decimals(fmean(turn.claims for turn in turns), 2),
        f"{len(claiming):,}",
        *(_mean(claiming, partial(_factscore, gamma=gamma)) for gamma in (0, GAMMA)),
        f"{len(turns):,}",
        k,
        _mean(turns, lambda turn: f1_at_k(turn.supported, turn.verifiable, k)),
    )


def _factscore(turn: _Counted, gamma: float) -> float:
    return factscore(turn.supported, turn.claims, gamma) or 0.0


def _mean(turns: Sequence[_Counted], score: Callable[[_Counted], float]) -> str:
    values = [score(turn) for turn in turns]
    if not values:
        return NOTHING
    low, high = mean_interval([turn.group for turn in turns], values)
    return in_brackets(fmean(values), (low, high) if low < high else None)
