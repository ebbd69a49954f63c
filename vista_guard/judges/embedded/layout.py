"""The layout around a line of evidence: its headings and lead-in, its table row, the items beside it.

"Adults: 5 mg" under "Children's syrup" means nothing by itself. Nor does one bike's row say anything of another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, groupby, repeat

from vista_guard.judges.embedded.english.words import content_words
from vista_guard.judges.embedded.forms import ItemAbove, bars, clean, named_cells
from vista_guard.judges.embedded.quantities import Amount, amounts
from vista_guard.reading.markdown import LETTERED, Line, MarkdownKind, cells, read_lines, title
from vista_guard.types import Span

BOLD = re.compile(r"\s*(\*\*|__)(?P<text>(?:(?!\1).){1,80}(?<![.!?]))\1:?\s*$")
_NAMED = re.compile(r"(?P<name>[^:|.!?]{2,60}?)(?::(?![\d/])|\s[–—-]\s)\s*\S")
_NAME_WORDS, _ITEM_WORDS = 6, 30
"""Most words of an item's name, and of an item: longer ones are prose with a label."""
_WIDEST = 160
"""Most characters of a lead-in or heading to read with its text; the end of longer ones."""


@dataclass(frozen=True)
class Above:
    """Context of a line: headings, outermost first, its list's lead-in, its table's header, the items that it stands below."""

    headings: tuple[tuple[int, str], ...] = ()
    lead: str = ""
    header: tuple[str, ...] = ()
    items: tuple[ItemAbove, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """The headings' texts."""
        return tuple(text for _, text in self.headings)

    def under(self, level: int, text: str) -> Above:
        """The context below one more heading."""
        return Above((*(heading for heading in self.headings if heading[0] < level), (level, text)))


@dataclass(frozen=True)
class ParallelItem:
    """A row of a table, or an item that begins with its name ("City bike: 3 euros"), among others of its kind."""

    name: frozenset[str]
    """Words of its name that no other item's name has."""
    among: _Names
    said: frozenset[str]
    """All its words."""
    cells: tuple[_Cell, ...] = ()
    """Cells of a row."""
    below: ParallelItem | None = None
    """The item that it stands below, among others that introduce some; `said` is what this one says."""

    def is_about_another(self, claim_words: frozenset[str]) -> bool:
        """True if the claim names another item, not this one, and this item does not mention the other."""
        if self.below and self.below.is_about_another(claim_words):
            return True
        return not self.name & claim_words and any(not other & self.said for other in self.among.in_(claim_words))

    def stated(self, sentence: str, claim: str, claim_words: frozenset[str]) -> str:
        """The sentence as it applies to the claim; "" if the claim is about another item."""
        if self.is_about_another(claim_words):
            return ""
        return (
            sentence.replace("; ".join(cell.text for cell in self.cells), self._row(claim, claim_words))
            if self.cells
            else sentence
        )

    def cell(self, claim_words: frozenset[str]) -> str:
        """The cell with figures that the claim names by row and column; "" for none or several."""
        if not self.name or not self.name <= claim_words:
            return ""
        named = [cell.text for cell in self.cells if cell.header and cell.header <= claim_words and cell.figures]
        return named[0] if len(named) == 1 else ""

    def _row(self, claim: str, claim_words: frozenset[str]) -> str:
        """The row; for a claim with one figure, without figures under headers that the claim does not name."""
        named = [bool(cell.header) and cell.header <= claim_words for cell in self.cells]
        answered = any(is_named and cell.figures for is_named, cell in zip(named, self.cells, strict=True))
        if not answered or len([amount for amount in amounts(claim) if not _is_unit(amount)]) != 1:
            return "; ".join(cell.text for cell in self.cells)
        pairs = zip(self.cells[1:], named[1:], strict=True)
        return "; ".join(
            [self.cells[0].text, *(cell.text for cell, is_column in pairs if is_column or not cell.figures)]
        )


class _Names:
    """The distinctive words of neighbouring items' names; shared, since a table may have thousands of rows."""

    def __init__(self, names: Sequence[frozenset[str]]) -> None:
        self._names = [name for name in names if name]
        self._last = (frozenset[str](), list[frozenset[str]]())

    def in_(self, claim_words: frozenset[str]) -> list[frozenset[str]]:
        """The names in a claim with these words. All items of a claim ask the same, so the last answer is cached."""
        last = self._last
        if last[0] != claim_words:
            self._last = last = (claim_words, [name for name in self._names if name <= claim_words])
        return last[1]


def _is_unit(amount: Amount) -> bool:
    """True for the unit of a rate: the day of "40 euros a day"."""
    return amount.dimension in ("time", "months") and (amount.number is None or amount.number.value in (0, 1))


@dataclass(frozen=True)
class _Cell:
    """A cell with its header, as text, and the words that only its header has."""

    text: str
    header: frozenset[str]
    said: str

    @cached_property
    def figures(self) -> bool:
        """True if the cell, without its header, has a figure. Lazy, because tables are long."""
        return bool(amounts(self.said))


@dataclass(frozen=True)
class EvidencePlace:
    """A line's place in the layout. `row` is a table row with each cell under its header; empty for other lines."""

    start: int
    above: Above
    row: str = ""
    heading: bool = False
    item: bool = False
    among: ParallelItem | None = None


def places(text: str, above: Above) -> tuple[tuple[EvidencePlace, ...], Above]:
    """The places of a text's lines, and the context for the text that follows."""
    placed, lines = list[EvidencePlace](), read_lines(text, part=True)
    for between, run in groupby(
        lines, key=lambda line: bars(text[line.start : line.end]) if line.kind is MarkdownKind.PROSE else 0
    ):
        block = list(run)
        for line in block:
            place, above = _place(text, line, above, row=between > 0 and len(block) > 1)
            placed.append(place)
    return tuple(_link_below(list(_link_items(placed, text, lines)), text, lines)), above


def _link_below(placed: Sequence[EvidencePlace], text: str, lines: Sequence[Line]) -> Iterator[EvidencePlace]:
    """The places; items of a list that stand below different items of it are linked by those."""

    def of_list(one: tuple[EvidencePlace, Line]) -> object:
        place, line = one
        return (place.item or line.kind is MarkdownKind.BLANK) and (place.above.headings, place.above.lead)

    for _, run in groupby(zip(placed, lines, strict=True), key=of_list):
        group = list(run)
        over = list(dict.fromkeys(place.above.items[-1] for place, _ in group if place.above.items))
        unique = dict(zip(over, _distinct_words([stems(one.text) for one in over]), strict=True))
        names = _Names(list(unique.values()))
        for place, line in group:
            if len(over) < 2 or not place.above.items:
                yield place
                continue
            said = stems(text[line.start : line.end])
            item = ParallelItem(unique[place.above.items[-1]], names, said)
            own = place.among or ParallelItem(frozenset(), _Names([]), said)
            yield replace(place, among=replace(own, below=item))


def _link_items(placed: Sequence[EvidencePlace], text: str, lines: Sequence[Line]) -> Iterator[EvidencePlace]:
    """The places; consecutive named items are linked."""
    said = [text[line.start : line.end] for line in lines]
    cells = [
        _under_header(text, line, place.above) if place.row else named_cells(text[line.start : line.end])
        for place, line in zip(placed, lines, strict=True)
    ]
    named = [
        _name(place, line.kind, text[line.body : line.end], row)
        for place, line, row in zip(placed, lines, cells, strict=True)
    ]
    for kind, run in groupby(zip(placed, said, cells, named, strict=True), key=lambda entry: entry[3][0]):
        group = list(run)
        if not kind or len(group) < 2:
            yield from (place for place, _, _, _ in group)
            continue
        unique = _distinct_words([stems(name) for _, _, _, (_, name) in group])
        names = _Names(unique)
        for name, (place, line, row, _) in zip(unique, group, strict=True):
            yield replace(place, among=ParallelItem(name, names, stems(place.row or line), _make_cells(row)))


def _name(place: EvidencePlace, kind: MarkdownKind, words: str, cells: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Kind and name of a line that can be a parallel item (a row, item or line); "" for other lines."""
    if cells:
        return f"row {[name for name, _ in cells]}", cells[0][1]
    prose = place.heading or kind in (MarkdownKind.ROW, MarkdownKind.RULE) or len(words.split()) > _ITEM_WORDS
    match = None if prose else _NAMED.match(clean(words))
    return (f"item {place.item}", match["name"]) if match and len(match["name"].split()) <= _NAME_WORDS else ("", "")


def _under_header(text: str, line: Line, above: Above) -> list[tuple[str, str]]:
    """The non-empty cells of a row, each with its header ("" for none)."""
    places = zip(cells(text, line), chain(above.header, repeat("")), strict=False)
    return [(name, text[start:end]) for (start, end), name in places if start < end]


def _make_cells(cells: Sequence[tuple[str, str]]) -> tuple[_Cell, ...]:
    headers = _headers(tuple(name for name, _ in cells))
    return tuple(
        _Cell(clean(_with_header(name, cell)), header, cell)
        for (name, cell), header in zip(cells, headers, strict=True)
    )


@lru_cache(maxsize=64)
def _headers(names: tuple[str, ...]) -> list[frozenset[str]]:
    return _distinct_words([stems(name) for name in names])


def _distinct_words(sets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """The words of each set that no other set has."""
    counts = Counter(word for words in sets for word in words)
    return [frozenset(word for word in words if counts[word] == 1) for words in sets]


def stems(text: str) -> frozenset[str]:
    """Content words, plurals as singulars."""
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in content_words(text))


def _with_header(header: str, cell: str) -> str:
    return f"{header}: {cell}" if header else cell


def in_context(sentence: str, span: Span, lines: Sequence[EvidencePlace]) -> str:
    """A sentence with its headings and lead-in, unless it has their words already."""
    place = _line_of(span, lines)
    if place is None or not sentence:
        return sentence
    if place.heading:
        return ""
    known = sentence.lower()
    leads = [place.above.lead, *(item.text for item in place.above.items[-2:])] if place.item else []
    over = [clean(text)[-_WIDEST:] for text in (*place.above.path[-2:], *leads)]
    parts = [part.rstrip(" .:") for part in over if part and part.lower().rstrip(" .:") not in known]
    return ": ".join([*parts, place.row or sentence]) if parts or place.row else sentence


def item_of(span: Span, lines: Sequence[EvidencePlace]) -> ParallelItem | None:
    """The row or item of a sentence; None if its line has no parallel items."""
    place = _line_of(span, lines)
    return place.among if place else None


def _line_of(span: Span, lines: Sequence[EvidencePlace]) -> EvidencePlace | None:
    found = None
    for place in lines:
        if place.start > span.start:
            break
        found = place
    return found


def _place(text: str, line: Line, above: Above, *, row: bool) -> tuple[EvidencePlace, Above]:
    start, said = line.start, text[line.start : line.end]
    words, bold = title(text, line), BOLD.match(said)
    if words or bold:
        level, words = (7, bold["text"]) if bold else (line.level, words)
        return EvidencePlace(start, above, heading=True), above.under(level, clean(words))
    if row or line.kind in (MarkdownKind.ROW, MarkdownKind.RULE):
        return _row(text, line, above)
    if line.item or LETTERED.match(said):
        return _item(line, said, above)
    said = said.strip()
    if said:
        above = replace(above, items=())
    if said.endswith(":"):
        return EvidencePlace(start, replace(above, lead="", header=())), replace(
            above, lead=_last_sentence(said), header=()
        )
    if not said:  # A blank line may separate a list from its lead-in.
        return EvidencePlace(start, above), replace(above, header=())
    return EvidencePlace(start, replace(above, lead="", header=())), replace(above, lead="", header=())


def _item(line: Line, said: str, above: Above) -> tuple[EvidencePlace, Above]:
    column = line.body - line.start
    words = clean(said[column:])
    item = ItemAbove(column, any(map(str.isalnum, said[:column])), _last_sentence(words))
    over = tuple(other for other in above.items if other.holds(item))
    above = replace(above, header=(), items=over)
    if not words.endswith(":"):
        return EvidencePlace(line.start, above, item=True), above
    named = len(words.split()) <= _NAME_WORDS
    return EvidencePlace(line.start, above, heading=named, item=True), replace(above, items=(*over, item))


def _row(text: str, line: Line, above: Above) -> tuple[EvidencePlace, Above]:
    if line.kind is MarkdownKind.RULE:
        return EvidencePlace(line.start, above, heading=True), above
    if not above.header:
        header = tuple(text[start:end] for start, end in cells(text, line))
        return EvidencePlace(line.start, above), replace(above, header=header)
    row = "; ".join(_with_header(*cell) for cell in _under_header(text, line, above))
    return EvidencePlace(line.start, above, row=clean(row)), above


def _last_sentence(line: str) -> str:
    return re.split(r"(?<=[.!?])\s+", line)[-1]
