"""Text of office files and tables: DOCX, PPTX and XLSX by libraries; CSV, TSV, JSON and JSON lines by Python's own.

A row reads `column: value; column: value`, as in tables of HTML, so that each line explains itself.
"""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from io import BytesIO, StringIO
from itertools import chain
from typing import Any

from vista_guard.errors import InputError
from vista_guard.reading.html import INVISIBLE, FileText, first_title, join_pages, one_line, read_html

UNPACKED_BYTES = 200_000_000
"""Largest unpacked size of an office file, which is a zip archive."""
_ENTRIES = 10_000
_DEEPEST = 20
"""Levels of groups on a slide and of objects in JSON; anything deeper is made to break its reader."""
_DELIMITERS = ",;\t|"
_SNIFFED = 5000
"""Characters that tell the delimiter: the library's time for quotes grows with their square."""
LIBRARIES = {"docx": "docx", "pptx": "pptx", "xlsx": "openpyxl"}
"""Library that reads each format, from the extra `documents`."""


def read_office(form: str, raw: bytes) -> FileText:
    """Reads a DOCX, PPTX or XLSX file.

    Raises:
        ImportError: its library is missing.
        InputError: damaged, encrypted, or a bomb.
    """
    _expect_archive(raw)
    read = {"docx": _docx, "pptx": _pptx, "xlsx": _xlsx}[form]
    try:
        return read(raw)
    except (ImportError, InputError):
        raise
    except Exception as exc:  # the libraries let through whatever a damaged file leads to
        raise InputError(f"is damaged, or no {form.upper()}: {type(exc).__name__}: {exc}") from exc


def _expect_archive(raw: bytes) -> None:
    if raw.startswith(b"\xd0\xcf\x11\xe0"):
        raise InputError("is encrypted, or of a format before 2007; save it anew, without a password")
    try:
        entries = zipfile.ZipFile(BytesIO(raw)).infolist()
    except zipfile.BadZipFile as exc:
        raise InputError(f"is damaged: {exc}") from exc
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > UNPACKED_BYTES or len(entries) > _ENTRIES:
        raise InputError(
            f"unpacks to {unpacked:,} bytes in {len(entries):,} parts, more than {UNPACKED_BYTES:,} in {_ENTRIES:,}; split it"
        )


def _docx(raw: bytes) -> FileText:
    from docx import Document
    from docx.table import Table

    document = Document(BytesIO(raw))
    blocks, first = list[str](), ""
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            blocks.append("\n".join(table_lines([_row_cells(row.cells) for row in block.rows])))
            continue
        text, style = _tidy(_unstruck(block)), (block.style.name if block.style else "") or ""
        if not text:
            continue
        level = style.removeprefix("Heading ") if style.startswith("Heading ") else "1" if style == "Title" else ""
        first = first or (text if level else "")
        mark = "- " if style.startswith("List") else ""
        blocks.append(f"{'#' * min(int(level), 6)} {one_line(text)}" if level.isdigit() else f"{mark}{text}")
    return FileText(first_title(document.core_properties.title, first), _paragraphs(blocks))


def _unstruck(paragraph: Any) -> str:
    """A paragraph's text without what is struck through."""
    runs = (run for part in paragraph.iter_inner_content() for run in getattr(part, "runs", [part]))
    return "".join(run.text for run in runs if not (run.font.strike or run.font.double_strike))


def _row_cells(cells: Iterable[Any]) -> list[str]:
    """The texts of a row; a cell that spans several columns comes once."""
    texts = dict[int, str]()
    for cell in cells:
        texts.setdefault(id(cell._tc), one_line("\n".join(map(_unstruck, cell.paragraphs))))
    return list(texts.values())


def _pptx(raw: bytes) -> FileText:
    from pptx import Presentation

    presentation = Presentation(BytesIO(raw))
    slides = []
    for number, slide in enumerate(presentation.slides, 1):
        title = slide.shapes.title
        name = one_line(title.text_frame.text) if title is not None else ""
        shapes = [shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id]
        texts = [text for shape in shapes for text in _shape_texts(shape, _DEEPEST)]
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        note_lines = [f"Notes: {_tidy(notes.text)}"] if notes is not None and notes.text.strip() else []
        slides.append(_paragraphs([f"## {name or f'Slide {number}'}", *texts, *note_lines]))
    first = next((slide.splitlines()[0].lstrip("# ") for slide in slides if slide), None)
    return join_pages(first_title(presentation.core_properties.title, first), slides)


def _shape_texts(shape: Any, depth: int) -> Iterator[str]:
    if shape.has_text_frame and shape.text_frame.text.strip():
        yield "\n".join(f"{'- ' if line.level else ''}{line.text}".strip() for line in shape.text_frame.paragraphs)
    if getattr(shape, "has_table", False) and shape.has_table:
        yield "\n".join(table_lines([[one_line(cell.text) for cell in row.cells] for row in shape.table.rows]))
    for inner in getattr(shape, "shapes", ()) if depth else ():
        yield from _shape_texts(inner, depth - 1)


def _xlsx(raw: bytes) -> FileText:
    from openpyxl import load_workbook

    book = load_workbook(BytesIO(raw), read_only=True, data_only=True)
    sheets = []
    for sheet in book.worksheets:
        rows = ([_cell(value) for value in row] for row in sheet.iter_rows(values_only=True))
        lines = table_lines([row for row in rows if any(row)])
        sheets.append("\n".join([f"## {sheet.title}", "", *lines]) if lines else "")
    return FileText(first_title(book.properties.title), _paragraphs(sheets))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return value.isoformat() if isinstance(value, date | time) else one_line(str(value))


def read_csv(text: str, *, tabs: bool) -> FileText:
    """Reads a table with one line a row; the delimiter is detected from the first lines.

    >>> read_csv("hall;opened\\nWhale;1925\\n", tabs=False).text
    'hall: Whale; opened: 1925'

    Raises:
        InputError: a quote that never ends, or a cell of megabytes.
    """
    try:
        dialect: Any = csv.excel_tab if tabs else csv.Sniffer().sniff(text[:_SNIFFED], _DELIMITERS)
    except csv.Error:  # one column, or too few rows to tell
        dialect = csv.excel
    try:
        rows = [[one_line(cell) for cell in row] for row in csv.reader(StringIO(text), dialect, strict=True)]
    except csv.Error as exc:
        raise InputError(f"is no table: {exc}") from exc
    return FileText(None, "\n".join(table_lines([row for row in rows if any(row)])))


_LOWER = str.maketrans("ABELT", "abelt")  # of this tag's letters: `lower` changes lengths
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)]*(?:\s|\Z)")
_MOST_NAME = 40
"""Longest name of a column, in characters, in a text that does not say that it is a table."""


def with_rows(text: str) -> str:
    """The text with its tables as rows, `column: value; column: value`: tables of HTML, CSV and TSV, and JSON of records.

    Text of another kind stays as it is: a text does not say what it is, so that only what can be nothing else is a table.

    >>> with_rows("hall,opened\\nWhale,1925\\nShip,1850")
    'hall: Whale; opened: 1925\\nhall: Ship; opened: 1850'
    """
    start = text.lstrip()[:1]
    if start in ("[", "{") and (records := _records(text)):
        return records
    first, last = _html_table(text)
    if first < last and start == "<":
        return read_html(text).text
    if first < last:
        text = f"{text[:first]}\n\n{read_html(text[first:last]).text}\n\n{text[last:]}"
    return "".join(map(_block_rows, re.split(r"(\n[ \t]*\n\s*)", text)))


def _html_table(text: str) -> tuple[int, int]:
    """The span from the first table of HTML to the end of the last; empty without one. Linear in the text's length."""
    tags = text.translate(_LOWER)
    first, end = tags.find("<table"), tags.rfind("</table")
    last = tags.find(">", end) + 1 if end >= 0 else 0
    return (first, last) if 0 <= first < last else (0, 0)


def row_text(record: Mapping[str, object]) -> str:
    """A record as a row, `column: value; column: value`."""
    return "; ".join(f"{name}: {_scalar(value)}" for name, value in record.items() if value is not None)


def _records(text: str) -> str | None:
    """JSON of one or several records, as rows where they are flat; None for anything else."""
    for read in (lambda: [json.loads(text)], lambda: [_json_lines(text)]):
        try:
            (content,) = read()
        except (InputError, RecursionError, ValueError):
            continue
        items = content if isinstance(content, list) else [content]
        if items and all(isinstance(item, str) for item in items) and any(map(_is_prose, items)):
            return _paragraphs(items)
        if not items or not all(isinstance(item, Mapping) for item in items):
            return None
        if len(items) > 1 and not any(isinstance(value, dict | list) for item in items for value in item.values()):
            prose = any(_is_prose(value) for item in items for value in item.values())
            return _paragraphs(map(_section, items)) if prose else "\n".join(map(row_text, items))
        try:
            return _paragraphs("\n".join(_value_lines(item)) for item in items)
        except InputError:
            return None
    return None


def _section(record: Mapping[str, object]) -> str:
    """A record with texts: each as a paragraph below the other fields, so that what it says is read as it says it."""
    texts = [value for value in record.values() if _is_prose(value)]
    others = row_text({name: value for name, value in record.items() if not _is_prose(value)})
    return "\n\n".join([*([f"# {others}"] if others else []), *map(_scalar, texts)])


def _block_rows(block: str) -> str:
    """A block of lines as rows, if it is a table under a line that names its columns, and perhaps one above that names it."""
    lines = block.splitlines()
    for titles in (0, 1):
        for separator in ("\t", ";", ","):
            rows = _cells_of(lines[titles:], separator)
            if rows:
                return "\n".join([*lines[:titles], *table_lines(rows)])
    return block


def _cells_of(lines: Sequence[str], separator: str) -> list[list[str]] | None:
    """The rows of a table with this separator, each as long as the first; None if these lines are something else."""
    if len(lines) < 2 or not all(separator in line for line in lines):
        return None
    try:
        rows = list(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error:
        return None
    names = rows[0]
    spaced = separator != "\t" and any(cell[:1] == " " for row in rows for cell in row)  # as commas in prose are
    fits = len({len(row) for row in rows}) == 1 and all(0 < len(name.strip()) <= _MOST_NAME for name in names)
    if spaced or not fits or len(set(names)) < len(names) or any(map(_is_figure, names)):
        return None
    return [[one_line(cell) for cell in row] for row in rows]


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines, each cell under the name of its column where the first row names the columns."""
    if not rows:
        return []
    names, *records = rows
    if not records or not all(names) or len(set(names)) < len(names) or any(map(_is_figure, names)):
        return [" | ".join(cell for cell in row if cell) for row in rows]
    return ["; ".join(_labelled_cells(names, row)) for row in records if any(row)]


def _labelled_cells(names: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    for place, cell in enumerate(row):
        if cell:
            yield f"{names[place]}: {cell}" if place < len(names) else cell


def _is_figure(name: str) -> bool:
    return name.translate(str.maketrans("", "", " .,-+%€$£")).isdigit()


def read_json(text: str, *, lines: bool) -> FileText:
    """Reads JSON as `name: value` lines, one paragraph for each item of a list, and JSON lines as such a list.

    >>> read_json('[{"hall": "Whale", "fee": {"adult": 8}}]', lines=False).text
    'hall: Whale\\nfee.adult: 8'

    Raises:
        InputError: it is no JSON; says where.
    """
    try:
        content = _json_lines(text) if lines else json.loads(text)
    except (RecursionError, ValueError) as exc:
        raise InputError(f"is no JSON: {exc}") from exc
    title = content.get("title") if isinstance(content, Mapping) else None
    items = content if isinstance(content, list) else [content]
    return FileText(
        first_title(title) if isinstance(title, str) else None,
        _paragraphs("\n".join(_value_lines(item)) for item in items),
    )


def _json_lines(text: str) -> list[Any]:
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            records += [json.loads(line)] if line.strip() else []
        except (RecursionError, ValueError) as exc:
            raise InputError(f"is no JSON in line {number}: {exc}") from exc
    return records


def _value_lines(value: object, path: str = "", depth: int = _DEEPEST) -> Iterator[str]:
    if not depth:
        raise InputError(f"holds more than {_DEEPEST} levels of JSON, at {path[:80]}")
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _value_lines(inner, f"{path}.{name}" if path else str(name), depth - 1)
    elif isinstance(value, list):
        prose = [item for item in value if _is_prose(item)]
        plain = [item for item in value if not isinstance(item, Mapping | list) and not _is_prose(item)]
        if plain:
            yield from _value_lines(", ".join(map(_scalar, plain)), path, depth - 1)
        if prose:  # joined to each other or to the name, its sentences would be others
            yield from (f"{path}:" if path else "", *map(_scalar, prose))
        yield from chain.from_iterable(
            _value_lines(item, path, depth - 1) for item in value if isinstance(item, Mapping | list)
        )
    elif value is not None and _scalar(value).strip():
        yield f"{path}: {_scalar(value)}" if path else _scalar(value)


def _is_prose(value: object) -> bool:
    """True for a text of several words with the end of a sentence."""
    return isinstance(value, str) and len(value.split()) > 2 and _SENTENCE_END.search(value) is not None


def _scalar(value: object) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value)


def _paragraphs(blocks: Iterable[str]) -> str:
    return "\n\n".join(block for block in blocks if block.strip())


def _tidy(text: str) -> str:
    return "\n".join(one_line(line) for line in text.translate(INVISIBLE).replace("\x0b", "\n").splitlines()).strip()


PLAIN: Mapping[str, Callable[[str], FileText]] = {
    ".csv": lambda text: read_csv(text, tabs=False),
    ".tsv": lambda text: read_csv(text, tabs=True),
    ".json": lambda text: read_json(text, lines=False),
    ".jsonl": lambda text: read_json(text, lines=True),
    ".ndjson": lambda text: read_json(text, lines=True),
}
"""Reader of each table and record format, by suffix."""
