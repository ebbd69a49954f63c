"""Where a sentence of a document stands: under which headings, in which list, in which row of which table. Pure.

"Adults: 5 mg" under "Children's syrup", or "| North | 12 |" without its header, says nothing by itself. What stands above it is
read with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vista_guard.judges.embedded.forms.inline import clean
from vista_guard.judges.embedded.forms.tables import is_row, is_rule, under_header
from vista_guard.types import Span

_HEADING = re.compile(r"\s*(?P<marks>#{1,6})\s+(?P<text>.+?)\s*#*\s*$")
_BOLD = re.compile(r"\s*(\*\*|__)(?P<text>(?:(?!\1).){1,80}(?<![.!?]))\1:?\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦–]|\(?(?:\d{1,3}|[a-h])[.)])\s")
_WIDEST = 160
"""Characters of a lead-in or a heading that are read with what stands under it; of a longer one the end is."""


@dataclass(frozen=True)
class Above:
    """What stands over a line: headings from the outermost, the lead-in of its list, the header of its table."""

    headings: tuple[tuple[int, str], ...] = ()
    lead: str = ""
    header: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The headings' texts."""
        return tuple(text for _, text in self.headings)

    def under(self, level: int, text: str) -> Above:
        """As it is below a further heading."""
        return Above((*(one for one in self.headings if one[0] < level), (level, text)))


@dataclass(frozen=True)
class Place:
    """A line's place. `row` is the whole of a table's row, cell by cell under its header; empty for any other line."""

    start: int
    above: Above
    row: str = ""
    heading: bool = False
    item: bool = False


def places(text: str, above: Above) -> tuple[tuple[Place, ...], Above]:
    """The places of a text's lines, and what stands over the text that follows it."""
    found = list[Place]()
    for start, line in _lines(text):
        place, above = _place(start, line, above)
        found.append(place)
    return tuple(found), above


def in_context(said: str, span: Span, lines: Sequence[Place]) -> str:
    """A sentence with what it stands under, where that says more than the sentence does."""
    place = _line_of(span, lines)
    if place is None or not said:
        return said
    if place.heading:
        return ""
    known = said.lower()
    over = [clean(one)[-_WIDEST:] for one in (*place.above.path[-2:], *([place.above.lead] if place.item else []))]
    parts = [one.rstrip(" .:") for one in over if one and one.lower().rstrip(" .:") not in known]
    return ": ".join([*parts, place.row or said]) if parts or place.row else said


def _line_of(span: Span, lines: Sequence[Place]) -> Place | None:
    found = None
    for place in lines:
        if place.start > span.start:
            break
        found = place
    return found


def _place(start: int, line: str, above: Above) -> tuple[Place, Above]:
    heading, bold = _HEADING.match(line), _BOLD.match(line)
    if heading or bold:
        level, said = (len(heading["marks"]), heading["text"]) if heading else (7, bold["text"] if bold else "")
        return Place(start, above, heading=True), above.under(level, clean(said))
    if is_row(line):
        return _row(start, line, above)
    if _ITEM.match(line):
        return Place(start, above, item=True), replace(above, header="")
    said = line.strip()
    if said.endswith(":"):
        return Place(start, replace(above, lead="", header="")), replace(above, lead=_last_sentence(said), header="")
    if not said:  # A list may stand a line below its lead-in.
        return Place(start, above), replace(above, header="")
    return Place(start, replace(above, lead="", header="")), replace(above, lead="", header="")


def _row(start: int, line: str, above: Above) -> tuple[Place, Above]:
    if is_rule(line):
        return Place(start, above, heading=True), above
    if not above.header:
        return Place(start, above), replace(above, header=line)
    return Place(start, above, row=clean(under_header(above.header, line))), above


def _last_sentence(line: str) -> str:
    return re.split(r"(?<=[.!?])\s+", line)[-1]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1
