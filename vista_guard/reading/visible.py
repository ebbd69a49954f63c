"""Text made safe for a terminal or a page, for a request, a database or a spreadsheet.

Alone because the command line needs it for `--help`, which must not load the types.
"""

from __future__ import annotations

import re
import unicodedata

DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Unicode's explicit turns of direction, which make text read other than it is stored."""


def visible(text: str) -> str:
    """Replaces everything that would steer a terminal by `�`: escape sequences, control characters, direction marks."""
    return "".join("�" if _steers(character) else character for character in text)


def visible_line(text: str) -> str:
    """The same for a line that a name with a line break must not end."""
    return visible(text).replace("\n", "�")


def storable(text: str) -> str:
    """Replaces lone surrogates, which no request, file, database or tokenizer takes, by "?". Offsets stay."""
    return text.encode("utf-8", "replace").decode("utf-8")


_FIGURE = re.compile(r"[+-]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?(?: ?[^\w\s=+\-@|!'\"();]{1,4})?")
"""A number with its sign, and the mark or the percent sign behind it."""


def as_cell(text: str) -> str:
    """The text as a cell of a spreadsheet: an apostrophe stands before what would run as a formula. A number stays one.

    Examples:
        >>> as_cell("=HYPERLINK(1)"), as_cell("-2 +cmd|' /C calc'!A0"), as_cell("-2.5")
        ("'=HYPERLINK(1)", "'-2 +cmd|' /C calc'!A0", '-2.5')
    """
    return text if _FIGURE.fullmatch(text) or not begins_formula(text) else f"'{text}"


def begins_formula(text: str) -> bool:
    """True if a spreadsheet may run the text, maybe without the quotes and what is invisible at its beginning."""
    bare = text.lstrip("'")
    if bare[:1] in ("\t", "\r", "\n"):
        return True
    first = next((character for character in bare if unicodedata.category(character)[0] not in "CZ"), "")
    return unicodedata.normalize("NFKC", first)[:1] in ("=", "+", "-", "@")


def _steers(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in DIRECTIONS
