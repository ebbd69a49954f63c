"""Tables that go through people's spreadsheets: cells written so that none is run, and read back as they were.

Spreadsheets save UTF-8 with and without its mark, UTF-16 ("Unicode text"), tabs, commas or semicolons, and line breaks of either
kind inside quotes. A cell that begins like a formula is written with a quote before it, by which spreadsheets take it for text;
one that had such a quote gets another, so that each is read as it was.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets.rows import csv_rows, delimiter_of
from vista_guard.evaluation.datasets.source import BOM, UTF16_BOMS
from vista_guard.reading.visible import visible

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED = re.compile(r"'+[=+\-@\t\r]")
SHOWN = 60
"""Characters of a cell that an error quotes."""


@dataclass(frozen=True)
class Fault:
    """A cell that is wrong: `row` as spreadsheets count, with the head as 1; no column where the whole row is."""

    file: str
    row: int
    column: str | None
    value: str | None
    why: str

    def __str__(self) -> str:
        cell = "" if self.column is None else f", column {self.column}"
        quoted = "" if self.value is None else f" is {self.value[:SHOWN]!r}"
        return f"{self.file}, row {self.row}{cell}{quoted}: {self.why}"


class Faults(list[Fault]):
    """All that is wrong with some files."""

    def check(self, what: str) -> None:
        """Passes where nothing is wrong.

        Raises:
            InputError: names each wrong cell.
        """
        if self:
            lines = "\n".join(f"  {fault}" for fault in self)
            raise InputError(f"{what}: {len(self)} cells are wrong, and nothing was taken\n{lines}")


@dataclass(frozen=True)
class Row:
    """A row of a file, with its cells by column. `number` counts as spreadsheets do."""

    file: str
    number: int
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    def fault(self, column: str | None, why: str) -> Fault:
        """Something is wrong with this row, or with one cell of it."""
        return Fault(self.file, self.number, column, None if column is None else self[column], why)


def escaped(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, without what would steer a terminal."""
    # A lone carriage return ends a row for some readers.
    shown = visible(text.replace("\r\n", "\n").replace("\r", "\n"))
    return f"'{shown}" if _FORMULA.match(shown) else shown


def plain(cell: str) -> str:
    """What `escaped` was given, without blanks around it."""
    text = cell.replace("\r\n", "\n").strip(" \n\u00a0")
    return text[1:] if _QUOTED.match(text) else text


def table(columns: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """Tab-separated values, with the mark by which spreadsheets know UTF-8."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([escaped(cell) for cell in row] for row in rows)
    return "\ufeff" + file.getvalue()


def read(path: Path, columns: Sequence[str], faults: Faults) -> Iterator[Row]:
    """Rows of a table with at least these columns, in any order; empty ones are left out. What is wrong goes to `faults`.

    Raises:
        InputError: the file cannot be read, or lacks a column.
    """
    raw = _bytes(path)
    head = raw[:65_536].decode("utf-8-sig", "replace").lstrip()
    missing: list[str] | None = None
    # Read to its end: it is as long as a sheet, and its file is closed with it.
    found = list(csv_rows(io.BytesIO(raw), delimiter_of(head) or "\t", str(path)))
    for number, (_, cells) in enumerate(found, 2):
        if isinstance(cells, str):
            faults.append(Fault(str(path), number, None, None, cells))
            continue
        named = {name.strip().lower(): plain(cell) for name, cell in cells.items()}
        if missing is None:
            missing = [column for column in columns if column not in named]
            _check_columns(path, missing, named)
        if any(named.values()):
            yield Row(str(path), number, named)
    if missing is None and not faults:
        raise InputError(f"{path} has no rows; expected a sheet that vista-guard wrote, filled in")


def _check_columns(path: Path, missing: Sequence[str], named: Mapping[str, str]) -> None:
    if missing:
        there = ", ".join(name for name in named if name)[:200]
        raise InputError(
            f"{path} has no column {missing[0]!r}; it has {there}. Keep the first row of the sheet as it was"
        )


def _bytes(path: Path) -> bytes:
    """The file in UTF-8."""
    try:
        raw = path.read_bytes()
    except OSError as exc:
        raise InputError(f"{path} cannot be read: {exc.strerror}") from exc
    if raw.startswith(b"PK\x03\x04"):
        raise InputError(f"{path} is a spreadsheet's own file; save it as text with tabs between cells, in UTF-8")
    if raw.startswith(UTF16_BOMS):
        try:
            raw = raw.decode("utf-16").encode("utf-8")
        except UnicodeError as exc:
            raise InputError(f"{path} begins as UTF-16 and is none: {exc}; save it as UTF-8") from exc
    if not raw.removeprefix(BOM).strip():
        raise InputError(f"{path} is empty")
    return raw
