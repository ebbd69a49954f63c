"""Which of the paper's data sets and systems a run is of."""

from __future__ import annotations

from collections.abc import Sequence

from vista_guard.evaluation.metrics.significance import NOT_SIGNIFICANT
from vista_guard.evaluation.paper.printed import DATA_SETS, SYSTEMS
from vista_guard.evaluation.reporting.measured import Measured, discordant

PAPER = "paper: "
"""Before the names of rows that are not measured here."""


def paper_set(name: str) -> str | None:
    """The data set of the paper that this one is of: `begin-dev-wow` is of BEGIN. None for one that it has not."""
    first = name.lower().split("-")[0].split("_")[0]
    return next((known for known in DATA_SETS if known.lower() == first), None)


def title_of(system: str) -> str:
    """The paper's name of a system; its own where the paper has none."""
    return SYSTEMS.get(system, system)


def systems_of(runs: Sequence[Measured]) -> list[str]:
    """Systems in the paper's order, then the others in the order in which they come."""
    found = dict.fromkeys(run.system for run in runs)
    return [*(name for name in SYSTEMS if name in found), *(name for name in found if name not in SYSTEMS)]


def data_sets_of(runs: Sequence[Measured]) -> list[str]:
    """Data sets in the paper's order, then the others in the order in which they come."""
    found = list(dict.fromkeys(run.data_set for run in runs))
    return sorted(found, key=lambda name: DATA_SETS.index(known) if (known := paper_set(name)) else len(DATA_SETS))


def better_than(run: Measured, others: Sequence[Measured]) -> str:
    """The superscript of Table 2, computed: f better than FActScore, l than LLM-as-Judge, † than both, on the same turns and
    significantly (McNemar, p < .05), with the same judge."""
    marks = ""
    for system, mark in (("factscore", "f"), ("llm-judge", "l")):
        rivals = [
            one for one in others if one.system == system and one.judge == run.judge and one.data_set == run.data_set
        ]
        tests = [discordant(run, rival, run.reading) for rival in rivals if rival is not run]
        if tests and all(test.stars != NOT_SIGNIFICANT and test.first > test.second for test in tests):
            marks += mark
    return "†" if len(marks) == 2 else marks
