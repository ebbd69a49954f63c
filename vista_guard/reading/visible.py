"""Foreign text made safe to show on a terminal and in a report: shown, never obeyed."""

from __future__ import annotations

import unicodedata

DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Unicode's explicit turns of direction, which make text read other than it is stored."""


def visible(text: str) -> str:
    """The text with `�` for what would steer a terminal: escape sequences, control characters, turns of direction."""
    return "".join("�" if _steers(character) else character for character in text)


def _steers(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in DIRECTIONS
