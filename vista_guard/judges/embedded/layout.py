"""Where a line of evidence stands: under which headings and lead-in, in which table's row, among which items.

"Adults: 5 mg" under "Children's syrup" says nothing by itself. Nor does the row of one bike say anything of another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby

from vista_guard.judges.embedded.english.words import content_words
from vista_guard.judges.embedded.forms import bars, clean, is_row, is_rule, named_cells, under_header
from vista_guard.judges.embedded.quantities import Amount, amounts
from vista_guard.types import Span

_HEADING = re.compile(r"\s*(?P<marks>#{1,6})\s+(?P<text>.+?)\s*#*\s*$")
_BOLD = re.compile(r"\s*(\*\*|__)(?P<text>(?:(?!\1).){1,80}(?<![.!?]))\1:?\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦–]|\(?(?:\d{1,3}|[a-h])[.)])\s")
_NAMED = re.compile(r"\s*(?:[-*+•‣◦–]\s|\(?\d{1,3}[.)]\s)?\s*(?P<name>[^:|.!?]{2,60}?)(?::(?![\d/])|\s[–—-]\s)\s*\S")
_NAME_WORDS, _ITEM_WORDS = 6, 30
"""Most words of an item's name and of an item: longer ones are prose with a label."""
_WIDEST = 160
"""Characters of a lead-in or a heading that are read with what stands under it; of a longer one the end is."""


@dataclass(frozen=True)
class Above:
    """Context of a line: headings from the outermost, the lead-in of its list, the header of its table."""

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
class ParallelItem:
    """A row of a table, or an item that begins with its name ("City bike: 3 euros"), among others of its kind."""

    name: frozenset[str]
    """Words of its name that no other's has."""
    among: _Names
    said: frozenset[str]
    """All of its words."""
    cells: tuple[_Cell, ...] = ()
    """Of a row."""

    def is_about_another(self, asked: frozenset[str]) -> bool:
        """True if a claim of these words names another item, and this one is neither named nor speaks of the other."""
        return not self.name & asked and any(not other & self.said for other in self.among.in_(asked))

    def stated(self, said: str, claim: str, asked: frozenset[str]) -> str:
        """The item, said in its context, as far as it speaks of a claim of these words; empty if the claim is about another."""
        if self.is_about_another(asked):
            return ""
        return (
            said.replace("; ".join(cell.text for cell in self.cells), self._row(claim, asked)) if self.cells else said
        )

    def cell(self, asked: frozenset[str]) -> str:
        """The cell with figures that a claim of these words names by row and column; "" where it names none, or several."""
        if not self.name or not self.name <= asked:
            return ""
        named = [cell.text for cell in self.cells if cell.header and cell.header <= asked and cell.figures]
        return named[0] if len(named) == 1 else ""

    def _row(self, claim: str, asked: frozenset[str]) -> str:
        """The row without what other headers than those that the claim names say in figures, where the claim has one figure."""
        named = [bool(cell.header) and cell.header <= asked for cell in self.cells]
        answered = any(one and cell.figures for one, cell in zip(named, self.cells, strict=True))
        if not answered or len([one for one in amounts(claim) if not _is_unit(one)]) != 1:
            return "; ".join(cell.text for cell in self.cells)
        kept = zip(self.cells[1:], named[1:], strict=True)
        return "; ".join([self.cells[0].text, *(cell.text for cell, one in kept if one or not cell.figures)])


class _Names:
    """The names of items that stand together, each by its own words; shared, since a table may have thousands of rows."""

    def __init__(self, names: Sequence[frozenset[str]]) -> None:
        self._names = [name for name in names if name]
        self._last = (frozenset[str](), list[frozenset[str]]())

    def in_(self, asked: frozenset[str]) -> list[frozenset[str]]:
        """The names that stand in a claim of these words. All items ask the same of one claim: the last answer is kept."""
        last = self._last
        if last[0] != asked:
            self._last = last = (asked, [name for name in self._names if name <= asked])
        return last[1]


def _is_unit(amount: Amount) -> bool:
    """True for what a figure is counted by: the day of "40 euros a day"."""
    return amount.dimension in ("time", "months") and (amount.number is None or amount.number.value in (0, 1))


@dataclass(frozen=True)
class _Cell:
    """A cell under its header, as text, and the words of the header that no other has."""

    text: str
    header: frozenset[str]
    said: str

    @cached_property
    def figures(self) -> bool:
        """True if the cell, without its header, has a figure. Looked for when a claim names the row: tables are long."""
        return bool(amounts(self.said))


@dataclass(frozen=True)
class EvidencePlace:
    """A line's place. `row` is the whole of a table's row, cell by cell under its header; empty for any other line."""

    start: int
    above: Above
    row: str = ""
    heading: bool = False
    item: bool = False
    among: ParallelItem | None = None


def places(text: str, above: Above) -> tuple[tuple[EvidencePlace, ...], Above]:
    """The places of a text's lines, and what stands over the text that follows it."""
    found, lines = list[EvidencePlace](), list(_lines(text))
    for between, run in groupby(lines, key=lambda one: bars(one[1])):
        several = list(run)
        for start, line in several:
            place, above = _place(start, line, above, row=between > 0 and len(several) > 1)
            found.append(place)
    return tuple(_among(found, [line for _, line in lines])), above


def _among(found: Sequence[EvidencePlace], lines: Sequence[str]) -> Iterator[EvidencePlace]:
    """The places; those that follow each other and are named know of each other."""
    cells = [_cells(place, line) for place, line in zip(found, lines, strict=True)]
    named = [_name(*one) for one in zip(found, lines, cells, strict=True)]
    for kind, run in groupby(zip(found, lines, cells, named, strict=True), key=lambda one: one[3][0]):
        some = list(run)
        if not kind or len(some) < 2:
            yield from (place for place, _, _, _ in some)
            continue
        own = _distinct([stems(name) for _, _, _, (_, name) in some])
        names = _Names(own)
        for name, (place, line, row, _) in zip(own, some, strict=True):
            yield replace(place, among=ParallelItem(name, names, stems(place.row or line), _under_headers(row)))


def _name(place: EvidencePlace, line: str, cells: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The kind and the name of a line that can stand among others: rows of one table, items, lines; "" for none."""
    if cells:
        return f"row {[name for name, _ in cells]}", cells[0][1]
    prose = place.heading or is_row(line) or len(line.split()) > _ITEM_WORDS
    match = None if prose else _NAMED.match(clean(line))
    return (f"item {place.item}", match["name"]) if match and len(match["name"].split()) <= _NAME_WORDS else ("", "")


def _cells(place: EvidencePlace, line: str) -> list[tuple[str, str]]:
    return under_header(place.above.header, line) if place.row else named_cells(line)


def _under_headers(cells: Sequence[tuple[str, str]]) -> tuple[_Cell, ...]:
    headers = _headers(tuple(name for name, _ in cells))
    return tuple(
        _Cell(clean(_under(name, cell)), header, cell) for (name, cell), header in zip(cells, headers, strict=True)
    )


@lru_cache(maxsize=64)
def _headers(names: tuple[str, ...]) -> list[frozenset[str]]:
    return _distinct([stems(name) for name in names])


def _distinct(sets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Of each set what no other one has."""
    known = Counter(word for one in sets for word in one)
    return [frozenset(word for word in one if known[word] == 1) for one in sets]


def stems(text: str) -> frozenset[str]:
    """Content words, plurals as singulars."""
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in content_words(text))


def _under(header: str, cell: str) -> str:
    return f"{header}: {cell}" if header else cell


def in_context(said: str, span: Span, lines: Sequence[EvidencePlace]) -> str:
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


def item_of(span: Span, lines: Sequence[EvidencePlace]) -> ParallelItem | None:
    """The row or item that a sentence stands in; None where its line stands alone."""
    place = _line_of(span, lines)
    return place.among if place else None


def _line_of(span: Span, lines: Sequence[EvidencePlace]) -> EvidencePlace | None:
    found = None
    for place in lines:
        if place.start > span.start:
            break
        found = place
    return found


def _place(start: int, line: str, above: Above, *, row: bool) -> tuple[EvidencePlace, Above]:
    heading, bold = _HEADING.match(line), _BOLD.match(line)
    if heading or bold:
        level, said = (len(heading["marks"]), heading["text"]) if heading else (7, bold["text"] if bold else "")
        return EvidencePlace(start, above, heading=True), above.under(level, clean(said))
    if row or is_row(line):
        return _row(start, line, above)
    if _ITEM.match(line):
        return EvidencePlace(start, above, item=True), replace(above, header="")
    said = line.strip()
    if said.endswith(":"):
        return EvidencePlace(start, replace(above, lead="", header="")), replace(
            above, lead=_last_sentence(said), header=""
        )
    if not said:  # A list may stand a line below its lead-in.
        return EvidencePlace(start, above), replace(above, header="")
    return EvidencePlace(start, replace(above, lead="", header="")), replace(above, lead="", header="")


def _row(start: int, line: str, above: Above) -> tuple[EvidencePlace, Above]:
    if is_rule(line):
        return EvidencePlace(start, above, heading=True), above
    if not above.header:
        return EvidencePlace(start, above), replace(above, header=line)
    row = "; ".join(_under(*cell) for cell in under_header(above.header, line))
    return EvidencePlace(start, above, row=clean(row)), above


def _last_sentence(line: str) -> str:
    return re.split(r"(?<=[.!?])\s+", line)[-1]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1
