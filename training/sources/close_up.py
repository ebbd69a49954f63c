"""Long texts seen close up: the one to three sentences that hold all that a claim and its twin share with the whole text.

The judge reads such pieces, and short pairs cost a third of long ones. A claim in quite other words than its text is left out:
nothing says which sentences it is about.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from training.pairs import KindPair
from training.sources import questions, written
from training.sources.parts import Part
from vista_guard.judges.embedded.english.words import content_words

FILES = ()
_MOST_WORDS = 50
_LEAST_SHARED = 3
"""Content words of the claims that the text must have."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def close_up(data: Path, part: Part) -> Iterator[KindPair]:
    """The written claims and CondaQA, twins on the same piece; every other single sentence has a neighbour."""
    groups: dict[tuple[str, str], list[KindPair]] = defaultdict(list)
    for read in (written.written, questions.condaqa):
        for pair in read(data, part):
            groups[pair.premise, pair.twin].append(pair)
    for (text, twin), pairs in groups.items():
        if twin and (piece := piece_of(text, [pair.hypothesis for pair in pairs])):
            yield from (replace(pair, premise=piece, twin=f"close-{twin}") for pair in pairs)


def piece_of(text: str, claims: Sequence[str]) -> str | None:
    """The shortest run of sentences with every content word that the claims share with the text; None without a short one.

    A single sentence may get a neighbour.

    >>> piece_of("Soup is 4 euros. The hall opens at nine. Dogs stay out.", ["The hall opens at ten.", "The hall opens at nine."])
    'The hall opens at nine. Dogs stay out.'
    """
    parts = [part for part in _SENTENCE.split(text) if part.strip()]
    words = [content_words(part) for part in parts]
    shared = set().union(*map(content_words, claims)) & set().union(*words)
    if len(parts) < 2 or len(shared) < _LEAST_SHARED:
        return None
    for length in (1, 2, 3):
        for start in range(len(parts) - length + 1):
            piece = " ".join(parts[start : start + length])
            if shared <= set().union(*words[start : start + length]) and len(piece.split()) <= _MOST_WORDS:
                return _with_neighbour(parts, start, Random(piece)) if length == 1 else piece
    return None


def _with_neighbour(parts: Sequence[str], start: int, rng: Random) -> str:
    first = rng.choice((start, max(0, start - 1)))
    return " ".join(parts[first : first + rng.choice((start - first + 1, 2))])
