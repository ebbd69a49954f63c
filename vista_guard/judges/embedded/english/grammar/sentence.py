"""A claim as a sentence of its own."""

from __future__ import annotations

import re
from collections.abc import Collection

_LEFT_OVER = re.compile(r"^(?:[\s,;:–—]|-+(?![\w-]))+|[\s,;:–—-]+$")
_IDENTIFIER = re.compile(r"[a-z]+[A-Z]|\S*\w[_/.=(@]\w|\S*\w\(\)|-")
"""What begins like a name of code, or "iPhone": no capital is put on it."""


def finished(text: str, codes: Collection[str]) -> str:
    """A claim as a sentence: marks that are left at its ends off, a capital and a full stop on, what is code as it is."""
    text = _unquoted(text.strip())
    text = _LEFT_OVER.sub("", text).strip()
    if not text:
        return ""
    if not (text.split(" ", 1)[0] in codes or _IDENTIFIER.match(text)):
        text = text[0].upper() + text[1:]
    return text if re.search(r"[.!?…。！？][\"']?$", text) else f"{text}."


def _unquoted(text: str) -> str:
    """Without the quotes around all of it, or the one that lost its other; `"Pay later" is free` keeps both."""
    for quote in ('"', "'"):
        count = text.count(quote)
        if count == 2 and text[0] == text[-1] == quote:
            return text.strip(quote)
        if quote == '"' and count % 2:
            return text.removeprefix(quote) if text[0] == quote else text.removesuffix(quote)
    return text
