"""Twins to train on, from which a bag of words learns nothing: each claim is true once and false once, over the same words.

A falsified claim has a word that its passage lacks, so overlap alone tells it from the original. Here every premise is two
passages: the one that decides, and a mate from another document that has the other word. Claim and falsified claim then share as
many words with it, and with U, where truth and falsehood change places, neither says anything by itself.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from vista_lab.datasets.pairs import CONTRADICTED_CLASS, SUPPORTED_CLASS
from vista_lab.oasis.gates import changed_words
from vista_lab.oasis.records import GeneratedPair, Passage, Record
from vista_lab.oasis.rewriters.carrier import stems

_WORD = re.compile(r"\w+")
_TRIED = 40
"""Most candidate mates tried for one premise."""
_SHARED = 0.34
"""Share of a claim's content words that a mate may have: with more it might decide the claim itself."""


class MatePassages:
    """Word index of passages, to find mates."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._places: dict[str, array[int]] = {}
        for place, passage in enumerate(passages):
            for word in set(_WORD.findall(passage.text.lower())):
                self._places.setdefault(word, array("L")).append(place)

    def beside(self, passage: Passage, claims: Sequence[str], words: frozenset[str], rng: Random) -> str | None:
        """A passage of another document that has all these words and decides none of the claims."""
        postings = [self._places.get(word) for word in words]
        if not postings or any(places is None for places in postings):
            return None
        candidates = sorted(set.intersection(*(set(places) for places in postings if places is not None)))
        wanted = stems(" ".join(claims))
        for place in rng.sample(candidates, min(_TRIED, len(candidates))):
            other = self._passages[place]
            if other.document != passage.document and len(stems(other.text) & wanted) <= _SHARED * len(wanted):
                return other.text
        return None


def twins(records: Sequence[Record], mates: MatePassages, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Four rows of each record for which there are mates, as `training.train` reads them.

    The original claim and the falsified one, each with the passage and with U. Premises are two passages in random order, the
    same for both claims.
    """
    for record in records:
        if record.pair is not None:
            yield from _twin_rows(record.passage, record.pair, mates, Random(f"{seed}:{record.passage.id}"))


def _twin_rows(passage: Passage, pair: GeneratedPair, mates: MatePassages, rng: Random) -> Iterator[dict[str, Any]]:
    """The four rows of a pair; none where a mate is missing."""
    premises = [(side, _premise(passage, pair, text, words, mates, rng)) for side, text, words in _sides(passage, pair)]
    if any(premise is None for _, premise in premises):
        return
    for side, premise in premises:
        true = pair.falsified if side == "U" else pair.original
        for claim in (pair.original, pair.falsified):
            label = SUPPORTED_CLASS if claim == true else CONTRADICTED_CLASS
            fields = {"premise": premise, "hypothesis": claim, "allowed": [label]}
            yield {**fields, "source": "oasis", "kind": "twins", "twin": passage.id}


def _sides(passage: Passage, pair: GeneratedPair) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Side and text of each premise, and the words distinguishing the claims that it lacks."""
    old, new = (
        frozenset(_WORD.findall(" ".join(part).lower())) for part in changed_words(pair.original, pair.falsified)
    )
    for side, text in (("t", passage.text), ("U", pair.unfactual)):
        yield side, text, (old ^ new) - frozenset(_WORD.findall(text.lower()))


def _premise(
    passage: Passage, pair: GeneratedPair, text: str, words: frozenset[str], mates: MatePassages, rng: Random
) -> str | None:
    if not words:
        return text
    mate = mates.beside(passage, (pair.original, pair.falsified), words, rng)
    if mate is None:
        return None
    return f"{text} {mate}" if rng.random() < 0.5 else f"{mate} {text}"
