"""Log files as a stream of values, and tables as rows.

JSON, CSV or Parquet; plain or gzipped; one file or a folder. Independent of log formats.

Texts that stores and reports cannot hold are refused here.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from vista_guard._extras import require
from vista_guard.errors import InputError
from vista_guard.reading.chat_json import read_json
from vista_guard.types import Conversation, Label, Span

DELIMITERS = ",;\t|"
PARQUET_MAGIC = b"PAR1"
LONGEST_FIELD = 2**31 - 1
"""Most characters of one cell; the csv module's own limit is too small for documents."""

Quoting = Literal[0, 3]
"""`csv.QUOTE_MINIMAL`, or `csv.QUOTE_NONE` if quotation marks are ordinary characters."""

Row = tuple[int, dict[str, Any] | str]
"""A row's number in its file, and its cells by column, or an error."""


def delimiter_of(head: str) -> str | None:
    """The delimiter of a table, from its first line; None if it has a single column."""
    line = head.splitlines()[0] if head else ""
    if line.lower().startswith("sep=") and len(line) == 5 and line[-1] in DELIMITERS:  # as Excel writes it
        return line[-1]
    best = max(DELIMITERS, key=line.count)
    return best if line.count(best) else None


def csv_rows(file: BinaryIO, delimiter: str, name: str = "the table", *, short: bool = False) -> Iterator[Row]:
    """Rows of a CSV file with a header, each with its first line, counted from 1, but those without text.

    With `short` a row may lack cells at its end, which are then empty: Excel omits delimiters if a stretch of rows has
    nothing in the last columns; and rows without text are rows. Raises InputError if two columns have the same name; `name`
    is the file's.
    """
    header: list[str] | None = None
    with closing(csv_lines(file, delimiter)) as lines:
        for line, cells in lines:
            if isinstance(cells, str):
                yield line, cells
            elif header is None:
                header = _header(cells, name)
            elif cells and (short or any(map(str.strip, cells))):
                yield line, named_cells(header, cells + [""] * (len(header) - len(cells) if short else 0))


def csv_lines(
    file: BinaryIO, delimiter: str, quoting: Quoting = csv.QUOTE_MINIMAL
) -> Generator[tuple[int, list[str] | str], None, None]:
    """The first line of each row, counted from 1, and its cells, or an error."""
    csv.field_size_limit(LONGEST_FIELD)
    # A byte that is not UTF-8 becomes half a surrogate pair: its row is reported, and the others are read.
    text = TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(text, delimiter=delimiter, quoting=quoting, strict=True)
    try:
        while True:
            line = reader.line_num + 1
            try:
                yield line, next(reader)
            except StopIteration:
                return
            except csv.Error as exc:
                open_ended = "unexpected end" in str(exc)
                why = (
                    "a quote is opened here or below and never closed, nothing behind it is read" if open_ended else exc
                )
                yield line, f"is not a row of a table: {why}"
    finally:
        text.detach()  # The caller closes the file.


def _header(cells: list[str], name: str) -> list[str] | None:
    """The names of columns; None for an empty line, and for Excel's line with the separator."""
    if not any(cells) or (cells[0].lower().startswith("sep=") and not any(cells[1:])):
        return None
    twice = next((name for name in cells if name and cells.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{name} has two columns {twice!r}; rename one of them")
    return cells


def named_cells(header: list[str], cells: list[str]) -> dict[str, Any] | str:
    """The cells by column, or an error."""
    if len(cells) != len(header):
        return f"has {len(cells)} cells, and the header has {len(header)}"
    for name, cell in zip(header, cells, strict=True):
        place = next((place for place, letter in enumerate(cell) if "\udc80" <= letter <= "\udcff"), None)
        if place is not None:
            return f"column {name!r}: byte 0x{ord(cell[place]) - 0xDC00:02x} at position {place} is not UTF-8"
    return dict(zip(header, cells, strict=True))


@contextmanager
def _parquet_file(path: Path) -> Iterator[Any]:
    require(f"reading the Parquet log {path}", "pyarrow", extra="parquet")
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as table:
            yield table
    except (ArrowException, OSError) as exc:
        raise InputError(f"log {path} is a damaged or cut-off Parquet file: {str(exc).splitlines()[0]}") from exc


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a Parquet file, counted from 1, a batch at a time.

    Raises ConfigError if pyarrow is missing; InputError if the file is damaged or cut off.
    """
    with _parquet_file(path) as table:
        batches = table.iter_batches(batch_size=1000)
        yield from enumerate((row for batch in batches for row in batch.to_pylist()), 1)


GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
OTHERS = {
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"BZh91AY&SY": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"SQLite format 3": "a SQLite database",
}
"""Unsupported files by their first bytes."""
PAGES = (b'{"data"', b'{"object"')
"""First bytes of an API's page on one line."""
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"})
"""Suffixes of the files that are read from a folder, gzipped or not."""


class PlaceGold(BaseModel):
    """A data set's gold for one or more sentences of a turn, which are judged as a unit.

    Examples:
        >>> from vista_guard.types import Span
        >>> PlaceGold(spans=(Span(start=0, end=10),), positive=True).text("It is new. It seats 90.")
        'It is new.'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    spans: tuple[Span, ...] = Field(min_length=1)
    """Spans of the sentences in the turn's text, in order."""
    positive: bool
    """True for the data set's target, as in `TurnGold`: here a sentence that is not supported."""
    facts: int = Field(default=0, ge=0)
    """Atomic facts in it that people judged; 0 if unknown."""

    def text(self, turn: str) -> str:
        """The sentences, joined by blanks."""
        return " ".join(turn[span.start : span.end] for span in self.spans)


@dataclass(frozen=True)
class TurnGold:
    """A data set's gold for one assistant turn.

    `label` is the publisher's own word ("Generic", "hallucinated"). `positive` is True for the data set's target: mostly turns
    that their documents don't support (VISTA, Table 2), or turns that contradict earlier ones (Table 5) or abstain
    (Table 20). None if the publisher leaves it open.
    """

    label: str
    positive: bool | None
    group: str = field(default="", repr=False)
    """Cluster that the turn was sampled with, such as the document of a pair of texts: rows of one group are alike, so
    intervals resample whole groups. If empty, its conversation."""
    places: tuple[PlaceGold, ...] = ()
    """Gold of sentences, if the data set judges those; the whole turn stays their context."""
    part: str = field(default="", repr=False)
    """The part of the data set that the turn is of, if its tables show parts: a task, a source, a domain."""
    why: str = field(default="", compare=False, repr=False)
    """What says that the label means `positive`, if its word alone doesn't."""


@dataclass(frozen=True)
class Omission:
    """Something that a reader of a log saw and left out: `what` it is, and `where` in the entry."""

    what: str
    where: str = ""


UNANSWERED = "there is no assistant turn to judge"
"""The omission of a conversation without an answer."""


class Task(StrEnum):
    """The turns that a data set asks to find; `gold.positive` marks them."""

    UNVERIFIABLE = "unverifiable"
    """Some claim is not VERIFIED (VISTA, Tables 2 and 3)."""
    CONTRADICTS = "contradicts"
    """Some claim is CONTRADICTED (Table 5)."""
    ABSTAINS = "abstains"
    """Some claim is an ABSTENTION (Tables 20 and 21)."""
    UNSUPPORTED = "unsupported"
    """Some claim is LACKING_EVIDENCE or CONTRADICTED: opinions and abstentions are no hallucination (RAGTruth, FaithBench)."""
    DELIVERS = "delivers"
    """Not what turns are found by: questions without answers, whose facts an assistant is to deliver (KnowMT-Bench)."""


@dataclass(frozen=True)
class LoggedConversation:
    """A conversation of a log or of a data set.

    `labels` are a human's, by claim id; `gold` is the data set's, by turn index; `line` counts from 1, if the file has lines.
    A data set's turns with gold are judged; of a log `every_turn`, as people may have labelled only some.
    """

    conversation: Conversation
    labels: Mapping[str, Label]
    line: int | None = None
    gold: Mapping[int, TurnGold] = field(default_factory=dict)
    every_turn: bool = field(default=False, compare=False)
    topic: str = ""
    """Title of the Wikipedia page that the conversation is about, if the data set has one."""
    omissions: tuple[Omission, ...] = field(default=(), compare=False)
    history: int = field(default=0, compare=False)
    """Number of turns at the start that are only repeated here, as each request repeats the past: they are not judged."""


@dataclass(frozen=True)
class BrokenEntry:
    """A line or list item of a log that is not a conversation. `source` is its file and place."""

    source: str
    error: str


@dataclass(frozen=True)
class LogValue:
    """A JSON value of a log: `place` is `line 3` or `conversation 3`. The row of a table is `headed`: all have its columns."""

    content: object
    place: str
    line: int | None = None
    headed: bool = False

    def first_id(self, *given: object) -> str:
        """The first of these ids, as a text; the place if there is none."""
        usual = self.place.replace(",", "").replace(" ", "-")
        return next((str(one) for one in given if one is not None and one != ""), usual)


def broken_entry(source: str, value: LogValue, error: Exception) -> BrokenEntry:
    """The entry for a value that its format cannot read."""
    why = "is nested too deeply to be read" if isinstance(error, RecursionError) else str(error)
    return BrokenEntry(f"{source} {value.place}", why)


class Shape(Enum):
    """The shape of a file."""

    LIST = auto()
    DOCUMENT = auto()
    """One JSON value over several lines."""
    LINES = auto()
    TABLE = auto()
    PARQUET = auto()


def values(path: Path) -> Iterator[LogValue | BrokenEntry]:
    """The items of a JSON list, the lines of a JSON-lines file, which are streamed, or the rows of a table.

    A page of an API, `{"data": [...], "meta": {...}}`, is its items.

    A broken line or row becomes a `BrokenEntry` and reading continues. A folder is read file by file, by name; an unreadable
    file in it becomes a `BrokenEntry`, too. Raises InputError if the file is missing, empty, a damaged archive, or a list
    that is not JSON or not UTF-8, or if a folder has no logs.
    """
    if path.is_dir():
        for file in _files(path):
            yield from _folder_values(path, file)
        return
    for value in _values(path):
        yield from _items(value) if isinstance(value, LogValue) else [value]


def _items(value: LogValue) -> Iterator[LogValue]:
    """The items of a page of Langfuse's or OpenAI's API; else the value itself."""
    page = value.content if isinstance(value.content, dict) else {}
    items = page.get("data")
    if isinstance(items, list) and (page.get("object") == "list" or isinstance(page.get("meta"), dict)):
        for number, item in enumerate(items, 1):
            yield replace(value, content=item, place=f"{value.place}, item {number}")
    else:
        yield value


def _values(path: Path) -> Iterator[LogValue | BrokenEntry]:
    match shape(path):
        case Shape.LIST:
            for number, content in enumerate(_json_list(path), 1):
                yield LogValue(content, place=f"conversation {number}")
        case Shape.DOCUMENT:
            content = whole_json(path, f"log {path} starts like one JSON object over several lines but is not JSON")
            yield LogValue(content, place="conversation 1")
        case Shape.TABLE:
            yield from _table(path)
        case Shape.PARQUET:
            for number, row in parquet_rows(path):
                yield LogValue(row, place=f"row {number}", line=number, headed=True)
        case Shape.LINES:
            yield from _json_lines(path)


def count(path: Path) -> int:
    """Number of values in the file, including broken ones; reads it once, parsing only lists, tables and pages of an API."""
    if path.is_dir():
        return sum(map(_count_file, _files(path)))
    match shape(path):
        case Shape.LIST:
            return len(_json_list(path))
        case Shape.PARQUET:
            with _parquet_file(path) as table:
                return int(table.metadata.num_rows)
        case Shape.TABLE | Shape.DOCUMENT:
            return sum(1 for _ in values(path))
        case Shape.LINES:
            with open_log(path) as file:
                return sum(_count_in(line) for line in file if line.strip())


def _count_in(line: bytes) -> int:
    if not line.lstrip().startswith(PAGES):
        return 1
    value = _json_line(Path(), 1, line, 0)
    return sum(1 for _ in _items(value)) if isinstance(value, LogValue) else 1


def _count_file(path: Path) -> int:
    try:
        return count(path)
    except InputError:
        return 1


def shape(path: Path) -> Shape:
    """The shape of a file, from its first line. Raises InputError if there is no first line, or the file is UTF-16."""
    with open_log(path) as file:
        head = file.read(4096)
        if head.startswith(UTF16_BOMS):
            raise InputError(f"log {path}: byte 0 (0x{head[0]:02x}) starts UTF-16 text; save the file as UTF-8")
        other = next((kind for start, kind in OTHERS.items() if head.startswith(start)), None)
        if other is not None:
            raise InputError(
                f"log {path} is {other}; unpack it, or save it as JSON lines or CSV (gzipped ones are read)"
            )
        if head.startswith(PARQUET_MAGIC):
            if isinstance(file, gzip.GzipFile):
                raise InputError(f"log {path} is a Parquet file in a gzip archive; unpack it, Parquet is packed itself")
            return Shape.PARQUET
        head = head.removeprefix(BOM)
        while not head.strip():
            head = file.read(4096)
            if not head:
                raise InputError(f"log {path} is empty; expected a JSON list or one JSON object a line")
    head = head.lstrip()
    if head.startswith(b"["):
        return Shape.LIST
    first, whole, _ = head.partition(b"\n")
    first = first.strip()
    # A first line with an unfinished value is not JSON lines: `{`, or `{"messages": [`.
    if whole and first.startswith(b"{") and first.endswith((b"{", b"[", b",")):
        return Shape.DOCUMENT
    return Shape.TABLE if _is_table(head) else Shape.LINES


def _is_table(head: bytes) -> bool:
    return not head.startswith((b"{", b'{"')) and delimiter_of(head.decode("utf-8", "replace")) is not None


def _files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and SUFFIXES & set(file.suffixes))
    if not files:
        raise InputError(f"log folder {folder} has no logs; expected files that end in {', '.join(sorted(SUFFIXES))}")
    return files


def _folder_values(folder: Path, file: Path) -> Iterator[LogValue | BrokenEntry]:
    entries = values(file)
    while True:
        try:
            value = next(entries, None)
        except InputError as exc:  # The other files are read.
            value = BrokenEntry(str(file), str(exc).removeprefix(f"log {file} "))
        if value is None:
            return
        place = f"{file.relative_to(folder)}"
        yield replace(value, place=f"{place} {value.place}") if isinstance(value, LogValue) else value


def _table(path: Path) -> Iterator[LogValue | BrokenEntry]:
    with open_log(path) as file:
        head = file.read(65_536).decode("utf-8-sig", "replace")
    with open_log(path) as file:
        for line, row in csv_rows(file, delimiter_of(head.lstrip()) or ",", f"log {path}"):
            place = f"line {line}"
            if isinstance(row, str):
                yield BrokenEntry(f"{path} {place}", row)
            else:
                yield LogValue(row, place=place, line=line, headed=True)


def _json_lines(path: Path) -> Iterator[LogValue | BrokenEntry]:
    offset = 0
    with open_log(path) as file:
        for number, line in enumerate(file, 1):
            start, offset = offset, offset + len(line)
            if number == 1:
                line = line.removeprefix(BOM)
            if line.strip():
                yield _json_line(path, number, line, start)


def _json_line(path: Path, number: int, line: bytes, start: int) -> LogValue | BrokenEntry:
    place = f"line {number}"
    try:
        return LogValue(read_json(line.decode("utf-8")), place=place, line=number)
    except UnicodeDecodeError as exc:
        error = f"byte {start + exc.start} (0x{line[exc.start]:02x}) is not UTF-8"
    except ValueError as exc:
        error = f"is not JSON: {exc}"
    return BrokenEntry(f"{path} {place}", error)


def _json_list(path: Path) -> list[object]:
    return cast("list[object]", whole_json(path, f"log {path} starts like a JSON list but is not JSON"))


def whole_json(path: Path, not_json: str) -> object:
    """Reads a file that is one JSON value. Raises InputError if it is not: `not_json` begins the message."""
    with open_log(path) as file:
        raw = file.read()
    try:
        return read_json(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        place = f"byte {exc.start} (0x{raw[exc.start]:02x})"
        raise InputError(f"log {path}: {place} is not UTF-8; save the file as UTF-8") from exc
    except ValueError as exc:
        raise InputError(f"{not_json}: {exc}") from exc


@contextmanager
def open_log(path: Path) -> Iterator[BinaryIO]:
    """Opens a log as bytes, unzipped if its first bytes are those of a gzip archive."""
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            if not zipped:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw) as file:
                yield cast("BinaryIO", file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
        raise InputError(f"log {path} is a damaged or cut-off gzip archive: {exc}") from exc
    except OSError as exc:
        raise InputError(f"log {path} cannot be read: {exc.strerror or exc}") from exc


def check_texts(conversation: Conversation) -> None:
    """Refuses NUL characters and halves of surrogate pairs.

    Raises InputError naming the turn, the document or the claim, and the position.
    """
    _check_text("the conversation's id", str(conversation.id))
    for index, turn in enumerate(conversation.turns):
        _check_text(f"turn {index}", turn.text)
        for document in turn.documents:
            _check_text(f"turn {index}: the id of a document", document.id)
            _check_text(f"turn {index}: document {document.id!r}", document.text)
        for claim in turn.claims or ():
            _check_text(f"turn {index}: claim {claim.id}", claim.text)


def _check_text(what: str, text: str) -> None:
    if "\x00" in text:
        raise InputError(f"{what} has a NUL character at position {text.index(chr(0))}; remove it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InputError(f"{what} has half a surrogate pair at position {exc.start}; repair it") from exc
