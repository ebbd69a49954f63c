"""Log files on disk, JSON, CSV and Parquet, plain or gzipped, one or a folder of them, as a stream of values. Knows no format."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from pathlib import Path
from typing import BinaryIO, cast

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets import rows
from vista_guard.types import Conversation, Label

GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
OTHERS = {
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"BZh91AY&SY": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
}
"""Files by their first bytes that are not read."""
PAGES = (b'{"data"', b'{"object"')
"""How a page of an API begins that was written on one line."""
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"})
"""Of the files that a folder is searched for, gzipped ones included."""


@dataclass(frozen=True)
class TurnGold:
    """What a data set says of one assistant turn.

    `label` is the publisher's own word ("Generic", "hallucinated"). `positive` says whether the turn is what the data set looks
    for: for most a turn that its documents do not carry (VISTA, Table 2), or one that contradicts what was said before
    (Table 5), or that abstains (Table 20). None where the publisher leaves it open.
    """

    label: str
    positive: bool | None


@dataclass(frozen=True)
class LoggedConversation:
    """A conversation of a log or of a data set.

    `labels` are a human's, by claim id; `gold` is the data set's word on whole turns, by the turn's index; `line` counts from 1,
    where a file has lines. Of a data set the turns with gold are meant; of a log `every_turn`, as people may have spoken of some.
    """

    conversation: Conversation
    labels: Mapping[str, Label]
    line: int | None = None
    gold: Mapping[int, TurnGold] = field(default_factory=dict)
    every_turn: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class BrokenEntry:
    """A line or list item of a log that is no conversation. `source` names file and place."""

    source: str
    error: str


@dataclass(frozen=True)
class Value:
    """A JSON value as found: `place` is `line 3` or `conversation 3`."""

    content: object
    place: str
    line: int | None = None

    def named(self, *given: object) -> str:
        """The first id that is given, as a text; the place when none is."""
        return next(
            (str(one) for one in given if one is not None and one != ""), self.place.replace(",", "").replace(" ", "-")
        )


def broken(source: str, value: Value, error: Exception) -> BrokenEntry:
    """A value that its format cannot read."""
    why = "is nested too deeply to be read" if isinstance(error, RecursionError) else str(error)
    return BrokenEntry(f"{source} {value.place}", why)


class Shape(Enum):
    """What a file is made of."""

    LIST = auto()
    DOCUMENT = auto()
    """One JSON value over several lines."""
    LINES = auto()
    TABLE = auto()
    PARQUET = auto()


def values(path: Path) -> Iterator[Value | BrokenEntry]:
    """The items of a JSON list, the lines of a JSON-lines file, which is never held whole, or the rows of a table.

    A page of an API, `{"data": [...], "meta": {...}}`, is its items.

    A broken line or row is answered with a `BrokenEntry` and the rest goes on; a broken list has no rest. A folder is read file
    by file, by name; one of its files that cannot be read is a `BrokenEntry`, too.

    Raises:
        InputError: the file is missing, empty, a damaged archive, or a list that is not JSON or not UTF-8; a folder without logs.
    """
    if path.is_dir():
        for file in _files(path):
            yield from _of_folder(path, file)
        return
    for value in _values(path):
        yield from _items(value) if isinstance(value, Value) else [value]


def _items(value: Value) -> Iterator[Value]:
    """Of a page of Langfuse's or OpenAI's API what it lists; else the value itself."""
    page = value.content if isinstance(value.content, dict) else {}
    listed = page.get("data")
    if isinstance(listed, list) and (page.get("object") == "list" or isinstance(page.get("meta"), dict)):
        for number, item in enumerate(listed, 1):
            yield replace(value, content=item, place=f"{value.place}, item {number}")
    else:
        yield value


def _values(path: Path) -> Iterator[Value | BrokenEntry]:
    match shape(path):
        case Shape.LIST:
            for number, content in enumerate(_json_list(path), 1):
                yield Value(content, place=f"conversation {number}")
        case Shape.DOCUMENT:
            yield from _json_document(path)
        case Shape.TABLE:
            yield from _table(path)
        case Shape.PARQUET:
            yield from (Value(row, place=f"row {number}", line=number) for number, row in rows.parquet_rows(path))
        case Shape.LINES:
            yield from _json_lines(path)


def count(path: Path) -> int:
    """How many values the file holds, broken ones included; reads it once, parsing only lists, tables and pages of an API."""
    if path.is_dir():
        return sum(map(_count_file, _files(path)))
    match shape(path):
        case Shape.LIST:
            return len(_json_list(path))
        case Shape.PARQUET:
            return rows.parquet_count(path)
        case Shape.TABLE | Shape.DOCUMENT:
            return sum(1 for _ in values(path))
        case Shape.LINES:
            with opened(path) as file:
                return sum(_count_in(line) for line in file if line.strip())


def _count_in(line: bytes) -> int:
    if not line.lstrip().startswith(PAGES):
        return 1
    value = _json_line(Path(), 1, line, 0)
    return sum(1 for _ in _items(value)) if isinstance(value, Value) else 1


def _count_file(path: Path) -> int:
    """One that cannot be read as a whole is one broken value of its folder."""
    try:
        return count(path)
    except InputError:
        return 1


def shape(path: Path) -> Shape:
    """What the file is made of, by its first line.

    Raises:
        InputError: there is no first line, or the file is UTF-16.
    """
    with opened(path) as file:
        head = file.read(4096)
        if head.startswith(UTF16_BOMS):
            raise InputError(f"log {path}: byte 0 (0x{head[0]:02x}) starts UTF-16 text; save the file as UTF-8")
        other = next((kind for start, kind in OTHERS.items() if head.startswith(start)), None)
        if other is not None:
            raise InputError(
                f"log {path} is {other}; unpack it, or save it as JSON lines or CSV (gzipped ones are read)"
            )
        if head.startswith(rows.PARQUET_MAGIC):
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
    # A line that a value would go on behind is no line of JSON lines: `{`, or `{"messages": [`.
    if whole and first.startswith(b"{") and first.endswith((b"{", b"[", b",")):
        return Shape.DOCUMENT
    return Shape.TABLE if _is_table(head) else Shape.LINES


def _is_table(head: bytes) -> bool:
    """Whether the first line is a header: names with something between them, and no JSON."""
    return not head.startswith((b"{", b'{"')) and rows.delimiter_of(head.decode("utf-8", "replace")) is not None


def _files(folder: Path) -> list[Path]:
    found = sorted(file for file in folder.rglob("*") if file.is_file() and SUFFIXES & set(file.suffixes))
    if not found:
        raise InputError(
            f"log {folder} is a folder without logs; expected files that end in {', '.join(sorted(SUFFIXES))}"
        )
    return found


def _of_folder(folder: Path, file: Path) -> Iterator[Value | BrokenEntry]:
    found = values(file)
    while True:
        try:
            value = next(found, None)
        except InputError as exc:  # The other files are read.
            value = BrokenEntry(str(file), str(exc).removeprefix(f"log {file} "))
        if value is None:
            return
        place = f"{file.relative_to(folder)}"
        yield replace(value, place=f"{place} {value.place}") if isinstance(value, Value) else value


def _table(path: Path) -> Iterator[Value | BrokenEntry]:
    with opened(path) as file:
        head = file.read(65_536).decode("utf-8-sig", "replace")
    with opened(path) as file:
        for line, row in rows.csv_rows(file, rows.delimiter_of(head.lstrip()) or ",", f"log {path}"):
            place = f"line {line}"
            yield BrokenEntry(f"{path} {place}", row) if isinstance(row, str) else Value(row, place=place, line=line)


def _json_document(path: Path) -> Iterator[Value | BrokenEntry]:
    """One value over several lines."""
    with opened(path) as file:
        raw = file.read()
    try:
        yield Value(json.loads(raw.decode("utf-8-sig")), place="conversation 1")
    except UnicodeDecodeError as exc:
        raise InputError(
            f"log {path}: byte {exc.start} (0x{raw[exc.start]:02x}) is not UTF-8; save the file as UTF-8"
        ) from exc
    except (ValueError, RecursionError) as exc:
        raise InputError(f"log {path} starts like one JSON object over several lines but is not JSON: {exc}") from exc


def _json_lines(path: Path) -> Iterator[Value | BrokenEntry]:
    offset = 0
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            start, offset = offset, offset + len(line)
            if number == 1:
                line = line.removeprefix(BOM)
            if line.strip():
                yield _json_line(path, number, line, start)


def _json_line(path: Path, number: int, line: bytes, start: int) -> Value | BrokenEntry:
    place = f"line {number}"
    try:
        return Value(json.loads(line.decode("utf-8")), place=place, line=number)
    except UnicodeDecodeError as exc:
        error = f"byte {start + exc.start} (0x{line[exc.start]:02x}) is not UTF-8"
    except (ValueError, RecursionError) as exc:
        error = f"is not JSON: {exc}"
    return BrokenEntry(f"{path} {place}", error)


def _json_list(path: Path) -> list[object]:
    with opened(path) as file:
        raw = file.read()
    try:
        content = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        found = f"byte {exc.start} (0x{raw[exc.start]:02x})"
        raise InputError(f"log {path}: {found} is not UTF-8; save the file as UTF-8") from exc
    except (ValueError, RecursionError) as exc:
        raise InputError(f"log {path} starts like a JSON list but is not JSON: {exc}") from exc
    return cast("list[object]", content)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unzipped when it is a gzip archive by its first bytes, whatever its name."""
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
