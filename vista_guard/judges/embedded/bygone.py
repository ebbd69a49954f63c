"""Claims about now whose evidence says that they held once. Pure.

"Until 2023 the fee was 10 euros" has every word of "The fee is 10 euros", and does not verify it.
"""

from __future__ import annotations

import re

from vista_guard.judges.embedded.english.words import is_past
from vista_guard.judges.embedded.relevance import words

TOLD = 0.6
"""Least share of a claim's content words that a clause about the past has to be what the claim was made of."""

_CLAUSES = re.compile(
    r"(?<=[.!?;:])\s+|\s*[()–—]\s*|(?<!ly),\s+(?!(?:the|a|an|it|he|she|they|we|there|this|these)\b)|\s+(?=(?:and|but|which|who|where|while)\b)",
    re.I,
)
"""Where a clause ends: what an aside says of the past says nothing of what stands beside it. "Formerly, Sund was ..." is one."""
_YEAR = r"(?:1[5-9]|20)\d\d"
_UP_TO = re.compile(rf"\b(?:until|till|up to|prior to|before)\b(?: (?!(?:19|20)\d)[\w,]+){{0,4}} {_YEAR}\b", re.I)
_ONCE = re.compile(
    r"\b(?:formerly|previously|in the past|back then|in former (?:times|years|days)|in those days)\b", re.I
)
# "A knife used to cut bread" is no past: "used to" counts behind a pronoun.
_ENDED = re.compile(r"\bno longer\b|\b(?:i|it|he|she|they|we|there|who|which) used to (?!(?:it|this|that|the)\b)", re.I)
_PAST = re.compile(r"\b(?:was|were|had|did|wasn't|weren't|hadn't|didn't)\b", re.I)
_WORD = re.compile(r"[A-Za-z]+")


def bygone(claim: str, evidence: str) -> str | None:
    """The words by which the evidence puts what the claim says into the past; None where it doesn't, or where the claim does too.

    A clause of the evidence that says as much of the claim without such words is taken at its word.
    """
    if not _is_about_now(claim):
        return None
    told = [(_ending(one), _share(claim, one)) for one in _CLAUSES.split(evidence)]
    best = max((share for ending, share in told if ending), default=0.0)
    if best < TOLD or any(share >= best for ending, share in told if not ending):
        return None
    return next(ending for ending, share in told if ending and share == best)


def _is_about_now(claim: str) -> bool:
    return not (_ending(claim) or _is_past(claim) or re.search(rf"\b{_YEAR}\b", claim))


def _ending(sentence: str) -> str | None:
    ended = _ENDED.search(sentence)
    if ended is None and _is_past(sentence):
        ended = _UP_TO.search(sentence) or _ONCE.search(sentence)
    return ended[0].strip() if ended else None


def _is_past(text: str) -> bool:
    """Whether a verb is in the past; a participle behind "is" or "has" is none."""
    if _PAST.search(text):
        return True
    return not re.search(r"\b(?:is|are|has|have|be|been|can|will|must|may)\b", text, re.I) and any(
        map(is_past, _WORD.findall(text))
    )


def _share(claim: str, sentence: str) -> float:
    wanted = {word[:5] for word in words(claim)}
    return len(wanted & {word[:5] for word in words(sentence)}) / max(1, len(wanted))
