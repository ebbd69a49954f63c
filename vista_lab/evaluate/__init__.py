"""Evaluate: replays and evaluations of a system, runs side by side, the data sets, and the page of runs."""

from vista_lab.registry import Additions

ADDS = Additions(
    commands="vista_lab.evaluate.commands:register",
    pages=("vista_lab.evaluate.page:PAGE",),
    tables={"vista": "vista_lab.evaluate.vista.tables:TABLES", "sets": "vista_lab.evaluate.published:TABLES"},
    printed={"": "vista_lab.evaluate.vista.checks:check_all"},
)
