"""Question sets without an assistant's answers: what an assistant is asked, and what a good answer says.

Source: KnowMT-Bench, §3.1 and §3.2. An item's dialogue ends in the question whose answer is scored. Own sets have the columns
`id, questions, answer, facts, domain, documents`; the benchmark's file is read as its authors publish it.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_guard.types import Conversation, Role, Turn
from vista_lab.datasets.files import Entry
from vista_lab.datasets.opening import DataFolder
from vista_lab.files import reading
from vista_lab.logs.formats import BrokenEntry, LoggedConversation

DOMAIN_TAG = "domain"
"""Listed among the domains of 265 items of the benchmark's file, but not a domain."""


@dataclass(frozen=True)
class QuestionItem:
    """One dialogue to hold with an assistant."""

    id: str
    questions: tuple[str, ...]
    """What the user says, turn by turn. The answer to the last question is scored."""
    single: str
    """The same question asked alone; the last of `questions` where the set brings none."""
    answer: str = ""
    """The reference answer. Empty where the set brings none."""
    facts: tuple[str, ...] = ()
    """What a good answer must say."""
    domains: tuple[str, ...] = ()
    source: str = ""
    """The set that the item was made from."""
    url: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    """What answers may be drawn from, where the set brings documents of its own."""


@dataclass(frozen=True)
class QuestionSet:
    """A file of questions, as read.

    Attributes:
        name: of the file, without its ending.
        sha256: of the file's bytes.
        items: in the file's order, ids unique.
        skipped: rows that cannot be asked, each named with the reason.
        told: oddities of rows that are kept.
    """

    name: str
    sha256: str
    items: tuple[QuestionItem, ...]
    skipped: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


PUBLISHED = {"knowmt": "KnowMT_QA.json"}
"""Sets that are known by a name, and the publishers' names of their files."""


def unrelated(items: Sequence[QuestionItem], item: QuestionItem, seed: str) -> QuestionItem:
    """An item of another domain, or any other where the set has no domains; deterministic.

    Raises:
        InputError: there is no other item.

    Examples:
        >>> unrelated([QuestionItem("a", (), ""), QuestionItem("b", (), "")], QuestionItem("a", (), ""), "drift").id
        'b'
    """
    others = [other for other in items if other.id != item.id]
    if not others:
        raise InputError("a set of one item has no unrelated question; leave drift and noise out")
    far = [other for other in others if not set(other.domains) & set(item.domains)]
    return random.Random(f"{seed}:{item.id}").choice(far or others)


def question_entries(paths: Sequence[Path]) -> Iterator[Entry]:
    """A set's dialogues as conversations of the user alone, and rows that cannot be asked."""
    read = read_questions(paths[0])
    for item in read.items:
        turns = tuple(Turn(role=Role.USER, text=text) for text in item.questions)
        yield LoggedConversation(Conversation(id=item.id, turns=turns), {})
    for note in read.skipped:
        yield BrokenEntry(note.partition(": ")[0], note.partition(": ")[2])


def find_questions(name: str, data: Path | None = None) -> Path:
    """The file of a question set: a path as it is, or a published set by its name in a folder of publishers' files.

    Raises InputError if the set has a name, and the folder is not given or lacks its file.
    """
    if name not in PUBLISHED or Path(name).exists():
        return Path(name)
    if data is None:
        raise InputError(f"{name} is a published set; say with --data where its file {PUBLISHED[name]} is")
    file = DataFolder(data).find(PUBLISHED[name])
    if file is None:
        raise InputError(f"{data} has no file {PUBLISHED[name]}; get it from the publishers of {name}")
    return file


def read_questions(path: Path) -> QuestionSet:
    """Reads a set of questions: JSON, JSON lines or CSV, or the file of KnowMT-Bench.

    Of CSV, `questions`, `facts`, `domain` and `documents` hold one text a line of their cell. Rows with blank questions, wrong
    types or an id that was there before are skipped and named; a final question other than the single one, a repeated turn and
    double facts are reported and kept.

    Raises:
        InputError: the file cannot be read, or no row of it can be asked.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "own.jsonl"
        ...     _ = path.write_text('{"id": "a", "questions": ["Open today?", "Until when?"], "facts": ["It closes at six."]}')
        ...     read_questions(path).items[0].single
        'Until when?'
    """
    with reading(path, "; give a file of questions"):
        content = path.read_bytes()
    items: dict[str, QuestionItem] = {}
    skipped, notes = [], []
    for place, row in _rows(path, content):
        try:
            item = _item(row)
            if item.id in items:
                raise InputError(f"the id {item.id!r} was there before")
        except InputError as exc:
            skipped.append(f"{place}: {exc}")
            continue
        items[item.id] = item
        notes += [f"{item.id}: {odd}" for odd in _oddities(item)]
    by_question: dict[str, list[str]] = defaultdict(list)
    for item in items.values():
        by_question[item.single.casefold()].append(item.id)
    notes += [f"{', '.join(ids)}: the same dialogue" for ids in by_question.values() if len(ids) > 1]
    if not items:
        why = f": {skipped[0]}" if skipped else ""
        raise InputError(f"{path} has no question that can be asked{why}")
    digest = sha256(content).hexdigest()
    return QuestionSet(path.stem, digest, tuple(items.values()), tuple(skipped), tuple(notes))


def _rows(path: Path, content: bytes) -> Iterator[tuple[str, object]]:
    with reading(path):
        text = content.decode("utf-8-sig")
    if path.suffix.lower() in (".csv", ".tsv"):
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter), 2):
            yield f"{path.name} row {number}", {name: _cell(name, value) for name, value in row.items() if name}
        return
    if path.suffix.lower() == ".jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield f"{path.name} line {number}", _json(path, line, f" line {number}")
        return
    whole = _json(path, text)
    rows = whole.get("samples") if isinstance(whole, dict) else whole
    if not isinstance(rows, list):
        raise InputError(f"{path} holds no list of questions; give a list of objects with id and questions")
    yield from ((f"{path.name} item {number}", row) for number, row in enumerate(rows, 1))


def _json(path: Path, text: str, place: str = "") -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise InputError(f"{path}{place} is not JSON: {exc}") from exc


def _cell(name: str, value: object) -> object:
    if name in ("questions", "facts", "domain", "documents", "url"):
        return [line.strip() for line in str(value or "").splitlines() if line.strip()]
    return value or ""


def _item(content: object) -> QuestionItem:
    if not isinstance(content, Mapping):
        raise InputError(f"is {type(content).__name__}, not an object with id and questions")
    row = {str(name).strip(): value for name, value in content.items()}
    published = "multi-turn questions" in row
    questions = _texts(row, "multi-turn questions" if published else "questions")
    if not questions:
        raise InputError("has no questions")
    name = _text(row, "sample_id" if published else "id")
    if not name:
        raise InputError("has no id")
    return QuestionItem(
        id=name,
        questions=questions,
        single=_text(row, "single-turn question" if published else "question") or questions[-1],
        answer=_text(row, "answer"),
        facts=_texts(row, "must_have" if published else "facts"),
        domains=tuple(domain for domain in _texts(row, "domain") if domain != DOMAIN_TAG),
        source=_text(row, "source"),
        url=tuple(link for link in _texts(row, "url", blank=True) if link),
        documents=_texts(row, "documents"),
    )


def _text(row: Mapping[str, object], name: str) -> str:
    value = row.get(name, "")
    if (value is not None and not isinstance(value, str | int)) or isinstance(value, bool):
        raise InputError(f"{name} is {value!r}, not a text")
    return "" if value is None else str(value).strip()


def _texts(row: Mapping[str, object], name: str, *, blank: bool = False) -> tuple[str, ...]:
    value = row.get(name)
    items = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(text, str) for text in items):
        raise InputError(f"{name} is {value!r}, not a list of texts")
    texts = tuple(text.strip() for text in items)
    if not blank and any(not text for text in texts):
        raise InputError(f"{name} has a blank text at place {texts.index('') + 1}")
    return texts


def _oddities(item: QuestionItem) -> Iterator[str]:
    if item.questions[-1] != item.single:
        yield "the last question of the dialogue is not the single question"
    if len(set(item.questions)) < len(item.questions):
        yield "a turn is repeated"
    if doubled := [fact for fact, count in Counter(item.facts).items() if count > 1]:
        yield f"a fact stands there twice: {doubled[0][:60]}"
