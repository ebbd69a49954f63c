"""Tables 2, 4 and 5: turns that are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.evaluation.figures.sheets import Cell, Column, Row, Sheet, percent, row
from vista_guard.evaluation.metrics.detection import Reading
from vista_guard.evaluation.metrics.significance import NOT_SIGNIFICANT
from vista_guard.evaluation.paper.printed import MODELS, accuracies, table
from vista_guard.evaluation.reporting.comparable import names_of, notes_of
from vista_guard.evaluation.reporting.layouts.papers import (
    PAPER,
    better_than,
    data_sets_of,
    paper_set,
    systems_of,
    title_of,
)
from vista_guard.evaluation.reporting.measured import Measured, discordant

Place = tuple[str, str]
"""A column of Table 2: data set and system."""


def table_2(runs: Sequence[Measured]) -> list[Sheet]:
    """Accuracy on turns that cannot be verified, by the data sets' own labels; the paper's figures below."""
    fitting = [run for run in runs if run.task is Task.UNVERIFIABLE and run.answers(Reading.ORIGINAL)]
    if not fitting:
        return []
    places = _places(fitting)
    names = names_of(fitting)
    rows = [_measured(label, places, fitting, names) for label in dict.fromkeys(names.values())]
    columns = (
        Column("model", figures=False),
        *(Column(title_of(system), group) for (_, system), group in places.items()),
    )
    notes = (
        "Superscripts are computed: f better than FActScore, l than LLM-as-Judge, † than both, by McNemar's test on the same "
        "turns with p < .05.",
        *notes_of(fitting),
        *_sizes(fitting),
    )
    title = "Table 2. Turn accuracy on turns that cannot be verified"
    return [Sheet("table-2", title, columns, tuple(rows), notes).below(_printed(places))]


def _places(runs: Sequence[Measured]) -> dict[Place, str]:
    """Columns, each with its group's head. Where the paper has the data set, its three systems have columns in any case."""
    found: dict[Place, str] = {}
    for name in data_sets_of(runs):
        here = [run for run in runs if run.data_set == name]
        counts = sorted({len(run.answers(Reading.ORIGINAL)) for run in here})
        n = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
        systems = systems_of(here)
        if paper_set(name):
            systems = [
                *table("table02")["systems"],
                *(one for one in systems if one not in table("table02")["systems"]),
            ]
        found |= {(name, system): f"{name} (n = {n})" for system in systems}
    return found


def _measured(label: str, places: Mapping[Place, str], runs: Sequence[Measured], names: Mapping[str, str]) -> Row:
    here = {(run.data_set, run.system): run for run in runs if names[run.name] == label}
    cells = {}
    for place, run in here.items():
        met = run.detection(Reading.ORIGINAL)
        if met is not None:
            best = max(_accuracy(other) for other_place, other in here.items() if other_place[0] == place[0])
            bold = met.accuracy.value >= best and sum(key[0] == place[0] for key in here) > 1
            cells[place] = Cell(percent(met.accuracy.value), better_than(run, runs), bold)
    return row(label, *(cells.get(place) for place in places))


def _accuracy(run: Measured) -> float:
    met = run.detection(Reading.ORIGINAL)
    return met.accuracy.value if met is not None and met.judged else 0.0


def _printed(places: Mapping[Place, str]) -> list[Row]:
    if not any(paper_set(name) for name, _ in places):
        return []
    known = {(data_set, model, system): Cell(str(value), mark) for data_set, model, system, value, mark in accuracies()}
    return [
        row(PAPER + model, *(known.get((paper_set(name) or "", model, system)) for name, system in places))
        for model in MODELS
    ]


def _sizes(runs: Sequence[Measured]) -> list[str]:
    sets = dict.fromkeys(known for name in data_sets_of(runs) if (known := paper_set(name)))
    if not sets:
        return []
    told = ", ".join(f"{name} {table('table02')['turns'][name]:,}" for name in sets)
    return [
        f"The paper's turns: {told}. Its superscripts are as printed; docs/comparing.md says which its own tests contradict."
    ]


def table_4(runs: Sequence[Measured]) -> list[Sheet]:
    """Ablations: one column for each data set and judge with two settings or more."""
    settings = table("table04")["settings"]
    groups: dict[Place, list[Measured]] = {}
    for run in runs:
        if run.system in settings and run.task is Task.UNVERIFIABLE and run.answers(Reading.ORIGINAL):
            groups.setdefault((run.data_set, run.judge), []).append(run)
    chosen = {place: group for place, group in groups.items() if len({run.system for run in group}) > 1}
    if not chosen:
        return []
    rows = [
        row(table("table04")["names"][system], *(_ablated(system, group) for group in chosen.values()), str(printed))
        for system, printed in settings.items()
    ]
    fitting = [run for group in chosen.values() for run in group]
    columns = [
        Column(judge, f"{name} (n = {len(group[0].answers(Reading.ORIGINAL)):,})")
        for (name, judge), group in chosen.items()
    ]
    paper = Column(table("table04")["model"], f"paper: FaithDial (n = {table('table04')['turns']:,})")
    notes = (
        "Stars: differs from VISTA on the same turns (McNemar); * p < .05, ** p < .01, *** p < .001.",
        *_several(chosen),
        *notes_of(fitting),
    )
    heads = (Column("setting", figures=False), *columns, paper)
    return [Sheet("table-4", "Table 4. Turn accuracy on ablations", heads, tuple(rows), notes)]


def _several(chosen: Mapping[Place, Sequence[Measured]]) -> Iterator[str]:
    for (name, judge), group in chosen.items():
        for system in dict.fromkeys(run.system for run in group):
            first, *more = [run.name for run in group if run.system == system]
            if more:
                yield f"{name}, {judge}, {system}: {first} is taken, and not {', '.join(more)}"


def _ablated(system: str, group: Sequence[Measured]) -> Cell | None:
    by_system = {one.system: one for one in reversed(group)}
    run, whole = by_system.get(system), by_system.get("vista")
    if run is None:
        return None
    marks = discordant(run, whole, Reading.ORIGINAL).stars if whole is not None and whole is not run else ""
    return Cell(percent(_accuracy(run)), marks if marks != NOT_SIGNIFICANT else "")


def table_5(runs: Sequence[Measured]) -> list[Sheet]:
    """Contradictions: accuracy, precision, recall and F1; the paper's figures below."""
    fitting = [run for run in runs if run.task is Task.CONTRADICTS and run.answers(Reading.ORIGINAL)]
    if not fitting:
        return []
    names = names_of(fitting)
    systems = systems_of(fitting)
    ordered = sorted(fitting, key=lambda run: (list(names.values()).index(names[run.name]), systems.index(run.system)))
    rows = [_contradictions(run, names[run.name]) for run in ordered]
    printed = table("table05")
    n = str(printed["contradictory"] + printed["other"])
    paper = [
        row(PAPER + model, title_of(system), "RGM", n, *map(str, values))
        for model, found in printed["models"].items()
        for system, values in found.items()
    ]
    columns = (
        *(Column(head, figures=False) for head in ("model", "method", "data set")),
        *map(Column, ("n", "Acc.", "Prec", "Rec", "F1")),
    )
    title = "Table 5. Contradiction detection: some claim of the turn is CONTRADICTED"
    return [Sheet("table-5", title, columns, tuple(rows), tuple(notes_of(fitting))).below(paper)]


def _contradictions(run: Measured, name: str) -> Row:
    met = run.detection(Reading.ORIGINAL)
    assert met is not None  # only runs with gold are here
    figures = (met.accuracy.value, met.precision.value, met.recall.value, met.f1)
    return row(name, title_of(run.system), run.data_set, f"{met.turns:,}", *(percent(one, 1) for one in figures))
