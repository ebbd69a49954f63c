"""Opposites and their denials, and words that mean the same: from a list of sure pairs that a lexicon may widen."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from vista_lab.oasis.rewriters.carrier import read_json, word_list
from vista_lab.oasis.rewriters.values import occurrences

_NEGATION = re.compile(r"\b(?:not|never|no|none|neither|nor|without)\b|n['’]t\b", re.IGNORECASE)


@lru_cache(maxsize=1)
def opposites() -> dict[str, tuple[str, bool]]:
    """word -> (its opposite, True if there is nothing between the two)."""
    raw = read_json("opposites_real.json")
    by_word: dict[str, tuple[str, bool]] = {}
    for pairs, exclusive in ((raw["graded"], False), (raw["exclusive"], True), (_more_opposites, True)):
        for one, other in pairs:
            by_word.setdefault(one, (other, exclusive))
            by_word.setdefault(other, (one, exclusive))
    return by_word


_more_opposites: list[tuple[str, str]] = []


def widen_opposites(pairs: Iterable[tuple[str, str]]) -> None:
    """Adds pairs of opposites from a lexicon, for all edits that are made afterwards."""
    _more_opposites.extend(pairs)
    opposites.cache_clear()


@lru_cache(maxsize=1)
def alike() -> dict[str, tuple[str, ...]]:
    """word -> words that may stand for it."""
    synonyms: dict[str, list[str]] = defaultdict(list)
    for one, other in read_json("opposites_real.json")["alike"]:
        synonyms[one].append(other)
    return {word: tuple(others) for word, others in synonyms.items()}


def in_place(text: str, word: str) -> bool:
    """True if the word stands where its opposite could: no name, no fixed phrase, no denial near it."""
    start, end = occurrences(text, word)[0]
    before, after = text[:start].lower().split()[-3:], text[end:].split()[:1]
    fixed = f"{' '.join(before[-1:])} {word}" in _FIXED or f"{word} {' '.join(after).strip('.,').lower()}" in _FIXED
    if opposites()[word][1] and not re.search(
        r"(?:\b(?:is|are|was|were|be|been|an?|the|very|and|or|as|now|also|currently|always|its|their|his|her)|,) $",
        text[:start],
    ):
        return False  # an adjective, or a verb or noun that looks like one
    direction = word in {"northern", "southern", "eastern", "western", "north", "south"}
    named = after and after[0][:1].isupper() and not direction
    return not fixed and not named and not any(_NEGATION.search(w) for w in before)


_FIXED = word_list("fixed")
