"""Markdown to blocks: paragraphs, items, headings, table rows, code. Every line with a word belongs to one.

Table rows read as sentences: each cell under its header, with the row's first cell as the subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from vista_guard.judges.embedded.forms.code import (
    SYMBOLS,
    Fence,
    fences,
    is_prose,
    line_ranges,
    prose_spans,
    says,
    without_quote_marks,
)

_TABLE_RULE = re.compile(r"[\s>|:-]*-[\s|:-]*")
_EDGE = re.compile(r"\s*(?:>\s*)*(?:[-*+•]\s+)?\|")
_BAR = re.compile(r"(?<!\\)\|")
_MOST_COLUMNS = 30
"""A row of more cells stays whole: no table of that width is read by people."""


@dataclass(frozen=True)
class TableRow:
    """A line of a table, and where it begins."""

    start: int
    line: str


@dataclass(frozen=True)
class Said:
    """The text of a row: `text`, its cells under their header, and separately the places of cells that are sentences."""

    start: int
    end: int
    text: str
    spoken: tuple[tuple[int, int], ...]
    heads: bool = False
    """True for a header, which states nothing but may answer a question."""


@dataclass(frozen=True)
class _Cell:
    start: int
    end: int
    text: str


def is_row(line: str) -> bool:
    """True if a line can belong to a table: bars around it, or dashes between bars."""
    if "|" not in line:
        return False
    return (_EDGE.match(line) is not None and line.count("|") > 1) or _TABLE_RULE.fullmatch(line) is not None


def is_rule(line: str) -> bool:
    """True if a line separates a table's header from its rows."""
    return _TABLE_RULE.fullmatch(line) is not None


def under_header(header: str, line: str) -> str:
    """A whole row, each cell under its header: "Ward: North; Beds: 12"."""
    names = _cells(TableRow(0, header))
    named = (_named_cell(names, index, cell) for index, cell in enumerate(_cells(TableRow(0, line))) if cell.text)
    return "; ".join(named)


def rows(table: Sequence[TableRow]) -> Iterator[Said]:
    """The rows of a table. The first is a header when a rule follows it, or rows of as many cells do; it may state, too."""
    lines = [row for row in table if not _TABLE_RULE.fullmatch(row.line)]
    ruled = len(table) > 1 and _TABLE_RULE.fullmatch(table[1].line) is not None
    header: Sequence[_Cell] = ()
    for number, row in enumerate(lines):
        cells = _cells(row)
        if number == 0 and (ruled or (len(lines) > 1 and len(cells) > 1)):
            header = cells
            yield from _header(row, cells, alone=len(lines) == 1)
            continue
        yield from _row(row, header, cells)


def _header(row: TableRow, cells: Sequence[_Cell], *, alone: bool) -> Iterator[Said]:
    joined = "; ".join(cell.text for cell in cells if cell.text)
    # A header over nothing is no header.
    if alone or (says(joined.replace(";", " ")) and any(character.isdigit() for character in joined)):
        yield from _row(row, (), cells)
    else:
        spoken = tuple((cell.start, cell.end) for cell in cells if says(cell.text))
        yield Said(row.start, row.start + len(row.line), joined, spoken, heads=True)


def _row(row: TableRow, header: Sequence[_Cell], cells: Sequence[_Cell]) -> Iterator[Said]:
    spoken = tuple((cell.start, cell.end) for cell in cells if says(cell.text) and cell.text[-1] in ".!?")
    places = {place for place, _ in spoken}
    rest = [(index, cell) for index, cell in enumerate(cells) if cell.text and cell.start not in places]
    named = [_named_cell(header, index, cell) for index, cell in rest]
    start, end = row.start, row.start + len(row.line)
    if len(named) > 2 and header and len(cells) <= _MOST_COLUMNS:
        # Two facts in one claim would be judged as one.
        for number, text in enumerate(named[1:]):
            yield Said(start, end, f"{named[0]}; {text}", spoken if number == 0 else ())
        return
    yield Said(start, end, "; ".join(named), spoken)


def _named_cell(header: Sequence[_Cell], index: int, cell: _Cell) -> str:
    name = header[index].text if index < len(header) else ""
    return f"{name}: {cell.text}" if name else cell.text


def _cells(row: TableRow) -> tuple[_Cell, ...]:
    """Cells with their places, those at the edges without the row's own bars."""
    edge = _EDGE.match(row.line)
    begin = edge.end() if edge else 0
    bars = [match.start() for match in _BAR.finditer(row.line, begin)]
    ends = [*bars, len(row.line)] if not bars or row.line[bars[-1] + 1 :].strip() else bars
    starts = [begin, *(place + 1 for place in ends[:-1])]
    return tuple(_cell(row, start, end) for start, end in zip(starts, ends, strict=True))


def _cell(row: TableRow, start: int, end: int) -> _Cell:
    raw = row.line[start:end]
    left = start + len(raw) - len(raw.lstrip())
    return _Cell(row.start + left, row.start + start + len(raw.rstrip()), raw.strip())


class BlockKind(StrEnum):
    """Kinds of block."""

    PROSE = "prose"
    ITEM = "item"
    HEADING = "heading"
    ROW = "row"
    HEADER = "header"
    CODE = "code"
    BLANK = "blank"


@dataclass(frozen=True)
class Block:
    """Text `start:end`. `text` stands for it where it was rendered: a row under its header."""

    start: int
    end: int
    kind: BlockKind
    text: str | None = None


_HEADING = re.compile(r"^[\s>]{0,40}#{1,7}\s+\S")
_RULE = re.compile(r"^\s*([-*_=~^+])(?:\s*\1){2,}\s*$")
_MARKER = re.compile(
    r"^\s{0,200}(?:>[!\s]{0,4}){0,60}(?:(?:[-*+•‣◦–]|\(?\d{1,3}[.)]|\(?[ivx]{1,5}\))\s+(?:\[[ xX]\]\s+)?){0,3}"
    r"(?:#{1,7}\s+)?(?::\s+)?"
)
_MARK_ONLY = re.compile(r"[\s>]{0,40}\(?\d{1,3}[.)]\s*")
"""An item's number with nothing behind it."""
_ENDS = re.compile(r"""[.!?:;…。！？]["'”’)\]*_]*\s*$""")
_TAIL = 200
"""Characters of a paragraph's end that tell whether the next line goes on with it."""
_LONG_LINE = 60
"""A line that long, without an end, goes on in the next: prose that was wrapped."""


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a folded text, in order. Only rules and what has no letter or figure are left out."""
    start = 0
    for fence in fences(text):
        yield from _open_blocks(text, start, fence.start)
        yield from _fenced_blocks(text, fence)
        start = fence.end
    yield from _open_blocks(text, start, len(text))


def kind_of(line: str) -> BlockKind:
    """The kind of a line outside of fences."""
    if is_row(line):
        return BlockKind.ROW
    if SYMBOLS.search(line):
        return BlockKind.PROSE
    if _RULE.match(line) or _MARK_ONLY.fullmatch(line) or not any(map(str.isalnum, line)):
        return BlockKind.BLANK
    if _HEADING.match(line) and not _ENDS.search(line.rstrip("# ")):
        return BlockKind.HEADING
    marker = _MARKER.match(line)
    return BlockKind.ITEM if marker and marker.group().strip() else BlockKind.PROSE


def continues(block: str, line: str) -> bool:
    """True if `line` continues the block's sentence: hard-wrapped prose, not one statement a line."""
    if _ENDS.search(block):
        return False
    return line.lstrip()[:1].islower() or len(block.rsplit("\n", 1)[-1]) >= _LONG_LINE


def _open_blocks(text: str, start: int, end: int) -> Iterator[Block]:
    """The blocks of a stretch without fences."""
    current: Block | None = None
    table: list[TableRow] = []
    for begin, last in line_ranges(text, start, end):
        line = text[begin:last]
        kind = kind_of(line)
        if current and _goes_on(text, current, kind, line):
            current = Block(current.start, last, current.kind)
            continue
        if current:
            yield current
            current = None
        if kind is BlockKind.ROW:
            table.append(TableRow(begin, line))
            continue
        yield from _table(table)
        table = []
        if kind is not BlockKind.BLANK:
            marker = _MARKER.match(line)
            current = Block(begin + (marker.end() if marker else 0), last, kind)
    if current:
        yield current
    yield from _table(table)


def _goes_on(text: str, block: Block, kind: BlockKind, line: str) -> bool:
    if kind is not BlockKind.PROSE or block.kind is BlockKind.HEADING:
        return False
    return continues(text[max(block.start, block.end - _TAIL) : block.end], line)


def _table(table: list[TableRow]) -> Iterator[Block]:
    """The rows under their header. A cell that says something by itself is taken out of its row."""
    for row in rows(table):
        for start, end in row.spoken:
            yield Block(start, end, BlockKind.PROSE)
        if row.text:
            yield Block(row.start, row.end, BlockKind.HEADER if row.heads else BlockKind.ROW, row.text)


def _fenced_blocks(text: str, fence: Fence) -> Iterator[Block]:
    """Prose of a fence as any prose; then the block itself, when there is code in it."""
    code, prose = False, list[tuple[int, int]]()
    for start, end in line_ranges(text, fence.body, fence.body_end):
        begin = without_quote_marks(text, start, end)
        if is_prose(text[begin:end], written=fence.written):
            prose.append((begin, end))
            continue
        yield from _prose(text, prose)
        prose = []
        code = code or bool(text[begin:end].strip())
        yield from (Block(one, last, BlockKind.PROSE) for one, last in prose_spans(text[begin:end], begin))
    yield from _prose(text, prose)
    if code:
        yield Block(fence.start, fence.end, BlockKind.CODE)


def _prose(text: str, lines: list[tuple[int, int]]) -> Iterator[Block]:
    if lines:
        yield from _open_blocks(text, lines[0][0], lines[-1][1])
