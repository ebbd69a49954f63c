"""Finding the sentence of all documents that shares most with a claim, by the rarity of the words they share. Pure.

A passage that is near in meaning need not be the one with the sentence; words that few sentences have tell where it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COMMON = 200
"""Sentences from which on a word that they share tells nothing: what it would add lies below the price of a sentence's length."""
_PRICE = 0.01
"""What each word of a sentence costs, so that the tightest of several wins."""

Place = tuple[int, int]
"""Number of the passage, number of the sentence in it."""


@dataclass(frozen=True)
class WordIndex:
    """Where each word stands. Asking costs the postings of the claim's own words, however many documents there are."""

    sentences: Mapping[str, tuple[Place, ...]]
    lengths: Mapping[Place, int]

    @classmethod
    def of(cls, passages: Sequence[Sequence[frozenset[str]]]) -> WordIndex:
        """The index of passages, each given by the words of its sentences; a sentence without words is none."""
        found, lengths = defaultdict[str, list[Place]](list), dict[Place, int]()
        for number, sentences in enumerate(passages):
            for index, words in enumerate(sentences):
                lengths[number, index] = len(words)
                for word in words:
                    found[word].append((number, index))
        return cls({word: tuple(places) for word, places in found.items()}, lengths)

    def best(self, wanted: frozenset[str]) -> Place | None:
        """Where the sentence stands that shares most with the words; None where none shares a word that is rare enough."""
        scores = defaultdict[Place, float](float)
        for word in sorted(wanted):
            places = self.sentences.get(word, ())
            for place in places if len(places) <= COMMON else ():
                scores[place] += 1 / len(places)
        return max(sorted(scores), key=lambda place: scores[place] - _PRICE * self.lengths[place], default=None)
