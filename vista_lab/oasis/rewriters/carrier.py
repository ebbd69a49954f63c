"""Word lists and texts of this room, and the words and sentences of a text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sentencex import segment

_TEXTS = Path(__file__).parents[1] / "texts"


def word_list(name: str) -> frozenset[str]:
    """One of the word lists of ``texts/words_real.json``."""
    return frozenset(read_json("words_real.json")[name])


def read_json(name: str) -> Any:
    """One JSON file of the room's texts, which were written for this project."""
    return json.loads(read_text(name))


def read_text(name: str) -> str:
    """One file of the room's texts."""
    return (_TEXTS / name).read_text(encoding="utf-8")


def sentences(text: str) -> list[str]:
    """The sentences of a text; line breaks end a sentence too."""
    parts = (s.strip() for line in text.splitlines() for s in segment("en", line))
    return [re.sub(r"\s+", " ", s) for s in parts if s]


def content_words(text: str) -> set[str]:
    """Lower-case words that carry content: numbers, and words of four letters or more that are no function words."""
    return {w for w in re.findall(r"\d[\d.,:]*\d|\w+", text.lower()) if w.isdigit() or (len(w) > 3 and w not in _STOP)}


_STOP = word_list("stop")


def stem(word: str) -> str:
    """A crude stem, so that "offers" meets "offering"."""
    return re.sub(r"(ations?|ings?|ers?|ed|es|s|ly)$", "", word) if len(word) > 4 else word


def stems(text: str) -> set[str]:
    """Stems of the content words."""
    return {stem(w) for w in content_words(text)}
