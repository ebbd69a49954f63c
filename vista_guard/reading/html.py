"""The readable text of a page in HTML: what a person would read, in an order a person would read it. Pure, and no library.

Pages are read tag by tag: nesting of any depth costs nothing, and time grows with length. The standard library's parser
searches a page anew from each tag that never ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any, NamedTuple

_BROWSERS = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252"}
"""Encodings that browsers use for these names (WHATWG Encoding, §4.2)."""


def _names(tags: str) -> frozenset[str]:
    return frozenset(tags.split())


_EMPTY = _names(
    "area base basefont bgsound br col command embed frame hr image img input isindex keygen link menuitem meta nextid "
    "param source spacer track wbr"
)
"""Tags that hold nothing and are never closed."""
_UNREAD = _names(
    "title script style noscript template nav svg iframe object canvas audio video button select textarea dialog rt rp"
    " s del strike"
)
_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_PARAGRAPHS = _HEADINGS | _names("p ul ol dl table blockquote pre figure section article main header footer aside div")
_LINES = _names("br li dt dd tr td th caption figcaption address details summary form fieldset legend hr")
_ROW, _CELL, _HEAD, _WRITTEN = "\ue000", "\ue001", "\ue002", "\ue003"
"""Stand for where rows and cells start while a table is read, and for a table that was written out; no text uses these."""
_MARKS = {"tr": _ROW, "td": _CELL, "th": _HEAD}
_UNMARKED = dict.fromkeys(map(ord, (_ROW, _CELL, _HEAD, _WRITTEN)))
INVISIBLE = {**dict.fromkeys(map(ord, "\u00ad\u200b\ufeff")), **_UNMARKED}
"""Translation that drops invisible characters: soft hyphens, zero-width spaces, and the marks above."""
_XML_ENCODING = re.compile(rb"^\s*<\?.*encoding=['\"](.*?)['\"].*\?>", re.IGNORECASE)
_META_ENCODING = re.compile(rb"<\s*meta[^>]+charset\s*=\s*[\"']?([^>]*?)[ /;'\">]", re.IGNORECASE)
_DECLARED_WITHIN = 4096
"""Bytes searched for an encoding; browsers search 1,024."""
_MARKUP = re.compile(
    r"""<!--(?:-?>|.*?(?:-->|\Z)) | <!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z) | </(?P<end>[a-z][^\s/>]*+)[^>]*+(?:>|\Z)
    | <[!?/][^>]*+(?:>|\Z) | <(?P<tag>[a-z][^\s/>]*+)
    (?P<attributes>(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?+)*+)(?P<closed>>?)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""Everything but text. Each matches up to the end of the page if nothing ends it, so that no place is scanned twice."""
_ATTRIBUTE = re.compile(r"""([^\s/>=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?""")
_RAW_END = {tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE) for tag in ("script", "style")}
_DEEPEST = 3
"""Tables in tables that may be written out as rows; what is nested deeper is layout."""


class FileText(NamedTuple):
    """A file's text and title. `pages` are the offsets of its pages; empty for a file without pages."""

    title: str | None
    text: str
    pages: tuple[int, ...] = ()


def read_html(markup: str) -> FileText:
    """Reads the text without scripts, styles, navigation and hidden parts; a table row reads `column: value; column: value`.

    Headings have the marks of Markdown (`## Fees`).

    A tag, comment or script that never ends hides what follows it, as in browsers.
    """
    page = _Page()
    page.read(markup.translate(INVISIBLE))
    return FileText(page.title, page.text)


def declared_encoding(raw: bytes) -> str | None:
    """Returns the encoding that a page declares near its beginning."""
    match = _XML_ENCODING.search(raw, 0, 1024) or _META_ENCODING.search(raw, 0, _DECLARED_WITHIN)
    name = match[1].decode("ascii", "replace").lower() if match else ""
    return _BROWSERS.get(name, name) or None


def join_pages(title: str | None, texts: Sequence[str]) -> FileText:
    """Joins pages and records where each starts."""
    pages, length = [], 0
    for text in texts:
        pages.append(length)
        length += len(text) + 2
    return FileText(title, "\n\n".join(texts).rstrip(), tuple(pages))


def one_line(text: str) -> str:
    """Joins the words of the text with single spaces."""
    return " ".join(text.split())


_PROGRAMS = "word powerpoint excel publisher visio office writer impress calc pages keynote latex indesign quarkxpress"
_DEFAULTS = frozenset(
    "anonymous untitled unbenannt unnamed unknown unspecified none null title document doc dokument presentation präsentation "
    "slide slides folie book workbook mappe page layout print scan scanned new file template default sheet tabelle blank empty "
    f"no home index text microsoft {_PROGRAMS}".split()
)
"""Words that programs call a document by when nobody named it, alone or together ("PowerPoint Presentation")."""
_FILE_NAME = re.compile(
    r"\S*[/\\][^/\\]*\.[A-Za-z]\w{0,4}|[A-Za-z]:\\.*|~\$?\S+|.*\.(?:docx?|docm|dotx?|odt|rtf|tex|dvi|e?ps|pdf|indd|qx[pd]|pptx?|potx?|odp|"
    r"xlsx?|xlsm|ods|pub|wpd|pm6|p65|fm|cdr|ai|psd|tmp|temp|html?|xhtml|txt|md|csv|xml|bak)",
    re.IGNORECASE,
)
_MADE_UP = re.compile(r"tmp\S*|(?=\S*\d)[0-9a-f]{8,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def first_title(*titles: str | None) -> str | None:
    """Returns the first that names its document.

    What a program writes when nobody gave a title is none: `untitled`, `(anonymous)`, `Microsoft Word - plan.doc`, the name of a
    file.
    """
    return next((title for title in map(one_line, filter(None, titles)) if _names_something(title)), None)


def _names_something(title: str) -> bool:
    words = re.findall(r"[^\W\d_]+", title.lower())
    if not words:  # figures may: "1984"
        return bool(re.search(r"\d", title)) and not _MADE_UP.fullmatch(title)
    if title[0] + title[-1] in ("()", "[]", "<>", "{}") or re.match(r"microsoft \w+ - ", title, re.IGNORECASE):
        return False
    return not (_FILE_NAME.fullmatch(title) or _MADE_UP.fullmatch(title) or _DEFAULTS.issuperset(words))


class _Page:
    """Parses a page. A tag that is never closed ends with its parent, as in old browsers."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._count: Counter[str] = Counter()  # of open tags, by name
        self._unread: int | None = None  # how many were open when the outermost unread one was opened
        # Of the page, and of each table that is open: texts, and parts of inner tables.
        self._parts: list[list[Any]] = [[]]
        self._nested: list[int] = [0]  # how many tables deep the deepest inside of each of them is
        self._heard: dict[str, list[str]] = {}  # by kind of title
        self._hearing: dict[str, int] = {}  # how many were open when such a title was

    @property
    def text(self) -> str:
        """The page's text, after `close`."""
        return _tidy("".join(_flatten(self._parts[0])).translate(_UNMARKED))

    @property
    def title(self) -> str | None:
        """The page's title, else its first heading of level one, else its first heading."""
        heading = self._heard.get("h1", self._heard.get("heading", []))
        return first_title("".join(self._heard.get("title", [])), "".join(heading))

    def read(self, markup: str) -> None:
        """Reads the whole page."""
        place = 0
        while match := _MARKUP.search(markup, place):
            self._data(unescape(markup[place : match.start()]) + (match["cdata"] or ""))
            place = match.end()
            if match["end"]:
                self._end_tag(match["end"].lower())
            elif match["tag"]:
                place = self._tag(match, markup) if match["closed"] else len(markup)
        self._data(unescape(markup[place:]))
        while self._open:
            self._close()

    def _tag(self, match: re.Match[str], markup: str) -> int:
        """Reads an opening tag, and the whole of a script; returns the end."""
        tag = match["tag"].lower()
        pairs = reversed(_ATTRIBUTE.findall(match["attributes"]))  # the first of a name counts
        self._start_tag(tag, {name.lower(): unescape(value.strip("\"'")) for name, value in pairs})
        if match["attributes"].endswith("/"):
            self._end_tag(tag)
        elif tag in _RAW_END:
            closing = _RAW_END[tag].search(markup, match.end())
            return closing.start() if closing else len(markup)
        return match.end()

    def _start_tag(self, tag: str, attributes: dict[str, str]) -> None:
        if self._unread is None:
            if tag not in _UNREAD and not _hidden(attributes):
                self._begin(tag)
            elif tag not in _EMPTY:
                self._unread = len(self._open)
        self._listen(tag)
        if tag not in _EMPTY:
            self._open.append(tag)
            self._count[tag] += 1

    def _end_tag(self, tag: str) -> None:
        if self._count[tag]:
            while self._open[-1] != tag:
                self._close()
            self._close()

    def _data(self, data: str) -> None:
        data = data if self._count["pre"] else re.sub(r"\s+", " ", data)
        for kind in self._hearing:
            if kind == "title" or self._unread is None:
                self._heard[kind].append(data)
        if self._unread is None:
            self._parts[-1].append(data)

    def _listen(self, tag: str) -> None:
        """Captures the first title, the first `h1` and the first heading of any level."""
        heading = tag in _HEADINGS and self._unread is None
        for kind, here in (("title", tag == "title"), ("h1", tag == "h1" and heading), ("heading", heading)):
            if here and kind not in self._heard:
                self._heard[kind], self._hearing[kind] = [], len(self._open)

    def _begin(self, tag: str) -> None:
        if tag == "table":
            self._parts.append([])
            self._nested.append(0)
        if tag in _LINES:
            self._parts[-1].append(_MARKS.get(tag, "") + ("\n- " if tag == "li" else "\n"))
        elif tag in _PARAGRAPHS:
            # Marked as in Markdown, outside of layout: what stands under a heading is read with it.
            mark = f"{'#' * int(tag[1])} " if tag in _HEADINGS and len(self._parts) == 1 else ""
            self._parts[-1].append(f"\n\n{mark}")

    def _close(self) -> None:
        """Closes the innermost tag."""
        tag = self._open.pop()
        self._count[tag] -= 1
        if self._unread is None:
            self._end(tag)
        elif self._unread == len(self._open):
            self._unread = None
        if len(self._open) in self._hearing.values():
            self._hearing = {kind: opened for kind, opened in self._hearing.items() if opened < len(self._open)}

    def _end(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self._parts[-1].append("\n\n")
        if tag == "table":
            parts, deep = self._parts.pop(), self._nested.pop()
            self._nested[-1] = max(self._nested[-1], deep + 1)
            self._parts[-1].append(_format_table("".join(parts)) if deep < _DEEPEST else parts)


def _flatten(parts: list[Any]) -> Iterator[str]:
    """Yields the texts of parts in parts, however deep."""
    stack = [iter(parts)]
    while stack:
        for part in stack[-1]:
            if isinstance(part, list):
                stack.append(iter(part))
                break
            yield part
        else:
            stack.pop()


def _hidden(attributes: dict[str, str]) -> bool:
    style = "".join(attributes.get("style", "").lower().split())
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") in ("navigation", "search", "menu")
        or "display:none" in style
        or "line-through" in style
    )


def _format_table(table: str) -> str:
    """Formats the rows of a table as lines. A table of one column, or around another, is layout and stays as it is."""
    caption, *rows = table.split(_ROW)
    cells = [re.findall(f"([{_CELL}{_HEAD}])([^{_CELL}{_HEAD}]*)", row) for row in rows]
    if _WRITTEN in table or max(map(len, cells), default=0) < 2:
        return table
    lines = [one_line(caption), *_row_lines([[(kind, one_line(text)) for kind, text in row] for row in cells if row])]
    return "\n".join([f"{_WRITTEN}\n", *(line for line in lines if line), "\n"])


def _row_lines(rows: list[list[tuple[str, str]]]) -> list[str]:
    header: list[str] = []
    if len(rows) > 1 and all(kind == _HEAD for kind, _ in rows[0]):
        header = [text for _, text in rows.pop(0)]
    return [_row_line(row, header) for row in rows]


def _row_line(row: list[tuple[str, str]], header: list[str]) -> str:
    if len(header) == len(row):
        pairs = [(name, text) for name, (_, text) in zip(header, row, strict=True) if text]
        return "; ".join(f"{name}: {text}" if name else text for name, text in pairs)
    if len(row) == 2 and row[0][0] == _HEAD:
        return ": ".join(text for _, text in row if text)
    return " | ".join(text for _, text in row if text)


def _tidy(text: str) -> str:
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r" ?\n ?", "\n", text)
    text = re.sub(r"^#{1,6}$", "", text, flags=re.MULTILINE)  # a heading without words
    text = re.sub(r"^- ?\n+(?=[^\n-])", "- ", text, flags=re.MULTILINE)  # an item that holds a paragraph
    text = re.sub(r"^(- ?\n)+", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text).strip()
