"""Whether a claim is of the kind that documents settle, and whether these documents speak of it. Pure.

The claim-type head looks at a claim alone, so "Hold it for 30 seconds" and "You can take ten a day" are advice to it, whatever a
manual or a leaflet says. What a document speaks of is held against the document; an opinion is what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from vista_guard.judges.embedded.english import cues
from vista_guard.judges.embedded.english.phrases import QUESTION
from vista_guard.judges.embedded.english.stance import judges
from vista_guard.judges.embedded.english.words import word_set
from vista_guard.judges.embedded.relevance import words
from vista_guard.reading.canonical import folded
from vista_guard.types import Passage

SPOKEN_OF = 0.6
"""Least share of a claim's content words that one passage has, for the document to speak of it.

Cross-fitted over conversations, on claims that read like opinions and tell of no mind: 135 of faithful MTRAG-UN and DSTC9 answers
(train) should reach it, 261 of disclosures and generic talk (the CMU-DoG and TopicalChat parts of FaithDial's audit and of BEGIN
dev) should not. The largest share within one standard error of the best is 0.6 in four folds of five; on the fold left out it
is right about 75 % of the former and 91 % of the latter. From 0.35 to 0.6 it hardly matters (mean of both 0.84 to 0.82).
"""
_STEM = 5
_EMPTY = word_set(
    """should can may must need needs make sure please user users assistant wizard apprentice if so very just will would could
    your my our us me them such when then some any other more most than only too out up into about which who what how where
    why all many much keep get let use people person want like"""
)


def may_be_settled(claim: str) -> bool:
    """Whether a document could settle the claim: it is no question, taste, judgement of value, feeling or life of a speaker."""
    return not (QUESTION.match(claim) or cues.of_a_mind(claim) or cues.personal(claim) or judges(claim))


def spoken_of(claim: str, documents: Sequence[Passage]) -> bool:
    """Whether one passage has most of the claim's content words."""
    wanted = _content(folded(claim))
    return bool(wanted) and any(
        len(wanted & _content(f"{folded(one.title or '')} {folded(one.text)}")) >= SPOKEN_OF * len(wanted)
        for one in documents
    )


@lru_cache(maxsize=1024)
def _content(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in words(text) if word not in _EMPTY)
