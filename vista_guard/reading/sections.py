"""Cuts a long text into pieces that are judged one by one, at its sections and paragraphs. Pure.

A piece depends on its own section alone: a text that is cut at its sections has the same pieces, put together or apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vista_guard.reading.markdown import read_line, title
from vista_guard.reading.passages import sentence_spans
from vista_guard.types import Span

PIECE_CHARS = 1_500
"""Characters of a piece: some ten sentences, of which each is read with those around it. A longer sentence is a piece alone."""

_PARAGRAPH = re.compile(r"\S(?:.*\S)?(?:\n[^\S\n]*\S.*)*")
"""Lines with no empty one between them."""
_TITLE = re.compile(r"[^\W_].{0,79}(?<![.!?:;,|…])")
"""A line that may be a heading: short, with nothing at its end that ends or continues a sentence."""
_MOST_WORDS = 12


@dataclass(frozen=True)
class Piece:
    """A part of a text. `heading` is that of its section, empty before the first; `follows` is the piece before it there.

    The first piece of a section begins with its heading.
    """

    span: Span
    heading: str
    follows: Span | None = None


def pieces(text: str) -> Iterator[Piece]:
    """The pieces of a text, in order: every character but white space lies in one.

    >>> [piece.heading for piece in pieces("Fees\\n\\nEntry costs 5 euros.\\n\\nHours\\n\\nWe open at 9.")]
    ['Fees', 'Hours']
    """
    for heading, section in _sections(text):
        before: Span | None = None
        for span in _pack(text, section):
            yield Piece(span, heading, before)
            before = span


def _sections(text: str) -> Iterator[tuple[str, list[Span]]]:
    """The paragraphs of each section, its heading among them."""
    heading, section = "", list[Span]()
    for match in _PARAGRAPH.finditer(text):
        if title := _heading(match.group()):
            if section:
                yield heading, section
            heading, section = title, []
        section.append(Span(start=match.start(), end=match.end()))
    if section:
        yield heading, section


def _heading(paragraph: str) -> str:
    """The paragraph without its marks if it is a heading; else empty."""
    line, _, rest = paragraph.partition("\n")
    if marked := title(line, read_line(line)):  # of the line alone: a piece depends on its own section only
        return marked
    alone = not rest and len(line.split()) <= _MOST_WORDS
    return line.strip() if alone and _TITLE.fullmatch(line.strip()) else ""


def _pack(text: str, paragraphs: list[Span]) -> Iterator[Span]:
    """Merges neighbours into pieces of at most `PIECE_CHARS` characters."""
    piece: Span | None = None
    for part in (span for paragraph in paragraphs for span in _parts(text, paragraph)):
        if piece is not None and part.end - piece.start > PIECE_CHARS:
            yield piece
            piece = None
        piece = Span(start=piece.start if piece else part.start, end=part.end)
    if piece is not None:
        yield piece


def _parts(text: str, paragraph: Span) -> list[Span]:
    """The paragraph, or the sentences of one that is too long."""
    if paragraph.end - paragraph.start <= PIECE_CHARS:
        return [paragraph]
    start = paragraph.start
    sentences = sentence_spans(text[start : paragraph.end])
    return [Span(start=start + sentence.start, end=start + sentence.end) for sentence in sentences]
