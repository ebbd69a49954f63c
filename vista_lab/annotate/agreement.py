"""Agreement of annotators on the marks of any form, by the measures that the form declares, and their consensus."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from vista_lab.annotate import sheets
from vista_lab.annotate.forms import (
    Answers,
    ChoiceMark,
    ChoicesMark,
    Form,
    Item,
    Level,
    Mark,
    Measure,
    TextMark,
    Value,
    applies,
    display,
)
from vista_lab.annotate.sheets import ID, Faults, Field, Table
from vista_lab.annotate.sheets import Row as Line
from vista_lab.metrics.agreement import (
    DRAWS,
    SEED,
    Figure,
    alpha_figure,
    alpha_of,
    cohen_kappa,
    coincidences,
    fleiss_kappa,
    icc,
    majority,
    pearson,
    samples,
)
from vista_lab.tables.writers import Heading, Row, Sheet, decimals, headings, percent, row

MARK, VERSIONS, ANSWER, LABEL = "mark", "versions", "answer", "label"
"""Columns of the sheet for the discussion. `versions` is what each annotator has; `answer` and `label` are filled in."""

NO_CLAIM = "no claim"
"""An answer: the turn does not make the claim."""

CONSENSUS = "consensus.jsonl"


@dataclass(frozen=True)
class Case:
    """Each annotator's value of one mark on one item or part. `part` is "" for the item itself."""

    item: str
    part: str
    group: str
    by: Mapping[str, Value]


@dataclass(frozen=True)
class PairFigures:
    """Agreement of two annotators on the `cases` that both marked."""

    cases: int
    percent: float | None
    cohen: float | None
    pearson: float | None


@dataclass(frozen=True)
class MarkFigures:
    """Agreement on one mark. `cases` have two annotators or more, `shared` all; None: not declared, or undefined.

    `alpha` comes with a 95 % interval from resampled groups.
    """

    mark: str
    cases: int
    shared: int
    percent: float | None
    fleiss: float | None
    alpha: Figure
    icc: float | None
    pairs: Mapping[tuple[str, str], PairFigures]


def cases_of(mark: Mark, form: Form, items: Sequence[Item], answers: Mapping[str, Mapping[str, Answers]]) -> list[Case]:
    """Cases of a mark, in the order of the items. `answers` are by annotator and item id."""
    cases = []
    for item in items:
        names = [""] if mark in form.marks_of(Level.ITEM) else []
        names += [part.id for part in item.parts] if mark in form.marks_of(Level.PART) else []
        for name in names:
            item_answers = {who: own[item.id] for who, own in answers.items() if item.id in own}
            values = {who: answer.parts.get(name, {}) if name else answer.item for who, answer in item_answers.items()}
            if isinstance(mark, ChoicesMark) and not mark.needed:  # left empty beside other marks: none of the choices
                values = {who: {mark.name: (), **own} for who, own in values.items() if own and applies(mark, own)}
            by = {who: own[mark.name] for who, own in values.items() if mark.name in own}
            cases.append(Case(item.id, name, item.group, by))
    return cases


def measure(
    mark: Mark, cases: Sequence[Case], annotators: Sequence[str], among: Collection[Measure] = tuple(Measure)
) -> MarkFigures:
    """The figures that the mark declares, `among` these."""
    wanted = frozenset(mark.agreement) & frozenset(among)
    several = [case for case in cases if len(case.by) > 1]
    shared = [[case.by[who] for who in annotators] for case in cases if len(case.by) == len(annotators) > 1]
    return MarkFigures(
        mark.name,
        len(several),
        len(shared),
        _all_alike(shared) if Measure.PERCENT in wanted else None,
        fleiss_kappa(shared) if Measure.FLEISS in wanted else None,
        _alpha_of_groups(mark, several) if Measure.ALPHA in wanted else Figure(None),
        icc(_numbers(shared)) if Measure.ICC in wanted else None,
        {pair: _pair(cases, pair, wanted) for pair in combinations(annotators, 2)},
    )


def _pair(cases: Sequence[Case], pair: tuple[str, str], wanted: frozenset[Measure]) -> PairFigures:
    both = [[case.by[who] for who in pair] for case in cases if {*pair} <= case.by.keys()]
    first, second = ([values[place] for values in both] for place in (0, 1))
    can_kappa = Measure.COHEN in wanted and find_spec("sklearn") is not None
    return PairFigures(
        len(both),
        _all_alike(both) if Measure.PERCENT in wanted else None,
        cohen_kappa(first, second) if can_kappa else None,
        pearson(_numbers([first])[0], _numbers([second])[0]) if Measure.PEARSON in wanted else None,
    )


def _all_alike(cases: Sequence[Sequence[Value]]) -> float | None:
    return fmean(len(set(case)) == 1 for case in cases) if cases else None


def _numbers(cases: Sequence[Sequence[Value]]) -> NDArray[np.float64]:
    return np.asarray([[float(value) for value in case if not isinstance(value, tuple)] for case in cases], float)


def _alpha_of_groups(mark: Mark, cases: Sequence[Case]) -> Figure:
    values = _sort_values(mark, {value for case in cases for value in case.by.values()})
    groups: dict[str, list[Sequence[Value]]] = {}
    for case in cases:
        groups.setdefault(case.group, []).append(list(case.by.values()))
    matrices = [coincidences(units, values) for units in groups.values()]
    weights = samples(len(matrices), DRAWS, SEED)
    return alpha_figure(matrices, weights, lambda matrix: alpha_of(matrix, values, mark.measured_on))


def _sort_values(mark: Mark, values: set[Value]) -> list[Value]:
    if isinstance(mark, ChoiceMark):
        return [value for value in mark.values if value in values]
    return sorted(values, key=lambda value: (str(type(value)), value))


# Settling


@dataclass(frozen=True)
class CaseConsensus:
    """The annotators' consensus on one case. `open`: no value has a majority, and no discussion has decided it."""

    mark: str
    case: Case
    value: Value | None
    open: bool


Discussed = Mapping[tuple[str, str, str], Value]
"""Answers of a discussion, by item, part and mark."""


def settle(mark: Mark, cases: Sequence[Case], discussed: Discussed, *, least: int = 2) -> list[CaseConsensus]:
    """Settles choices by majority and numbers by their mean. Cases that fewer than `least` people marked are left out."""
    if isinstance(mark, TextMark):
        return []
    return [_settle_case(mark, case, discussed) for case in cases if len(case.by) >= least]


def _settle_case(mark: Mark, case: Case, discussed: Discussed) -> CaseConsensus:
    if not isinstance(mark, ChoiceMark | ChoicesMark):
        mean = fmean(float(value) for value in case.by.values() if isinstance(value, float))
        return CaseConsensus(mark.name, case, mean, False)
    value = majority(case.by.values())
    if value is None:
        value = discussed.get((case.item, case.part, mark.name))
    return CaseConsensus(mark.name, case, value, value is None)


def has_answers(path: Path) -> bool:
    """True if somebody wrote into a sheet for the discussion, of whichever form. Raises InputError: the file is none."""
    # The words of a claim are prefilled where all annotators have the same; a mark's answer never is.
    rows = sheets.read(path, (ANSWER,), Faults())
    return any(row[LABEL] or row[ANSWER].lower() == NO_CLAIM or (row[MARK] and row[ANSWER]) for row in rows)


# Results


@dataclass(frozen=True)
class FormResults:
    """Results of a form: figures, settled answers, and cases left to discuss. `least` annotators settle a case."""

    form: Form
    items: Sequence[Item]
    answers: Mapping[str, Mapping[str, Answers]]
    about: Sequence[str]
    discussed: Discussed
    least: int = field(default=2, kw_only=True)

    noun = "marks"
    guide = f"Talk about each mark, and write what you agree on into {ANSWER}."
    gone = "the sheets have no such open mark; they were changed since, or it is settled"
    text: ClassVar[str] = "text"
    fields: ClassVar[Sequence[str]] = (ANSWER,)
    read_columns: ClassVar[Sequence[str]] = (VERSIONS, ANSWER)
    """Columns of the sheet for the discussion: the text, those that people fill in, and those that are read."""

    @cached_property
    def cases(self) -> Mapping[str, list[Case]]:
        return {mark.name: cases_of(mark, self.form, self.items, self.answers) for mark in self.form.marks}

    @cached_property
    def figures(self) -> list[MarkFigures]:
        """Figures of each mark that declares a measure."""
        people = sorted(self.answers)
        return [measure(mark, self.cases[mark.name], people) for mark in self.form.marks if mark.agreement]

    @cached_property
    def settled(self) -> list[CaseConsensus]:
        """In the order of the form's marks."""
        cases = ((mark, self.cases[mark.name]) for mark in self.form.marks)
        return [one for mark, own in cases for one in settle(mark, own, self.discussed, least=self.least)]

    @property
    def open(self) -> int:
        """Number of cases without a majority."""
        return sum(case.open for case in self.settled)

    @property
    def notes(self) -> list[str]:
        """Notes that belong beside every figure."""
        left = f"{self.open:,} of {len(self.settled):,} marks have no majority yet, and are in no share."
        return [*self.about, *([left] if self.open else [])]

    def sheets(self) -> list[Sheet]:
        """Tables of agreement and of the consensus."""
        return [sheet for sheet in (self._agreement(), self._shares()) if sheet.rows]

    def _agreement(self) -> Sheet:
        wanted = {one for mark in self.form.marks for one in mark.agreement}
        of_mark = {head: text for head, (measure, text) in _OF_MARK.items() if measure in (None, *wanted)}
        of_pair = {head: text for head, (measure, text) in _OF_PAIR.items() if measure in (None, *wanted)}
        rows: list[Row] = []
        for figures in self.figures:
            own = [text(figures) for text in of_mark.values()]
            for place, (people, pair) in enumerate(figures.pairs.items()):
                first = [""] * len(own) if place else own
                rows.append(row(*first, *(text(people, pair) for text in of_pair.values())))
        heads = tuple(Heading(head, figures=head not in ("mark", "pair")) for head in (*of_mark, *of_pair))
        notes = ["Shared: marked by everybody. Brackets: 95 % over groups of items drawn again.", *self.notes]
        if Measure.COHEN in wanted and find_spec("sklearn") is None:
            notes.append("Cohen's κ needs the extra evaluation.")
        return Sheet("agreement", f"Agreement: {self.form.title}", heads, tuple(rows), tuple(notes))

    def _shares(self) -> Sheet:
        rows: list[Row] = []
        for mark in self.form.marks:
            values = [case.value for case in self.settled if case.mark == mark.name and case.value is not None]
            if not values:
                continue
            numbers = [float(value) for value in values if not isinstance(value, tuple)] if mark.numeric else []
            mean = f"{fmean(numbers):.3f}" if numbers else None
            if isinstance(mark, ChoiceMark | ChoicesMark):
                counted = Counter(one for value in values for one in (value if isinstance(value, tuple) else (value,)))
                for place, value in enumerate(mark.values):
                    share = percent(counted[value] / len(values), 1)
                    rows.append(row(mark.name, value, f"{counted[value]:,}", share, "" if place else mean))
            else:
                rows.append(row(mark.name, "", f"{len(values):,}", None, mean))
        heads = headings(("mark", "value"), "cases", "%", "mean")
        return Sheet("consensus", f"Consensus: {self.form.title}", heads, tuple(rows), tuple(self.notes))

    def files(self) -> dict[str, str]:
        """The consensus, a line of JSON for each item that two people or more marked."""
        by_item: dict[str, dict[str, Any]] = {}
        for settled in self.settled:
            item = settled.case.item
            line = by_item.setdefault(item, {"id": item, "marks": {}, "parts": {}, "open": []})
            if settled.open:
                line["open"].append([settled.case.part, settled.mark] if settled.case.part else [settled.mark])
            elif settled.case.part:
                line["parts"].setdefault(settled.case.part, {})[settled.mark] = settled.value
            else:
                line["marks"][settled.mark] = settled.value
        return {CONSENSUS: "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in by_item.values())}

    @property
    def names(self) -> Sequence[str]:
        """Columns of the sheet for the discussion that name a case within its item."""
        return (MARK,) if self.form.parts is None else (self.form.parts.unit.value, MARK)

    def row(self, item: Item, one: CaseConsensus) -> list[str | Field]:
        """The cells of an open case in that sheet: its names, its text, everybody's version, fields, the study."""
        mark = self.form.mark(one.mark)
        texts = next((own.texts for own in item.parts if own.id == one.case.part), item.texts)
        text = "\n".join(filter(None, texts.values()))
        answer = Field(mark, mark.values if isinstance(mark, ChoiceMark) else ())
        return [*(one.case.part, one.mark)[-len(self.names) :], text, versions_of(one.case), answer, self.about[0]]

    def read(self, line: Line, one: CaseConsensus, faults: Faults) -> Value | None:
        """The answer in the row of an open case; None if there is none yet. Wrong cells go to `faults`."""
        if versions_of(one.case).split() != line[VERSIONS].split():
            faults.append(line.fault(MARK, self.gone))
        elif line[ANSWER]:
            try:
                return self.form.mark(one.mark).read(line[ANSWER])
            except ValueError as exc:
                faults.append(line.fault(ANSWER, str(exc)))
        return None

    def queue(self) -> Table | None:
        """The sheet of cases to discuss; None if there are none."""
        items, waiting = {item.id: item for item in self.items}, [one for one in self.settled if one.open]
        columns = [ID, *self.names, self.text, VERSIONS, *self.fields, sheets.STUDY]
        rows = [[one.case.item, *self.row(items[one.case.item], one)] for one in waiting]
        return Table(sheets.QUEUE, columns, rows, self.guide) if rows else None

    def with_answers(self, path: Path) -> Self:
        """Adds the decisions of a discussion, from the filled sheet. Rows without an answer are still open.

        Raises InputError: the file cannot be read, or cells are wrong: names each.
        """
        faults = Faults()
        results = self.with_rows(sheets.read(path, [ID, *self.names, *self.read_columns], faults), faults)
        faults.check("the answers")
        return results

    def with_rows(self, rows: Sequence[Line], faults: Faults) -> Self:
        """Adds the decisions in rows of a sheet for the discussion. Wrong cells go to `faults`."""
        waiting = {(one.case.item, one.case.part, one.mark): one for one in self.settled if one.open}
        answers: dict[tuple[str, str, str], Value] = {}
        for line in rows:
            unit = line[self.names[0]] if self.names[0] != MARK else ""
            name = line[ID], unit, line[MARK]
            if name not in waiting:
                faults.append(line.fault(self.names[-1], self.gone))
            elif (answer := self.read(line, waiting[name], faults)) is not None:
                answers[name] = answer
        return replace(self, discussed={**self.discussed, **answers})

    def as_json(self) -> dict[str, Any]:
        return {
            "study": list(self.about),
            "form": self.form.name,
            "items": len(self.items),
            "settled": len(self.settled) - self.open,
            "to_discuss": self.open,
            "marks": {figure.mark: _as_json(figure) for figure in self.figures},
        }


def _as_json(figures: MarkFigures) -> dict[str, Any]:
    pairs = [{"annotators": list(people), **asdict(pair)} for people, pair in figures.pairs.items()]
    fields = {name: value for name, value in asdict(replace(figures, pairs={})).items() if name != "mark"}
    return {**fields, "pairs": pairs}


def with_interval(figure: Figure) -> str:
    """A figure with its interval, three digits; a dash where there is none."""
    interval = "" if figure.low is None or figure.high is None else f" [{figure.low:.3f}–{figure.high:.3f}]"
    return decimals(figure.value) + interval


_OF_MARK: Mapping[str, tuple[Measure | None, Callable[[MarkFigures], str]]] = {
    "mark": (None, lambda one: one.mark),
    "cases": (None, lambda one: f"{one.cases:,}"),
    "shared": (None, lambda one: f"{one.shared:,}"),
    "all agree, %": (Measure.PERCENT, lambda one: percent(one.percent, 1)),
    "Fleiss' κ": (Measure.FLEISS, lambda one: decimals(one.fleiss)),
    "Krippendorff's α": (Measure.ALPHA, lambda one: with_interval(one.alpha)),
    "ICC(2,1)": (Measure.ICC, lambda one: decimals(one.icc)),
}
"""Columns of the agreement table that a mark's first row fills: the measure of each, and its text."""

_OF_PAIR: Mapping[str, tuple[Measure | None, Callable[[tuple[str, str], PairFigures], str]]] = {
    "pair": (None, lambda people, _: " – ".join(people)),
    "both": (None, lambda _, pair: f"{pair.cases:,}"),
    "pair agrees, %": (Measure.PERCENT, lambda _, pair: percent(pair.percent, 1)),
    "Cohen's κ": (Measure.COHEN, lambda _, pair: decimals(pair.cohen)),
    "Pearson's r": (Measure.PEARSON, lambda _, pair: decimals(pair.pearson)),
}


def by_annotator(filled: Sequence[sheets.FilledSheet]) -> dict[str, Mapping[str, Answers]]:
    """Answers of several sheets, by annotator."""
    return {sheet.annotator: sheet.answers for sheet in filled}


def versions_of(case: Case) -> str:
    """Each annotator's value, a line each."""
    return "\n".join(f"{who}: {display(value)}" for who, value in sorted(case.by.items()))
