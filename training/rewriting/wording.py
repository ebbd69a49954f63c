"""Opposites of words, as groups of twins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from training.pairs import Carrier
from training.rewriting.group import Group, four
from training.rewriting.register import replace_words
from vista_lab.oasis.rewriters.text import a_or_an
from vista_lab.oasis.rewriters.values import occurrences
from vista_lab.oasis.rewriters.wording import _NEGATION, in_place, opposites

_BE = r"\b(is|are|was|were|be|been)\b( (?:very |still |now |also )?)"


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


def negate_word(text: str, word: str) -> str | None:
    """ "is open" -> "is not open"."""
    changed, count = re.subn(rf"{_BE}(?=(?:an? |the )?{re.escape(word)}\b)", r"\1 not\2", text, count=1)
    return re.sub(r"\bbe not\b", "not be", changed) if count else None
