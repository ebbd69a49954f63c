"""Readers of the published benchmarks: one for files of rows, and three for files that are joined or nested."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from vista_guard.errors import InputError
from vista_guard.types import Claim, Document, Label, Role, Span, Turn
from vista_lab.datasets.files import (
    Entry,
    Row,
    Rows,
    answer,
    documents,
    entries,
    json_object,
    json_rows,
    labelled,
    parquet_rows,
    table_rows,
    whole,
)
from vista_lab.logs.source import LoggedConversation, PlaceGold, TurnGold

_NUMBERS = re.compile(r"\[[\d,\s]+\]")
_SPOKEN = re.compile(r"\[(Human|Assistant)\]:")
_PASSAGE = re.compile(r"(?:^|\n+)\s*passage \d+:")


class Described(BaseModel):
    """A part of a description: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Fields(Described):
    """Where a row of a publisher's file has its texts, its label and the part of the set that it is of."""

    documents: str = ""
    """A text or a list of texts."""
    question: str = ""
    history: str = ""
    """A dialogue in one text: `[Human]: … [Assistant]: …`."""
    answers: Mapping[str, str]
    """Fields with answers, each with its label; the label is empty where the field `label` has it."""
    label: str = ""
    part: str = ""

    @property
    def named(self) -> list[str]:
        """All fields that a row must have."""
        return [
            name for name in (self.documents, self.question, self.history, *self.answers, self.label, self.part) if name
        ]


class Labels(Described):
    """A publisher's labels: `words` by what stands in the file, and which of the words are looked for or left open."""

    words: Mapping[str, str]
    positive: tuple[str, ...]
    open: tuple[str, ...] = ()

    def gold(self, word: str, group: str, part: str = "", places: tuple[PlaceGold, ...] = ()) -> TurnGold:
        """The gold of a turn with this word."""
        return TurnGold(word, None if word in self.open else word in self.positive, group, places, part=part)


ReaderName = Literal["rows", "ragtruth", "faithbench", "refchecker"]


@dataclass(frozen=True)
class BenchmarkFiles:
    """A reader's facts: the benchmark's name, the split, fields and labels, and its files with their parts.

    A file's part is empty where the rows say it.
    """

    name: str
    split: str
    fields: Fields | None
    labels: Labels
    files: Sequence[tuple[Path, str]]


def _group(text: str) -> str:
    """Rows on one document are alike: they are drawn together."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _rows(path: Path, fields: Sequence[str]) -> Rows:
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix == ".parquet":
        return parquet_rows(path)
    return table_rows(path, fields) if suffix == ".csv" else json_rows(path)


def read_rows(given: BenchmarkFiles) -> Iterator[Entry]:
    """Rows that have their documents, answers and labels in fields."""
    fields, parts = given.fields, dict(given.files)
    assert fields is not None  # descriptions are checked

    def make(row: Row) -> Iterator[LoggedConversation]:
        grounds = _documents(row, fields.documents)
        before = [*_history(row, fields.history), *_question(row, fields.question)]
        part = row.text(fields.part) if fields.part else parts[row.path]
        name = "-".join(filter(None, (given.name, parts[row.path], str(row.number))))
        for field, word in fields.answers.items():
            found = word or row.label(fields.label, given.labels.words)
            gold = given.labels.gold(found, _group(" ".join(one.text for one in grounds) or name), part)
            identity = f"{name}-{word}" if word else name
            yield labelled(row, identity, (*before, answer(row.nonblank(field), grounds)), gold)

    return entries(chain.from_iterable(_rows(path, fields.named) for path, _ in given.files), make)


def _documents(row: Row, field: str) -> tuple[Document, ...]:
    if not field:
        return ()
    value = row.value(field)
    texts = row.texts(field) if isinstance(value, list) else [row.nonblank(field)]
    coded = next((text for text in texts if _NUMBERS.fullmatch(text.strip())), None)
    if coded is not None:
        raise InputError(
            f"{field} is {coded[:40]!r}; expected text: run the publisher's script that turns the numbers into it"
        )
    return documents(texts)


def _question(row: Row, field: str) -> tuple[Turn, ...]:
    return (Turn(role=Role.USER, text=row.nonblank(field)),) if field else ()


def _history(row: Row, field: str) -> tuple[Turn, ...]:
    if not field:
        return ()
    before, *parts = _SPOKEN.split(row.text(field))
    if before.strip():
        raise InputError(f"{field} begins with {before.strip()[:80]!r}; expected [Human]: or [Assistant]:")
    roles = {"Human": Role.USER, "Assistant": Role.ASSISTANT}
    spoken = zip(parts[::2], parts[1::2], strict=True)
    return tuple(Turn(role=roles[who], text=message.strip()) for who, message in spoken if message.strip())


def read_ragtruth(given: BenchmarkFiles) -> Iterator[Entry]:
    """RAGTruth: responses with labelled spans, joined with their sources by `source_id`. Only responses of good quality."""
    (responses, _), (sources, _) = given.files
    known = {source.name("source_id"): source for source in whole(json_rows(sources))}

    def make(row: Row) -> Iterator[LoggedConversation]:
        if row.text("split") != given.split:
            return
        if row.text("quality") != "good":
            raise InputError(f"quality is {row.text('quality')!r}: the publisher's own evaluation leaves it out")
        source = known.get(row.name("source_id"))
        if source is None:
            raise InputError(f"source_id is {row.name('source_id')!r}, which {sources} does not have")
        text, spans = row.nonblank("response"), row.parts("labels")
        places = tuple(PlaceGold(spans=(_span(one, text),), positive=True) for one in spans)
        word = "hallucinated" if places else "faithful"
        gold = given.labels.gold(word, source.name("source_id"), source.text("task_type"), places)
        question, grounds = _source(source)
        yield labelled(row, f"ragtruth-{row.name('id')}", (*question, answer(text, documents(grounds))), gold)

    return entries(json_rows(responses), make)


def _span(row: Row, text: str) -> Span:
    start, end = row.number_of("start"), row.number_of("end")
    if not 0 <= start < end <= len(text):
        raise InputError(
            f"labels {row.number}: start {start} and end {end} are no place in a response of {len(text)} characters"
        )
    return Span(start=start, end=end)


def _source(row: Row) -> tuple[tuple[Turn, ...], list[str]]:
    """The question, if there is one, and the texts that a response was to keep to."""
    info = row.value("source_info")
    if isinstance(info, str):
        return (), [row.nonblank("source_info")]
    data = Row(row.typed("source_info", dict, "a text or a mapping"), row.path, row.place, row.number)
    if "passages" in data.content:
        return _question(data, "question"), _PASSAGE.split(data.nonblank("passages"))
    return (), ["\n".join(_lines(data.content))]


def _lines(value: object, *path: str) -> Iterator[str]:
    """Structured data, one line a value: `hours, Monday: 9:0-22:30`."""
    if isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value, 1)
        for name, item in items:
            yield from _lines(item, *path, str(name))
    else:
        yield f"{', '.join(path)}: {value if isinstance(value, str) else json.dumps(value)}"


_SEVERITY = {"Consistent": 0, "Benign": 1, "Questionable": 2, "Unwanted": 3}
"""FaithBench's labels. A summary has the worst of its annotations, as in the publisher's `binarize.py`."""


def read_faithbench(given: BenchmarkFiles) -> Iterator[Entry]:
    """FaithBench: batches of summaries, each with people's annotations of its spans."""

    def make(row: Row) -> Iterator[LoggedConversation]:
        words = [word for note in row.parts("annotations") for word in note.texts("label")]
        kinds = [word.partition(".")[0] for word in words] or ["Consistent"]
        unknown = next((word for word in kinds if word not in _SEVERITY), None)
        if unknown is not None:
            raise InputError(f"label is {unknown!r}; the labels are {', '.join(_SEVERITY)}")
        source = row.nonblank("source")
        gold = given.labels.gold(max(kinds, key=lambda word: _SEVERITY[word]), _group(source))
        summary = answer(row.nonblank("summary"), documents([source]))
        yield labelled(row, f"faithbench-{row.stem}-{row.name('sample_id')}", [summary], gold)

    return entries(chain.from_iterable(json_object(path).parts("samples") for path, _ in given.files), make)


_TRIPLETS = "claude2_response_kg"
_ENTAILED = {"Entailment": Label.VERIFIED, "Neutral": Label.LACKING_EVIDENCE, "Contradiction": Label.CONTRADICTED}


def read_refchecker(given: BenchmarkFiles) -> Iterator[Entry]:
    """RefChecker: answers with people's labels of claim triplets, joined by `id` with the contexts, the last file of a part."""
    by_part = {part: [path for path, of in given.files if of == part] for _, part in given.files}
    contexts = {part: {row.name("id"): row for row in whole(json_rows(paths[-1]))} for part, paths in by_part.items()}
    parts = dict(given.files)

    def make(row: Row) -> Iterator[LoggedConversation]:
        part, identity = parts[row.path], row.name("id")
        example = contexts[part].get(identity)
        if example is None:
            raise InputError(f"id is {identity!r}, which {by_part[part][-1]} does not have")
        triplets = row.parts(_TRIPLETS) if row.content.get(_TRIPLETS) else []
        if not triplets:
            raise InputError(f"{_TRIPLETS} has no claim: the model declined to answer, and the publisher leaves it out")
        claims = tuple(Claim(id=f"t1.c{one.number}", text=" ".join(one.texts("triplet"))) for one in triplets)
        words = [str(one.value("human_label")) for one in triplets]
        labels = {claim.id: one.label("human_label", _ENTAILED) for claim, one in zip(claims, triplets, strict=True)}
        word = next((kind for kind in ("Contradiction", "Neutral") if kind in words), "Entailment")
        turn = answer(row.nonblank("response"), documents(example.texts("context")))
        told = turn.model_copy(update={"claims": claims})
        gold = given.labels.gold(word, f"{part} {identity}", part)
        turns = (*_question(example, "question"), told)
        yield replace(labelled(row, f"refchecker-{row.stem}-{identity}", turns, gold), labels=labels)

    answered = (path for paths in by_part.values() for path in paths[:-1])
    return entries(chain.from_iterable(map(json_rows, answered)), make)


READERS: Mapping[ReaderName, Callable[[BenchmarkFiles], Iterator[Entry]]] = {
    "rows": read_rows,
    "ragtruth": read_ragtruth,
    "faithbench": read_faithbench,
    "refchecker": read_refchecker,
}
