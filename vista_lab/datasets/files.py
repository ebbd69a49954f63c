"""Publishers' files as rows (JSON, JSON lines, CSV, TSV; plain or gzipped), rows as turns, and samples of them.

What cannot be read is named by file and row. Penn Treebank text is turned back into plain text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Literal, TypeVar, cast

from vista_guard.errors import InputError
from vista_guard.reading.chat_json import read_json
from vista_guard.types import Conversation, Document, Role, Turn
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold, check_texts, open_log, values
from vista_lab.logs.source import parquet_rows as read_parquet

Entry = LoggedConversation | BrokenEntry
"""A row that is read, or one that is not, with the reason. Both are counted."""


class Task(StrEnum):
    """The turns that a data set asks to find; `gold.positive` marks them."""

    UNVERIFIABLE = "unverifiable"
    """Some claim is not VERIFIED (VISTA, Tables 2 and 3)."""
    CONTRADICTS = "contradicts"
    """Some claim is CONTRADICTED (Table 5)."""
    ABSTAINS = "abstains"
    """Some claim is an ABSTENTION (Tables 20 and 21)."""
    DELIVERS = "delivers"
    """Not what turns are found by: questions without answers, whose facts an assistant is to deliver (KnowMT-Bench)."""


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
    task: Task
    files: Sequence[str]
    read: Callable[[Sequence[Path]], Iterator[Entry]]
    test: bool = False
    sample: str = ""
    """How its rows relate to those of the paper's tables: none is printed beside the paper's figures without it."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each file is got: `https://…` or `hf:OWNER/NAME/PATH` where it can be downloaded as it is, else words for people."""
    retrieves: bool = False
    """True where turns bring no documents and are to be held against those of `vista-guard documents add`."""


BLOCK = 1 << 20
LARGEST_CELL = 1 << 24
"""Characters in a cell of a table: the csv module's own limit is 128 kB, and some documents are longer."""

Record = TypeVar("Record")
Quoting = Literal[0, 3]
"""`csv.QUOTE_MINIMAL`, or `csv.QUOTE_NONE` where a quotation mark is a character like any other."""


@dataclass(frozen=True)
class Row:
    """A row as found, with the place it has in its file. Its readers name what is missing or of another kind."""

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
        """A field that has to be there.

        Raises:
            InputError: it is not.
        """
        if name not in self.content:
            raise InputError(f"has no {name}; its fields are {', '.join(map(str, self.content))}"[:400])
        return self.content[name]

    def text(self, name: str) -> str:
        """A field that is a text, maybe an empty one.

        Raises:
            InputError: it is missing or something else.
        """
        return cast("str", self._of(name, str, "a text"))

    def nonblank(self, name: str) -> str:
        """A field that is a text with something in it.

        Raises:
            InputError: it is missing, something else, or blank.
        """
        text = self.text(name)
        if not text.strip():
            raise InputError(f"{name} is blank")
        return text

    def number_of(self, name: str) -> int:
        """A field that is a whole number, maybe written as a text.

        Raises:
            InputError: it is missing or something else.
        """
        value = self.value(name)
        try:
            if isinstance(value, bool | float):
                raise ValueError
            return int(cast("str", value))
        except (ValueError, TypeError) as exc:
            raise InputError(f"{name} is {str(value)[:80]!r}; expected a whole number") from exc

    def name(self, *fields: str) -> str:
        """The first of these fields that holds an id, as a text; the row's number when none does."""
        found = (self.content.get(field) for field in fields)
        return next((str(one) for one in found if one is not None and str(one).strip()), str(self.number))

    def texts(self, name: str) -> list[str]:
        """A field that is a list of texts.

        Raises:
            InputError: it is missing or something else.
        """
        found = cast("list[object]", self._of(name, list, "a list of texts"))
        if not all(isinstance(one, str) for one in found):
            raise InputError(f"{name} is {str(found)[:80]!r}; expected a list of texts")
        return cast("list[str]", found)

    def parts(self, name: str) -> list[Row]:
        """A field that is a list of mappings, as rows of their own.

        Raises:
            InputError: it is missing or something else.
        """
        found = cast("list[object]", self._of(name, list, "a list of mappings"))
        return [self._part(f"{name} {number}", number, one) for number, one in enumerate(found, 1)]

    def label(self, name: str, known: Mapping[str, Record]) -> Record:
        """The value of a publisher's label, from a table of all known labels.

        Raises:
            InputError: the field is missing, or its word is not known.
        """
        word = str(self.value(name)).strip()
        if word not in known:
            raise InputError(f"{name} is {word[:80]!r}; the labels are {', '.join(known)}")
        return known[word]

    def _of(self, name: str, kind: type, expected: str) -> object:
        value = self.value(name)
        if not isinstance(value, kind):
            raise InputError(f"{name} is {str(value)[:80]!r}; expected {expected}")
        return value

    def _part(self, place: str, number: int, content: object) -> Row:
        if not isinstance(content, Mapping):
            raise InputError(f"{place} is {str(content)[:80]!r}; expected a mapping")
        return Row(content, self.path, f"{self.place}, {place}", number)


Rows = Iterable[Row | BrokenEntry]
Make = Callable[[Row], Iterable[LoggedConversation]]
"""Makes the conversations of a row; raises `InputError` for one that it cannot read."""


def json_rows(path: Path) -> Iterator[Row | BrokenEntry]:
    """The mappings of a JSON list, or of a JSON-lines file.

    Raises:
        InputError: the file as a whole cannot be read.
    """
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

    Raises:
        ConfigError: pyarrow is missing.
        InputError: the file as a whole cannot be read.
    """
    for number, cells in read_parquet(path):
        if isinstance(cells, Mapping):
            yield Row(cells, path, f"row {number}", number)


def json_object(path: Path) -> Row:
    """A file that is one mapping.

    Raises:
        InputError: the file is something else, is not JSON or not UTF-8.
    """
    with open_log(path) as file:
        raw = file.read()
    try:
        content = read_json(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        raise InputError(f"{path}: byte {exc.start} (0x{raw[exc.start]:02x}) is not UTF-8") from exc
    except ValueError as exc:
        raise InputError(f"{path} is not JSON: {exc}") from exc
    if not isinstance(content, Mapping):
        raise InputError(f"{path} is {str(content)[:80]!r}; expected one mapping")
    return Row(content, path, "as a whole", 1)


def table_rows(
    path: Path, columns: Sequence[str], delimiter: str = ",", quoting: Quoting = csv.QUOTE_MINIMAL
) -> Iterator[Row | BrokenEntry]:
    """The rows of a table with a header. Blanks around the names of columns are dropped.

    Args:
        path: a CSV or TSV file.
        columns: those that must be there.
        delimiter: what stands between cells.
        quoting: whether quotation marks hold a cell together.

    Raises:
        InputError: the file cannot be read or is empty, or a column is missing.
    """
    csv.field_size_limit(LARGEST_CELL)
    with open_log(path) as raw:
        # A byte that is no UTF-8 becomes half a surrogate pair here: so its row is named, and the others are read.
        lines = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
        header = _header(path, reader, columns)
        number = 0
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as exc:
                number += 1
                yield BrokenEntry(f"{path} row {number}", f"is not a row of a table: {exc}")
                continue
            if cells:
                number += 1
                line = reader.line_num if quoting == csv.QUOTE_NONE else None
                yield _row(
                    Row(dict(zip(header, cells, strict=False)), path, f"row {number}", number, line),
                    header,
                    cells,
                )


def _header(path: Path, reader: Iterator[list[str]], columns: Sequence[str]) -> list[str]:
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as exc:
        raise InputError(f"{path} is not a table: {exc}") from exc
    if not header:
        raise InputError(f"{path} is empty; expected a table with the columns {', '.join(columns)}")
    missing = [name for name in columns if name not in header]
    if missing:
        raise InputError(f"{path} has no column {', '.join(missing)}; its columns are {', '.join(header)}"[:600])
    return header


def _row(row: Row, header: Sequence[str], cells: Sequence[str]) -> Row | BrokenEntry:
    if len(cells) != len(header):
        return BrokenEntry(row.source, f"has {len(cells)} cells, the header {len(header)}")
    for name, cell in row.content.items():
        strange = next((char for char in str(cell) if "\udc80" <= char <= "\udcff"), None)
        if strange is not None:
            return BrokenEntry(row.source, f"{name} holds a byte that is not UTF-8 (0x{ord(strange) - 0xDC00:02x})")
    return row


def entries(rows: Rows, make: Make) -> Iterator[Entry]:
    """Each row's conversations, and in its place what could not be read. An id that an earlier row has is an error of the row."""
    taken: dict[str, str] = {}
    for row in rows:
        if isinstance(row, BrokenEntry):
            yield row
            continue
        try:
            for entry in make(row):
                check_texts(entry.conversation)
                yield _once(entry, row, taken)
        except InputError as exc:
            yield BrokenEntry(row.source, str(exc))


def _once(entry: LoggedConversation, row: Row, taken: dict[str, str]) -> Entry:
    name = str(entry.conversation.id)
    if name in taken:
        return BrokenEntry(row.source, f"has the id {name!r} of {taken[name]}; an id stands for one conversation")
    taken[name] = row.source
    return entry


def records(rows: Rows, parse: Callable[[Row], Record]) -> Iterator[Record | BrokenEntry]:
    """Each row as a record of the data set's own kind, for who needs more of it than a conversation."""
    for row in rows:
        if isinstance(row, BrokenEntry):
            yield row
            continue
        try:
            yield parse(row)
        except InputError as exc:
            yield BrokenEntry(row.source, str(exc))


def whole(found: Iterable[Record | BrokenEntry]) -> Iterator[Record]:
    """The same, where nothing may be missing: figures over a file that was read in part are figures of another file.

    Raises:
        InputError: something could not be read; names it.
    """
    for one in found:
        if isinstance(one, BrokenEntry):
            raise InputError(f"{one.source}: {one.error}")
        yield one


def fingerprint(path: Path) -> str:
    """The sha256 of a file's bytes, unzipped: the same for a file and for its archive.

    Raises:
        InputError: the file cannot be read.
    """
    digest = sha256()
    with open_log(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


Read = Callable[[Sequence[Path]], Iterator[Entry]]


def sample_balanced(read: Read, each: int, seed: int) -> Read:
    """A reader of `each` conversations with a positive turn and `each` without, in the files' order, the same for a seed.

    Conversations whose gold is left open are not sampled; what could not be read is handed on. Numbers of the paper's own
    samples are not known: a seed gives a sample of the same size, not the same sample.

    Raises:
        InputError: when reading, the files hold fewer; says how many.
    """

    def read_sample(paths: Sequence[Path]) -> Iterator[Entry]:
        found = list(read(paths))
        chosen = {place for kind in (True, False) for place in _draw(found, kind, each, seed)}
        yield from (one for place, one in enumerate(found) if place in chosen or isinstance(one, BrokenEntry))

    return read_sample


def _draw(found: Sequence[Entry], positive: bool, each: int, seed: int) -> list[int]:
    places = [
        place for place, one in enumerate(found) if isinstance(one, LoggedConversation) and _is_labelled(one, positive)
    ]
    if len(places) < each:
        kind = "positive" if positive else "negative"
        raise InputError(f"cannot sample {each} {kind} conversations: the files have {len(places)}")
    return Random(seed).sample(places, each)


def _is_labelled(entry: LoggedConversation, positive: bool) -> bool:
    known = [gold.positive for gold in entry.gold.values() if gold.positive is not None]
    return bool(known) and any(known) is positive


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
    """A conversation of which the last turn has gold."""
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
