"""Tables on disk, CSV and Parquet, as a stream of rows. Knows no format of logs."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from vista_guard._extras import require
from vista_guard.errors import InputError

DELIMITERS = ",;\t|"
PARQUET_MAGIC = b"PAR1"
LONGEST_FIELD = 2**31 - 1
"""Characters of one cell; the csv module's own limit is below what a document has."""

Row = tuple[int, dict[str, Any] | str]
"""A row's number, as its file counts, and its cells by column, or what is wrong with it."""


def delimiter_of(head: str) -> str | None:
    """What parts the cells of a table by its first line; None when it has one column only."""
    line = head.splitlines()[0] if head else ""
    if line.lower().startswith("sep=") and len(line) == 5 and line[-1] in DELIMITERS:  # as Excel writes it
        return line[-1]
    best = max(DELIMITERS, key=line.count)
    return best if line.count(best) else None


def csv_rows(file: BinaryIO, delimiter: str, name: str = "the table", *, short: bool = False) -> Iterator[Row]:
    """Rows of a CSV file with a header, by the line that each begins on, counted from 1.

    With `short` a row may lack cells at its end, which are empty then: Excel leaves delimiters out where a stretch of rows has
    nothing in the last columns.

    Raises:
        InputError: two columns have one name; `name` is the file's.
    """
    csv.field_size_limit(LONGEST_FIELD)
    text = TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        yield from _read(csv.reader(text, delimiter=delimiter, strict=True), name, short)
    finally:
        text.detach()  # The file is its opener's to close.


def _read(reader: Any, name: str, short: bool) -> Iterator[Row]:
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            open_ended = "unexpected end" in str(exc)
            why = "a quote is opened here or below and never closed, nothing behind it is read" if open_ended else exc
            yield line, f"is no row of a table: {why}"
            continue
        if header is None:
            header = _header(cells, name)
        elif cells:
            yield line, _row(header, cells + [""] * (len(header) - len(cells) if short else 0))


def _header(cells: list[str], name: str) -> list[str] | None:
    """The names of columns; None for an empty line, and for the one by which Excel says what parts cells."""
    if not any(cells) or (cells[0].lower().startswith("sep=") and not any(cells[1:])):
        return None
    twice = next((name for name in cells if name and cells.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{name} has two columns {twice!r}; rename one of them")
    return cells


def _row(header: list[str], cells: list[str]) -> dict[str, Any] | str:
    if len(cells) != len(header):
        return f"has {len(cells)} cells, and the header has {len(header)}"
    for name, cell in zip(header, cells, strict=True):
        place = next((place for place, letter in enumerate(cell) if "\udc80" <= letter <= "\udcff"), None)
        if place is not None:
            return f"column {name!r}: byte 0x{ord(cell[place]) - 0xDC00:02x} at position {place} is not UTF-8"
    return dict(zip(header, cells, strict=True))


def parquet_rows(path: Path) -> Iterator[Row]:
    """Rows of a Parquet file, counted from 1, a batch at a time.

    Raises:
        ConfigError: pyarrow is missing.
        InputError: the file is damaged or cut off.
    """
    require(f"reading the Parquet log {path}", "pyarrow", extra="parquet")
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    number = 0
    try:
        with ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=1000):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (ArrowException, OSError) as exc:
        raise InputError(f"log {path} is a damaged or cut-off Parquet file: {str(exc).splitlines()[0]}") from exc


def parquet_count(path: Path) -> int:
    """How many rows the file has, by its own word."""
    require(f"reading the Parquet log {path}", "pyarrow", extra="parquet")
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as table:
            return int(table.metadata.num_rows)
    except (ArrowException, OSError) as exc:
        raise InputError(f"log {path} is a damaged or cut-off Parquet file: {str(exc).splitlines()[0]}") from exc
