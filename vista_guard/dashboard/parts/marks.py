"""Claims in place: a text, the ranges that claims have in it, and the pieces it is cut into where they overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from vista_guard.types import Span

T = TypeVar("T")


@dataclass(frozen=True)
class Piece(Generic[T]):
    """A stretch of text that all of `owners` share, in the order they were given; nobody's when there are none."""

    text: str
    owners: tuple[T, ...] = ()


def pieces(text: str, ranges: Sequence[tuple[Span, T]]) -> tuple[Piece[T], ...]:
    """The text cut at each border of a range, so that overlapping claims can each be drawn and pressed.

    Offsets are code points. A range that reaches beyond the text is cut at its end; an empty one marks nothing.

    Example:
        >>> [piece.owners for piece in pieces("abcd", [(Span(start=0, end=3), "x"), (Span(start=2, end=4), "y")])]
        [('x',), ('x', 'y'), ('y',)]
    """
    borders = {0, len(text)}
    for span, _ in ranges:
        borders |= {min(span.start, len(text)), min(span.end, len(text))}
    places = sorted(borders)
    return tuple(
        Piece(text[start:end], tuple(owner for span, owner in ranges if span.start < end and start < span.end))
        for start, end in pairwise(places)
    )
