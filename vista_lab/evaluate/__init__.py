"""Evaluate: replays and evaluations of a system, runs side by side, the data sets, and the page of runs."""

from vista_lab.registry import Additions, Command

ADDS = Additions(
    commands=(
        Command("replay", "vista_lab.evaluate.replay:replay", "Judge every assistant turn of a log."),
        Command("datasets", "vista_lab.evaluate.datasets:datasets", "List the data sets that can be evaluated."),
        Command("eval", "vista_lab.evaluate.eval:evaluate", "Evaluate a system on a data set or a log."),
        Command(
            "compare", "vista_lab.evaluate.compare:compare", "Compare runs: one overview, and the tables of a paper."
        ),
        Command("reports export", "vista_lab.evaluate.reports:export", "Write reports to a file, newest first."),
        Command(
            "reports list",
            "vista_lab.evaluate.reports:list_reports",
            "List stored reports, newest first: id, time (UTC), action, claims by label, conversation and turn.",
        ),
    ),
    pages=("vista_lab.evaluate.page:PAGE",),
    tables={"vista": "vista_lab.evaluate.vista.tables:TABLES", "sets": "vista_lab.evaluate.published:TABLES"},
)
