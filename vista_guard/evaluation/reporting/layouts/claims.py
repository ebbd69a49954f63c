"""Tables 3 and 12 to 19: labels of claims against people's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from vista_guard.evaluation.figures.sheets import Column, Row, Sheet, file_name, percent, row
from vista_guard.evaluation.metrics.detection import Reading
from vista_guard.evaluation.metrics.intervals import Share
from vista_guard.evaluation.metrics.labels import Confusion, accuracy, macro_f1
from vista_guard.evaluation.paper.printed import MODELS, table
from vista_guard.evaluation.paper.shown import claims_crossed, confusions
from vista_guard.evaluation.reporting.comparable import names_of, notes_of
from vista_guard.evaluation.reporting.layouts.papers import PAPER, title_of
from vista_guard.evaluation.reporting.measured import Measured
from vista_guard.types import Label

COLUMNS = (
    *(Column(head, figures=False) for head in ("data set", "model", "system")),
    *map(Column, ("turns", "claims", "Turn Acc.", "Claim Acc.", "Macro F1")),
)


def table_3(runs: Sequence[Measured]) -> list[Sheet]:
    """Turn accuracy (strict), claim accuracy and macro-F1 on claims that people labelled; the paper's figures below."""
    fitting = [run for run in runs if run.confusion]
    if not fitting:
        return []
    names, rows = names_of(fitting), []
    for name in dict.fromkeys(run.data_set for run in fitting):
        here = [run for run in fitting if run.data_set == name]
        rows += [_majority(here[0]), *(_row(run, names[run.name]) for run in here)]
    notes = (
        "Turns by the strict reading. A claim that was not judged is an error; macro-F1 is over the five labels. The majority is "
        "that of the gold: of turns, and of claims.",
        *notes_of(fitting),
    )
    return [
        Sheet("table-3", "Table 3. Classification on claims that people labelled", COLUMNS, tuple(rows), notes).below(
            _printed()
        )
    ]


def _row(run: Measured, name: str) -> Row:
    met, turns = run.confusion, run.detection(Reading.STRICT)
    figures = (turns.accuracy.value if turns is not None else None, accuracy(met), macro_f1(met))
    n = turns.turns if turns is not None else 0
    return row(run.data_set, name, title_of(run.system), f"{n:,}", f"{met.total():,}", *map(percent, figures))


def _majority(run: Measured) -> Row:
    """What always answering the most frequent gold gives: of turns, and of claims."""
    gold = [positive for positive, _ in run.answers(Reading.STRICT).values()]
    human = [label for _, label, _ in run.claims]
    (label, _), *_rest = Counter(human).most_common(1)
    always: Confusion = Counter((one, label) for one in human)
    turns = Share(max(sum(gold), len(gold) - sum(gold)), len(gold)).value
    figures = map(percent, (turns, accuracy(always), macro_f1(always)))
    return row(run.data_set, "majority", "", f"{len(gold):,}", f"{len(human):,}", *figures)


def _printed() -> list[Row]:
    printed = table("table03")
    counts = (f"{printed['turns']}", f"{table('table01')['total']}")
    majority = printed["majority"]
    found = [
        row(
            "VISTA, human evaluation",
            f"{PAPER}majority",
            "",
            *counts,
            *(str(majority[one]) for one in ("turn", "claim", "macro_f1")),
        )
    ]
    return found + [
        row("VISTA, human evaluation", PAPER + model, "VISTA", *counts, *map(str, figures))
        for model, figures in printed["models"].items()
    ]


def tables_12_to_19(runs: Sequence[Measured], numbers: Collection[int] = ()) -> list[Sheet]:
    """Claims by human and by model label, a table for each run; then those of the paper that were asked for by number."""
    fitting = [run for run in runs if run.confusion]
    names = names_of(fitting)
    found = []
    for run in fitting:
        of = f"{run.data_set}, {title_of(run.system)}, {names[run.name]}"
        name = file_name("confusion", run.data_set, run.system, names[run.name])
        found.append(
            claims_crossed(name, f"Claims by human and by model label: {of}", crossed(run.confusion), notes_of([run]))
        )
    asked = [model for model in MODELS if table("table12_19")[model]["number"] in numbers]
    return found + ([confusions(model) for model in asked] if fitting else [])


def crossed(met: Confusion) -> list[list[int]]:
    """Counts with margins, in the order of Tables 12 to 19."""
    labels = [None if name == "NONE" else Label(name) for name in table("table12_19")["labels"]]
    rows = [[met[human, judged] if human is not None else 0 for judged in labels] for human in labels]
    whole = [*rows, [sum(column) for column in zip(*rows, strict=True)]]
    return [[*counts, sum(counts)] for counts in whole]
