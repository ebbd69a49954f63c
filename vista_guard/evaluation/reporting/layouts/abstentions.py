"""Tables 20 and 21: turns that abstain, and where the errors come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.evaluation.figures.sheets import Column, Row, Sheet, file_name, percent, row
from vista_guard.evaluation.metrics.detection import Reading
from vista_guard.evaluation.paper.printed import table
from vista_guard.evaluation.reporting.comparable import names_of, notes_of
from vista_guard.evaluation.reporting.layouts.papers import PAPER, title_of
from vista_guard.evaluation.reporting.measured import Measured
from vista_guard.types import Label, TurnReport

NO_CLAIM, SCOPE, OTHER = "missed: no claim was found", "missed: all claims out of scope", "missed: other labels"
PARTIAL, WHOLE = "false alarm: beside other claims", "false alarm: nothing else claimed"

NOTE = "Sorted by the labels of the turn's claims. The paper's errors were sorted by hand: its kinds are near, not the same."

OF_PAPER = {NO_CLAIM: "Decomposition Error", SCOPE: "Mislabeled Out-of-Scope", PARTIAL: "Partial Abstention"}
"""The category of Table 21 that comes nearest. People sorted the paper's; these are sorted by the labels of the turn's claims."""


def table_20(runs: Sequence[Measured]) -> list[Sheet]:
    """Gold against what was found, two rows a run; the paper's below."""
    fitting = _fitting(runs)
    if not fitting:
        return []
    names, rows = names_of(fitting), []
    for run in fitting:
        met = run.detection(Reading.ORIGINAL)
        assert met is not None  # only runs with gold are here
        who = (run.data_set, names[run.name], title_of(run.system))
        none = Counter(gold for gold, said in run.answers(Reading.ORIGINAL).values() if said is None)
        shares = (percent(met.accuracy.value, 1), percent(met.precision.value, 1), percent(met.recall.value, 1))
        rows.append(row(*who, "Abst.", f"{met.tp}", f"{met.fn}", f"{none[True]}", *shares))
        rows.append(row("", "", "", "No Abst.", f"{met.fp}", f"{met.tn}", f"{none[False]}", "", "", ""))
    columns = (
        *(Column(head, figures=False) for head in ("data set", "model", "system", "gold")),
        Column("Abst.", "found"), Column("No Abst.", "found"), Column("not judged", "found"),
        *map(Column, ("Acc.", "Prec", "Rec")),
    )  # fmt: skip
    notes = tuple(notes_of(fitting))
    return [Sheet("table-20", "Table 20. Abstention detection", columns, tuple(rows), notes).below(_printed())]


def _printed() -> list[Row]:
    printed = table("table20_21")
    who = ("CoCoNot", PAPER + printed["model"], "VISTA")
    return [
        row(*who, "Abst.", str(printed["tp"]), str(printed["fn"]), "0", str(printed["accuracy"]), None, None),
        row("", "", "", "No Abst.", str(printed["fp"]), str(printed["tn"]), "0", "", "", ""),
    ]


def table_21(runs: Sequence[Measured]) -> list[Sheet]:
    """Errors by what the turn's claims were labelled, a table for each run."""
    fitting = _fitting(runs)
    names, found = names_of(fitting), []
    printed = {**table("table20_21")["missed"], **table("table20_21")["false_alarms"]}
    for run in fitting:
        errors: Counter[str] = Counter()
        for turn, (gold, said) in run.answers(Reading.ORIGINAL).items():
            if said is not None and said is not gold:
                errors[_kind(run.reports[turn], missed=gold)] += 1
        rows = [
            row(kind, str(errors[kind]), OF_PAPER.get(kind), _of(printed, kind))
            for kind in (NO_CLAIM, SCOPE, OTHER, PARTIAL, WHOLE)
        ]
        title = f"Table 21. Errors of abstention detection: {run.data_set}, {title_of(run.system)}, {names[run.name]}"
        heads = (
            Column("error", figures=False),
            Column("turns"),
            Column("nearest of the paper", figures=False),
            Column("paper"),
        )
        found.append(
            Sheet(file_name("table-21", run.data_set, run.system, names[run.name]), title, heads, tuple(rows), (NOTE,))
        )
    return found


def _fitting(runs: Sequence[Measured]) -> list[Measured]:
    return [run for run in runs if run.task is Task.ABSTAINS and run.answers(Reading.ORIGINAL)]


def _kind(report: TurnReport, *, missed: bool) -> str:
    labels = [finding.label for finding in report.findings]
    if not missed:
        return PARTIAL if any(label is not Label.ABSTENTION for label in labels) else WHOLE
    if not labels:
        return NO_CLAIM
    return SCOPE if all(label is Label.OUT_OF_SCOPE for label in labels) else OTHER


def _of(printed: dict[str, int], kind: str) -> str | None:
    return str(printed[OF_PAPER[kind]]) if kind in OF_PAPER else None
