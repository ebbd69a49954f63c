"""From a turn's text to its statements: Markdown blocks, then sentences, each with its exact place in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from vista_guard.reading.sentences import sentence_spans
from vista_guard.types import Span

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S")
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_MARKER = re.compile(r"^\s*(?:>\s*)*(?:[-*+•‣◦–]\s+(?:\[[ xX]\]\s+)?|\(?\d{1,3}[.)]\s+|>\s*)")
_CELL = re.compile(r"(?<!\\)\|")
_LINE = re.compile(r"[^\n]*\n?")
_ENDS = re.compile(r"""[.!?:;…。！？]["'”’)\]*_]*\s*$""")

# One character for one character, so that offsets survive. Lone surrogates cannot be encoded by any tokenizer.
_SAME_LENGTH = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\t": " ", "\r": " ", "\x00": " "})
_SURROGATES = re.compile("[\ud800-\udfff]")
_TAIL = 200
"""Characters of a paragraph's end that tell whether the next line goes on with it."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, list item or table row. `start`/`end`: its place in the turn's text.

    `lead` is the line that introduces a list ("The museum has:"); `text` stands for the source when a row was rendered.
    """

    start: int
    end: int
    lead: str = ""
    text: str | None = None


@dataclass(frozen=True)
class _Block:
    start: int
    end: int
    item: bool = False


def plain(text: str) -> str:
    """`text` with straight quotes and plain spaces, character for character."""
    return _SURROGATES.sub("\ufffd", text).translate(_SAME_LENGTH)


def unwrapped(text: str) -> str:
    """`text` with the line breaks of hard-wrapped prose as spaces, character for character."""
    lines = text.split("\n")
    joints = [
        " " if _kind(line) == _kind(before) == "text" and _continues(before, line) else "\n"
        for before, line in pairwise(lines)
    ]
    return "".join(f"{line}{joint}" for line, joint in zip(lines, [*joints, ""], strict=True))


def sentences(text: str) -> Iterator[Sentence]:
    """Sentences of a `plain` text, in order. Code blocks, headings and rules are no statements."""
    lead = ""
    for part in _blocks(text):
        if isinstance(part, Sentence):
            yield part
            continue
        found = list(_split(text, part))
        for start, end in found:
            yield Sentence(start, end, lead if part.item else "")
        last = text[found[-1][0] : found[-1][1]] if found else ""
        if not part.item:
            lead = last[:-1] if last.endswith(":") else ""


def _split(text: str, block: _Block) -> Iterator[tuple[int, int]]:
    body = text[block.start : block.end].replace("\n", " ")
    for span in sentence_spans(body):
        yield block.start + span.start, block.start + span.end


def _blocks(text: str) -> Iterator[_Block | Sentence]:
    """Paragraphs and list items as ranges; table rows as finished sentences."""
    fenced = False
    header: tuple[str, ...] = ()
    open_block: _Block | None = None
    for match in _LINE.finditer(text):
        line, start = match.group().rstrip("\n"), match.start()
        if _FENCE.match(line):
            fenced = not fenced
        kind = "code" if fenced or _FENCE.match(line) else _kind(line)
        if (
            kind == "text"
            and open_block
            and _continues(text[max(open_block.start, open_block.end - _TAIL) : open_block.end], line)
        ):
            open_block = _Block(open_block.start, start + len(line), open_block.item)
            continue
        if open_block:
            yield open_block
            open_block = None
        if kind == "row":
            cells = _cells(line)
            if header:
                row = trimmed(text, start, start + len(line))
                yield Sentence(row.start, row.end, text=_row(header, cells))
            header = header or cells
        elif kind != "table rule":
            header = ()
        if kind in ("text", "item"):
            marker = _MARKER.match(line)
            open_block = _Block(start + (marker.end() if marker else 0), start + len(line), kind == "item")
    if open_block:
        yield open_block


def _kind(line: str) -> str:
    if not line.strip() or _RULE.match(line) or (_HEADING.match(line) and not _ENDS.search(line)):
        return "blank"
    if "|" in line and _TABLE_RULE.match(line):
        return "table rule"
    if line.count("|") >= 2 and line.strip().startswith("|"):
        return "row"
    return "item" if _MARKER.match(line) else "text"


def _continues(block: str, line: str) -> bool:
    """Whether `line` goes on with the block's sentence: hard-wrapped prose, not one statement a line."""
    if _ENDS.search(block):
        return False
    return line.lstrip()[:1].islower() or len(block.rsplit("\n", 1)[-1]) >= 60


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in _CELL.split(line.strip().strip("|")))


def _row(header: tuple[str, ...], cells: tuple[str, ...]) -> str:
    named = zip(header, cells, strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def trimmed(text: str, start: int, end: int) -> Span:
    """The range without the white space at its ends."""
    raw = text[start:end]
    return Span(start=start + len(raw) - len(raw.lstrip()), end=start + len(raw.rstrip()))
