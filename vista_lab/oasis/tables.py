"""LLM-OASIS's Tables 4, 5 and 8 and Figure 2, filled from runs and from the output of `oasis score retriever --json`.

Table 4 takes runs over texts without documents (Task 1), Table 5 runs over claims with their evidence (Task 2). The number of
turns with documents tells the two apart, not the run's name. Data that do not say which turns have documents, such as those
of other papers, fill neither.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from vista_lab.files import reading
from vista_lab.logs.source import Task
from vista_lab.metrics.detection import Reading
from vista_lab.metrics.intervals import NOT_SIGNIFICANT
from vista_lab.papers import part
from vista_lab.tables.output import Filled, PaperTables, Picture
from vista_lab.tables.overview import in_brackets, overview
from vista_lab.tables.pictures import draw as draw_runs
from vista_lab.tables.plots import Point, recall_curves
from vista_lab.tables.runs import RunMeasures, check_comparable, discordant, names_of, notes_of
from vista_lab.tables.writers import PAPER, Cell, Sheet, decimals, headings, one_line, percent, row

NUMBERS = (4, 5, 8)
"""The paper's tables that runs and scores can fill. Table 2 is `oasis stats`, Table 3 `oasis agree`."""

NEEDS = {
    4: "a run over texts without documents, with labels of their own (task1.json)",
    5: "a run over claims that bring their evidence, with labels of their own (task2.json)",
    8: "a file that vista-guard oasis score retriever --json printed, with --scores",
}

WITHOUT, WITH = "fact-check", "fact-check+evidence"
NO_EVIDENCE = frozenset({WITHOUT, "majority"})
"""Systems that see no documents."""

KS = (1, 5, 10, 20, 30, 50, 100)
"""Columns of Figure 2's table."""

DRAWN = (
    "B-Acc.: mean of both classes' recalls. Brackets: 95 %, drawing documents where the data name them, else conversations. "
    "Texts without a verdict are in coverage and in no other figure."
)


class RecallScores(BaseModel):
    """The output of `oasis score retriever --json`: recall for k = 1, 2, …, over so many claims."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    embedder: str
    claims: int = Field(ge=0)
    recall: tuple[float, ...] = Field(min_length=1)

    def at(self, k: int) -> float | None:
        """R@k, in [0, 1]; None for a k that was not measured."""
        return self.recall[k - 1] if k <= len(self.recall) else None


@dataclass(frozen=True)
class OasisMaterial:
    """Runs and scores that fill the tables."""

    runs: Sequence[RunMeasures]
    scores: Sequence[RecallScores] = ()


def read_scores(path: Path) -> RecallScores:
    """A retriever's scores. Raises InputError: the file cannot be read, or holds something else."""
    with reading(path, "; give what vista-guard oasis score retriever --json printed"):
        return RecallScores.model_validate(json.loads(path.read_bytes()))


def sheets(material: OasisMaterial, asked: Collection[int] | None = None) -> tuple[list[Sheet], list[str]]:
    """The overview and the tables, and messages about requested ones that nothing fills.

    Raises InputError: runs on one data set cannot be compared.
    """
    check_comparable(material.runs)
    tables, empty = [overview(material.runs)] if material.runs else [], []
    filled = {4: table_4(material.runs), 5: table_5(material.runs), 8: table_8(material.scores)}
    for number, new_tables in filled.items():
        if asked is None or number in asked:
            tables += new_tables
            if not new_tables and asked is not None:
                empty.append(f"nothing fills Table {number}: it needs {NEEDS[number]}")
    return tables, empty


def _fitting_runs(runs: Sequence[RunMeasures], *, grounded: bool) -> list[RunMeasures]:
    """Runs over turns that all bring documents, or of which none does."""
    candidates = (run for run in runs if run.task is Task.UNVERIFIABLE and run.answers(Reading.ORIGINAL))
    return [run for run in candidates if run.rows.grounded == (run.rows.turns if grounded else 0)]


def table_4(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """Balanced accuracy end to end, without and with evidence: a row for each model, and for each other system."""
    fitting = _fitting_runs(runs, grounded=False)
    if not fitting:
        return []
    names = names_of(fitting)
    rows, gains = [], []
    for place, group in _by_model(fitting, names).items():
        without = next((run for run in group if run.system in NO_EVIDENCE), None)
        with_evidence = next((run for run in group if run.system not in NO_EVIDENCE), None)
        first = with_evidence or without
        assert first is not None  # every group has a run
        rows.append(row(*place, _n(first), _coverage(first), None, _balanced(without), _balanced(with_evidence)))
        if without is not None and with_evidence is not None:
            gains.append(_gain(place[2], without, with_evidence))
    columns = headings(("data set", "system", "model"), "n", "coverage", "params", ("B-Acc.", "w/o ext.", "w/ ext."))
    released = f"{part('oasis', 'released')['task_1']:,}"
    paper = [
        row("LLM-OASIS gold", _system(model), PAPER + model, released, None, params, None if without == "-" else without,
            with_evidence)
        for model, (params, without, with_evidence) in part("oasis", "table04")["rows"].items()
    ]  # fmt: skip
    notes = (DRAWN, *gains, _sizes(), *notes_of(fitting))
    title = f"Table 4. {part('oasis', 'table04')['title']}"
    return [Sheet("oasis-table-4", title, columns, tuple(rows), notes).below(paper)]


def _by_model(runs: Sequence[RunMeasures], names: Mapping[str, str]) -> dict[tuple[str, str, str], list[RunMeasures]]:
    """Runs by row: a model without and with evidence share one; every other run has its own."""
    groups: dict[tuple[str, str, str], list[RunMeasures]] = {}
    for run in runs:
        system = WITHOUT if run.system in (WITHOUT, WITH) else run.system
        place = (run.data_set, system, names[run.name])
        if place in groups and any(other.system == run.system for other in groups[place]):
            place = (run.data_set, run.system, f"{names[run.name]} ({run.name})")
        groups.setdefault(place, []).append(run)
    return groups


def table_5(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """Balanced accuracy on claims with their evidence. Systems that see no documents are left out."""
    fitting = [run for run in _fitting_runs(runs, grounded=True) if run.system not in NO_EVIDENCE]
    if not fitting:
        return []
    names = names_of(fitting)
    rows = [
        row(run.data_set, run.system, names[run.name], _n(run), _coverage(run), None, _balanced(run)) for run in fitting
    ]
    columns = headings(("data set", "system", "model"), "n", "coverage", "params", "B-Acc.")
    released = f"{part('oasis', 'released')['task_2']:,}"
    paper = [
        row("LLM-OASIS gold", _system(model), PAPER + model, released, None, params, str(accuracy))
        for model, (params, accuracy) in part("oasis", "table05")["rows"].items()
    ]
    notes = (DRAWN, _sizes(), *notes_of(fitting))
    title = f"Table 5. {part('oasis', 'table05')['title']}"
    return [Sheet("oasis-table-5", title, columns, tuple(rows), notes).below(paper)]


def table_8(scores: Sequence[RecallScores]) -> list[Sheet]:
    """Recall at 30, and Figure 2 as a table."""
    if not scores:
        return []
    k = part("oasis", "table08")["k"]
    rows = [row(score.embedder, f"{score.claims:,}", decimals(score.at(k))) for score in scores]
    paper = [row(PAPER + model, None, str(recall)) for model, recall in part("oasis", "table08")["rows"].items()]
    heads = headings(["retriever"], "claims", f"R@{k}")
    note = (
        f"The paper searches {part('oasis', 'text')['corpus_millions']} million passages; fewer passages are easier. Its "
        "number of claims is not printed."
    )
    title = f"Table 8. {part('oasis', 'table08')['title']}"
    curve = tuple(row(score.embedder, *(decimals(score.at(at)) for at in KS)) for score in scores)
    curves = headings(["retriever"], *(f"R@{at}" for at in KS))
    remark = "The paper prints no figures of its curve but R@30."
    figure = Sheet("oasis-figure-2", "Figure 2. Recall at k", curves, curve, (remark,))
    return [Sheet("oasis-table-8", title, heads, tuple(rows), (note,)).below(paper), figure]


def draw(scores: Sequence[RecallScores], folder: Path) -> list[Picture]:
    """Figure 2 as a picture, where there are scores.

    Raises ConfigError: matplotlib is not installed, or the folder cannot be written.
    """
    if not scores:
        return []
    caption = "Recall at k of retrievers (the paper's Figure 2)"
    lines = []
    for score in scores:
        points = [Point(k, value, score.claims) for k, value in enumerate(score.recall, 1)]
        lines.append((f"{one_line(score.embedder)}, {score.claims:,} claims", points))
    return [Picture(caption, *recall_curves(folder, "oasis-figure-2", caption, lines))]


def _system(model: str) -> str:
    return "pipeline" if model == "Our Model" else WITHOUT


def _sizes() -> str:
    released = part("oasis", "released")
    return (
        f"The paper's rows: {released['task_1']:,} texts and {released['task_2']:,} claims were released, without labels; how "
        "many it scored is not printed."
    )


def _n(run: RunMeasures) -> str:
    return f"{len(run.answers(Reading.ORIGINAL)):,}"


def _coverage(run: RunMeasures) -> str | None:
    detection = run.detection(Reading.ORIGINAL)
    return None if detection is None else percent(detection.coverage.value, 1)


def _balanced(run: RunMeasures | None) -> Cell | None:
    detection = None if run is None else run.detection(Reading.ORIGINAL)
    if run is None or detection is None:
        return None
    return Cell(in_brackets(detection.balanced_accuracy, run.balanced_interval(Reading.ORIGINAL)))


def _gain(name: str, without: RunMeasures, with_evidence: RunMeasures) -> str:
    detections = [run.detection(Reading.ORIGINAL) for run in (without, with_evidence)]
    found = [detection.balanced_accuracy for detection in detections if detection is not None]
    values = [value for value in found if value is not None]
    if len(values) < 2:
        return f"{name}: evidence gains nothing that can be told, as one class alone was judged."
    test = discordant(with_evidence, without, Reading.ORIGINAL)
    stars = "" if test.stars == NOT_SIGNIFICANT else f" {test.stars}"
    gain = 100 * (values[1] - values[0])
    return f"{name}: evidence gains {gain:+.2f} points (McNemar, p = {test.p:.4f}{stars}, n = {test.n:,})."


def _fill(runs: Sequence[RunMeasures], asked: Collection[int] | None, scores: Sequence[Path]) -> Filled:
    material = OasisMaterial(runs, [read_scores(path) for path in scores])
    return Filled(*sheets(material, asked), lambda folder: [*draw_runs(runs, folder), *draw(material.scores, folder)])


TABLES = PaperTables(NUMBERS, "Table 2: oasis stats, 3: oasis agree", _fill)
"""For `vista-guard compare`."""
