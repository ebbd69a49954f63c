"""HTML to lines and inline Markdown to words: block tags break lines, inline tags vanish, attribute and comment text follows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from vista_guard.judges.embedded.english.words import word_set
from vista_guard.judges.embedded.forms.code import fences
from vista_guard.reading.canonical import SHORT, Reading, joined, replaced

_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s\[\]]{0,2000}(?:\s+\"[^\"]{0,1000}\")?\)")
_NOTE = re.compile(r"(?<!\s)\s*\[\^?\d+(?:\s*,\s*\d+)*\]")
_TAGS = re.compile(r"</?(?!https?:|mailto:)[a-zA-Z][^<>]{0,200}>")
_EMPHASIS = re.compile(
    r"(\*{1,3}|~~|==|\|\||(?<!\w)_{1,3})(?=[^\s*_~=|])([^*~`\n]{1,300}?)(?<=[^\s*_~=|])\1(?!(?<=_)\w)"
)
_CODE_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]{1,2000})\1(?!`)")
_SHOUTED = re.compile(r"([!?])(?:[!?]+|<\s*$)")
"""The verifier reads "!!!!!" as anything; it means no more than one."""
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_COMMANDS = re.compile(
    r"\\(?:text|textbf|textit|texttt|emph|mbox|mathrm|section|subsection|title|caption|footnote)\*?\{([^{}]{0,400})\}"
)
_PRE_TOKENISED = (
    (re.compile(r"\b(\w+) n't\b"), r"\1n't"),
    (re.compile(r" ('(?:s|ve|re|m|ll|d)\b)"), r"\1"),
    (re.compile(r"\s+([,.!?;:])(?=\s|$)"), r"\1"),
)
"""Spaces that corpora and speech recognisers leave: "I do n't know ." """


def emphasised_words(text: str) -> Iterator[tuple[int, str]]:
    """The emphasised words and link texts, with their offsets."""
    for pattern, group in ((_EMPHASIS, 2), (_LINK, 1)):
        yield from ((match.start(), match[group]) for match in pattern.finditer(text))


def inline_code(text: str) -> Iterator[str]:
    """The inline code of a text."""
    yield from (match[2] for match in _CODE_SPAN.finditer(text))


def clean(text: str) -> str:
    """`text` without Markdown, HTML tags and footnote marks, on one line, with spaces where prose has them.

    What is set as code keeps its letters: `lk_test_` has no emphasis in it.
    """
    return _clean(text) if len(text) <= SHORT else _clean.__wrapped__(text)


@lru_cache(maxsize=4096)
def _clean(text: str) -> str:
    pieces, last = list[str](), 0
    for match in _CODE_SPAN.finditer(text):
        pieces += (_without_marks(text[last : match.start()]), match[2])
        last = match.end()
    text = re.sub(r"\s+", " ", "".join((*pieces, _without_marks(text[last:])))).strip()
    for pattern, replacement in _PRE_TOKENISED:
        text = pattern.sub(replacement, text)
    return text


def _without_marks(text: str) -> str:
    text = _TAGS.sub(" ", _NOTE.sub("", _LINK.sub(r"\1", text)))
    text = _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))
    text = _SHOUTED.sub(r"\1", text)
    return _ESCAPED.sub(r"\1", _COMMANDS.sub(r"\1", text)) if "\\" in text else text


_TAG = re.compile(r"<(?P<close>/?)(?!https?:|mailto:)(?P<name>[a-zA-Z][\w:.-]{0,60})(?P<rest>(?:[\s/][^<>]{0,4000})?)>")
_ATTRIBUTE = re.compile(
    r"""(?<![\w-])(?P<name>[a-zA-Z][\w:.-]{0,60})\s{0,9}=\s{0,9}(?:"(?P<double>[^"]*)(?:"|$)|'(?P<single>[^']*)(?:'|$))"""
)
_SILENT = word_set(
    """class style href src srcset id d rel type action method target lang dir role width height sizes media integrity
    viewbox points transform fill stroke xmlns onclick onload"""
)
"""Attributes that no reader is ever shown."""
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
    """The reading without its HTML. Fences are left as they are: a tag in them is code, or is read with it."""
    text = reading.text
    if "<" not in text and "](" not in text:
        return reading
    opaque = [(fence.start, fence.end) for fence in fences(text)]
    comments = [place for place in _comments(text) if not _within(place[0], opaque)]
    closed = sorted([*opaque, *comments])
    tags = [tag for tag in _TAG.finditer(text) if not _within(tag.start(), closed)]
    changes = sorted(
        [(start, end, " ") for start, end in comments] + [(*tag.span(), _in_place_of(tag)) for tag in tags]
    )
    behind = [(start + 4, end - 3) for start, end in comments]
    behind += [place for tag in tags for place in _attribute_spans(tag)]
    behind += [place for place in _targets(text) if not _within(place[0], opaque)]
    parts = (part for start, end in behind for part in (_BREAK, reading.part(start, end)))
    return joined([replaced(reading, changes), *parts])


_BREAK = Reading("\n\n", (0, 0), (0, 0))


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Where HTML comments stand; one that nobody closed is text."""
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            return
        yield start, end + 3
        start = text.find("<!--", end + 3)


def _within(place: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """True if a place lies in one of the ranges, which are sorted and disjoint."""
    index = bisect_right(ranges, (place, _FAR)) - 1
    return index >= 0 and place < ranges[index][1]


def _in_place_of(tag: re.Match[str]) -> str:
    """The replacement for a tag: nothing, a line break, equivalent Markdown, or a space."""
    name = tag["name"].lower()
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


def _attribute_spans(tag: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Where the attributes of a tag hold words for a reader: a tooltip, a label, what stands for a picture."""
    for match in _ATTRIBUTE.finditer(tag["rest"]):
        value = "double" if match["double"] is not None else "single"
        if match["name"].lower() not in _SILENT and _WORDED.search(match[value]):
            yield tag.start("rest") + match.start(value), tag.start("rest") + match.end(value)


def _targets(text: str) -> Iterator[tuple[int, int]]:
    """Where the targets of links hold words: titles, and data that is no picture."""
    yield from (match.span("title") for match in _TITLE.finditer(text))
    yield from (match.span("payload") for match in _DATA.finditer(text))
