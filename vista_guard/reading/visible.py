"""Text made safe for a terminal or a page, for a request or a database.

Alone because the command line needs it for `--help`, which must not load the types.
"""

from __future__ import annotations

import unicodedata

DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Unicode's explicit turns of direction, which make text read other than it is stored."""


def visible(text: str) -> str:
    """Replaces everything that would steer a terminal by `�`: escape sequences, control characters, direction marks."""
    return "".join("�" if _steers(character) else character for character in text)


def storable(text: str) -> str:
    """Replaces lone surrogates, which no request, file, database or tokenizer takes, by "?". Offsets stay."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _steers(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in DIRECTIONS
