"""Markdown, read once a text: each line's block and marks, fenced code and table cells, with exact offsets. Pure.

markdown-it-py reads the blocks. Off are the rules by which text would be hidden or framed that is not so in plain text: code by
indentation, HTML, link definitions and headings by underlining. Items may have the marks of plain text too ("•", "(1)"),
and rows need no header.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from vista_guard._aio import load_once

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.parser_block import RuleFuncBlockType
    from markdown_it.parser_inline import RuleFuncInlineType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline


class MarkdownKind(StrEnum):
    """The block that a line belongs to. Items and quotes hold any of them."""

    PROSE = "prose"
    HEADING = "heading"
    ROW = "row"
    RULE = "rule"
    """The line of dashes below a table's header."""
    CODE = "code"
    """A line of a fence, its marks included."""
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Line:
    """A line at `start:end`, without its break. Its words begin at `body`, behind the marks of quotes, items and headings."""

    start: int
    end: int
    body: int
    kind: MarkdownKind
    item: bool = False
    """True if a list's item begins here."""
    level: int = 0
    """Of a heading, 1 to 6."""


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block, from its opening marks to the end of its last line, and its body. `info` stands behind the marks."""

    start: int
    end: int
    body: int
    body_end: int
    info: str


ENDED = re.compile(r"""[.!?:;…。！？]["'”’)\]*_]*\s*$""")
"""The end of a line that says all it has to say, or announces the next."""
LONG_LINE = 60
"""Characters of a line that, without such an end, is wrapped prose: the next line continues it."""
_REMEMBERED = 4_000
"""Characters of the longest text of which the reading is kept: several readers of a turn ask for the same ones."""


def read_lines(text: str, *, part: bool = False) -> tuple[Line, ...]:
    """The lines of a text, which cover all of it. Takes linear time.

    Args:
        text: to read.
        part: the text is cut from a longer one, so that the first marks of a fence may be closing ones. No line is code.

    >>> [(line.kind.value, line.body, line.item) for line in read_lines("# Fees\\n- Adults: 5 euros")]
    [('heading', 2, False), ('prose', 9, True)]
    """
    return _read(text, not part)[0]


def read_fences(text: str) -> tuple[Fence, ...]:
    """The fenced blocks of a text, in order. One that is not closed ends with the text, or with the quote it is in."""
    return _read(text, True)[1]


def _read(text: str, fenced: bool) -> tuple[tuple[Line, ...], tuple[Fence, ...]]:
    return (_remembered if len(text) <= _REMEMBERED else _remembered.__wrapped__)(text, fenced)


def lines_between(text: str, start: int, end: int) -> Iterator[Line]:
    """The lines of a range as they read without the rest."""
    for line in read_lines(text[start:end]):
        yield replace(line, start=start + line.start, end=start + line.end, body=start + line.body)


def read_line(line: str) -> Line:
    """A line as it reads without those around it."""
    return _remembered.__wrapped__(line, True)[0][0]


@dataclass(frozen=True, slots=True)
class Inline:
    """Inline code, a link or an escaped character at `start:end`, and what is shown of it."""

    kind: Literal["code", "link", "escape"]
    start: int
    end: int
    shown: tuple[int, int]


def read_inline(text: str) -> list[Inline]:
    """The inline code, links and escaped characters of a text, in order; a link may hold others. Takes linear time.

    Emphasis is not read: CommonMark has none in "**Open!**now", where readers see it meant.

    >>> [(one.kind, one.shown) for one in read_inline("See [`a`](b).")]
    [('link', (5, 8)), ('code', (6, 7))]
    """
    if not _MAY_BE_INLINE.search(text):
        return []
    found = list[Inline]()
    parser(True).inline.parse(text, parser(True), {"inline": found}, [])
    return sorted(found, key=lambda one: one.start)


_MAY_BE_INLINE = re.compile(r"`|\\|\]\(")


def title(text: str, line: Line) -> str:
    """The words of a heading of the text itself, not of one that it quotes or lists; "" for other lines."""
    own = line.level and text[line.start : line.body].strip() == "#" * line.level
    return text[line.body : line.end].strip("# \t\xa0") if own else ""


LETTERED = re.compile(r"\s*\(?[a-h][.)]\s")
"""The mark of an item in a list by letters, which is none in Markdown: "a. m." may begin a line."""
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"(?=.*\|)[\s|:-]*-[\s|:-]*")


def cells(text: str, line: Line) -> list[tuple[int, int]]:
    """The places of a row's cells, without the space around them. A cell may be empty."""
    begin = line.body + text.startswith("|", line.body)
    bars = [match.start() for match in _BAR.finditer(text, begin, line.end)]
    ends = [*bars, line.end] if not bars or text[bars[-1] + 1 : line.end].strip() else bars
    return [_trimmed(text, *place) for place in zip([begin, *(end + 1 for end in ends[:-1])], ends, strict=True)]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    inner = text[start:end]
    return start + len(inner) - len(inner.lstrip()), start + len(inner.rstrip())


_ODD_SPACE = re.compile(r"[^\S \t\n]")
_QUOTES = r"(?:[ \t]*+>)*+[ \t]*+"
_SPOILERS = re.compile(r"^(?:[ \t]*+>!?+)++", re.MULTILINE)
_SEVENTH = re.compile(rf"^({_QUOTES})#(?=#{{6}}\s)", re.MULTILINE)
"""Of a heading's marks, of which Markdown knows six."""
_RUN = re.compile(
    rf"^{_QUOTES}(?:(?:[-*+•‣◦–]|\(?\d{{1,9}}[.)]|\(?[ivx]{{1,5}}\))(?:[ \t]|$){_QUOTES}){{1,4}}", re.MULTILINE
)
"""The marks before a line's words, where an item's are among them."""
_MARK = re.compile(r"(?P<bullet>[*+•‣◦–-])|\(?(?P<number>\w{1,9})(?P<end>[.)])")
_LONGEST_NUMBER = 3
"""Digits of an item's number: "1850. It opened" is none."""
_EXTRAS = re.compile(r"(?:\[[ xX]\]\s+)?(?::\s+)?")
"""An item's checkbox, and the colon of a definition."""
_QUOTED = re.compile(r"[\s>]*")


@lru_cache(maxsize=128)
def _remembered(text: str, fenced: bool) -> tuple[tuple[Line, ...], tuple[Fence, ...]]:
    plain = _ODD_SPACE.sub(" ", text)
    plain = _SPOILERS.sub(lambda quotes: quotes.group().replace("!", " "), plain) if ">!" in plain else plain
    plain = _SEVENTH.sub(r"\1 ", plain) if "#######" in plain else plain
    found = _parse(_RUN.sub(lambda run: _MARK.sub(_plain_mark, run.group()), plain), fenced)
    bodies = {number: (leaf, body) for leaf in found.leaves for number, body in enumerate(leaf.bodies, leaf.start)}
    fences = (_fence(text, leaf) for leaf in found.leaves if leaf.rule == "fence")
    return tuple(_lines(text, bodies, found.items)), tuple(fences)


def _plain_mark(mark: re.Match[str]) -> str:
    """The mark as CommonMark has it, of the same length: a hyphen, or the number one, which may begin a list anywhere."""
    if mark["bullet"]:
        return "-"
    if len(mark["number"]) > _LONGEST_NUMBER and mark["number"].isdigit():
        return f"x{mark.group()[1:]}"
    return f"1{mark['end']}".ljust(len(mark.group()))


def _lines(text: str, bodies: MutableMapping[int, tuple[_Leaf, int]], items: set[int]) -> Iterator[Line]:
    start = 0
    for number, line in enumerate(text.split("\n")):
        end = start + len(line)
        leaf, body = bodies.get(number, (None, -1))
        item = number in items
        if leaf is None:  # blank, an empty item, or nested too deeply to be read
            quoted = _QUOTED.match(text, start, end)
            body = end if item or quoted is None else quoted.end()
        kind, level = _kind(text[body:end], number, leaf)
        if kind is MarkdownKind.HEADING:
            body = end - len(text[body + level : end].lstrip())
        elif kind is MarkdownKind.PROSE and (extras := _EXTRAS.match(text, body, end)) and (item or text[body] == ":"):
            body = extras.end()
        yield Line(start, end, body, kind, item, level)
        start = end + 1


def _kind(said: str, number: int, leaf: _Leaf | None) -> tuple[MarkdownKind, int]:
    if leaf is not None and leaf.rule == "fence":
        return MarkdownKind.CODE, 0
    if leaf is not None and leaf.rule == "heading":
        return MarkdownKind.HEADING, len(said) - len(said.lstrip("#"))
    if not said.strip():
        return MarkdownKind.BLANK, 0
    if _RULE.fullmatch(said) or (leaf is not None and leaf.rule == "table" and number == leaf.start + 1):
        return MarkdownKind.RULE, 0
    in_table = leaf is not None and leaf.rule == "table" and "|" in said
    return MarkdownKind.ROW if in_table or (said[0] == "|" and said.count("|") > 1) else MarkdownKind.PROSE, 0


def _fence(text: str, leaf: _Leaf) -> Fence:
    start, last = leaf.bodies[0], leaf.bodies[-1]
    marks = _FENCE_MARKS.match(text, start)
    behind = marks.end() if marks else start
    opening, end = line_end(text, start), line_end(text, last)
    closing = _FENCE_MARKS.match(text, last) if last > start else None
    closed = (
        closing is not None and closing.group().startswith(text[start:behind]) and not text[closing.end() : end].strip()
    )
    if not closed and (rest := _SPACE.match(text, end)) and rest.end() == len(text):
        end = len(text)
    body = min(opening + 1, end)
    body_end = text.rfind("\n", 0, last) + 1 if closed else end
    return Fence(start, end, body, max(body, body_end), text[behind:opening].strip())


_SPACE = re.compile(r"\s*")
_FENCE_MARKS = re.compile(r"`{3,}|~{3,}")


def line_end(text: str, start: int) -> int:
    """The end of the line that `start` is in."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


@dataclass(frozen=True)
class _Leaf:
    """A block that holds no other, and the place in each of its lines behind the marks of what it is in."""

    rule: str
    start: int
    bodies: list[int]


@dataclass(frozen=True)
class _Found:
    leaves: list[_Leaf]
    items: set[int]


def _parse(text: str, fenced: bool) -> _Found:
    leaves = list[_Leaf]()
    tokens = parser(fenced).block.parse(text, parser(fenced), {"leaves": leaves}, []) or ()
    return _Found(leaves, {token.map[0] for token in tokens if token.type == "list_item_open" and token.map})


@load_once
def parser(fenced: bool) -> MarkdownIt:
    """The parser, whose rules for blocks note where each line's words begin."""
    from markdown_it import MarkdownIt, rules_block, rules_inline

    parser = MarkdownIt("commonmark").enable("table").disable(["code", "html_block", "reference", "lheading"])
    ends = ["paragraph", "reference", "blockquote", "list"]
    rules: dict[str, tuple[RuleFuncBlockType, list[str]]] = {
        "table": (_noting("table", _until_no_bar(rules_block.table)), ends[:2]),
        # Marks that close a fence count outside of its item, too, as models write them.
        "fence": (_noting("fence", _with(rules_block.fence, "blkIndent", 0)), ends),
        "hr": (_noting("hr", rules_block.hr), ends),
        # In CommonMark four spaces more than the list's first item has make a line of its paragraph.
        "list": (_with(rules_block.list_block, "listIndent", -1), ends[:3]),
        "heading": (_noting("heading", rules_block.heading), ends[:3]),
        "paragraph": (_noting("paragraph", _paragraph), []),
    }
    for name, (rule, ended) in rules.items():
        parser.block.ruler.at(name, rule, {"alt": ended})
    # Any address makes a link, a harmful one too: its words are said.
    vars(parser).update(validateLink=lambda _: True, normalizeLink=str)
    parser.inline.ruler.enableOnly(["text", "escape", "backticks", "link"])
    parser.inline.ruler2.enableOnly([])
    parser.inline.ruler.at("escape", _noting_inline("escape", rules_inline.escape))
    parser.inline.ruler.at("backticks", _noting_inline("code", rules_inline.backtick))
    parser.inline.ruler.at("link", _noting_inline("link", rules_inline.link))
    if not fenced:
        parser.disable("fence")
    parser.parse("x", {"leaves": [], "inline": []})  # puts the rules into order, once
    return parser


def _noting(name: str, rule: RuleFuncBlockType) -> RuleFuncBlockType:
    def noting(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        if not rule(state, start, end, silent):
            return False
        if not silent:
            bodies = [state.bMarks[number] + state.tShift[number] for number in range(start, state.line)]
            state.env["leaves"].append(_Leaf(name, start, bodies))
        return True

    return noting


def _noting_inline(kind: Literal["code", "link", "escape"], rule: RuleFuncInlineType) -> RuleFuncInlineType:
    def noting(state: StateInline, silent: bool) -> bool:
        start = state.pos
        if not rule(state, silent):
            return False
        if not silent and (shown := _shown(kind, state, start)):
            state.env["inline"].append(Inline(kind, start, state.pos, shown))
        return True

    return noting


def _shown(kind: str, state: StateInline, start: int) -> tuple[int, int] | None:
    if kind == "link":
        return start + 1, state.md.helpers.parseLinkLabel(state, start, True)
    said = state.src[start : state.pos]
    if kind == "escape":
        return (start + 1, state.pos) if said[1:] in string.punctuation else None
    marks = len(said) - len(said.lstrip("`"))
    return (start + marks, state.pos - marks) if marks * 2 < len(said) else None  # marks that nothing closes


def _with(rule: RuleFuncBlockType, name: str, value: int) -> RuleFuncBlockType:
    """The rule, while a number of the parser's state is another one."""

    def changed(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        before = getattr(state, name)
        setattr(state, name, value)
        found = rule(state, start, end, silent)
        setattr(state, name, before)
        return found

    return changed


def _paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: ARG001  a rule's arguments
    """A paragraph ends before any other block: in CommonMark none begins behind it with four spaces or more."""
    rules = state.md.block.ruler.getRules("paragraph")
    parent, state.parentType = state.parentType, "paragraph"
    line = start + 1
    while line < end and not state.isEmpty(line) and not any(rule(state, line, end, True) for rule in rules):
        line += 1
    state.parentType, state.line = parent, line
    return True


def _until_no_bar(table: RuleFuncBlockType) -> RuleFuncBlockType:
    """A table ends before a line without bars, which would be a row of one cell."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        found = table(state, start, end, True)
        if not found or silent:
            return found
        rest = range(start + 2, end)
        last = next((row for row in rest if "|" not in state.src[state.bMarks[row] : state.eMarks[row]]), end)
        return table(state, start, last, False)

    return bounded
