"""Sentences of passages as claims of themselves: what rewriters tell in other words where people wrote no paraphrase."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from training.pairs import Carrier
from training.sources import dstc9, mtragun, summedits

_OPEN = re.compile(
    r"^(?:and|but|or|so|he|she|it|they|this|that|these|those|his|her|its|their|such|however|also|then|i|my|\W)\b",
    re.IGNORECASE,
)
_LIST = re.compile(r"[|{}<>=*_#•]|https?:|\w{30}|\b[A-Z]{2,} [A-Z]{2,}\b|[a-z][A-Z][a-z]")


def tellable(sentence: str) -> bool:
    """A plain, complete sentence that stands alone."""
    words = sentence.split()
    whole = 6 <= len(words) <= 34 and sentence[:1].isupper() and sentence[-1:] == "." and "?" not in sentence
    return whole and not _OPEN.match(sentence) and not _LIST.search(sentence)


def from_page(title: str, text: Sequence[str], source: str) -> Iterator[Carrier]:
    """Each tellable sentence with up to four neighbours on either side."""
    for place, sentence in enumerate(text):
        if tellable(sentence):
            before, after = tuple(text[max(0, place - 4) : place]), tuple(text[place + 1 : place + 5])
            yield Carrier(sentence, (sentence,), source, title, before, after)


def carriers(data: Path, rng: Random, most: int = 9000) -> list[Carrier]:
    """A sample from the passages of all sources of long text."""
    found: list[Carrier] = []
    for title, text in mtragun.passages(data):
        found += from_page(title, text, "mtragun_text")
    for title, text in dstc9.pages(data):
        found += from_page(title, text, "dstc9_text")
    for text in dict.fromkeys(s.document for s in summedits.read(data)):
        found += from_page("", text, "summedits_text")
    return rng.sample(found, min(most, len(found)))
