"""Markdown to blocks: paragraphs, items, headings, rows of tables, code. Every line that says a word is in one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from vista_guard.judges.embedded.forms.code import (
    Fence,
    fences,
    is_prose,
    line_ranges,
    said_in,
    without_quote_marks,
)
from vista_guard.judges.embedded.forms.encoded import SYMBOLS
from vista_guard.judges.embedded.forms.tables import Row, is_row, rows


class Kind(StrEnum):
    """What a block is."""

    PROSE = "prose"
    ITEM = "item"
    HEADING = "heading"
    ROW = "row"
    CODE = "code"
    BLANK = "blank"


@dataclass(frozen=True)
class Block:
    """Text `start:end`. `text` stands for it where it was rendered: a row under its header."""

    start: int
    end: int
    kind: Kind
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


def kind_of(line: str) -> Kind:
    """What a line outside of fences begins or is."""
    if is_row(line):
        return Kind.ROW
    if SYMBOLS.search(line):
        return Kind.PROSE
    if _RULE.match(line) or _MARK_ONLY.fullmatch(line) or not any(map(str.isalnum, line)):
        return Kind.BLANK
    if _HEADING.match(line) and not _ENDS.search(line.rstrip("# ")):
        return Kind.HEADING
    marker = _MARKER.match(line)
    return Kind.ITEM if marker and marker.group().strip() else Kind.PROSE


def continues(block: str, line: str) -> bool:
    """Whether `line` goes on with the block's sentence: hard-wrapped prose, not one statement a line."""
    if _ENDS.search(block):
        return False
    return line.lstrip()[:1].islower() or len(block.rsplit("\n", 1)[-1]) >= _LONG_LINE


def _open_blocks(text: str, start: int, end: int) -> Iterator[Block]:
    """The blocks of a stretch without fences."""
    current: Block | None = None
    table: list[Row] = []
    for begin, last in line_ranges(text, start, end):
        line = text[begin:last]
        kind = kind_of(line)
        if current and _goes_on(text, current, kind, line):
            current = Block(current.start, last, current.kind)
            continue
        if current:
            yield current
            current = None
        if kind is Kind.ROW:
            table.append(Row(begin, line))
            continue
        yield from _table(table)
        table = []
        if kind is not Kind.BLANK:
            marker = _MARKER.match(line)
            current = Block(begin + (marker.end() if marker else 0), last, kind)
    if current:
        yield current
    yield from _table(table)


def _goes_on(text: str, block: Block, kind: Kind, line: str) -> bool:
    if kind is not Kind.PROSE or block.kind is Kind.HEADING:
        return False
    return continues(text[max(block.start, block.end - _TAIL) : block.end], line)


def _table(table: list[Row]) -> Iterator[Block]:
    """The rows under their header. A cell that says something by itself is taken out of its row."""
    for row in rows(table):
        for start, end in row.spoken:
            yield Block(start, end, Kind.PROSE)
        if row.text:
            yield Block(row.start, row.end, Kind.ROW, row.text)


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
        yield from (Block(one, last, Kind.PROSE) for one, last in said_in(text[begin:end], begin))
    yield from _prose(text, prose)
    if code:
        yield Block(fence.start, fence.end, Kind.CODE)


def _prose(text: str, lines: list[tuple[int, int]]) -> Iterator[Block]:
    if lines:
        yield from _open_blocks(text, lines[0][0], lines[-1][1])
