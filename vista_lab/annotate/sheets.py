"""Sheets: forms on their way to annotators and back, as .xlsx for people and as tab-separated values for programs.

A sheet has a row for each item, with its texts, and below it one for each of its parts. Rows may be sorted: `id` and the column
named after the parts identify them. In .xlsx all cells are text, choices have drop-downs, and only cells to fill in are
unlocked. TSV and CSV are read as any program saves them.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from vista_guard._extras import require
from vista_guard.errors import InputError
from vista_guard.reading.visible import begins_formula, visible
from vista_guard.stores.reviewed import Op, clean_name
from vista_lab.annotate.forms import (
    MOST_CLAIMS,
    Answers,
    ChoiceMark,
    ChoicesMark,
    Form,
    Item,
    Layout,
    Level,
    Mark,
    NumberMark,
    Part,
    TextMark,
    Value,
    applies,
    is_needed,
)
from vista_lab.files import reading
from vista_lab.logs.source import BOM, UTF16_BOMS, csv_rows, delimiter_of

ID, STUDY, SUGGESTED = "id", "study", "suggested"
NEW = "new"
"""Before the number of a part that the annotator adds."""

QUEUE = "discuss"
"""Name of the sheet for the discussion, without its ending."""
QUEUES = (f"{QUEUE}.xlsx", f"{QUEUE}.tsv")
"""Files of it; one of the two is written."""

SUFFIXES = (".xlsx", ".tsv", ".csv", ".txt")

LONGEST = 30_000
"""Most characters of a cell: spreadsheets hold 32,767, and silently cut the rest."""

SHOWN = 60
"""Characters of a cell that an error quotes."""

MOST_BYTES = 500_000_000
"""Largest unpacked workbook that is read."""

SAVE = "save it as .xlsx, or as text with tabs between cells in UTF-8"
"""Advice for a file that cannot be read."""

_OTHER_FILES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"<", b"%PDF", b"{\\rtf", b"ID;P", b"TABLE\n", b"TABLE\r\n")
"""First bytes of files that are not delimited text: ods, xlsx; xls; XML, HTML; PDF; RTF; SYLK; DIF."""

_QUOTED_FIGURE = re.compile(r"'(?=[^\n]*\d)(?:[^\w']|[\d_])+$")
"""A figure with a quote by which spreadsheets take it for text: earlier versions wrote it, and people do."""


@dataclass(frozen=True)
class Fault:
    """A wrong cell: `row` counts from the head as 1; no column if the whole row is wrong."""

    file: str
    sheet: str | None
    row: int
    column: str | None
    value: str | None
    why: str

    def __str__(self) -> str:
        sheet = "" if self.sheet is None else f", sheet {self.sheet}"
        cell = "" if self.column is None else f", column {self.column}"
        quoted = "" if self.value is None else f" is {self.value[:SHOWN]!r}"
        return f"{self.file}{sheet}, row {self.row}{cell}{quoted}: {self.why}"


class Faults(list[Fault]):
    """All wrong cells of some files."""

    def check(self, what: str) -> None:
        """Checks that there are no faults. Raises InputError: cells are wrong; names each."""
        if self:
            lines = "\n".join(f"  {fault}" for fault in self)
            raise InputError(f"{what}: {len(self)} cells are wrong; nothing was imported\n{lines}")


@dataclass(frozen=True)
class Row:
    """A row of a file, with its cells by column. `number` counts as spreadsheets do; `heads` are the file's names of columns."""

    file: str
    sheet: str | None
    number: int
    cells: Mapping[str, str]
    heads: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    def fault(self, column: str | None, why: str) -> Fault:
        """A fault of this row, or of one of its cells."""
        if column is None:
            return Fault(self.file, self.sheet, self.number, None, None, why)
        return Fault(self.file, self.sheet, self.number, self.heads.get(column, column), self[column], why)


# Writing


@dataclass(frozen=True)
class Field:
    """A cell that people fill in. `menu` has the values of its drop-down; `mark` sets its other limits."""

    mark: Mark | None = None
    menu: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Table:
    """A sheet to be written: texts, and fields to fill in. `guidelines` go onto a second sheet."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Field]]
    guidelines: str = ""


def content(table: Table, suffix: str) -> bytes:
    """The table as a file of this kind, `.xlsx` or `.tsv`. Raises ConfigError: .xlsx needs the extra `evaluation`."""
    return _workbook(table) if suffix == ".xlsx" else _tsv(table)


def _tsv(table: Table) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([_escape_formula(_text(cell)) for cell in row] for row in table.rows)
    return file.getvalue().encode("utf-8-sig")


def _text(cell: str | Field) -> str:
    text = cell.text if isinstance(cell, Field) else cell
    # A lone carriage return ends a row for some readers.
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def _escape_formula(text: str) -> str:
    """A cell of plain text that no spreadsheet runs as a formula."""
    return f"'{text}" if begins_formula(text) else text


def _unquoted(text: str) -> str:
    quoted = text.startswith("'") and (begins_formula(text) or _QUOTED_FIGURE.match(text))
    return text[1:] if quoted else text


def _workbook(table: Table) -> bytes:
    require("a sheet in .xlsx (--sheets tsv writes one without)", "openpyxl", extra="evaluation")
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font, PatternFill, Protection
    from openpyxl.utils import get_column_letter

    book = Workbook()
    sheet: Any = book.active
    sheet.title = table.title[:31]
    wrapped, fill = Alignment(wrap_text=True, vertical="top"), PatternFill("solid", fgColor="FFF8E1")
    for place, name in enumerate(table.columns, 1):
        head = sheet.cell(1, place, name)
        head.font = Font(bold=True)
        sheet.column_dimensions[get_column_letter(place)].width = _width(table, place - 1)
    for number, row in enumerate(table.rows, 2):
        for place, value in enumerate(row, 1):
            cell = sheet.cell(number, place)
            if text := _text(value):
                cell.value = text
                cell.data_type = "s"  # else "=1+1" would be a formula
            cell.number_format, cell.alignment = "@", wrapped
            if isinstance(value, Field):
                cell.protection, cell.fill = Protection(locked=False), fill
    sheet.freeze_panes = "C2"
    sheet.protection.sheet = True
    for free in ("formatColumns", "formatRows", "insertRows", "sort", "autoFilter"):
        setattr(sheet.protection, free, False)  # False: not locked
    _add_menus(book, sheet, table)
    _add_guidelines(book, table)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _width(table: Table, place: int) -> int:
    longest = max((len(_text(row[place])) for row in table.rows), default=0)
    return min(max(longest, len(table.columns[place]) + 2, 8), 48)


def _add_menus(book: Any, sheet: Any, table: Table) -> None:
    """Adds drop-downs and input checks; the choices are on a hidden sheet, since a rule holds 255 characters."""
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.cell_range import MultiCellRange
    from openpyxl.worksheet.datavalidation import DataValidation

    places: dict[tuple[int, tuple[str, ...]], list[int]] = defaultdict(list)
    marks: dict[tuple[int, tuple[str, ...]], Mark | None] = {}
    for number, row in enumerate(table.rows, 2):
        for place, cell in enumerate(row, 1):
            if isinstance(cell, Field):
                places[place, cell.menu].append(number)
                marks[place, cell.menu] = cell.mark
    lists = None
    for (place, menu), rows in places.items():
        mark = marks[place, menu]
        rule = DataValidation(allow_blank=True, showErrorMessage=True, showInputMessage=True, **_limits(mark))
        if menu:
            lists = lists or book.create_sheet("choices")
            column = lists.max_column + (lists.cell(1, 1).value is not None)
            for line, word in enumerate(menu, 1):
                lists.cell(line, column, word).data_type = "s"
            letter = get_column_letter(column)
            rule.type, rule.formula1 = "list", f"choices!${letter}$1:${letter}${len(menu)}"
        if mark is not None:
            rule.promptTitle, rule.prompt = mark.name[:32], mark.ask[:255] or None
        rule.sqref = MultiCellRange(" ".join(_runs(get_column_letter(place), rows)))
        sheet.add_data_validation(rule)
    if lists is not None:
        lists.sheet_state = "hidden"


def _limits(mark: Mark | None) -> dict[str, Any]:
    if not isinstance(mark, NumberMark):
        return {}
    kind = "whole" if mark.whole else "decimal"
    return {"type": kind, "operator": "between", "formula1": f"{mark.low:g}", "formula2": f"{mark.high:g}"}


def _runs(letter: str, rows: Sequence[int]) -> Iterator[str]:
    for _, run in groupby(enumerate(rows), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        yield f"{letter}{numbers[0]}:{letter}{numbers[-1]}"


def _add_guidelines(book: Any, table: Table) -> None:
    from openpyxl.styles import Alignment

    if not table.guidelines:
        return
    page = book.create_sheet("guidelines", 1)
    page.column_dimensions["A"].width = 110
    for number, line in enumerate(table.guidelines.splitlines(), 1):
        cell = page.cell(number, 1, visible(line))
        cell.data_type, cell.alignment = "s", Alignment(wrap_text=True, vertical="top")
    page.protection.sheet = True


# Reading


def read(path: Path, columns: Sequence[str], faults: Faults) -> list[Row]:
    """Rows of a table with at least these columns, in any order; empty ones are left out. Wrong cells go to `faults`.

    Raises InputError: the file cannot be read, lacks a column, or has one twice.
    """
    with reading(path):
        raw = path.read_bytes()
    read_rows = _xlsx_rows if path.suffix.lower() == ".xlsx" else _text_rows
    rows = read_rows(path, raw, columns, faults)
    if not rows and not faults:
        raise InputError(f"{path} has no rows; expected a sheet that vista-guard wrote, filled in")
    return [row for row in rows if any(row.cells.values())]


def _xlsx_rows(path: Path, raw: bytes, columns: Sequence[str], faults: Faults) -> list[Row]:
    require(f"reading {path}", "openpyxl", extra="evaluation")
    from openpyxl import load_workbook

    try:
        with ZipFile(io.BytesIO(raw)) as packed:
            size = sum(member.file_size for member in packed.infolist())
        if size > MOST_BYTES:
            raise InputError(f"{path} unpacks to {size:,} bytes; a sheet has at most {MOST_BYTES:,}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of features of Excel that are not read, and not needed
            book = load_workbook(io.BytesIO(raw), data_only=True)
    except (BadZipFile, KeyError, ValueError, TypeError, OSError, EOFError, SyntaxError) as exc:
        raise InputError(f"{path} is not an .xlsx workbook, or it is damaged ({exc}); save it as .xlsx again") from exc
    heads = {sheet: _head(next(sheet.iter_rows(max_row=1, values_only=True), ())) for sheet in book.worksheets}
    sheet = max(heads, key=lambda one: sum(name in heads[one] for name in columns), default=None)
    if sheet is None:
        raise InputError(f"{path} has no worksheet; {SAVE}")
    _check_columns(path, columns, heads[sheet])
    rows = []
    for number, values in enumerate(sheet.iter_rows(min_row=2, values_only=True), 2):
        cells = {name: _cell_text(value) for name, value in zip(heads[sheet], values, strict=False) if name}
        row = Row(str(path), sheet.title, number, cells)
        for name, value in zip(heads[sheet], values, strict=False):
            if name in columns and isinstance(value, datetime | date | time | timedelta):
                why = "the spreadsheet made a date of it; format the cell as text and type it again"
                faults.append(row.fault(name, why))
        rows.append(row)
    return rows


def _head(values: Sequence[object]) -> list[str]:
    return [_cell_text(value).lower() for value in values]


def _cell_text(value: object) -> str:
    """A cell's value as text: spreadsheets turn typed digits into numbers."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).replace("\r\n", "\n").replace("_x000D_", "").strip(" \n\u00a0")


def _text_rows(path: Path, raw: bytes, columns: Sequence[str], faults: Faults) -> list[Row]:
    raw = _as_utf8(path, raw)
    head = raw[:65_536].decode("utf-8-sig", "replace").lstrip()
    records = list(csv_rows(io.BytesIO(raw), delimiter_of(head) or "\t", str(path), short=True))
    first = next((cells for _, cells in records if not isinstance(cells, str)), None)
    if first is not None:
        _check_columns(path, columns, _head(list(first)))
    rows = []
    hint = f"; {SAVE}"
    for number, (_, cells) in enumerate(records, 2):
        if isinstance(cells, str):
            faults.append(Fault(str(path), None, number, None, None, cells + hint))
            hint = ""
            continue
        texts = {name.strip().lower(): _cell_text(cell) for name, cell in cells.items()}
        unquoted = {name: _unquoted(text) for name, text in texts.items()}
        rows.append(Row(str(path), None, number, unquoted))
    return rows


def _check_columns(path: Path, columns: Sequence[str], header: Sequence[str]) -> None:
    missing = next((column for column in columns if column not in header), None)
    if missing is not None:
        names = visible(", ".join(name for name in header if name)[:200])
        raise InputError(
            f"{path} has no column {missing!r}; it has {names or 'none'}. Keep the first row, and give the sheets of this study"
        )
    twice = next((column for column in columns if header.count(column) > 1), None)
    if twice is not None:
        raise InputError(f"{path} has {header.count(twice)} columns {twice!r}; rename all but the one that counts")


def _as_utf8(path: Path, raw: bytes) -> bytes:
    if raw.removeprefix(BOM).lstrip().startswith(_OTHER_FILES):
        raise InputError(f"{path} is a spreadsheet of another kind, or has the wrong suffix; {SAVE}")
    if raw.startswith(UTF16_BOMS):
        try:
            raw = raw.decode("utf-16").encode("utf-8")
        except UnicodeError as exc:
            raise InputError(f"{path} starts as UTF-16 but cannot be decoded: {exc}; save it as UTF-8") from exc
    if not raw.removeprefix(BOM).strip():
        raise InputError(f"{path} is empty")
    return raw


# A form's sheet


def form_table(form: Form, items: Sequence[Item], about: str, *, hints: bool = False) -> Table:
    """The sheet that each annotator gets. With `hints`, one more column has the judge's label of each part."""
    rows: list[list[str | Field]] = []
    names = [mark.name for mark in form.marks]
    marks = {level: form.marks_of(level) for level in Level}
    unit = [] if form.parts is None else [form.parts.unit.value]
    reading = [column.name for column in form.columns]
    for item in items:
        texts = [_fitting(item, name) for name in reading]
        fields = [_field(form, name, marks[Level.ITEM], None) for name in names]
        rows.append([item.id, *[""] * len(unit), *texts, *[""] * len(form.part_columns), *fields, about])
        for part in item.parts:
            own = [part.texts.get(name, "") for name in form.part_columns]
            fields = [_field(form, name, marks[Level.PART], part) for name in names]
            rows.append([item.id, part.id, *[""] * len(reading), *own, *fields, ""])
        for number in range(1, (form.revision.rows if form.revision else 0) + 1):
            fields = [_field(form, name, marks[Level.PART], None, added=True) for name in names]
            blank = [""] * (len(reading) + len(form.part_columns))
            rows.append([item.id, f"{NEW} {number}", *blank, *fields, ""])
    columns = [ID, *unit, *reading, *form.part_columns, *names, STUDY]
    if hints:
        suggestions = {(item.id, part.id): part.hint for item in items for part in item.parts}
        columns.append(SUGGESTED)
        rows = [[*row, suggestions.get((str(row[0]), str(row[1])), "")] for row in rows]
    return Table(form.name, columns, rows, guidelines(form, about))


def layout_table(form: Form, items: Sequence[Item], about: str) -> Table:
    """The sheet in the columns of the form's layout, which are a paper's; the item's id is the last column."""
    whole = form_table(form, items, about)
    if form.layout is None:
        return whole
    places = {name: place for place, name in enumerate(whole.columns)}
    unit = None if form.parts is None else places[form.parts.unit.value]
    rows: list[list[str | Field]] = []
    for _, group in groupby(whole.rows, key=lambda row: row[0]):
        head, *parts = ([*row] for row in group)
        if unit is not None:
            head[unit] = form.layout.item
        rows += [*parts, head] if form.layout.item_last else [head, *parts]
    cells = [[_one_of(row, column.of, places) for column in form.layout.columns] + [row[0]] for row in rows]
    return Table(whole.title, [*(column.head for column in form.layout.columns), ID], cells, whole.guidelines)


def _one_of(row: Sequence[str | Field], names: Sequence[str], places: Mapping[str, int]) -> str | Field:
    """The first of these cells that has a text or can be filled in."""
    return next((row[places[name]] for name in names if row[places[name]] != ""), "")


def _rows_of_layout(path: Path, form: Form, layout: Layout, faults: Faults) -> list[Row]:
    """Rows of a sheet in the columns of a layout, as other sheets have them."""
    heads = {name: column.head.lower() for column in layout.columns for name in column.of}
    rows = read(path, [ID, *dict.fromkeys(heads.values())], faults)
    return [_row_of_layout(row, form, layout, heads) for row in rows]


def _row_of_layout(row: Row, form: Form, layout: Layout, heads: Mapping[str, str]) -> Row:
    unit = "" if form.parts is None else form.parts.unit.value
    is_item = not unit or row[heads[unit]].lower() == layout.item.lower()
    level = Level.ITEM if is_item else Level.PART
    own = {column.name for column in form.columns} if is_item else {*form.part_columns}
    own |= {mark.name for mark in form.marks_of(level)}
    cells = {name: row[head] for name, head in heads.items() if name in own}
    # A mark in the cell of a row that has none is kept, so that it is found to be wrong.
    for column in layout.columns:
        there = [name for name in column.of if name in own or name == unit]
        if not there and row[column.head.lower()]:
            cells[column.of[0]] = row[column.head.lower()]
    names = {ID: row[ID], **({unit: "" if is_item else row[heads[unit]]} if unit else {})}
    shown = {name: column.head for column in layout.columns for name in column.of}
    return Row(row.file, row.sheet, row.number, {**cells, **names}, shown)


def guidelines(form: Form, about: str) -> str:
    """The instructions of a form: its guidelines, each mark with its choices, and how the sample was drawn."""
    lines = [form.title, "", *form.guidelines.strip().splitlines(), ""]
    for mark in form.marks:
        needed = "" if mark.needed else " (may stay empty)"
        lines.append(f"{mark.name}{needed}: {mark.ask}".rstrip(": "))
        if isinstance(mark, NumberMark):
            lines.append(f"   a {'whole ' if mark.whole else ''}number from {mark.low:g} to {mark.high:g}")
        if isinstance(mark, ChoicesMark):
            lines.append("   as many as apply, with ; between them:")
        if isinstance(mark, ChoiceMark | ChoicesMark):
            lines += [f"   {choice.value}: {choice.means}".rstrip(": ") for choice in mark.choices]
    how = "Fill in the coloured cells of the first sheet and save it under the same name. The others are locked."
    return "\n".join([*lines, "", how, "", f"This study: {about}"])


def _field(form: Form, name: str, marks: Sequence[Mark], part: Part | None, *, added: bool = False) -> str | Field:
    revise = form.revision
    mark = next((one for one in marks if one.name == name), None)
    if revise is not None and name == revise.by:
        if part is not None:
            return Field(mark, tuple(str(op) for op in Op if op is not Op.ADD))
        return Field(mark, (str(Op.ADD),)) if added else Field(None, (revise.none,))
    if mark is None:
        return ""
    return Field(mark, mark.values if isinstance(mark, ChoiceMark) else ())


def too_long(form: Form, items: Sequence[Item]) -> dict[str, str]:
    """Texts too long for a cell, by the file that they go into."""
    long = ((item, one.name) for item in items for one in form.columns if len(item.texts.get(one.name, "")) > LONGEST)
    return {_file(item, name): visible(item.texts[name]) for item, name in long}


def _fitting(item: Item, name: str) -> str:
    text = item.texts.get(name, "")
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 200]}…\n\n[cut here: all {len(text):,} characters are in texts/{_file(item, name)}]"


def _file(item: Item, name: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9._-]', '_', item.id)}.{name}.txt"


# Filled sheets


@dataclass(frozen=True)
class FilledSheet:
    """A filled sheet. Items that the annotator did not begin are not in `answers`; `open` counts them."""

    annotator: str
    answers: Mapping[str, Answers]
    open: int


def read_sheets(paths: Sequence[Path], form: Form, items: Sequence[Item]) -> list[FilledSheet]:
    """The sheets of several annotators, each named after its file.

    Raises:
        InputError: a file cannot be read, two have the same annotator, or cells are wrong: names file, sheet, row, column, value.
    """
    faults = Faults()
    filled = collect_sheets(paths, form, items, faults)
    faults.check("the sheets")
    return filled


def collect_sheets(paths: Sequence[Path], form: Form, items: Sequence[Item], faults: Faults) -> list[FilledSheet]:
    """The sheets of several annotators; wrong cells go to `faults`, so that one error names those of several forms.

    Raises InputError: a file cannot be read, or two have the same annotator.
    """
    names = [clean_name(path.stem) for path in paths]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InputError(f"two sheets belong to {twice}: a sheet is named after its annotator; give each sheet once")
    return [_Reader(form, items, path, faults).filled(name) for path, name in zip(paths, names, strict=True)]


class _Reader:
    def __init__(self, form: Form, items: Sequence[Item], path: Path, faults: Faults) -> None:
        self.form, self.path, self.faults = form, path, faults
        self.known = {item.id: item for item in items}
        self.items = [item for item in items if item.is_for(clean_name(path.stem))]
        self.unit = "" if form.parts is None else form.parts.unit.value
        self.marks = {level: form.marks_of(level) for level in Level}

    def filled(self, annotator: str) -> FilledSheet:
        unread = Faults()
        by_item: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows(unread):
            item = self.known.get(row[ID])
            if item is None:
                why = f"the study has no such {self.form.item}; keep ids as the sheet had them"
                self.faults.append(row.fault(ID, why))
            elif not item.is_for(annotator):
                annotators = ", ".join(item.annotators)
                self.faults.append(row.fault(ID, f"this {self.form.item} is for {annotators}, not for {annotator}"))
            else:
                by_item[row[ID]].append(row)
        self.faults.extend(unread)
        answered = {}
        for item in self.items:
            # If rows cannot be read, the error says so, rather than that they are missing.
            if item.id not in by_item and not unread:
                why = f"the rows of {self.form.item} {item.id} are missing"
                self.faults.append(Fault(str(self.path), None, 1, ID, None, why))
            answers = self.answers(item, by_item.get(item.id, []), whole=not unread)
            if answers is not None:
                answered[item.id] = answers
        return FilledSheet(annotator, answered, len(self.items) - len(answered))

    def rows(self, unread: Faults) -> list[Row]:
        """The rows of the file, in the engine's columns or in those of the form's layout."""
        if self.form.layout is not None and self.path.suffix.lower() != ".xlsx":
            return _rows_of_layout(self.path, self.form, self.form.layout, unread)
        unit = [self.unit] if self.unit else []
        needed = [ID, *unit, *self.form.part_columns, *(mark.name for mark in self.form.marks)]
        return read(self.path, needed, unread)

    def answers(self, item: Item, rows: Sequence[Row], *, whole: bool) -> Answers | None:
        """The marks on one item; None where the annotator did not begin it."""
        known_parts = {part.id: part for part in item.parts}
        self.check_rows(item, rows, known_parts)
        if not any(self.has_marks(row) for row in rows):
            return None
        if whole:
            there = {row[self.unit] for row in rows} if self.unit else set()
            for name in known_parts.keys() - there:
                self.faults.append(rows[0].fault(ID, f"the row of {self.unit} {name} is missing"))
        head = next((row for row in rows if not self.unit or not row[self.unit]), None)
        item_values: Mapping[str, Value] = {} if head is None else self.values(head, Level.ITEM)
        if head is not None and self.form.layout is not None:
            self.check_item_texts(head, item)
        parts: dict[str, Mapping[str, Value]] = {}
        for row in rows:
            name = row[self.unit] if self.unit else ""
            if name in known_parts:
                self.check_text(row, known_parts[name])
                parts[name] = self.values(row, Level.PART, item_values)
            elif name and self.adds(name) and any(row[mark.name] for mark in self.marks[Level.PART]):
                parts[name] = self.values(row, Level.PART, item_values, added=True)
        self.check_revised(rows, parts)
        order = [*known_parts, *sorted(parts.keys() - known_parts.keys())]
        return Answers(item_values, {name: parts[name] for name in order if name in parts})

    def has_marks(self, row: Row) -> bool:
        """True if the row has a mark; notes alone don't count."""
        level = Level.PART if self.unit and row[self.unit] else Level.ITEM
        counting = [mark.name for mark in self.marks[level] if mark.needed or not isinstance(mark, TextMark)]
        if self.form.revision is not None and level is Level.ITEM:
            counting.append(self.form.revision.by)
        return any(row[name] for name in counting)

    def adds(self, name: str) -> bool:
        return self.form.revision is not None and name.startswith(NEW)

    def check_rows(self, item: Item, rows: Sequence[Row], given: Mapping[str, Part]) -> None:
        """Checks that each row names a known part once and fills no cell that must stay empty."""
        row_numbers: dict[str, int] = {}
        for row in rows:
            name = row[self.unit] if self.unit else ""
            if name in row_numbers:
                column = self.unit or ID
                self.faults.append(
                    row.fault(column, f"{self.form.item} {item.id} has it in row {row_numbers[name]} already")
                )
            row_numbers.setdefault(name, row.number)
            if name and name not in given and not self.adds(name):
                more = f"; one that you add is {NEW} 1, {NEW} 2, …" if self.form.revision else ""
                why = f"{self.form.item} {item.id} has no such {self.unit}{more}"
                self.faults.append(row.fault(self.unit, why))
            self.check_level(row, Level.PART if name else Level.ITEM)

    def check_level(self, row: Row, level: Level) -> None:
        revise = self.form.revision
        here = {mark.name for mark in self.marks[level]}
        for mark in self.form.marks:
            cell = row[mark.name]
            if revise is not None and mark.name == revise.by and level is Level.ITEM:
                if cell.lower() not in ("", revise.none):
                    why = f"the {self.form.item}'s own row takes {revise.none!r} or nothing"
                    self.faults.append(row.fault(mark.name, why))
            elif cell and mark.name not in here:
                other = f"a {self.unit}" if level is Level.ITEM else f"the {self.form.item}"
                self.faults.append(row.fault(mark.name, f"this is a mark of {other}; it stays empty here"))

    def check_item_texts(self, row: Row, item: Item) -> None:
        """Checks the texts: a sheet sorted by a single column has the marks of one item beside the id of another."""
        for column in (one.name for one in self.form.columns):
            expected = _words(_text(_fitting(item, column)))
            if _words(row[column]) != expected:
                why = f"the {self.form.item} read {expected[:SHOWN]!r}; put it back as it was"
                self.faults.append(row.fault(column, why))

    def check_text(self, row: Row, part: Part) -> None:
        column = self.form.part_columns[0]
        there, known = (_words(text) for text in (row[column], _text(part.texts.get(column, ""))))
        if there == known:
            return
        if there.isascii() and _lossy(there) == _lossy(known):
            self.faults.append(row.fault(column, f"letters became question marks, here and maybe elsewhere; {SAVE}"))
            return
        revise = self.form.revision
        more = f"; write its new words into {revise.words}" if revise else "; put it back as it was"
        self.faults.append(row.fault(column, f"the {self.unit} read {known[:SHOWN]!r}{more}"))

    def values(
        self, row: Row, level: Level, item: Mapping[str, Value] | None = None, *, added: bool = False
    ) -> dict[str, Value]:
        """The marks of one row, each checked. `item` has the item's marks if the row is a part's."""
        values: dict[str, Value] = {}
        wrong: set[str] = set()
        for mark in self.marks[level]:
            if text := row[mark.name]:
                try:
                    values[mark.name] = mark.read(text)
                except ValueError as exc:
                    wrong.add(mark.name)
                    self.faults.append(row.fault(mark.name, str(exc)))
        if self.form.revision is not None and level is Level.PART and self.form.revision.by not in wrong:
            self.add_operation(row, values, added=added)
        for mark in self.marks[level]:
            if mark.name not in wrong and not wrong & mark.when.keys():
                self.check_mark(row, mark, values, item or {})
        return values

    def add_operation(self, row: Row, values: dict[str, Value], *, added: bool) -> None:
        """Fills in the operation on the part where the annotator left it open."""
        revise = self.form.revision
        assert revise is not None  # the caller asked
        operation = values.get(revise.by)
        if added and operation not in (None, Op.ADD):
            self.faults.append(row.fault(revise.by, f"a {self.unit} that is added takes {Op.ADD} or nothing"))
        elif not added and operation == Op.ADD:
            why = f"the {self.unit} is there; give {Op.CONFIRM}, {Op.EDIT} or {Op.DELETE}"
            self.faults.append(row.fault(revise.by, why))
        if added:
            values[revise.by] = str(Op.ADD)
        elif operation in (None, Op.ADD):
            values[revise.by] = str(Op.EDIT if revise.words in values else Op.CONFIRM)

    def check_mark(self, row: Row, mark: Mark, values: Mapping[str, Value], item: Mapping[str, Value]) -> None:
        if applies(mark, values):
            if mark.name not in values and is_needed(mark, values, item):
                self.faults.append(row.fault(mark.name, _missing(mark)))
        elif mark.name in values:
            reason = " and ".join(f"{name} is {values.get(name, 'empty')}" for name in mark.when)
            self.faults.append(row.fault(mark.name, f"it stays empty where {reason}"))

    def check_revised(self, rows: Sequence[Row], parts: Mapping[str, Mapping[str, Value]]) -> None:
        revise = self.form.revision
        if revise is None:
            return
        head = next((row for row in rows if not row[self.unit]), None)
        remaining = [name for name, values in parts.items() if values.get(revise.by) != Op.DELETE]
        if head is not None and head[revise.by] and remaining:
            why = f"the {self.form.item} has {self.unit}s that are not deleted: {remaining[0]}"
            self.faults.append(head.fault(revise.by, why))
        if len(parts) > MOST_CLAIMS:
            self.faults.append(rows[0].fault(ID, f"{len(parts)} {self.unit}s; at most {MOST_CLAIMS} are kept"))


def _missing(mark: Mark) -> str:
    if isinstance(mark, TextMark):
        return mark.ask or "give some words"
    try:
        mark.read("")
    except ValueError as exc:
        return str(exc)
    return "give at least one"


def _words(text: str) -> str:
    # Sheets of earlier versions have a quote before figures.
    return " ".join(text.split()).lstrip("'")


def _lossy(text: str) -> str:
    """The text after a round trip through an encoding that lacks letters: one question mark per run of them."""
    return re.sub(r"(?:[^\x00-\x7f]|\?)+", "?", text)
