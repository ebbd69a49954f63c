"""The forms of a text: Markdown blocks, HTML and inline Markdown, code, unreadable encodings.

Every line with a word belongs to a block. Table rows become sentences: each cell under its header, with the row's first cell
as the subject. In doubt a line is prose, since code is never checked against documents: a line is code if it has a mark of
code and no run of plain words, as only prose has them; its strings and comments are prose again.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from vista_guard.inference.onnx import known_words
from vista_guard.judges.embedded.english.verbs import has_verb, words_of
from vista_guard.judges.embedded.english.words import ANSWER_SIGN, DETERMINERS, is_auxiliary, is_verb, word_set
from vista_guard.reading.canonical import SHORT, Reading, as_written, canonical, concatenate, powers, replace_ranges
from vista_guard.reading.chat_json import read_json
from vista_guard.reading.markdown import (
    ENDED,
    LONG_LINE,
    Fence,
    Line,
    MarkdownKind,
    line_end,
    lines_between,
    read_fences,
    read_inline,
    read_lines,
)
from vista_guard.reading.markdown import cells as row_cells

_MOST_COLUMNS = 30
"""Rows with more cells stay whole: nobody reads tables of that width."""


class ItemAbove(NamedTuple):
    """An item of a list that may introduce others: where its words begin in its line, whether it has a number, and its text."""

    column: int
    numbered: bool
    text: str

    def holds(self, other: ItemAbove) -> bool:
        """True if the other item stands below this one, or bullets follow a number."""
        return other.column > self.column or (self.numbered and not other.numbered)


@dataclass(frozen=True)
class RenderedRow:
    """A rendered row: `text` has its cells under their headers; `spoken` are the places of cells that are sentences."""

    start: int
    end: int
    text: str
    spoken: tuple[tuple[int, int], ...]
    heads: bool = False
    """True for a header, which states nothing, but may answer a question."""


@dataclass(frozen=True)
class _Cell:
    start: int
    end: int
    text: str


_NAMED_CELL = re.compile(r"\s*(?P<name>[^:;.!?]{1,60}):\s+(?P<text>\S.*)")


def named_cells(line: str) -> list[tuple[str, str]]:
    """The named cells of a row in the file readers' form, "Ward: North; Beds: 12"; empty for other lines."""
    if "; " not in line or ": " not in line:
        return []
    cells = [_NAMED_CELL.fullmatch(part) for part in line.split("; ")]
    return [(cell["name"], cell["text"].strip()) for cell in cells if cell] if all(cells) else []


def bars(line: str) -> int:
    """Number of bars in a line of prose, which may be a row without bars at its edges: "Plan | Storage | Price"."""
    return line.count(" | ")


def in_one_table(before: str, line: str) -> bool:
    """True if two lines are rows with the same names, or the same number of bars."""
    if between := bars(line):
        return between == bars(before)
    cells, others = named_cells(before), named_cells(line)
    return bool(cells) and [name for name, _ in cells] == [name for name, _ in others]


def rows(text: str, table: Sequence[Line]) -> Iterator[RenderedRow]:
    """The rows of a table. The first is a header if a rule or more rows follow it; a header may state something, too."""
    lines = [line for line in table if line.kind is not MarkdownKind.RULE]
    ruled = len(table) > 1 and table[1].kind is MarkdownKind.RULE
    header: Sequence[_Cell] = ()
    for number, line in enumerate(lines):
        cells = [_Cell(start, end, text[start:end]) for start, end in row_cells(text, line)]
        if number == 0 and (ruled or (len(lines) > 1 and len(cells) > 1)):
            header = cells
            yield from _header(line, cells, alone=len(lines) == 1)
            continue
        yield from _row(line, header, cells)


def _header(row: Line, cells: Sequence[_Cell], *, alone: bool) -> Iterator[RenderedRow]:
    joined = "; ".join(cell.text for cell in cells if cell.text)
    # A header without rows is no header.
    if alone or (says(joined.replace(";", " ")) and any(character.isdigit() for character in joined)):
        yield from _row(row, (), cells)
    else:
        spoken = tuple((cell.start, cell.end) for cell in cells if says(cell.text))
        yield RenderedRow(row.start, row.end, joined, spoken, heads=True)


def _row(row: Line, header: Sequence[_Cell], cells: Sequence[_Cell]) -> Iterator[RenderedRow]:
    spoken = tuple((cell.start, cell.end) for cell in cells if says(cell.text) and cell.text[-1] in ".!?")
    places = {place for place, _ in spoken}
    rest = [(index, cell) for index, cell in enumerate(cells) if cell.text and cell.start not in places]
    named = [_named_cell(header, index, cell) for index, cell in rest]
    if len(named) > 2 and header and len(cells) <= _MOST_COLUMNS:
        # One fact per claim, so that each is judged alone.
        for number, text in enumerate(named[1:]):
            yield RenderedRow(row.start, row.end, f"{named[0]}; {text}", spoken if number == 0 else ())
        return
    yield RenderedRow(row.start, row.end, "; ".join(named), spoken)


def _named_cell(header: Sequence[_Cell], index: int, cell: _Cell) -> str:
    name = header[index].text if index < len(header) else ""
    return f"{name}: {cell.text}" if name else cell.text


class BlockKind(StrEnum):
    """Kinds of block."""

    PROSE = "prose"
    ITEM = "item"
    HEADING = "heading"
    ROW = "row"
    HEADER = "header"
    CODE = "code"
    QUOTED = "quoted"
    """A string, a comment or bare words in a block of code."""
    BLANK = "blank"


@dataclass(frozen=True)
class Block:
    """The block at `start:end`. `text` replaces the source of a rendered row, or of strings that code joins."""

    start: int
    end: int
    kind: BlockKind
    text: str | None = None


_MARK_ONLY = re.compile(r"[\s>]{0,40}\(?\d{1,3}[.)]\s*")
"""An item's number without text."""
_TAIL = 200
"""Characters at a paragraph's end that decide whether the next line continues it."""


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a folded text, in order, without rules and lines without letters or figures."""
    if answer := _json_blocks(text):
        yield from answer
        return
    fences = deque(read_fences(text))
    for code, run in groupby(read_lines(text), key=lambda line: line.kind is MarkdownKind.CODE):
        lines = list(run)
        if not code:
            yield from _open_blocks(text, lines)
        while code and fences and fences[0].start <= lines[-1].end:
            yield from _fenced_blocks(text, fences.popleft())


_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?P<key>\s*:)?')
_JSON_FIGURE = re.compile(r'"(?P<name>(?:[^"\\]|\\.)*)"\s*:\s*"?(?P<value>-?[\d.,:/-]*\d)"?(?=\s*[,}\]])')


def _json_blocks(text: str) -> list[Block]:
    """The texts of an answer in JSON that say something, and the JSON itself as code; nothing for any other text.

    Names of fields say nothing, nor does a value of a word or two beside others: a language, a source. A figure is said of its
    field, unless that is an id.
    """
    if text.strip()[:1] not in ("{", "["):
        return []
    try:
        read_json(text)
    except ValueError:
        return []
    values = [match for match in _JSON_STRING.finditer(text) if not match["key"]]
    said = [
        Block(*match.span(1), BlockKind.PROSE, json.loads(match[0], strict=False) if "\\" in match[1] else None)
        for match in values
        if len(values) == 1 or is_said(match[1])
    ]
    figures = [
        Block(*match.span(), BlockKind.PROSE, f"{match['name'].replace('_', ' ')}: {match['value']}")
        for match in _JSON_FIGURE.finditer(text)
        if not match["name"].lower().endswith("id")
    ]
    in_order = sorted([*said, *figures], key=lambda block: block.start)
    return [*in_order, Block(0, len(text), BlockKind.CODE)] if said else []


def block_kind(text: str, line: Line) -> BlockKind:
    """The kind of a line outside of fences."""
    said = text[line.start : line.end]
    if line.kind in (MarkdownKind.ROW, MarkdownKind.RULE):
        return BlockKind.ROW
    if SYMBOLS.search(said):
        return BlockKind.PROSE
    if _MARK_ONLY.fullmatch(said) or not (any(map(str.isalnum, said)) or ANSWER_SIGN.search(said)):
        return BlockKind.BLANK
    if line.kind is MarkdownKind.HEADING and not ENDED.search(said.rstrip("# ")):
        return BlockKind.HEADING
    return BlockKind.ITEM if said[: line.body - line.start].strip() else BlockKind.PROSE


def continues(block: str, line: str) -> bool:
    """True if `line` continues the block's sentence: hard-wrapped prose, not one statement per line."""
    last = block.rsplit("\n", 1)[-1]
    if ENDED.search(block) or in_one_table(last, line):
        return False
    return line.lstrip()[:1].islower() or len(last) >= LONG_LINE


def _open_blocks(text: str, lines: Iterable[Line]) -> Iterator[Block]:
    """The blocks of lines without fences."""
    current: Block | None = None
    table: list[Line] = []
    for line in lines:
        kind = block_kind(text, line)
        if current and _continues_block(text, current, kind, text[line.start : line.end]):
            current = Block(current.start, line.end, current.kind)
            continue
        if current:
            yield current
            current = None
        if kind is BlockKind.ROW:
            table.append(line)
            continue
        yield from _table(text, table)
        table = []
        if kind is not BlockKind.BLANK:
            current = Block(line.body, line.end, kind)
    if current:
        yield current
    yield from _table(text, table)


def _continues_block(text: str, block: Block, kind: BlockKind, line: str) -> bool:
    if kind is not BlockKind.PROSE or block.kind is BlockKind.HEADING:
        return False
    return continues(text[max(block.start, block.end - _TAIL) : block.end], line)


def _table(text: str, table: Sequence[Line]) -> Iterator[Block]:
    """The rows under their header; a cell that is a sentence becomes its own block."""
    for row in rows(text, table):
        for start, end in row.spoken:
            yield Block(start, end, BlockKind.PROSE)
        if row.text:
            yield Block(row.start, row.end, BlockKind.HEADER if row.heads else BlockKind.ROW, row.text)


def _fenced_blocks(text: str, fence: Fence) -> Iterator[Block]:
    """The prose of a fence as ordinary blocks, and what its code says; then the fence itself, if it has code."""
    # Several words behind the marks are not a language, but text.
    last = text.index(fence.info, fence.start) if len(fence.info.split()) > 1 else fence.body
    code, written = False, _is_language(fence.info)
    prose, coded = list[tuple[int, int]](), list[tuple[int, int]]()
    for start, end in line_ranges(text, last, max(last, fence.body_end)):
        begin = without_quote_marks(text, start, end)
        if start < last:
            continue
        goes_on = prose and _PLAIN.fullmatch(text, begin, end) and not ENDED.search(text[slice(*prose[-1])])
        if goes_on or is_prose(text[begin:end], written=written):
            yield from _quoted_blocks(text, coded)
            prose, coded = [*prose, (begin, end)], []
            continue
        yield from _prose(text, prose)
        code = code or bool(text[begin:end].strip())
        last = _end_of_code(text, begin, end, fence.body_end)
        prose, coded = [], [*coded, (begin, last)]
    yield from _quoted_blocks(text, coded)
    yield from _prose(text, prose)
    if code:
        yield Block(fence.start, fence.end, BlockKind.CODE)


def _end_of_code(text: str, start: int, end: int, limit: int) -> int:
    """End of a line of code; of the last line of a string or comment that begins in it."""
    for match in _PIECE.finditer(text, start, limit):
        if match.start() >= end:
            break
        if match.end() > end:
            newline = text.find("\n", match.end(), limit)
            end = newline if newline >= 0 else limit
    return end


def _prose(text: str, lines: list[tuple[int, int]]) -> Iterator[Block]:
    if lines:
        yield from _open_blocks(text, lines_between(text, lines[0][0], lines[-1][1]))


_NOTE = re.compile(
    r"(?<!\s)\s*\[\^?\d+(?:\s*,\s*\d+)*\]|(?<=\S)(?:\[\^[\w-]{1,40}\]|【\d{1,3}(?::\d{1,3})?†[\w.-]{0,60}】)"
    r"|(?<=[.!?…])[¹²³⁰⁴-⁹]{1,3}(?=\s|$)"
)
_MARKED = re.compile(r"(?P<unit>\d\s?[A-Za-z]{1,12}[¹²³])|(?<=[A-Za-z]{3})(?:[¹²³⁰⁴-⁹]{1,2}|[①-⒛❶-➓]{1,2})(?!\w)")
"""A note's mark on a word; on a figure's unit it is an exponent."""
_HALF_EMPHASIS = re.compile(r"^\s*\*{2,3}(?=\w)|(?<=[.!?…])\*{2,3}\s*$")
"""Emphasis that goes on in the sentence before or behind."""
_TAGS = re.compile(r"</?(?!https?:|mailto:)[a-zA-Z][^<>]{0,200}>")
_EMPHASIS = re.compile(
    r"(\*{1,3}|~~|==|\|\||(?<!\w)_{1,3})(?=[^\s*_~=|])([^*~`\n]{1,300}?)(?<=[^\s*_~=|])\1(?!(?<=_)\w)"
)
_SHOUTED = re.compile(r"([!?])(?:[!?]+|<\s*$)")
"""Repeated marks confuse the verifier: "!!!!!" becomes "!"."""
_COMMANDS = re.compile(
    r"\\(?:text|textbf|textit|texttt|emph|mbox|mathrm|section|subsection|title|caption|footnote)\*?\{([^{}]{0,400})\}"
)
_PRE_TOKENISED = (
    (re.compile(r"\b(\w+) n't\b"), r"\1n't"),
    (re.compile(r" ('(?:s|ve|re|m|ll|d)\b)"), r"\1"),
    (re.compile(r"\s+([,.!?;:])(?=\s|$)"), r"\1"),
)
"""Tokenised spacing of corpora and speech recognisers: "I do n't know ." """


def emphasised_words(text: str) -> Iterator[tuple[int, str]]:
    """The emphasised words and link texts, with their offsets."""
    yield from ((match.start(), match[2]) for match in _EMPHASIS.finditer(text))
    yield from ((one.start, text[slice(*one.shown)]) for one in read_inline(text) if one.kind == "link")


def inline_code(text: str) -> Iterator[str]:
    """The inline code of a text."""
    yield from (text[slice(*one.shown)] for one in read_inline(text) if one.kind == "code")


def clean(text: str) -> str:
    """`text` on one line, without Markdown, HTML tags and footnote marks, with normal spacing.

    Inline code keeps its characters: `lk_test_` has no emphasis.
    """
    return _clean(text) if len(text) <= SHORT else _clean.__wrapped__(text)


@lru_cache(maxsize=4096)
def _clean(text: str) -> str:
    text, kept = _without_links(text)
    text = _STAND_IN.sub(lambda match: kept.get(match.group(), ""), _without_marks(text))
    text = re.sub(r"\s+", " ", text).strip()
    for pattern, replacement in _PRE_TOKENISED:
        text = pattern.sub(replacement, text)
    return text


def has_words(text: str) -> bool:
    """True if a reader sees a letter or a figure of it, an attribute's text included.

    Example:
        >>> [has_words(text) for text in ("It is old.", "<p>&nbsp;</p>", "~~It is old.~~")]
        [True, False, False]
    """
    return any(map(str.isalnum, clean(render(canonical(text)).text)))


_STAND_IN = re.compile("[\ue000-\uf8ff]")
_MOST_STAND_INS = 0xF8FF - 0xE000


def _without_links(text: str) -> tuple[str, dict[str, str]]:
    """The text without its links' addresses, with a private character in place of each code and escape; what they stand for."""
    spans = read_inline(text)
    if not spans:
        return text, {character: character for character in _STAND_IN.findall(text)}
    kept = dict[str, str]()
    cuts = list[tuple[int, int, str]]()
    for span in spans:
        start, end = span.shown
        if span.kind == "link":
            cuts += ((span.start - (text[span.start - 1 : span.start] == "!"), start, ""), (end, span.end, ""))
        elif len(kept) < _MOST_STAND_INS:
            character = chr(0xE000 + len(kept))
            kept[character] = text[start:end]
            cuts.append((span.start, span.end, character))
    return replace_ranges(as_written(_STAND_IN.sub("\ufffd", text)), sorted(cuts)).text, kept


def _without_marks(text: str) -> str:
    text = _TAGS.sub(" ", _NOTE.sub("", text))
    text = text if text.isascii() else _MARKED.sub(lambda match: match["unit"] or "", text)
    text = _HALF_EMPHASIS.sub("", _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text)))
    text = _SHOUTED.sub(r"\1", text)
    return _COMMANDS.sub(r"\1", text) if "\\" in text else text


_TAG = re.compile(r"<(?P<close>/?)(?!https?:|mailto:)(?P<name>[a-zA-Z][\w:.-]{0,60})(?P<rest>(?:[\s/][^<>]{0,4000})?)>")
_ATTRIBUTE = re.compile(
    r"""(?<![\w-])(?P<name>[a-zA-Z][\w:.-]{0,60})\s{0,9}=\s{0,9}(?:"(?P<double>[^"]*)(?:"|$)|'(?P<single>[^']*)(?:'|$)"""
    r"""|(?P<bare>[^\s"'=<>`]{1,200}))"""
)
_SILENT = word_set(
    """class style href src srcset id d rel type action method target lang dir role width height sizes media integrity
    viewbox points transform fill stroke xmlns onclick onload"""
)
"""Attributes that readers never see."""
_INLINE = word_set(
    """a abbr acronym b bdi bdo big cite code data dfn em font i kbd label mark nobr q rp rt ruby s samp small
    span strike strong sub sup time tt u var wbr"""
)
_LINES = word_set(
    """address article aside audio blockquote body br button caption center dd details dialog div dl dt fieldset
    figcaption figure footer form head header hr html iframe img input legend link main meta nav ol option p picture
    section select summary table tbody textarea tfoot thead title ul video"""
)
_FENCED = frozenset(("pre", "script", "style", "listing", "xmp"))
_CELLS = frozenset(("td", "th"))
_TITLE = re.compile(r"""\]\(\s{0,9}[^\s()<>]{0,2000}\s{1,9}["'(](?P<title>[^"\n()]{2,1000})["')]\s{0,9}\)""")
_DATA = re.compile(r"data:(?!image/|font/|audio/|video/)[\w/;+.=-]{0,100},(?P<payload>[^\s)\"'>]{16,})")
_WORDED = re.compile(r"\w\s+\w|\w{12}")
_FAR = 1 << 60


def render(reading: Reading) -> Reading:
    """The reading without its HTML. Fences stay unchanged: tags in them are code."""
    if "<" not in reading.text and "](" not in reading.text:
        return reading
    reading = _without_images(_with_raised(reading))
    text = reading.text
    opaque = [(fence.start, fence.end) for fence in read_fences(text)]
    comments = [place for place in _comments(text) if not _is_within(place[0], opaque)]
    closed = sorted([*opaque, *comments])
    tags = [tag for tag in _TAG.finditer(text) if not _is_within(tag.start(), closed)]
    ended = {after.start() for tag, after in pairwise(tags) if after["close"] and _shown_value(tag) is not None}
    changes = sorted(
        [(start, end, " ") for start, end in comments]
        + [(*tag.span(), "" if tag.start() in ended else _replacement_for(tag)) for tag in tags]
    )
    behind = [(start + 4, end - 3) for start, end in comments]
    behind += [place for tag in tags for place in _attribute_spans(tag)]
    behind += [place for place in _targets(text) if not _is_within(place[0], opaque)]
    lines = [reading.part(start, end) for start, end in behind]
    lines += [line for tag in tags for line in _told_otherwise(reading, tag)]
    return concatenate([replace_ranges(reading, changes), *(part for line in lines for part in (_BREAK, line))])


_IMAGE = re.compile(r"!\[(?P<alt>[^\[\]]{1,300})\](?=\()")
_NOTE_TAG = re.compile(r"(?<=\w)<sup\b[^<>]{0,200}>\s{0,9}(?P<figure>\d{1,3})\s{0,9}</sup\s{0,9}>", re.IGNORECASE)
_RAISE = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _without_images(reading: Reading) -> Reading:
    """Images as links: "!" would end a sentence."""
    return replace_ranges(reading, ((match.start(), match.start() + 1, " ") for match in _IMAGE.finditer(reading.text)))


def _with_raised(reading: Reading) -> Reading:
    """Figures that a tag raises behind a word, as a note's mark or an exponent: "17<sup>1</sup>" is not 171."""
    notes = ((*match.span(), match["figure"].translate(_RAISE)) for match in _NOTE_TAG.finditer(reading.text))
    return powers(replace_ranges(reading, notes))


_BREAK = Reading("\n\n", (0, 0), (0, 0))


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Spans of HTML comments; an unclosed one is text."""
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            return
        yield start, end + 3
        start = text.find("<!--", end + 3)


def _is_within(place: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """True if the place is in one of the sorted, disjoint ranges."""
    index = bisect_right(ranges, (place, _FAR)) - 1
    return index >= 0 and place < ranges[index][1]


def _replacement_for(tag: re.Match[str]) -> str:
    """The replacement for a tag: nothing, a line break, equivalent Markdown, or a space."""
    name, shown = tag["name"].lower(), _shown_value(tag)
    if shown is not None:
        value = tag.string[slice(*shown)]
        return f"\n\n{value}\n\n" if is_said(value) else value
    if name in _INLINE:
        return ""
    if name in _CELLS:
        return " " if tag["close"] else "| "
    if name == "tr":
        return " |\n" if tag["close"] else "\n"
    if name in _FENCED:
        return "\n```\n"
    if name == "li":
        return "\n" if tag["close"] else "\n- "
    if len(name) == 2 and name[0] == "h" and name[1].isdigit():
        return "\n\n" if tag["close"] else "\n\n# "
    return "\n\n" if name in _LINES else " "


_EMPTY = frozenset(("input", "img", "param"))
_VALUES = word_set("value datetime alt aria-valuetext aria-valuenow aria-label label title placeholder")
"""Attributes that readers are shown or told in place of a text."""
_UNTOLD = word_set("button checkbox color file hidden image password radio reset submit")
"""Types of input whose value is no part of a sentence."""
_MOST_SHOWN = 60
"""Most characters of a value that belongs to the sentence around its element: a longer one is a text of its own."""
_ENDS_AT_ONCE = re.compile(r"\s{0,9}</")
_VALUED = re.compile(
    r"<(?P<name>data|time|abbr|meter|progress|output)\s[^<>]{0,400}>(?P<text>[^<>]{1,200})</(?P=name)\s*>",
    re.IGNORECASE,
)
_WHEN = re.compile(r"\d{4}-\d\d|\d\d?:\d\d|P[\dT]")
_REACH = 300
"""Characters on either side of an element whose value is read in place of its text."""


def _attributes(tag: re.Match[str]) -> Mapping[str, tuple[int, int]]:
    """The spans of a tag's attributes with a value, by name."""
    found = dict[str, tuple[int, int]]()
    for match in _ATTRIBUTE.finditer(tag["rest"]):
        start, end = match.span(match.lastgroup or "double")
        found.setdefault(match["name"].lower(), (tag.start("rest") + start, tag.start("rest") + end))
    return found


def _shown_value(tag: re.Match[str]) -> tuple[int, int] | None:
    """The span of the value that is shown in place of an element without a text: `<meter value="6">`, an image's text."""
    name, text = tag["name"].lower(), tag.string
    if tag["close"] or not tag["rest"] or not (name in _EMPTY or _ENDS_AT_ONCE.match(text, tag.end())):
        return None
    spans = _attributes(tag)
    if name == "input" and "type" in spans and text[slice(*spans["type"])].lower() in _UNTOLD:
        return None
    values = [spans[attribute] for attribute in spans if attribute in _VALUES]
    return next((span for span in values if 0 < span[1] - span[0] <= _MOST_SHOWN), None)


def _told_otherwise(reading: Reading, tag: re.Match[str]) -> Iterator[Reading]:
    """The line of an element whose value gives another figure than its text, with the value in place of the text."""
    element = _VALUED.match(tag.string, tag.start())
    if element is None or tag["close"]:
        return
    spans, said = _attributes(tag), element["text"]
    span = next((spans[name] for name in ("value", "datetime", "title") if name in spans), None)
    value = tag.string[slice(*span)] if span else ""
    comparable = any(map(str.isdigit, said)) or "title" in spans
    if span is None or not comparable or not any(map(str.isdigit, value)) or value in said or _WHEN.search(value):
        return
    start = max(tag.string.rfind("\n", 0, tag.start()) + 1, tag.start() - _REACH)
    newline = tag.string.find("\n", element.end(), element.end() + _REACH)
    end = newline if newline >= 0 else min(element.end() + _REACH, len(tag.string))
    yield concatenate([reading.part(start, tag.start()), reading.part(*span), reading.part(element.end(), end)])


def _attribute_spans(tag: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Spans of a tag's attributes with words for readers: tooltips, labels, alternative texts."""
    shown = _shown_value(tag)
    for match in _ATTRIBUTE.finditer(tag["rest"]):
        value = match.lastgroup or "double"
        span = tag.start("rest") + match.start(value), tag.start("rest") + match.end(value)
        if span != shown and match["name"].lower() not in _SILENT and _WORDED.search(match[value]):
            yield span


def _targets(text: str) -> Iterator[tuple[int, int]]:
    """Spans of words in link targets: titles, and data other than pictures."""
    yield from (match.span("title") for match in _TITLE.finditer(text))
    yield from (match.span("payload") for match in _DATA.finditer(text))


_QUOTE_MARKS = re.compile(r"[ \t>]*")
_TEXTUAL = word_set("text txt plain plaintext md markdown output console log none quote note answer email letter")
"""Fence languages that do not mean code."""
_CODE_MARK = re.compile(r"[={}\[\]();<>|&$@\\_`~^#*]|::|->|//|--|\w/\w|[a-z][A-Z]|[a-z]\.[a-z]|^\s*\W*$")
_KEYWORDS = word_set(
    """abstract alter and as assert async await auto bool boolean break by byte case catch char class const continue create def
    default del delete desc distinct do done double drop elif else end enum esac except exec export extends extern fi final
    finally float fn for foreach from func function global go goto group having if impl implements import in include inner
    insert int integer interface into is join lambda left let limit local long match mod module mut namespace new nil none
    nonlocal not null object on or order outer override package pass print private protected pub public raise readonly rescue
    return right select self set short signed sizeof static string struct super switch table template then this throw throws trait
    true false try type typedef typeof undefined union unless unsigned until update use using val values var varchar void
    volatile when where while with yield"""
)
_PROGRAMS = word_set(
    """apt apt-get bash brew bundle cargo cat cd chmod chown conda copy cp curl cmd docker echo env entrypoint expose export
    from gem git go grep helm java kill kubectl ls make mkdir mv node npm npx pip pip3 pnpm poetry python python3 rm ruby run sed
    sh source ssh sudo systemctl tar touch uv vista-guard wget workdir yarn"""
)
_SHELL = re.compile(r"\s*(?:\$|>|%|#|PS>|C:\\>)?\s*(?P<command>[\w-]+)(?=\s|$)")
_PIECE = re.compile(
    r'(?P<marks>"""|\'\'\')(?P<long>[\s\S]*?)(?:(?P=marks)|\Z)'
    r'|(?:(?<!\w)[bBfFrRuULN]{1,2})?"(?P<double>(?:[^"\\\n]|\\.)*)"'
    r"|(?<!\w)(?:[bBfFrRuULN]{1,2})?'(?P<single>(?:[^'\\\n]|\\.)*)'(?!\w)|`(?P<back>[^`]*)`"
    r"|/\*+(?P<block>[\s\S]*?)(?:\*/|\Z)|<!--(?P<page>[\s\S]*?)(?:-->|\Z)|\{#(?P<note>[\s\S]*?)(?:#\}|\Z)"
    r"|(?:(?<!\S)(?:#+|--+|;+|%+)|//+)!?(?P<comment>[^\n]*)"
)
"""The strings and comments of most languages."""
_LINED = frozenset(("long", "block", "page", "note", "comment"))
"""Pieces of prose, whose lines may be wrapped."""
_MARGIN = re.compile(r"[ \t]*(?:(?:\*+|//+|#+|--+|;+|[|>])(?!\w))?[ \t]*")
_PLUS = r"(?:\+|\.{1,2}|\\|\|\||&)"
_JOINED = re.compile(rf"\s*(?:{_PLUS}\s*)?(?:(?P<figure>\d[\d.,]*)\s*{_PLUS}\s*)?")
"""Code between two strings that are one for the reader: nothing, a plus, a figure between two."""
_BARE = re.compile(r"(?:[^={}\[\]()<>|&$@\\`~^#*:;,\n]|[:;](?!\s)|,(?=\s)|[$&](?=\d| )){4,}")
"""Words between the marks of code."""
_PLACEHOLDER = re.compile(r"\A\s*(?:\$?\{{1,2}[^{}]*\}{1,2}|%[sdfr])\s*[:,-]?\s+")
_LITERAL = re.compile(r"""\$?\{\s*(?:(\d[\d.,]*)|"([^"{}]*)"|'([^'{}]*)')\s*\}""")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|(.))")
_WORD = re.compile(r"(?<![\w.$@/-])[A-Za-z]{2,}(?:'[a-z]{1,2})?(?![\w$@/(\[=-]|\.\w)|[^\s\w'\"]")
_FIGURE = re.compile(r"\d{3,}")
_GLUED = re.compile(r"[A-Za-z]{8}\w{0,80}\d{3}")
"""A word and a figure without a space between them."""
_KEY = re.compile(r"\s*(?:-\s+)?[\w.-]{1,60}\s?[:=]\s")
"""A key of data; the words behind it are told apart from it."""
_PLAIN = re.compile(r"\s*(?![A-Z])\w[\w\s,.'%-]*")
"""A line that may go on with the sentence of the line before it."""
_RUN = 3
"""Consecutive words that make a line prose."""
MARK = "```"
"""Beginning of the claim for a block of code."""


def line_ranges(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Start and end of each line of a range, without line breaks."""
    end = len(text) if end is None else end
    while start <= end:
        newline = text.find("\n", start, end)
        last = newline if newline >= 0 else end
        if last > start or newline >= 0:
            yield start, last
        start = last + 1


def is_prose(line: str, *, written: bool) -> bool:
    """True if the whole line of a fence is prose."""
    if not line.strip() or (written and _KEY.match(line)):
        return False
    bare = _PIECE.sub(lambda match: " " * len(match.group()), line)
    shell = _SHELL.match(bare)
    if shell and shell["command"].lower() in _PROGRAMS:
        words = words_of(bare)
        has_grammar = any(word in DETERMINERS or is_auxiliary(word) or word.endswith("ed") for word in words[1:])
        return has_grammar and _longest_run(bare) >= _RUN
    if _longest_run(bare) >= _RUN:
        return True
    opens = words_of(bare)[:1]
    coded = written or _CODE_MARK.search(line) is not None or (opens != [] and opens[0].lower() in _KEYWORDS)
    return not coded


@dataclass(frozen=True)
class _Piece:
    """The words of a string or comment, or one line of it, at `start:end`; with its marks it is `begin:until`."""

    start: int
    end: int
    begin: int
    until: int
    lined: bool


def _quoted_blocks(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[Block]:
    """Strings, comments and bare words in the lines of code at `ranges`."""
    if not ranges:
        return
    start, end = ranges[0][0], ranges[-1][1]
    matches = list(_PIECE.finditer(text, start, end))
    quoted = [piece for match in matches for piece in _pieces(text, match)]
    starts, ends = [start, *(match.end() for match in matches)], [*(match.start() for match in matches), end]
    bare = [piece for gap in zip(starts, ends, strict=True) for piece in _bare_pieces(text, *gap)]
    yield from sorted([*_told(text, quoted), *_told(text, bare, bare=True)], key=lambda block: block.start)


def _bare_pieces(text: str, start: int, end: int) -> Iterator[_Piece]:
    """Words between the marks of code; those that fill their line may go on in the next one."""
    for match in _BARE.finditer(text, start, end):
        first, last = match.span()
        line_start = text.rfind("\n", 0, first) + 1
        lined = not text[line_start:first].strip() and not text[last : line_end(text, last)].strip()
        first += _command(match.group())
        yield _Piece(first, last, line_start if lined else first, last, lined=lined)


def _pieces(text: str, match: re.Match[str]) -> Iterator[_Piece]:
    """A string; the lines of a comment or a long string; the strings inside either, if it says nothing else."""
    name = next(name for name, value in match.groupdict().items() if value is not None and name != "marks")
    start, end = match.span(name)
    inner = text[start:end]
    if name not in ("long", "back") and is_said(inner) and not is_said(_PIECE.sub(" ", inner)):
        within = [piece for one in _PIECE.finditer(text, start, end) for piece in _pieces(text, one)]
        if any(is_said(text[piece.start : piece.end]) for piece in within):
            yield from within
            return
    if name not in _LINED and "\n" not in inner:
        yield _Piece(start, end, *match.span(), lined=False)
        return
    for first, last in line_ranges(text, start, end):
        margin = _MARGIN.match(text, first, last)
        begin = margin.end() if margin else first
        if text[begin:last].strip():
            yield _Piece(begin, last, first if first > start else match.start(), last, lined=True)


def _told(text: str, pieces: Sequence[_Piece], *, bare: bool = False) -> Iterator[Block]:
    """The pieces that say something, joined as the program or the page joins them."""
    group, parts = list[_Piece](), list[str]()
    for piece in pieces:
        glue = _glue(text, group[-1], piece, bare=bare) if group else None
        if glue is None:
            yield from _said_blocks(text, group, "".join(parts), bare=bare)
            group, parts = [piece], [text[piece.start : piece.end]]
        else:
            group.append(piece)
            parts += (glue, text[piece.start : piece.end])
    yield from _said_blocks(text, group, "".join(parts), bare=bare)


def _glue(text: str, before: _Piece, piece: _Piece, *, bare: bool) -> str | None:
    """The text that joins two pieces for their reader; None if they don't belong together."""
    gap, first, second = (
        text[before.until : piece.begin],
        text[before.start : before.end],
        text[piece.start : piece.end],
    )
    if before.lined and piece.lined:
        if gap.strip() or gap.count("\n") > 1 or ENDED.search(first):
            return None
        alone = is_said(first, bare=bare) and is_said(second, bare=bare)
        goes_on = second.lstrip()[:1].islower() or second.lstrip()[:1].isdigit() or not alone
        return " " if goes_on else None
    if bare or before.lined or piece.lined:
        return None
    if match := _JOINED.fullmatch(gap):
        return match["figure"] or (" " if first[-1:] in tuple(".!?:;,") else "")
    parts = gap.strip() == "," and not ENDED.search(first) and not (is_said(first) and is_said(second))
    return " " if parts else None


def _said_blocks(text: str, group: Sequence[_Piece], said: str, *, bare: bool) -> Iterator[Block]:
    """The block of a string that says something, or of several that are joined."""
    plain = _PLACEHOLDER.sub("", _LITERAL.sub(lambda match: match[match.lastindex or 0], _ESCAPE.sub(_unescape, said)))
    if not is_said(plain, bare=bare):
        return
    start, end = group[0].start, group[-1].end
    if plain == text[start:end]:
        yield Block(start, start + len(plain.rstrip("*/->\"' ")), BlockKind.QUOTED)
    else:
        yield Block(start, end, BlockKind.QUOTED, plain.strip())


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    return chr(min(int(code, 16), 0x10FFFF)) if code else " " if match[4] in "nrtvf" else match[4]


def _command(line: str) -> int:
    """Length of the program's name at the beginning of a shell's line."""
    shell = _SHELL.match(line)
    return shell.end() if shell and shell["command"].lower() in _PROGRAMS else 0


def is_said(text: str, *, bare: bool = False) -> bool:
    """True if words in code may state something: four of them, three with a figure or as a sentence, a long figure and a word.

    `bare`: they are neither a string nor a comment, so that they have to be plain words.
    """
    words = _WORD.findall(text) if bare else words_of(_ADDRESS.sub(" ", text))
    plain = [word for word in words if len(word) > 1 and word[0].isalpha() and word.lower() not in _KEYWORDS]
    count = sum(word[0].isalnum() for word in words)
    figure = any(map(str.isdigit, text))
    if count + (bare and figure) > 3:
        return len(plain) > 2
    if bare:
        return False
    if count == 3:
        return (figure and len(plain) > 1) or (text.lstrip()[:1].isupper() and text.rstrip()[-1:] in tuple(".!?"))
    return (count > 1 and _FIGURE.search(text) is not None) or (count == 1 and _GLUED.search(text) is not None)


def says(text: str) -> bool:
    """True if a heading or a cell states something checkable rather than only naming it."""
    words = [word for word in words_of(text) if word[0].isalnum()]
    if len(words) == 1:
        return _GLUED.search(text) is not None
    return (len(words) > 2 and has_verb(text)) or (len(words) > 1 and _FIGURE.search(text) is not None)


def fence(block: str) -> str:
    """A block of code as a claim's text: always in a fence of backticks."""
    return block if block.startswith(MARK) else f"{MARK}\n{block.strip('~')}"


def is_code(claim: str) -> bool:
    """True if the claim is a block of code, not a fence of prose."""
    if not claim.startswith(MARK):
        return False
    written = _is_language(claim[3 : claim.find("\n")] if "\n" in claim else "")
    lines = claim.split("\n")[1:]
    return any(line.strip() and not line.startswith(MARK) and not is_prose(line, written=written) for line in lines)


def _is_language(info: str) -> bool:
    name = info.strip().strip("{}.").lower()
    return bool(name) and len(name.split()) == 1 and name not in _TEXTUAL


def _longest_run(line: str) -> int:
    """Longest run of plain words in a segment with a verb or an article. Keywords end a run."""
    best = 0
    for plain, group in groupby(_WORD.findall(line), key=lambda word: word[0].isalpha()):
        words = list(group)
        if plain and any(is_verb(word) or word.lower() in DETERMINERS for word in words):
            runs = groupby(words, key=lambda word: word.lower() in _KEYWORDS)
            best = max([best, *(len(list(run)) for keyword, run in runs if not keyword)])
    return best


def without_quote_marks(text: str, start: int, end: int) -> int:
    """Start of a fence's line behind its quotation marks (">")."""
    match = _QUOTE_MARKS.match(text, start, end)
    return match.end() if match else start


_LONG = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,3}")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>]+")
_HEX = re.compile(r"(?:[0-9a-f]{20,}|[0-9A-F]{20,})")
_BASE32 = re.compile(r"(?=[A-Z]*[2-7])[A-Z2-7]{24,}")
_BYTES = re.compile(r"(?<!\w)(?:(?:0x)?[0-9a-fA-F]{2}[\s,]{1,2}){11}|(?<!\w)(?:[01]{7,8}\s){5}")
_CODES = re.compile(r"(?<!\S)(?:\d{2,3}[ ,]{1,2}){11}\d{2,3}")
SYMBOLS = re.compile("(?:[.\\-·–]{1,5}[ /]{1,3}){8}|[\u2801-\u28ff]{2}")
"""Morse and Braille: words without a letter."""
_LONG_WORD = re.compile(r"[^\W_]{3,}")
_COUNTED = re.compile(r"\d+[a-zA-Z]{1,3}|[a-zA-Z]{1,4}\d+[a-zA-Z]?")
_CAMEL = re.compile(r"[A-Z]?[a-z]+")
_FEWEST, _KNOWN_SHARE = 4, 0.34
"""Fewer words are never called unreadable; below this share of known words a text is. Names are unknown, too."""
_PRINTABLE = range(32, 127)


def unreadable_parts(text: str) -> Iterator[str]:
    """The unreadable parts of `text`; all of it if it has too few known words."""
    prose = _ADDRESS.sub(" ", text)
    yield from (match.group() for match in _LONG.finditer(prose) if _is_code_like(match.group()))
    yield from (match.group() for pattern in (_BYTES, SYMBOLS) for match in pattern.finditer(prose))
    yield from (match.group() for match in _CODES.finditer(prose) if _spells(match.group()))
    words = [word for word in _LONG_WORD.findall(prose) if not word.isdigit()]
    if len(words) >= _FEWEST and sum(map(_is_known, words)) < _KNOWN_SHARE * len(words):
        yield prose


def _is_code_like(token: str) -> bool:
    if _HEX.fullmatch(token) and re.search(r"\d", token):
        return True
    if _BASE32.fullmatch(token):
        return True
    parts = [part for part in re.split(r"[-_/+]", token) if part]
    mixed = (
        re.search(r"[a-z]", token) and re.search(r"[A-Z]", token) and (re.search(r"\d", token) or token.endswith("="))
    )
    # "the-2024-Annual-Report", "WhaleHall2024Opening": words, joined.
    pieces = [piece.lower() for part in parts for piece in _CAMEL.findall(part) if len(piece) > 2]
    known = sum(len(piece) for piece in pieces if piece in known_words())
    return bool(mixed) and known * 2 < len(token)


def _spells(numbers: str) -> bool:
    """True if each number is a character code, which figures rarely are by chance."""
    return all(int(number) in _PRINTABLE for number in re.findall(r"\d+", numbers))


def _is_known(word: str) -> bool:
    lower = word.lower()
    known = known_words()
    if lower in known or any(
        lower.endswith(end) and lower[: -len(end)] in known for end in ("s", "ed", "d", "ing", "ly", "er")
    ):
        return True
    return bool(_COUNTED.fullmatch(word))
