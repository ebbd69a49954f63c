"""Tables that go through people's spreadsheets: cells written so that none is run, and read back as they were.

Spreadsheets save UTF-8 with and without its mark, UTF-16 ("Unicode text"), tabs, commas or semicolons, and line breaks of either
kind inside quotes. A cell that begins like a formula, or that reads like a number or a date, is written with a quote before it,
by which spreadsheets take it for text; one that had such a quote gets another, so that each is read as it was.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.reading.visible import visible
from vista_lab.logs.source import BOM, UTF16_BOMS, csv_rows, delimiter_of

_FORMULA = r"[=+\-@\t\r]"
_MONTHS = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|janv|fév|févr|mars|avr|juin|juil|aoû|déc|ene|abr|ago|dic|"
    "gen|mag|giu|lug|set|ott|fev|out|mrt|mei"
)
_VALUES = rf"(?:{_MONTHS})[^\W\d_]*|e|[ap]m|de|kr|[年月日時时分秒년월일시분초]"
# A number, date, time or sum of money: "1e5" would come back as 100000, and "3/4" as a day of March. Words hold no digit.
_FIGURE = rf"(?=[^\n]{{1,40}}$)(?=\D*\d)(?:[^\w'\"]|[\d_]|(?<=\d)'(?=\d)|(?<![^\W\d_])(?:{_VALUES})(?![^\W\d_]))+$"
_TRUTH = r"(?:true|false|wahr|falsch|vrai|faux|vero|falso|verdadero)$"
_READ_OTHERWISE = re.compile(f"'*(?:{_FORMULA}|{_FIGURE}|{_TRUTH})", re.IGNORECASE)
_QUOTED = re.compile(f"'+(?:{_FORMULA}|{_FIGURE}|{_TRUTH})", re.IGNORECASE)
_OTHER_FILES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"<", b"%PDF", b"{\\rtf", b"ID;P", b"TABLE\n", b"TABLE\r\n")
"""How files begin that spreadsheets save and that are no text with cells: ods, xlsx; xls; XML, HTML; PDF; RTF; SYLK; DIF."""

SHOWN = 60
"""Characters of a cell that an error quotes."""

SAVE = "save it as text with tabs between cells, in UTF-8 (LibreOffice: Save As, Text CSV; Excel: Save As, CSV UTF-8)"
"""What whoever has a spreadsheet open does."""


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
    """A cell that no spreadsheet takes for a formula or a figure, without what would steer a terminal."""
    # A lone carriage return ends a row for some readers.
    shown = visible(text.replace("\r\n", "\n").replace("\r", "\n"))
    return f"'{shown}" if _READ_OTHERWISE.match(shown) else shown


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
        InputError: the file cannot be read, lacks a column, or has one twice.
    """
    raw = _bytes(path)
    head = raw[:65_536].decode("utf-8-sig", "replace").lstrip()
    # Read to its end: it is as long as a sheet, and its file is closed with it.
    found = list(csv_rows(io.BytesIO(raw), delimiter_of(head) or "\t", str(path), short=True))
    first = next((cells for _, cells in found if not isinstance(cells, str)), None)
    if first is not None:
        _check_columns(path, columns, [name.strip().lower() for name in first])
    hinted = False
    for number, (_, cells) in enumerate(found, 2):
        if isinstance(cells, str):
            why = cells if hinted else f"{cells}; {SAVE}"
            faults.append(Fault(str(path), number, None, None, why))
            hinted = True
            continue
        named = {name.strip().lower(): plain(cell) for name, cell in cells.items()}
        if any(named.values()):
            yield Row(str(path), number, named)
    if not found:
        raise InputError(f"{path} has no rows; expected a sheet that vista-guard wrote, filled in")


def _check_columns(path: Path, columns: Sequence[str], there: Sequence[str]) -> None:
    missing = next((column for column in columns if column not in there), None)
    if missing is not None:
        shown = visible(", ".join(name for name in there if name)[:200])
        raise InputError(
            f"{path} has no column {missing!r}; it has {shown}. Keep the first row, and open the sheet as UTF-8 with tabs"
        )
    twice = next((column for column in columns if there.count(column) > 1), None)
    if twice is not None:
        raise InputError(f"{path} has {there.count(twice)} columns {twice!r}; rename all but the one that counts")


def _bytes(path: Path) -> bytes:
    """The file in UTF-8."""
    try:
        raw = path.read_bytes()
    except OSError as exc:
        raise InputError(f"{path} cannot be read: {exc.strerror}") from exc
    if raw.removeprefix(BOM).lstrip().startswith(_OTHER_FILES):
        raise InputError(f"{path} is a spreadsheet's own file; {SAVE}")
    if raw.startswith(UTF16_BOMS):
        try:
            raw = raw.decode("utf-16").encode("utf-8")
        except UnicodeError as exc:
            raise InputError(f"{path} begins as UTF-16 and is none: {exc}; save it as UTF-8") from exc
    if not raw.removeprefix(BOM).strip():
        raise InputError(f"{path} is empty")
    return raw
