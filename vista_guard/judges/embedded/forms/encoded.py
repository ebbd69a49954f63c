"""What is written so that no reader of English can read it: base64, ROT13, turned or swapped letters, rows of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vista_guard.inference.vocabulary import known_words

_LONG = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,3}")
_LINK = re.compile(r"(?:https?://|www\.)[^\s<>]+")
_HEX = re.compile(r"(?:[0-9a-f]{20,}|[0-9A-F]{20,})")
_BASE32 = re.compile(r"(?=[A-Z]*[2-7])[A-Z2-7]{24,}")
_BYTES = re.compile(r"(?<!\w)(?:(?:0x)?[0-9a-fA-F]{2}[\s,]{1,2}){11}|(?<!\w)(?:[01]{7,8}\s){5}")
_CODES = re.compile(r"(?<!\S)(?:\d{2,3}[ ,]{1,2}){11}\d{2,3}")
SYMBOLS = re.compile("(?:[.\\-·–]{1,5}[ /]{1,3}){8}|[\u2801-\u28ff]{2}")
"""Morse and Braille: words without a letter."""
_WORD = re.compile(r"[^\W_]{3,}")
_COUNTED = re.compile(r"\d+[a-zA-Z]{1,3}|[a-zA-Z]{1,4}\d+[a-zA-Z]?")
_CAMEL = re.compile(r"[A-Z]?[a-z]+")
_FEWEST, _KNOWN_SHARE = 4, 0.34
"""With fewer words nothing is told; with a smaller share of known ones a text is not read. Names are unknown, too."""
_PRINTABLE = range(32, 127)


def looks_encoded(text: str) -> bool:
    """Whether nobody can read `text`, or a part of it, as English."""
    return next(unreadable_parts(text), None) is not None


def unreadable_parts(text: str) -> Iterator[str]:
    """What of `text` cannot be read; all of it where its words are no words."""
    said = _LINK.sub(" ", text)
    yield from (match.group() for match in _LONG.finditer(said) if _is_code_like(match.group()))
    yield from (match.group() for pattern in (_BYTES, SYMBOLS) for match in pattern.finditer(said))
    yield from (match.group() for match in _CODES.finditer(said) if _spells(match.group()))
    words = [word for word in _WORD.findall(said) if not word.isdigit()]
    if len(words) >= _FEWEST and sum(map(_is_known, words)) < _KNOWN_SHARE * len(words):
        yield said


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
    """Whether each number is the code of a letter, as no row of figures is by chance."""
    return all(int(number) in _PRINTABLE for number in re.findall(r"\d+", numbers))


def _is_known(word: str) -> bool:
    lower = word.lower()
    known = known_words()
    if lower in known or any(
        lower.endswith(end) and lower[: -len(end)] in known for end in ("s", "ed", "d", "ing", "ly", "er")
    ):
        return True
    return bool(_COUNTED.fullmatch(word))
