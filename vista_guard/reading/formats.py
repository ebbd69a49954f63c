"""The readable text of HTML, Markdown and PDF: what a person would read, in an order a person would read it. Pure."""

from __future__ import annotations

import logging
import re
import tomllib
import warnings
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from vista_guard.errors import ConfigError, InputError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import Tag
    from pypdf import PdfReader

EXTRA = "pip install 'vista-guard[documents]'"

_MISSING = "HTML and Markdown need the library beautifulsoup4"

_BROWSERS = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252"}
"""What browsers take these names for (WHATWG Encoding, §4.2)."""

_UNREAD = [
    "script",
    "style",
    "noscript",
    "template",
    "nav",
    "svg",
    "iframe",
    "object",
    "canvas",
    "audio",
    "video",
    "button",
    "select",
    "textarea",
    "dialog",
    "rt",
    "rp",
]
_PARAGRAPHS = [
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "dl",
    "table",
    "blockquote",
    "pre",
    "figure",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "div",
]
_LINES = [
    "br",
    "li",
    "dt",
    "dd",
    "tr",
    "td",
    "th",
    "caption",
    "figcaption",
    "address",
    "details",
    "summary",
    "form",
    "fieldset",
    "legend",
    "hr",
]
_WRITTEN = "written-table"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_ROW, _CELL, _HEAD = "\ue000", "\ue001", "\ue002"
"""Stand for where rows and cells start while a table is read; no text uses these code points."""

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[^\S\n]*\n(.*?)^(?:\1|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_INVISIBLE = dict.fromkeys(map(ord, f"\u00ad\u200b\ufeff{_ROW}{_CELL}{_HEAD}"))
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


class Read(NamedTuple):
    """What a file says. `pages` are the places in `text` where its pages start; empty for what has no pages."""

    title: str | None
    text: str
    pages: tuple[int, ...] = ()


def read_html(markup: str) -> Read:
    """Text without scripts, styles, navigation and hidden parts; a table row reads `column: value; column: value`.

    Raises:
        ConfigError: beautifulsoup4 is missing.
    """
    soup = _parsed(markup.translate(_INVISIBLE))
    title = _line(soup.title.get_text()) if soup.title else None
    _drop_unread(soup)
    for text in soup.find_all(string=True):
        if not text.find_parent("pre"):
            text.replace_with(type(text)(re.sub(r"\s+", " ", text)))
    heading = soup.find("h1") or soup.find(_HEADINGS)
    title = title or (_line(heading.get_text()) if heading else None)
    _break_lines(soup)
    for table in reversed(soup.find_all("table")):  # what a table holds comes after it
        _write_out(table, soup)
    return Read(title, _tidy(soup.get_text()))


def read_markdown(source: str) -> Read:
    """Text as the page would show it: front matter off, links as their words, tables as in `read_html`.

    Raises:
        ConfigError: a library is missing.
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError as exc:
        raise ConfigError(f"Markdown needs the library markdown-it-py: {EXTRA}") from exc
    title, body = _without_front_matter(source)
    page = read_html(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(body))
    return Read(title or page.title, page.text)


def read_pdf(raw: bytes) -> Read:
    """Text of every page, lines of a sentence joined where that is certain.

    Raises:
        ConfigError: pypdf is missing.
        InputError: encrypted, damaged, or without text.
    """
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError
    except ImportError as exc:
        raise ConfigError(f"PDF files need the library pypdf: {EXTRA}") from exc
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # it would write its doubts to stderr
    try:
        reader = PdfReader(BytesIO(raw))
        opened = not reader.is_encrypted or bool(reader.decrypt(""))
        texts = [_pdf_page(page.extract_text()) for page in reader.pages] if opened else []
        title = _pdf_title(reader) if opened else None
    except DependencyError as exc:
        raise InputError("is encrypted with AES; save it without encryption, or: pip install cryptography") from exc
    except Exception as exc:  # besides its own errors pypdf lets through whatever a damaged file leads to
        raise InputError(f"is damaged, or no PDF: {exc}") from exc
    if not opened:
        raise InputError("is encrypted; save it without a password")
    if not any(texts):
        raise InputError("holds no text, only images: make it searchable first, for example with ocrmypdf")
    return _joined(title, texts)


def declared_encoding(raw: bytes) -> str | None:
    """The encoding that an HTML page says it has.

    Raises:
        ConfigError: beautifulsoup4 is missing.
    """
    try:
        from bs4.dammit import EncodingDetector
    except ImportError as exc:
        raise ConfigError(f"{_MISSING}: {EXTRA}") from exc
    named = EncodingDetector.find_declared_encoding(raw, is_html=True)
    return _BROWSERS.get(named.lower(), named) if named else None


def _parsed(markup: str) -> BeautifulSoup:
    try:
        from bs4 import BeautifulSoup
    except ImportError as exc:
        raise ConfigError(f"{_MISSING}: {EXTRA}") from exc
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its guesses at what else the markup might be
        return BeautifulSoup(markup, "html.parser")


def _drop_unread(soup: BeautifulSoup) -> None:
    for tag in soup.find_all(["title", *_UNREAD]) + soup.find_all(_hidden):
        if not tag.decomposed:
            tag.decompose()


def _hidden(tag: Tag) -> bool:
    style = "".join(str(tag.get("style", "")).lower().split())
    return (
        tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or tag.get("role") in ("navigation", "search", "menu")
        or "display:none" in style
    )


def _write_out(table: Tag, soup: BeautifulSoup) -> None:
    """Puts a table's rows in its place as lines; a table of one column, or around another, is only there for the layout."""
    from bs4.element import NavigableString

    for row in table.find_all("tr"):
        row.insert(0, NavigableString(_ROW))
    for cell in table.find_all(["td", "th"]):
        cell.insert(0, NavigableString(_HEAD if cell.name == "th" else _CELL))
    caption, *rows = table.get_text().split(_ROW)
    cells = [re.findall(f"([{_CELL}{_HEAD}])([^{_CELL}{_HEAD}]*)", row) for row in rows]
    if table.find(_WRITTEN) or max(map(len, cells), default=0) < 2:
        for text in table.find_all(string=re.compile(f"[{_ROW}{_CELL}{_HEAD}]")):
            text.replace_with(re.sub(f"[{_ROW}{_CELL}{_HEAD}]", "", text))
        return
    lines = [_line(caption), *_row_lines([[(kind, _line(text)) for kind, text in row] for row in cells if row])]
    written = soup.new_tag(_WRITTEN)
    written.string = "\n".join(["\n", *(line for line in lines if line), "\n"])
    table.replace_with(written)


def _row_lines(rows: list[list[tuple[str, str]]]) -> list[str]:
    header: list[str] = []
    if len(rows) > 1 and all(kind == _HEAD for kind, _ in rows[0]):
        header = [text for _, text in rows.pop(0)]
    return [_row_line(row, header) for row in rows]


def _row_line(row: list[tuple[str, str]], header: list[str]) -> str:
    if len(header) == len(row):
        named = [(name, text) for name, (_, text) in zip(header, row, strict=True) if text]
        return "; ".join(f"{name}: {text}" if name else text for name, text in named)
    if len(row) == 2 and row[0][0] == _HEAD:
        return ": ".join(text for _, text in row if text)
    return " | ".join(text for _, text in row if text)


def _break_lines(soup: BeautifulSoup) -> None:
    from bs4.element import NavigableString

    for tag in soup.find_all(_LINES):
        tag.insert(0, NavigableString("\n- " if tag.name == "li" else "\n"))
    for tag in soup.find_all(_PARAGRAPHS):
        tag.insert(0, NavigableString("\n\n"))
        tag.append(NavigableString("\n\n"))


def _tidy(text: str) -> str:
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r" ?\n ?", "\n", text)
    text = re.sub(r"^- ?\n+(?=[^\n-])", "- ", text, flags=re.MULTILINE)  # an item that holds a paragraph
    text = re.sub(r"^(- ?\n)+", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _line(text: str) -> str:
    return " ".join(text.split())


def _without_front_matter(source: str) -> tuple[str | None, str]:
    import yaml

    match = _FRONT_MATTER.match(source)
    if match is None:
        return None, source
    parse: Callable[[str], Any] = yaml.safe_load if match[1] == "---" else tomllib.loads
    try:
        content = parse(match[2])
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError):
        return None, source
    if not isinstance(content, Mapping):  # a line of dashes opens the text
        return None, source
    title = content.get("title")
    return (_line(title) if isinstance(title, str) else None) or None, source[match.end() :]


def _pdf_title(reader: PdfReader) -> str | None:
    title = _line((reader.metadata.title if reader.metadata else None) or "")
    return title.removeprefix("Microsoft Word - ") if title.lower() not in ("", "untitled") else None


def _pdf_page(text: str) -> str:
    text = text.replace("\x00", "").translate(_INVISIBLE).translate(_LIGATURES)
    text = re.sub(r"[^\S\n]*\n[^\S\n]*", "\n", text)
    text = re.sub(r"(?<=[^\W\d_])-\n(?=([^\W\d_]))", lambda cut: "" if cut[1].islower() else cut[0], text)
    text = re.sub(r"(?<=[^\n.!?:;])\n(?=([^\W\d_]))", lambda cut: " " if cut[1].islower() else cut[0], text)
    return text.strip()


def _joined(title: str | None, texts: list[str]) -> Read:
    pages, length = [], 0
    for text in texts:
        pages.append(length)
        length += len(text) + 2
    return Read(title, "\n\n".join(texts).rstrip(), tuple(pages))
