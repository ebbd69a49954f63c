"""Opposites and their denials, and words that mean the same: from a list of sure pairs that a lexicon may widen."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from random import Random

from vista_lab.oasis.rewriters.carrier import Carrier, read_json, word_list
from vista_lab.oasis.rewriters.group import Group, four
from vista_lab.oasis.rewriters.text import a_or_an
from vista_lab.oasis.rewriters.values import occurrences, replace_words

_BE = r"\b(is|are|was|were|be|been)\b( (?:very |still |now |also )?)"
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


def opposite_groups(carrier: Carrier, rng: Random) -> Iterator[tuple[Group, str]]:
    """A word of the claim that stands in the evidence too, and its opposite on either side, plain and denied; and the word."""
    claim, text = carrier.claim, carrier.text
    words = [w for w in dict.fromkeys(re.findall(r"[a-z-]+", claim)) if w in opposites()]
    words = [w for w in words if len(occurrences(text, w)) == len(occurrences(claim, w)) == 1]
    words = [w for w in words if not occurrences(text, opposites()[w][0]) and in_place(text, w) and in_place(claim, w)]
    for word in rng.sample(words, min(1, len(words))):
        other, exclusive = opposites()[word]
        edited = tuple(a_or_an(replace_words(s, word, other)) for s in carrier.evidence)
        twin = a_or_an(replace_words(claim, word, other))
        items = [*four(carrier.evidence, edited, claim, twin)]
        denied = [negate_word(c, w) for c, w in ((twin, other), (claim, word))]
        if exclusive and None not in denied and not _NEGATION.search(claim):
            items += four(carrier.evidence, edited, a_or_an(denied[0] or ""), a_or_an(denied[1] or ""))
        yield Group("opposite", tuple(items)), word


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


def negate_word(text: str, word: str) -> str | None:
    """ "is open" -> "is not open"."""
    changed, count = re.subn(rf"{_BE}(?=(?:an? |the )?{re.escape(word)}\b)", r"\1 not\2", text, count=1)
    return re.sub(r"\bbe not\b", "not be", changed) if count else None
