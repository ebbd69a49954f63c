"""Rows of Markdown tables: each cell under its header, the first cell of a row as what the others speak of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vista_guard.judges.embedded.forms.code import says

_RULE = re.compile(r"[\s>|:-]*-[\s|:-]*")
_EDGE = re.compile(r"\s*(?:>\s*)*(?:[-*+•]\s+)?\|")
_BAR = re.compile(r"(?<!\\)\|")
_MOST_COLUMNS = 30
"""A row of more cells stays whole: no table of that width is read by people."""


@dataclass(frozen=True)
class Row:
    """A line of a table, and where it begins."""

    start: int
    line: str


@dataclass(frozen=True)
class Said:
    """What a row says: `text`, its cells under their header, and apart from it the places of cells that are sentences."""

    start: int
    end: int
    text: str
    spoken: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Cell:
    start: int
    end: int
    text: str


def is_row(line: str) -> bool:
    """Whether a line can be of a table: bars around it, or a rule's dashes between bars."""
    if "|" not in line:
        return False
    return (_EDGE.match(line) is not None and line.count("|") > 1) or _RULE.fullmatch(line) is not None


def is_rule(line: str) -> bool:
    """Whether a line is the rule between a table's header and its rows."""
    return _RULE.fullmatch(line) is not None


def under_header(header: str, line: str) -> str:
    """A whole row, each cell under its header: "Ward: North; Beds: 12"."""
    names = _cells(Row(0, header))
    named = (_named(names, index, cell) for index, cell in enumerate(_cells(Row(0, line))) if cell.text)
    return "; ".join(named)


def rows(table: Sequence[Row]) -> Iterator[Said]:
    """The rows of a table. The first is a header when a rule follows it, or rows of as many cells do; it may state, too."""
    lines = [row for row in table if not _RULE.fullmatch(row.line)]
    ruled = len(table) > 1 and _RULE.fullmatch(table[1].line) is not None
    header: Sequence[_Cell] = ()
    for number, row in enumerate(lines):
        cells = _cells(row)
        if number == 0 and (ruled or (len(lines) > 1 and len(cells) > 1)):
            header = cells
            yield from _header(row, cells, alone=len(lines) == 1)
            continue
        yield from _row(row, header, cells)


def _header(row: Row, cells: Sequence[_Cell], *, alone: bool) -> Iterator[Said]:
    joined = "; ".join(cell.text for cell in cells if cell.text)
    # A header over nothing is no header.
    if alone or (says(joined.replace(";", " ")) and any(character.isdigit() for character in joined)):
        yield from _row(row, (), cells)
    else:
        spoken = tuple((cell.start, cell.end) for cell in cells if says(cell.text))
        if spoken:
            yield Said(spoken[0][0], spoken[-1][1], "", spoken)


def _row(row: Row, header: Sequence[_Cell], cells: Sequence[_Cell]) -> Iterator[Said]:
    spoken = tuple((cell.start, cell.end) for cell in cells if says(cell.text) and cell.text[-1] in ".!?")
    places = {place for place, _ in spoken}
    rest = [(index, cell) for index, cell in enumerate(cells) if cell.text and cell.start not in places]
    named = [_named(header, index, cell) for index, cell in rest]
    start, end = row.start, row.start + len(row.line)
    if len(named) > 2 and header and len(cells) <= _MOST_COLUMNS:
        # Two facts in one claim would be judged as one.
        for number, text in enumerate(named[1:]):
            yield Said(start, end, f"{named[0]}; {text}", spoken if number == 0 else ())
        return
    yield Said(start, end, "; ".join(named), spoken)


def _named(header: Sequence[_Cell], index: int, cell: _Cell) -> str:
    name = header[index].text if index < len(header) else ""
    return f"{name}: {cell.text}" if name else cell.text


def _cells(row: Row) -> tuple[_Cell, ...]:
    """Cells with their places, those at the edges without the row's own bars."""
    edge = _EDGE.match(row.line)
    begin = edge.end() if edge else 0
    bars = [match.start() for match in _BAR.finditer(row.line, begin)]
    ends = [*bars, len(row.line)] if not bars or row.line[bars[-1] + 1 :].strip() else bars
    starts = [begin, *(place + 1 for place in ends[:-1])]
    return tuple(_cell(row, start, end) for start, end in zip(starts, ends, strict=True))


def _cell(row: Row, start: int, end: int) -> _Cell:
    raw = row.line[start:end]
    left = start + len(raw) - len(raw.lstrip())
    return _Cell(row.start + left, row.start + start + len(raw.rstrip()), raw.strip())
