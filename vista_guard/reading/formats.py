"""The readable text of Markdown and PDF: what a person would read, in an order a person would read it. Pure."""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from vista_guard.errors import InputError
from vista_guard.reading.html import INVISIBLE, Read, one_line, read_html

if TYPE_CHECKING:
    from pypdf import PdfReader

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[^\S\n]*\n(.*?)^(?:\1|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


def read_markdown(source: str) -> Read:
    """Text as the page would show it: front matter off, links as their words, tables as in `read_html`.

    Raises:
        InputError: see `read_html`.
    """
    from markdown_it import MarkdownIt

    title, body = _without_front_matter(source)
    page = read_html(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(body))
    return Read(title or page.title, page.text)


def read_pdf(raw: bytes) -> Read:
    """Text of every page, lines of a sentence joined where that is certain.

    Raises:
        ImportError: pypdf is missing.
        InputError: encrypted, damaged, or without text.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

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
    return (one_line(title) if isinstance(title, str) else None) or None, source[match.end() :]


def _pdf_title(reader: PdfReader) -> str | None:
    title = one_line((reader.metadata.title if reader.metadata else None) or "")
    return title.removeprefix("Microsoft Word - ") if title.lower() not in ("", "untitled") else None


def _pdf_page(text: str) -> str:
    text = text.replace("\x00", "").translate(INVISIBLE).translate(_LIGATURES)
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
