"""LLM-OASIS: people check the four steps of a generated set (§4.1, App. E); passages without a mark are its gold (§4.2).

Each step has a form in `people/forms`. One annotator marks a passage, and all of them mark the shared passages. All four steps
of a passage go to the same people.

    sheets/
      extraction/  falsification/  factual/  unfactual/
        ada.xlsx, ben.xlsx, …      one sheet per annotator
        study/                     the sample: keep it from annotators
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from vista_guard.errors import ConfigError, InputError
from vista_lab.annotate import sheets
from vista_lab.annotate.agreement import ANSWER, MARK, VERSIONS, FormResults, by_annotator
from vista_lab.annotate.forms import Answers, Form, Item, Level, Part, Value, load_form
from vista_lab.annotate.sheets import Faults, FilledSheet, Table, collect_sheets
from vista_lab.annotate.study import Study, StudyData, StudySet, annotator_names, load
from vista_lab.metrics.agreement import fleiss_kappa
from vista_lab.metrics.intervals import Share, share_interval
from vista_lab.oasis.exports import TASK_1, TASK_2, ExportNote, claim_log, text_log
from vista_lab.oasis.records import GeneratedPair, Record, read_records
from vista_lab.oasis.splits import SetPart, Splitting
from vista_lab.runs.folder import MANIFEST, read_manifest
from vista_lab.runs.made import RECORDS, State
from vista_lab.runs.plan import sample_names

SHEETS, GOLD_FOLDER, GOLD = "sheets", "gold", "gold.jsonl"
"""Folders inside a set's own, and the file of its gold: records as `records.jsonl` has them."""

DISCUSS, STEP = f"{sheets.QUEUE}.tsv", "step"
"""The sheet of rows without a majority, and its first column."""

SHARED = 100
"""Passages that all annotators mark, where there are enough: a tenth of a small set."""

RIGHT, WRONG, DISCARDED = "v", "x", "d"


PartName = Literal["test", "all"]


class Step(StrEnum):
    """A step of generation that people check. The value names its folder."""

    EXTRACTION = "extraction"
    FALSIFICATION = "falsification"
    FACTUAL = "factual"
    UNFACTUAL = "unfactual"

    @property
    def form(self) -> Form:
        return load_form(f"oasis_{self}")


# Drawing


@dataclass(frozen=True)
class Drawing:
    """Size of the study: `sample` passages for one annotator each, `shared` for all; None: all the rest, and see `SHARED`.

    `part`: draws from the test part, which `oasis export` and `oasis train` set aside, or from all. `test`: its share.
    """

    annotators: Sequence[str]
    sample: int | None = None
    shared: int | None = None
    seed: int = 0
    part: PartName = "test"
    test: float = Splitting.test


def draw(folder: Path, wanted: Drawing) -> Mapping[Step, StudyData]:
    """Draws accepted passages of a generated set, and makes a study of each step.

    The shared ones come on top of the sample: each annotator has N / M + K passages (§4.1: 1,750 / 5 + 100 = 450).

    Raises:
        ConfigError: a name or number is invalid.
        InputError: the set cannot be read, or has too few accepted passages.
    """
    names = annotator_names(wanted.annotators)
    usable = list(_usable(folder, wanted))
    shared, sample = _sizes(len(usable), len(names), wanted, folder)
    known = tuple(record.passage.id for record in usable)
    chosen = sample_names(known, sample + shared, wanted.seed)
    assigned = _assign(chosen, frozenset(sample_names(chosen, shared, wanted.seed)), names)
    records = [record for record in usable if record.passage.id in assigned]
    name = folder.resolve().name + (" (test part)" if wanted.part == "test" else "")
    files = {RECORDS: sha256((folder / RECORDS).read_bytes()).hexdigest()}
    source = StudySet(name=name, files=files, conversations=len(chosen), of=len(usable))
    studies = {}
    for step in Step:
        study = Study(annotators=names, seed=wanted.seed, shown=False, sets=(source,), shared=shared, form=step.form)
        items = [item_of(step, record, assigned[record.passage.id]) for record in records]
        studies[step] = StudyData(study, given=items)
    return studies


def _usable(folder: Path, wanted: Drawing) -> Iterator[Record]:
    splitting = Splitting(test=wanted.test)
    for record in read_records(folder):
        if record.state is State.ACCEPTED and (wanted.part == "all" or splitting.part(record.passage) is SetPart.TEST):
            yield record


def _sizes(there: int, people: int, wanted: Drawing, folder: Path) -> tuple[int, int]:
    shared = wanted.shared
    if shared is None:
        shared = min(SHARED, there // 10) if people > 1 else 0
    if shared and people < 2:
        raise ConfigError(f"--shared is {shared} and there is one annotator; name several, or give --shared 0")
    sample = there - shared if wanted.sample is None else wanted.sample
    if there == 0 or sample + shared > there:
        where = "its test part" if wanted.part == "test" else "it"
        more = ", or --part all for a set that nothing is trained on" if wanted.part == "test" else ""
        raise InputError(
            f"{folder / RECORDS}: {where} has {there:,} accepted passages; {sample:,} for one annotator each and {shared:,} for "
            f"all were asked for. Generate more, or give a smaller --sample or --shared{more}"
        )
    return shared, sample


def _assign(chosen: Sequence[str], shared: frozenset[str], names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The annotators of each passage; the numbers of passages differ by one at most."""
    own = [name for name in chosen if name not in shared]
    assigned = {name: (names[place % len(names)],) for place, name in enumerate(own)}
    return {**assigned, **dict.fromkeys(shared, names)}


def item_of(step: Step, record: Record, annotators: tuple[str, ...] = ()) -> Item:
    """The item of a record that annotators see at a step."""
    pair = record.pair
    assert pair is not None  # an accepted record has one
    texts, claims = _SHOWN[step](record, pair)
    parts = tuple(Part(f"claim {number}", {"text": claim}) for number, claim in enumerate(claims, 1))
    return Item(record.passage.id, texts, parts, record.passage.document, annotators)


_SHOWN: Mapping[Step, Callable[[Record, GeneratedPair], tuple[Mapping[str, str], Sequence[str]]]] = {
    Step.EXTRACTION: lambda record, pair: ({"passage": record.passage.text}, pair.claims),
    Step.FALSIFICATION: lambda _, pair: ({"original": pair.original, "falsified": pair.falsified}, ()),
    Step.FACTUAL: lambda _, pair: ({"paraphrase": pair.factual}, pair.claims),
    Step.UNFACTUAL: lambda _, pair: ({"unfactual_text": pair.unfactual}, pair.altered_claims),
}


# Work that came back


@dataclass(frozen=True)
class StepWork:
    """All marks on one step. A discarded item has all its parts discarded."""

    step: Step
    results: FormResults

    @classmethod
    def of(cls, step: Step, results: FormResults) -> StepWork:
        """The work on a step. A single annotator settles a row."""
        by_id = {item.id: item for item in results.items}
        known = {
            who: {name: _spread(results.form, by_id[name], answer) for name, answer in own.items()}
            for who, own in results.answers.items()
        }
        return cls(step, replace(results, answers=known, least=1))

    @property
    def items(self) -> Sequence[Item]:
        return self.results.items

    def of_item(self, item: Item) -> Mapping[str, Answers]:
        """Everybody's marks on an item."""
        return {who: own[item.id] for who, own in self.results.answers.items() if item.id in own}


def _spread(form: Form, item: Item, answers: Answers) -> Answers:
    if answers.item.get("instance") != DISCARDED:
        return answers
    mark = form.marks_of(Level.PART)[0].name
    return Answers(answers.item, {part.id: {mark: DISCARDED} for part in item.parts})


def read_work(folder: Path, records: Sequence[Record]) -> list[StepWork]:
    """The marks in all sheets of a folder that `oasis sheets` wrote.

    Raises:
        InputError: a step is missing, its sheets belong to other records, or cells are wrong: names each cell of all steps.
    """
    faults, works = Faults(), []
    for step in Step:
        if not (folder / step).is_dir():
            raise InputError(
                f"{folder} has no sheets of {step}; vista-guard oasis sheets writes them. Name their folder with --sheets"
            )
        data = load(folder / step)
        check_items(step, data.items, records)
        places = (folder / step / f"{who}{ending}" for who in data.study.annotators for ending in sheets.SUFFIXES)
        filled = collect_sheets(list(filter(Path.is_file, places)), data.study.form, data.items, faults)
        about = [data.study.about, *(f"{step}: {note}" for note in _unfinished(data.study.annotators, filled))]
        works.append(StepWork.of(step, FormResults(data.study.form, data.items, by_annotator(filled), about, {})))
    faults.check("the sheets")
    if not any(work.results.answers.get(who) for work in works for who in work.results.answers):
        raise InputError(f"every sheet in {folder} is empty; fill in at least one passage")
    return works


def _unfinished(annotators: Sequence[str], filled: Sequence[FilledSheet]) -> Iterator[str]:
    yield from (f"{sheet.annotator} left {sheet.open:,} as they were." for sheet in filled if sheet.open)
    yield from (f"{who} has no sheet." for who in annotators if who not in {sheet.annotator for sheet in filled})


def check_items(step: Step, items: Sequence[Item], records: Sequence[Record]) -> None:
    """Checks that the items still match `records`. Raises InputError: a passage is missing, or has other texts; names it."""
    by_id = {record.passage.id: record for record in records}
    for item in items:
        record = by_id.get(item.id)
        if record is None or record.pair is None or item_of(step, record, item.annotators) != item:
            what = "lacks it" if record is None else "has other texts for it now"
            raise InputError(
                f"the work on {step} has passage {item.id}, and {RECORDS} {what}. Give the set that it is of"
            )


# Figures


@dataclass(frozen=True)
class Line:
    """A row of Table 3. With several marks, a row of the sheets is right only if all of them are."""

    title: str
    step: Step
    marks: tuple[str, ...]
    printed: str = ""
    """The row of the paper's table."""


LINES = (
    Line("Claim extraction", Step.EXTRACTION, ("mark",), "Claim Extraction"),
    Line("Claim falsification", Step.FALSIFICATION, ("mark",), "Claim Falsification"),
    Line("Factual text: semantics", Step.FACTUAL, ("semantics",)),
    Line("Factual text: paraphrased", Step.FACTUAL, ("paraphrased",)),
    Line("Factual text: both", Step.FACTUAL, ("semantics", "paraphrased"), "Factual Text Gen."),
    Line("Unfactual text", Step.UNFACTUAL, ("mark",), "Unfactual Text Gen."),
)


@dataclass(frozen=True)
class MarkedRow:
    """A row of the sheets, a claim or a pair, with each annotator's mark. `settled` is None while there is no majority."""

    item: Item
    by: Mapping[str, str]
    settled: str | None


@dataclass(frozen=True)
class LineFigures:
    """The figures of one row of Table 3. Discarded rows and open ones are in no share.

    `rows` are claims or pairs; a passage is right if all its rows are. Intervals resample documents. `kappa` is over the
    `shared` rows that everybody marked.
    """

    line: Line
    rows: Share
    interval: tuple[float, float] | None
    passages: Share
    passage_interval: tuple[float, float] | None
    discarded: int
    open: int
    kappa: float | None
    shared: int


@dataclass(frozen=True)
class AnnotatorFigures:
    """One annotator over all steps: rows marked, called wrong and discarded, and shared rows unlike the majority."""

    name: str
    rows: int
    wrong: Share
    discarded: int
    unlike: Share


def marked_rows(line: Line, work: StepWork) -> list[MarkedRow]:
    """Rows of a line with at least one mark, each settled by those who gave it."""
    settled = {(one.case.item, one.case.part, one.mark): one for one in work.results.settled}
    rows = []
    for item in work.items:
        for part in [one.id for one in item.parts] or [""]:
            cases = {mark: settled[item.id, part, mark] for mark in line.marks if (item.id, part, mark) in settled}
            given = {who: {mark: one.case.by.get(who) for mark, one in cases.items()} for who in work.results.answers}
            by = {who: word for who, own in given.items() if (word := _word(own, line.marks)) is not None}
            if by:
                rows.append(MarkedRow(item, by, _word({mark: one.value for mark, one in cases.items()}, line.marks)))
    return rows


def _word(values: Mapping[str, Value | None], marks: Sequence[str]) -> str | None:
    """Combines several marks into one; None if one is missing, unless another one discards."""
    words = [values.get(mark) for mark in marks]
    if DISCARDED in words:
        return DISCARDED
    if None in words:
        return None
    return RIGHT if all(value == RIGHT for value in words) else WRONG


def figures(line: Line, work: StepWork) -> LineFigures:
    """Accuracy with its interval, and agreement."""
    rows = marked_rows(line, work)
    decided = [row for row in rows if row.settled in (RIGHT, WRONG)]
    right = [row.settled == RIGHT for row in decided]
    passages = _passages(rows)
    people = sorted({who for row in rows for who in row.by})
    shared = [[row.by[who] for who in people] for row in rows if len(row.by) == len(people) > 1]
    return LineFigures(
        line=line,
        rows=Share.of(right),
        interval=share_interval([row.item.group for row in decided], right),
        passages=Share.of(passages.values()),
        passage_interval=share_interval([one.group for one in work.items if one.id in passages], [*passages.values()]),
        discarded=sum(row.settled == DISCARDED for row in rows),
        open=sum(row.settled is None for row in rows),
        kappa=fleiss_kappa(shared) if shared else None,
        shared=len(shared),
    )


def _passages(rows: Sequence[MarkedRow]) -> dict[str, bool]:
    """By passage id, True if all its rows are right; passages that are open or discarded whole are left out."""
    by_item: dict[str, list[str | None]] = {}
    for row in rows:
        by_item.setdefault(row.item.id, []).append(row.settled)
    kept = {name: [word for word in words if word != DISCARDED] for name, words in by_item.items()}
    return {name: all(word == RIGHT for word in words) for name, words in kept.items() if words and None not in words}


def annotator_figures(works: Sequence[StepWork]) -> list[AnnotatorFigures]:
    """Figures of each annotator over all steps; factual texts count once, by both of their marks."""
    printed = [(line, work) for line in LINES if line.printed for work in works if work.step is line.step]
    rows = [row for line, work in printed for row in marked_rows(line, work)]
    found = []
    for who in sorted({who for row in rows for who in row.by}):
        own = [row for row in rows if who in row.by]
        words = [row.by[who] for row in own]
        compared = [row for row in own if len(row.by) > 1 and row.settled is not None]
        discarded, wrong = words.count(DISCARDED), words.count(WRONG)
        unlike = Share.of(row.by[who] != row.settled for row in compared)
        found.append(AnnotatorFigures(who, len(own), Share(wrong, len(own) - discarded), discarded, unlike))
    return found


# Discussion


COLUMNS = (sheets.ID, "claim", MARK, "text", VERSIONS, ANSWER)
"""Columns of the sheet for the discussion, after the first; pairs have no claim."""


def discussion(works: Sequence[StepWork]) -> Table | None:
    """One sheet of the rows without a majority at any step; None if there are none."""
    tables = [(work.step, table) for work in works if (table := work.results.queue()) is not None]
    lines = ((step, dict(zip(table.columns, row, strict=True))) for step, table in tables for row in table.rows)
    rows = [[str(step), *(cells.get(name, "") for name in COLUMNS)] for step, cells in lines]
    return replace(tables[0][1], columns=[STEP, *COLUMNS], rows=rows) if rows else None


def with_discussed(works: Sequence[StepWork], path: Path) -> list[StepWork]:
    """Adds the answers of a discussion. Raises InputError: the file cannot be read, or cells are wrong: names each."""
    faults = Faults()
    rows = sheets.read(path, [STEP, *(name for name in COLUMNS if name != "text")], faults)
    for row in rows:
        if row[STEP] not in tuple(Step):
            faults.append(row.fault(STEP, f"the steps are {', '.join(Step)}"))
    updated = []
    for work in works:
        results = work.results.with_rows([row for row in rows if row[STEP] == work.step], faults)
        updated.append(replace(work, results=results))
    faults.check("the answers")
    return updated


# Gold


@dataclass(frozen=True)
class GoldSet:
    """Records without a mark at any step, and the reasons for leaving out the others.

    `lost` counts records with a mark, by the first step that has one; `unfinished` those that lack an annotator's marks.
    """

    records: Sequence[Record]
    lost: Mapping[Step, int]
    unfinished: int

    def files(self) -> dict[str, str]:
        """The records, and the two tasks over them."""
        lines = "".join(f"{record.model_dump_json()}\n" for record in self.records)
        return {GOLD: lines, TASK_1: text_log(self.records), TASK_2: claim_log(self.records)} if self.records else {}


def gold_note(folder: Path, found: GoldSet) -> str:
    """The export note of the gold, so that `eval` can warn when the measured judge was also the gate."""
    manifest = folder / MANIFEST
    gate = read_manifest(folder).system.options.get("gate", "none") if manifest.is_file() else "none"
    makers, size = tuple(sorted({record.made_by for record in found.records})), 2 * len(found.records)
    made = {"sets": (folder.resolve().name,), "made_by": makers, "gate": gate, "doubtful": False}
    counts = {TASK_1: size, TASK_2: size}
    note = ExportNote(**made, split="gold: marked by nobody at any step", counts=counts)
    return note.model_dump_json(indent=2) + "\n"


def gold_of(works: Sequence[StepWork], records: Sequence[Record]) -> GoldSet:
    """The gold: passages whose annotators all marked every row of every step with v (§4.2)."""
    by_id = {record.passage.id: record for record in records}
    kept, lost, unfinished = [], Counter[Step](), 0
    items = {work.step: {item.id: item for item in work.items} for work in works}
    for name in dict.fromkeys(item.id for work in works for item in work.items):
        there = {work.step: (work, items[work.step].get(name)) for work in works}
        verdicts = {step: item and _clean(work, item) for step, (work, item) in there.items()}
        wrong = next((step for step, clean in verdicts.items() if clean is False), None)
        if wrong is not None:
            lost[wrong] += 1
        elif None in verdicts.values():
            unfinished += 1
        else:
            kept.append(by_id[name])
    return GoldSet(kept, {step: lost[step] for step in Step}, unfinished)


def _clean(work: StepWork, item: Item) -> bool | None:
    """True if all marks are v, False if one is not; None while marks are missing and the others are v."""
    answers = work.of_item(item)
    values = [value for one in answers.values() for own in (one.item, *one.parts.values()) for value in own.values()]
    if any(value != RIGHT for value in values):
        return False
    return None if set(item.annotators or work.results.answers) - answers.keys() or not answers else True


@dataclass(frozen=True)
class OasisResults:
    """Results of the sheets of a set: figures, gold and open marks."""

    works: Sequence[StepWork]
    records: Sequence[Record]

    @cached_property
    def lines(self) -> list[LineFigures]:
        by_step = {work.step: work for work in self.works}
        return [figures(line, by_step[line.step]) for line in LINES]

    @cached_property
    def annotators(self) -> list[AnnotatorFigures]:
        return annotator_figures(self.works)

    @cached_property
    def gold(self) -> GoldSet:
        return gold_of(self.works, self.records)

    @property
    def open(self) -> int:
        """Number of marks without a majority."""
        return sum(work.results.open for work in self.works)

    @property
    def notes(self) -> list[str]:
        """The sample, which is the same at each step, and the annotators who have not finished."""
        first, *_ = self.works
        return [first.results.about[0], *(note for work in self.works for note in work.results.about[1:])]

    def as_json(self) -> dict[str, Any]:
        """The figures, as JSON types."""
        return {
            "study": self.notes,
            "steps": [_line_json(one) for one in self.lines],
            "annotators": [
                {
                    "name": annotator.name,
                    "rows": annotator.rows,
                    "wrong": annotator.wrong.hits,
                    "discarded": annotator.discarded,
                    "compared": annotator.unlike.n,
                    "unlike": annotator.unlike.hits,
                }
                for annotator in self.annotators
            ],
            "gold": len(self.gold.records),
            "lost": {str(step): count for step, count in self.gold.lost.items()},
            "unfinished": self.gold.unfinished,
            "to_discuss": self.open,
        }


def _line_json(one: LineFigures) -> dict[str, Any]:
    return {
        "step": str(one.line.step),
        "marks": list(one.line.marks),
        "rows": one.rows.n,
        "right": one.rows.hits,
        "accuracy": one.rows.value if one.rows.n else None,
        "interval": one.interval,
        "passages": one.passages.n,
        "right_passages": one.passages.hits,
        "passage_interval": one.passage_interval,
        "discarded": one.discarded,
        "open": one.open,
        "fleiss": one.kappa,
        "shared": one.shared,
    }
