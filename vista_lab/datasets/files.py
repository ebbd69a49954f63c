"""Publishers' files as rows (JSON, JSON lines, CSV, TSV; plain or gzipped), rows as turns, and samples of them.

Unreadable rows are named by file and row. Penn Treebank text is turned back into plain text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from pathlib import Path
from random import Random
from typing import TypeVar, cast

from vista_guard.errors import InputError
from vista_guard.types import Conversation, Document, Role, Turn
from vista_lab.logs.source import (
    BrokenEntry,
    LoggedConversation,
    Quoting,
    Task,
    TurnGold,
    check_texts,
    csv_lines,
    named_cells,
    open_log,
    values,
    whole_json,
)
from vista_lab.logs.source import parquet_rows as read_parquet

Entry = LoggedConversation | BrokenEntry
"""A conversation, or an unreadable row with the reason. Both are counted."""


@dataclass(frozen=True)
class DataSet:
    """A data set, in one split, as it can be evaluated.

    `files` are the publisher's file names, relative to the folder that the user has them in; gzipped ones are found too. `read`
    takes the files that were found, in the order of `files`. `test` says that its figures are final: nothing is chosen on it.
    """

    name: str
    title: str
    source: str
    """Where the publisher gives it out, and the paper to cite."""
    licence: str
    split: str
    files: Sequence[str]
    read: Callable[[Sequence[Path]], Iterator[Entry]]
    task: Task = Task.UNVERIFIABLE
    test: bool = False
    sample: str = ""
    """How its rows relate to those of the paper's tables: none is printed beside the paper's figures without it."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where to get each file: `https://…` or `hf:OWNER/NAME/PATH` where it can be downloaded as it is, else words for people."""
    retrieves: bool = False
    """True where turns bring no documents and are to be held against those of `vista-guard documents add`."""
    answered_by: str = ""
    """The command that has an assistant answer, where the set has questions alone."""
    parts: Mapping[str, DataSet] = field(default_factory=dict)
    """The set's parts, each as a data set of its own: `NAME:PART` names it."""


BLOCK = 1 << 20
Record = TypeVar("Record")


@dataclass(frozen=True)
class Row:
    """A row with its place in the file.

    Its accessors raise `InputError` for a field that is missing or of the wrong kind, and name both.
    """

    content: Mapping[str, object]
    path: Path
    place: str
    """`row 3`, `line 3` or `conversation 3`; counts from 1, without a table's header."""
    number: int
    line: int | None = None

    @property
    def source(self) -> str:
        """File and place, as errors name them."""
        return f"{self.path} {self.place}"

    @property
    def stem(self) -> str:
        """The file's name without its endings, for ids of rows that have none of their own."""
        return self.path.name.split(".")[0]

    def value(self, name: str) -> object:
        """A required field."""
        if name not in self.content:
            raise InputError(f"has no {name}; its fields are {', '.join(map(str, self.content))}"[:400])
        return self.content[name]

    def typed(self, name: str, kind: type[Record], expected: str) -> Record:
        """A field of this type, which the error calls `expected`."""
        value = self.value(name)
        if not isinstance(value, kind):
            raise InputError(f"{name} is {str(value)[:80]!r}; expected {expected}")
        return value

    def text(self, name: str) -> str:
        """A text field, maybe empty."""
        return self.typed(name, str, "a text")

    def nonblank(self, name: str) -> str:
        """A text field that is not blank."""
        text = self.text(name)
        if not text.strip():
            raise InputError(f"{name} is blank")
        return text

    def number_of(self, name: str) -> int:
        """An integer field, maybe written as text."""
        value = self.value(name)
        try:
            if isinstance(value, bool | float):
                raise ValueError
            return int(cast("str", value))
        except (ValueError, TypeError) as exc:
            raise InputError(f"{name} is {str(value)[:80]!r}; expected a whole number") from exc

    def name(self, *fields: str) -> str:
        """The first of these fields that holds an id, as a text; the row's number when none does."""
        ids = (self.content.get(field) for field in fields)
        return next((str(value) for value in ids if value is not None and str(value).strip()), str(self.number))

    def texts(self, name: str) -> list[str]:
        """A field that is a list of texts."""
        texts = self.typed(name, list, "a list of texts")
        if not all(isinstance(text, str) for text in texts):
            raise InputError(f"{name} is {str(texts)[:80]!r}; expected a list of texts")
        return texts

    def parts(self, name: str) -> list[Row]:
        """A field that is a list of mappings, as rows of their own."""
        parts = []
        for number, content in enumerate(self.typed(name, list, "a list of mappings"), 1):
            if not isinstance(content, Mapping):
                raise InputError(f"{name} {number} is {str(content)[:80]!r}; expected a mapping")
            parts.append(Row(content, self.path, f"{self.place}, {name} {number}", number))
        return parts

    def label(self, name: str, known: Mapping[str, Record]) -> Record:
        """The value of a publisher's label, from a table of all known labels."""
        word = str(self.value(name)).strip()
        if word not in known:
            raise InputError(f"{name} is {word[:80]!r}; the labels are {', '.join(known)}")
        return known[word]


Rows = Iterable[Row | BrokenEntry]
Make = Callable[[Row], Iterable[LoggedConversation]]
"""Makes the conversations of a row; raises `InputError` for one that it cannot read."""
Read = Callable[[Sequence[Path]], Iterator[Entry]]


def json_rows(path: Path) -> Iterator[Row | BrokenEntry]:
    """The mappings of a JSON list, or of a JSON-lines file. Raises InputError if the file as a whole cannot be read."""
    for number, value in enumerate(values(path), 1):
        if isinstance(value, BrokenEntry):
            yield value
        elif isinstance(value.content, Mapping):
            place = value.place if value.line else f"row {number}"
            yield Row(value.content, path, place, number, value.line)
        else:
            yield BrokenEntry(f"{path} {value.place}", f"is {str(value.content)[:80]!r}; expected a mapping")


def parquet_rows(path: Path) -> Iterator[Row]:
    """The rows of a Parquet file.

    Raises ConfigError if pyarrow is missing; InputError if the file as a whole cannot be read.
    """
    for number, cells in read_parquet(path):
        yield Row(cells, path, f"row {number}", number)


def json_object(path: Path) -> Row:
    """A file that is one mapping. Raises InputError if it is something else, not JSON or not UTF-8."""
    content = whole_json(path, f"{path} is not JSON")
    if not isinstance(content, Mapping):
        raise InputError(f"{path} is {str(content)[:80]!r}; expected one mapping")
    return Row(content, path, "as a whole", 1)


def table_rows(
    path: Path, columns: Sequence[str], delimiter: str = ",", quoting: Quoting = csv.QUOTE_MINIMAL
) -> Iterator[Row | BrokenEntry]:
    """The rows of a CSV or TSV file with a header. Blanks around the names of columns are dropped.

    Args:
        path: the table.
        columns: required ones.
        delimiter: between cells.
        quoting: whether quotation marks hold a cell together.

    Raises:
        InputError: the file cannot be read or is empty, or a column is missing.
    """
    with open_log(path) as file, closing(csv_lines(file, delimiter, quoting)) as lines:
        header = _header(path, next(lines, (0, []))[1], columns)
        filled = ((line, cells) for line, cells in lines if cells)
        for number, (line, cells) in enumerate(filled, 1):
            place = f"row {number}"
            row = cells if isinstance(cells, str) else named_cells(header, cells)
            if isinstance(row, str):
                yield BrokenEntry(f"{path} {place}", row)
            else:
                yield Row(row, path, place, number, line if quoting == csv.QUOTE_NONE else None)


def _header(path: Path, cells: list[str] | str, columns: Sequence[str]) -> list[str]:
    if isinstance(cells, str):
        raise InputError(f"{path} is not a table: its first line {cells}")
    if not cells:
        raise InputError(f"{path} is empty; expected a table with the columns {', '.join(columns)}")
    header = [name.strip() for name in cells]
    missing = [name for name in columns if name not in header]
    if missing:
        raise InputError(f"{path} has no column {', '.join(missing)}; its columns are {', '.join(header)}"[:600])
    return header


def entries(rows: Rows, make: Make) -> Iterator[Entry]:
    """Each row's conversations, or a broken entry in its place: for an unreadable row, or an id that an earlier row has."""
    taken: dict[str, str] = {}
    for row in rows:
        if isinstance(row, BrokenEntry):
            yield row
            continue
        try:
            for entry in make(row):
                check_texts(entry.conversation)
                name = str(entry.conversation.id)
                if name in taken:
                    why = f"has the id {name!r} of {taken[name]}; an id stands for one conversation"
                    yield BrokenEntry(row.source, why)
                else:
                    taken[name] = row.source
                    yield entry
        except InputError as exc:
            yield BrokenEntry(row.source, str(exc))


def reader(rows: Callable[[Path], Rows], make: Make) -> Read:
    """The `read` of a data set: the rows of its files, one after the other, each made into conversations."""
    return lambda paths: entries(chain.from_iterable(map(rows, paths)), make)


def records(rows: Rows, parse: Callable[[Row], Record]) -> Iterator[Record | BrokenEntry]:
    """Each row as a data set's own record, for callers that need more than a conversation."""
    for row in rows:
        if isinstance(row, BrokenEntry):
            yield row
            continue
        try:
            yield parse(row)
        except InputError as exc:
            yield BrokenEntry(row.source, str(exc))


def whole(found: Iterable[Record | BrokenEntry]) -> Iterator[Record]:
    """The records, none missing: figures over a part of a file are figures of another file.

    Raises InputError if something could not be read; names it.
    """
    for record in found:
        if isinstance(record, BrokenEntry):
            raise InputError(f"{record.source}: {record.error}")
        yield record


def fingerprint(path: Path) -> str:
    """The sha256 of a file's bytes, unzipped: the same for a file and for its archive.

    Raises InputError if the file cannot be read.
    """
    digest = sha256()
    with open_log(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def sample_balanced(read: Read, each: int, seed: int) -> Read:
    """A reader of `each` conversations with a positive turn and `each` without, in the files' order, the same for a seed.

    Conversations whose gold is left open are not sampled; what could not be read is handed on. Numbers of the paper's own
    samples are not known: a seed gives a sample of the same size, not the same sample. Raises InputError if, when reading, the
    files hold fewer; says how many.
    """

    def draw(read_entries: Sequence[Entry], positive: bool) -> list[int]:
        places = [place for place, entry in enumerate(read_entries) if _is_positive(entry) is positive]
        if len(places) < each:
            kind = "positive" if positive else "negative"
            raise InputError(f"cannot sample {each} {kind} conversations: the files have {len(places)}")
        return Random(seed).sample(places, each)

    def read_sample(paths: Sequence[Path]) -> Iterator[Entry]:
        every = list(read(paths))
        chosen = {*draw(every, True), *draw(every, False)}
        yield from (entry for place, entry in enumerate(every) if place in chosen or isinstance(entry, BrokenEntry))

    return read_sample


def _is_positive(entry: Entry) -> bool | None:
    """True if some turn is positive; None if the gold is open or the entry is broken."""
    gold = entry.gold.values() if isinstance(entry, LoggedConversation) else ()
    positives = [mark.positive for mark in gold if mark.positive is not None]
    return any(positives) if positives else None


def turns_of(texts: Sequence[str]) -> tuple[Turn, ...]:
    """Turns of a dialogue before the assistant's next: the last is the user's, the others alternate. Drops blank ones.

    Examples:
        >>> [turn.role.value for turn in turns_of(["Hello!", "How old is the pier?"])]
        ['assistant', 'user']
    """
    roles = (Role.USER, Role.ASSISTANT)
    spoken = [Turn(role=roles[place % 2], text=text) for place, text in enumerate(reversed(texts)) if text.strip()]
    return tuple(reversed(spoken))


def documents(texts: Iterable[str]) -> tuple[Document, ...]:
    """Documents that have no ids of their own: `e1`, `e2`, … by their places. Blank ones are left out.

    Examples:
        >>> documents(["The pier is old.", " "])[0].id
        'e1'
    """
    return tuple(Document(id=f"e{number}", text=text) for number, text in enumerate(texts, 1) if text.strip())


def answer(text: str, grounds: Sequence[Document] = ()) -> Turn:
    """A turn of the assistant with its documents."""
    return Turn(role=Role.ASSISTANT, text=text, documents=tuple(grounds))


def labelled(row: Row, identity: str, turns: Sequence[Turn], gold: TurnGold) -> LoggedConversation:
    """A conversation whose last turn has gold."""
    conversation = Conversation(turns=tuple(turns), id=identity)
    return LoggedConversation(conversation, labels={}, line=row.line, gold={len(turns) - 1: gold})


_BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
    "--": "–",
}


def clean(text: str) -> str:
    """Undo Penn Treebank brackets, quotes and spacing.

    Examples:
        >>> clean("It is old -LRB- 1890 -RRB- .")
        'It is old (1890).'
    """
    for old, new in _BRACKETS.items():
        text = text.replace(old, new)
    text = re.sub(r"\s+([,.;:!?%)\]'])", r"\1", text)
    text = re.sub(r"([(\[$])\s+", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()
