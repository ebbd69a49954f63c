"""A study: the items that annotators get, how they were sampled, and its folder.

sheets/
  ada.xlsx, ben.xlsx, …      one for each annotator, to be filled in
  study/                     for the evaluator; keep it from annotators, as it has labels
    study.json               a `Study`, with its form
    conversations.jsonl      the conversations, whole, in the order of the study
    reports.jsonl            the run's reports on the turns, if claims came from a run
    items.jsonl              the items of a form that is not of turns

Conversations are sampled by a seed, some of them by the labels that a run found in them (VISTA, section 5).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from vista_guard import __version__
from vista_guard.errors import ConfigError, InputError
from vista_guard.stores.reviewed import clean_name
from vista_guard.types import Claim, Conversation, Label, Role, Turn, TurnReport
from vista_lab.annotate import sheets
from vista_lab.annotate.forms import Form, Item, Part, Unit, load_form
from vista_lab.files import reading
from vista_lab.logs.source import BrokenEntry, LoggedConversation, values
from vista_lab.runs.folder import REPORTS as RUN_REPORTS
from vista_lab.runs.folder import TurnName, read_evaluation, read_reports
from vista_lab.runs.plan import Source, sample_names
from vista_lab.tables.output import write_files

FOLDER, STUDY = "study", "study.json"
CONVERSATIONS, REPORTS, ITEMS = "conversations.jsonl", "reports.jsonl", "items.jsonl"

VERSION = "1.1"
"""Changes in its first part when an older reader would misread a study."""


CONTEXT, QUESTION, DOCUMENT, TURN = READING = ("context", "question", "document", "turn")
"""Columns that can be filled from a turn of a conversation."""

_ITEMS = TypeAdapter(Item)


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StudySet(_Line):
    """The part of one data set, log or file. `enriched` counts conversations chosen because the run found such a label."""

    name: str
    files: Mapping[str, str]
    conversations: int
    """Conversations in the sample; or items, if the study is of items."""
    of: int
    """Conversations to sample from."""
    enriched: Mapping[Label, int] = {}
    run: str | None = None
    judge: str | None = None


class StudyTurn(_Line):
    """One turn to annotate.

    `id` names it in sheets. `talk` is its conversation's name in the study, `conversation_id` the one in its data set or log.
    `label` and `positive` are the data set's own gold, see `TurnGold`. `found` has the run's labels by claim id.
    """

    id: str
    data_set: str
    talk: str
    conversation_id: str
    turn_index: int
    claims: tuple[Claim, ...]
    label: str | None = None
    positive: bool | None = None
    found: Mapping[str, Label] = {}
    report_id: str | None = None


class Study(_Line):
    """The whole study. `shown`: annotators see the run's labels; `seed` is the sample's.

    A study of an earlier version has no form: it used the paper's.
    """

    version: str = VERSION
    made_by: str = f"vista-guard {__version__}"
    annotators: tuple[str, ...]
    seed: int
    shown: bool
    sets: tuple[StudySet, ...]
    turns: tuple[StudyTurn, ...] = ()
    shared: int | None = None
    """Items that all annotators mark; each of the others is for one of them. None: all items are for all."""
    form: Form = Field(default_factory=lambda: load_form("vista"))

    @property
    def enriched(self) -> bool:
        """True if conversations were chosen by the run's labels."""
        return any(study_set.enriched for study_set in self.sets)

    @property
    def about(self) -> str:
        """The sample in a sentence or two, for sheets and all results."""
        noun = "conversations" if self.turns else f"{self.form.item}s"
        drawn = ", ".join(f"{one.conversations:,} of {one.of:,} {noun} of {one.name}" for one in self.sets)
        parts = [f"{drawn}, by seed {self.seed}."]
        if self.shared is not None:
            parts.append(
                f"{self.shared:,} of them are marked by all {len(self.annotators)} annotators, the others by one each."
            )
        if self.enriched:
            counts = "; ".join(_enrichment_text(one) for one in self.sets if one.enriched)
            parts.append(f"Enriched: {counts}. Shares of labels say nothing of how frequent they are elsewhere.")
        if self.shown:
            parts.append("Not blind: annotators saw the run's labels.")
        return " ".join(parts)


def _enrichment_text(study_set: StudySet) -> str:
    counts = " and ".join(f"{count} with {label}" for label, count in study_set.enriched.items())
    return f"{counts} chosen by the labels of {study_set.judge} in {study_set.name}"


@dataclass(frozen=True)
class StudyData:
    """A study with its texts. `reports` are by turn id; `given` are the items of a form that is not of turns."""

    study: Study
    conversations: Mapping[str, Conversation] = field(default_factory=dict)
    reports: Mapping[str, TurnReport] = field(default_factory=dict)
    given: Sequence[Item] = ()

    @cached_property
    def items(self) -> Sequence[Item]:
        """The items that annotators mark, in the order of the study."""
        if not self.study.turns:
            return self.given
        return [_item(turn, self.study, self.conversations[turn.talk]) for turn in self.study.turns]

    @cached_property
    def turns(self) -> Mapping[str, StudyTurn]:
        return {turn.id: turn for turn in self.study.turns}


def save(data: StudyData, folder: Path) -> None:
    """Writes the study into `folder/study`. Raises ConfigError: the folder cannot be written."""
    study = data.study
    talks = list(dict.fromkeys(turn.talk for turn in study.turns))
    contents = {
        STUDY: study.model_dump_json(indent=2) + "\n",
        CONVERSATIONS: "".join(f"{data.conversations[talk].model_dump_json()}\n" for talk in talks),
        REPORTS: "".join(f"{report.model_dump_json()}\n" for report in data.reports.values()),
        ITEMS: "".join(f"{json.dumps(asdict(item), ensure_ascii=False)}\n" for item in data.given),
    }
    write_files(folder / FOLDER, contents)


def hand_out(data: StudyData, folder: Path, suffix: str) -> list[Path]:
    """Writes the study, how it is filled in, and a sheet for each annotator with the items that are theirs.

    `suffix` is `.xlsx` or `.tsv`; the second has the columns of the form's layout, if it has one.

    Returns:
        The files for annotators, without those of the study.

    Raises:
        ConfigError: the folder cannot be written, or .xlsx needs the extra `evaluation`.
    """
    study, contents = data.study, dict[str, str | bytes]()
    contents["HOW-TO.txt"] = sheets.guidelines(study.form, study.about) + "\n"
    for name in study.annotators:
        own = [item for item in data.items if item.is_for(name)]
        laid_out = suffix != ".xlsx" and study.form.layout is not None
        table = sheets.layout_table if laid_out else partial(sheets.form_table, hints=study.shown)
        contents[f"{name}{suffix}"] = sheets.content(table(study.form, own, study.about), suffix)
    save(data, folder)
    if texts := sheets.too_long(study.form, data.items):
        write_files(folder / "texts", texts)
    return write_files(folder, contents)


def load(folder: Path) -> StudyData:
    """Reads what `save` wrote. `folder` is the one with the sheets, or `study` in it.

    Raises InputError: there is no study, its version is another, or one of its files is malformed.
    """
    place = folder / FOLDER if (folder / FOLDER / STUDY).is_file() else folder
    with reading(place / STUDY, "; name the folder that vista-guard annotations export wrote with --study"):
        study = Study.model_validate_json((place / STUDY).read_bytes())
        conversations = [Conversation.model_validate_json(line) for line in _lines(place / CONVERSATIONS)]
        reports = [TurnReport.model_validate_json(line) for line in _lines(place / REPORTS)]
        items = [_ITEMS.validate_json(line) for line in _lines(place / ITEMS)] if (place / ITEMS).is_file() else []
    if study.version.partition(".")[0] != VERSION.partition(".")[0]:
        raise InputError(f"{place / STUDY} has version {study.version}; this vista-guard reads version {VERSION}")
    by_place = {(report.conversation_id, report.turn_index): report for report in reports}
    return StudyData(
        study,
        dict(zip(dict.fromkeys(turn.talk for turn in study.turns), conversations, strict=True)),
        {turn.id: by_place[name] for turn in study.turns if (name := (turn.talk, turn.turn_index)) in by_place},
        tuple(items),
    )


def _lines(path: Path) -> Sequence[bytes]:
    return [line for line in path.read_bytes().split(b"\n") if line]


def _item(turn: StudyTurn, study: Study, talk: Conversation) -> Item:
    parts = []
    if study.form.parts is not None:
        hints = {name: study.form.word_for(label) for name, label in turn.found.items()} if study.shown else {}
        column = study.form.parts.text
        parts = [claim_part(claim, column, hints.get(claim.id, "")) for claim in turn.claims]
    texts = _reading(turn, talk)
    return Item(turn.id, {one.name: texts[one.name] for one in study.form.columns}, tuple(parts), turn.talk)


def claim_part(claim: Claim, column: str = "text", hint: str = "") -> Part:
    """A claim as a part of its turn."""
    place = None if claim.span is None else (claim.span.start, claim.span.end)
    return Part(claim.id, {column: claim.text}, hint, place)


def _reading(turn: StudyTurn, talk: Conversation) -> dict[str, str]:
    before, reply = talk.turns[: turn.turn_index], talk.turns[turn.turn_index]
    question_index = max((place for place, earlier in enumerate(before) if earlier.role is Role.USER), default=None)
    context = [earlier for place, earlier in enumerate(before) if place != question_index and earlier.text.strip()]
    said = "\n".join(f"{earlier.role}: {earlier.text}" for earlier in context)
    question = "" if question_index is None else before[question_index].text
    return {CONTEXT: said, QUESTION: question, DOCUMENT: _documents(reply), TURN: reply.text}


def document_texts(turn: Turn) -> list[str]:
    """The texts of a turn's documents, each below its title where it has one."""
    return [f"{document.title}\n{document.text}" if document.title else document.text for document in turn.documents]


def _documents(turn: Turn) -> str:
    texts = document_texts(turn)
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))


# Drawing


@dataclass(frozen=True)
class JudgedRun:
    """A run's reports by place, and the data that it judged: None if a file of reports does not name it."""

    name: str
    reports: Mapping[TurnName, TurnReport]
    data_set: str | None = None
    files: Mapping[str, str] | None = None

    @property
    def judge(self) -> str:
        return next((report.judge.name for report in self.reports.values()), "nobody")


@dataclass(frozen=True)
class Sampling:
    """The sample to draw. `each` is the number of conversations (or items) of each data set, all when None; `enrich` the
    number of them to choose because of a claim with that label. `shown`: annotators see the run's labels."""

    annotators: Sequence[str]
    each: Sequence[int | None] = (None,)
    enrich: Mapping[Label, int] | None = None
    seed: int = 0
    shown: bool = False
    form: Form = field(default_factory=lambda: load_form("vista"))


def read_run(path: Path) -> JudgedRun:
    """A folder that `vista-guard eval` wrote, or a file of reports.

    Raises:
        ConfigError: the folder is no run.
        InputError: a file cannot be read, or holds two reports on one turn.
    """
    rows = read_evaluation(path)[1] if path.is_dir() else None
    reports: dict[TurnName, TurnReport] = {}
    for report in read_reports(path if rows is None else path / RUN_REPORTS):
        name = (report.conversation_id or "", report.turn_index)
        if name in reports:
            raise InputError(f"{path} has two reports on turn {name[1]} of conversation {name[0]}")
        reports[name] = report
    if rows is None:
        return JudgedRun(path.name, reports)
    return JudgedRun(path.resolve().name, reports, rows.name, rows.files)


def draw(sources: Sequence[Source], runs: Sequence[JudgedRun], wanted: Sampling) -> StudyData:
    """Draws a study of turns.

    Claims are the run's if there is one, else the log's own: then turns without any are left out.

    Raises:
        ConfigError: a name or number is invalid, labels are enriched without a run, or the form is not of turns.
        InputError: a run is of other data, a source has fewer conversations than asked for, or none with claims.
    """
    names = annotator_names(wanted.annotators)
    if not of_turns(wanted.form):
        raise ConfigError(
            f"form {wanted.form.name} does not annotate turns of a log: give a file of {wanted.form.item}s"
        )
    twice = next((name for name, n in Counter(source.name for source in sources).items() if n > 1), None)
    if twice is not None:
        raise ConfigError(
            f"two data sets or logs are named {twice}; rename one, so that runs and turns can be told apart"
        )
    each = list(wanted.each) * len(sources) if len(wanted.each) == 1 else list(wanted.each)
    if len(each) != len(sources):
        raise ConfigError(
            f"--sample has {len(each)} numbers for {len(sources)} data sets; give one number, or one per data set"
        )
    only, counted = len(sources) == 1, zip(sources, each, strict=True)
    drawn = [_draw_source(source, _run_of(source, runs, only=only), count, wanted) for source, count in counted]
    _check_used(runs, drawn)
    turns, talks, reports = _number_turns(drawn)
    sets, how = tuple(one.told for one in drawn), {"seed": wanted.seed, "shown": wanted.shown, "form": wanted.form}
    study = Study(annotators=names, sets=sets, turns=tuple(turns), **how)
    return StudyData(study, talks, reports)


def of_turns(form: Form) -> bool:
    """True if the turns of a log fill all columns of the form; else its items come from a file, see `read_items`."""
    columns = {column.name for column in form.columns}
    return form.item is Unit.TURN and columns <= set(READING) and len(form.part_columns) < 2


def draw_items(path: Path, wanted: Sampling) -> StudyData:
    """Draws a study of the items of a file.

    Raises:
        ConfigError: a name or number is invalid, or the sampling is for turns.
        InputError: the file cannot be read, or has fewer items than asked for.
    """
    names, (count, *more) = annotator_names(wanted.annotators), wanted.each
    if more or wanted.enrich or wanted.shown:
        raise ConfigError(
            f"form {wanted.form.name} takes a file of items: give one --sample, no --enrich and no --suggestions"
        )
    items = read_items(path, wanted.form)
    if count is not None and count > len(items):
        raise InputError(
            f"{path} has {len(items):,} {wanted.form.item}s; ask for a sample of at most that, not {count:,}"
        )
    chosen = set(sample_names(tuple(item.id for item in items), count, wanted.seed))
    given = [item for item in items if item.id in chosen]
    files = {path.name: sha256(path.read_bytes()).hexdigest()}
    drawn = StudySet(name=path.name, files=files, conversations=len(given), of=len(items))
    study = Study(annotators=names, seed=wanted.seed, shown=False, sets=(drawn,), form=wanted.form)
    return StudyData(study, given=given)


def read_items(path: Path, form: Form) -> list[Item]:
    """Reads the items of a form from a table with the columns of its sheet (.xlsx, .tsv, .csv), else from JSON or JSON lines.

    In JSON an item is a mapping with `id`, the form's columns, and its parts under their unit's name, in the plural: texts,
    or mappings with `id` and columns. Items with the same `group` belong together. Raises InputError: the file cannot be
    read, or an item is incomplete or a duplicate: names file, item, value.
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist; give a file of {form.item}s for form {form.name}")
    items = _items_of_table(path, form) if path.suffix.lower() in sheets.SUFFIXES else _items_of_json(path, form)
    twice = next((name for name, count in Counter(item.id for item in items).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{path} has {form.item} {twice!r} twice; give each an id of its own")
    if not items:
        raise InputError(f"{path} has no {form.item}s")
    return items


def _items_of_table(path: Path, form: Form) -> list[Item]:
    unit = "" if form.parts is None else form.parts.unit.value
    reading = [column.name for column in form.columns]
    faults = sheets.Faults()
    rows = sheets.read(path, [sheets.ID, *([unit] if unit else []), *reading, *form.part_columns], faults)
    faults.check(str(path))
    by_item: dict[str, list[sheets.Row]] = {}
    for row in rows:
        by_item.setdefault(row[sheets.ID], []).append(row)
    return [_item_of_rows(name, own, form, unit) for name, own in by_item.items()]


def _item_of_rows(name: str, rows: Sequence[sheets.Row], form: Form, unit: str) -> Item:
    heads = [row for row in rows if not unit or not row[unit]]
    if len(heads) != 1 or not name:
        where = f"{rows[0].file}, row {rows[0].number}"
        raise InputError(
            f"{where}: {form.item} {name!r} needs an id, and one row of its own, without a {unit}; it has {len(heads)}"
        )
    parts = [Part(row[unit], {name: row[name] for name in form.part_columns}) for row in rows if unit and row[unit]]
    return Item(name, {one.name: heads[0][one.name] for one in form.columns}, tuple(parts), heads[0]["group"] or name)


def _items_of_json(path: Path, form: Form) -> list[Item]:
    found = []
    for number, value in enumerate(values(path), 1):
        if isinstance(value, BrokenEntry):
            raise InputError(f"{value.source}: {value.error}")
        found.append(_item_of_json(value.content, form, f"{path}, {form.item} {number}"))
    return found


def _item_of_json(content: object, form: Form, where: str) -> Item:
    if not isinstance(content, Mapping) or content.get("id") in (None, ""):
        raise InputError(
            f"{where} is {str(content)[:80]!r}; expected a mapping with id and {', '.join(c.name for c in form.columns)}"
        )
    name = str(content["id"])
    texts = {column.name: _text(content, column.name, where) for column in form.columns}
    if form.parts is None:
        return Item(name, texts, (), str(content.get("group", name)))
    entries = content.get(f"{form.parts.unit}s")
    if not isinstance(entries, list):
        raise InputError(f"{where} has {form.parts.unit}s {str(entries)[:80]!r}; expected a list")
    parts = [_part_of_json(entry, form, number, where) for number, entry in enumerate(entries, 1)]
    return Item(name, texts, tuple(parts), str(content.get("group", name)))


def _part_of_json(content: object, form: Form, number: int, where: str) -> Part:
    assert form.parts is not None  # the caller asked
    unit = form.parts.unit
    if isinstance(content, str):
        content = {form.parts.text: content}
    if not isinstance(content, Mapping):
        raise InputError(f"{where}, {unit} {number} is {str(content)[:80]!r}; expected a text or a mapping")
    texts = {name: _text(content, name, f"{where}, {unit} {number}") for name in form.part_columns}
    return Part(str(content.get("id", f"{unit[0]}{number}")), texts)


def _text(content: Mapping[str, Any], name: str, where: str) -> str:
    text = content.get(name)
    if not isinstance(text, str):
        raise InputError(f"{where} has {name} {str(text)[:80]!r}; expected a text")
    return text


def annotator_names(given: Sequence[str]) -> tuple[str, ...]:
    names = tuple(clean_name(name) for name in given)
    # Names become file names, and some file systems ignore case.
    odd = next((name for name in names if not name.replace("-", "").replace("_", "").isalnum()), None)
    if odd is not None:
        raise ConfigError(f"annotator is {odd!r}; it names a file, so use letters, digits, - and _")
    if len({name.casefold() for name in names}) != len(names) or not names or "discuss" in names:
        raise ConfigError(f"--annotators is {','.join(given)!r}; give different names, such as ada,ben,cleo")
    return names


@dataclass(frozen=True)
class _Candidate:
    entry: LoggedConversation
    turns: Sequence[StudyTurn]
    reports: Sequence[TurnReport]

    @property
    def name(self) -> str:
        return str(self.entry.conversation.id)

    def has(self, label: Label) -> bool:
        return any(label in turn.found.values() for turn in self.turns)


@dataclass(frozen=True)
class _DrawnSet:
    told: StudySet
    run: JudgedRun | None
    chosen: Sequence[_Candidate]


def _run_of(source: Source, runs: Sequence[JudgedRun], *, only: bool) -> JudgedRun | None:
    matches = [run for run in runs if run.data_set == source.name or (run.data_set is None and only)]
    if len(matches) > 1:
        raise ConfigError(
            f"{matches[0].name} and {matches[1].name} both judged {source.name}; give one run per data set"
        )
    for run in matches:
        changed = [name for name, sha in source.files.items() if run.files is not None and run.files.get(name) != sha]
        if changed:
            raise InputError(f"run {run.name} judged a different version of {changed[0]}; run it again on this file")
    return matches[0] if matches else None


def _check_used(runs: Sequence[JudgedRun], drawn: Sequence[_DrawnSet]) -> None:
    unused = next((run for run in runs if all(one.run is not run for one in drawn)), None)
    if unused is not None:
        judged = unused.data_set or "a log that it does not name"
        names = ", ".join(one.told.name for one in drawn)
        raise InputError(
            f"run {unused.name} judged {judged}, and the study draws from {names}; add the data that the run judged"
        )


def _draw_source(source: Source, run: JudgedRun | None, count: int | None, wanted: Sampling) -> _DrawnSet:
    if run is None and (wanted.enrich or wanted.shown):
        raise ConfigError(f"--enrich and --suggestions need a run over {source.name}; give its folder with --run")
    candidates = list(_candidates(source, run, claims=wanted.form.parts is not None))
    if not candidates:
        if run is not None:
            raise InputError(
                f"run {run.name} has no report on a conversation of {source.name}; give the data that it judged"
            )
        how = "judge it first (vista-guard eval … --out FOLDER) and give the folder with --run"
        raise InputError(f"{source.name} has no turn with claims of its own; {how}")
    if count is not None and count > len(candidates):
        raise InputError(
            f"{source.name} has {len(candidates):,} conversations with claims; ask for a sample of at most that, not {count:,}"
        )
    rare = _rare(candidates, wanted, source.name)
    chosen = {candidate.name for group in rare.values() for candidate in group}
    size = len(candidates) if count is None else count
    if len(chosen) > size:
        raise ConfigError(
            f"--enrich asks for {len(chosen)} conversations of {source.name}, and --sample for {size} in all"
        )
    others = tuple(candidate.name for candidate in candidates if candidate.name not in chosen)
    chosen |= set(sample_names(others, size - len(chosen), wanted.seed))
    study_set = StudySet(
        name=source.name,
        files=source.files,
        conversations=len(chosen),
        of=len(candidates),
        # A sample of all conversations is not enriched.
        enriched={label: len(group) for label, group in rare.items() if group} if size < len(candidates) else {},
        run=run and run.name,
        judge=run and run.judge,
    )
    return _DrawnSet(study_set, run, [candidate for candidate in candidates if candidate.name in chosen])


def _rare(candidates: Sequence[_Candidate], wanted: Sampling, name: str) -> Mapping[Label, Sequence[_Candidate]]:
    """Conversations chosen for their labels. One with two of the labels is chosen for one only."""
    taken: set[str] = set()
    rare: dict[Label, Sequence[_Candidate]] = {}
    for label, count in (wanted.enrich or {}).items():
        having = [candidate for candidate in candidates if candidate.has(label) and candidate.name not in taken]
        if len(having) < count:
            raise InputError(
                f"the run found {label} in {len(having)} more conversations of {name}; --enrich asks for {count}"
            )
        names = set(sample_names(tuple(candidate.name for candidate in having), count, wanted.seed))
        rare[label] = [candidate for candidate in having if candidate.name in names]
        taken |= names
    return rare


def _candidates(source: Source, run: JudgedRun | None, *, claims: bool) -> Iterator[_Candidate]:
    names: set[str] = set()
    for entry in source.read():
        if not isinstance(entry, LoggedConversation):
            continue
        name = str(entry.conversation.id)
        if name in names:
            raise InputError(f"{source.name} has two conversations with the id {name!r}; rename one")
        names.add(name)
        reports = [] if run is None else [
            run.reports[name, place] for place in range(len(entry.conversation.turns)) if (name, place) in run.reports
        ]  # fmt: skip
        given = list(_given_turns(source.name, entry, claims=claims)) if run is None else []
        turns = given or [_judged_turn(source.name, entry, report) for report in reports]
        if turns:
            yield _Candidate(entry, turns, reports)


def _given_turns(name: str, entry: LoggedConversation, *, claims: bool) -> Iterator[StudyTurn]:
    for place, turn in enumerate(entry.conversation.turns):
        if turn.role is Role.ASSISTANT and (turn.claims or not claims):
            yield _turn(name, entry, place, claims=turn.claims or ())


def _judged_turn(name: str, entry: LoggedConversation, report: TurnReport) -> StudyTurn:
    # Code and unreadable text are not claims.
    claims = tuple(outcome.claim for outcome in report.outcomes if outcome.kind == "finding" or outcome.what == "claim")
    labels = {finding.claim.id: finding.label for finding in report.findings}
    return _turn(name, entry, report.turn_index, claims=claims, found=labels, report_id=report.id)


def _turn(name: str, entry: LoggedConversation, place: int, **known: object) -> StudyTurn:
    gold, talk = entry.gold.get(place), str(entry.conversation.id)
    word = {} if gold is None else {"label": gold.label, "positive": gold.positive}
    fields = {"id": "", "data_set": name, "talk": talk, "conversation_id": talk, "turn_index": place}
    return StudyTurn.model_validate({**fields, **word, **known})


def _number_turns(drawn: Sequence[_DrawnSet]) -> tuple[list[StudyTurn], dict[str, Conversation], dict[str, TurnReport]]:
    """Turns with their ids in sheets, conversations by a unique name, and reports with that name."""
    turns: list[StudyTurn] = []
    talks: dict[str, Conversation] = {}
    reports: dict[str, TurnReport] = {}
    for number, (name, one) in enumerate(((each.told.name, one) for each in drawn for one in each.chosen), 1):
        talk = one.name
        while talk in talks:
            talk = f"{name}-{talk}"
        talks[talk] = one.entry.conversation.model_copy(update={"id": talk})
        for turn in one.turns:
            turns.append(turn.model_copy(update={"id": f"c{number:03}.t{turn.turn_index}", "talk": talk}))
        by_place = {report.turn_index: report for report in one.reports}
        placed = [turn for turn in turns[-len(one.turns) :] if turn.turn_index in by_place]
        reports |= {one.id: by_place[one.turn_index].model_copy(update={"conversation_id": talk}) for one in placed}
    return turns, talks, reports
