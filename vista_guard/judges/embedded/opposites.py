"""Rules that overrule the verifier where claim and evidence share nearly all words but disagree.

"Before meals" against "after meals": a pair of opposites from a short list. "Until 2023 the fee was 10 euros" against "The fee is
10 euros": the evidence is past. Also decides whether documents settle a claim that reads like advice: "You can take ten a day" is
advice to the claim-type head, whatever the leaflet says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from vista_guard.judges.embedded.english import cues
from vista_guard.judges.embedded.english.cues import judges
from vista_guard.judges.embedded.english.words import QUESTION, content_words, is_past, word_set
from vista_guard.reading.canonical import folded
from vista_guard.types import Passage

TOLD = 0.6
"""Least share of a claim's content words that a clause about the past has to be what the claim was made of."""

_BYGONE_CLAUSES = re.compile(
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
_LETTERS = re.compile(r"[A-Za-z]+")


def bygone(claim: str, evidence: str) -> str | None:
    """The words by which the evidence puts what the claim says into the past; None where it doesn't, or where the claim does too.

    A clause of the evidence that says as much of the claim without such words is taken at its word.
    """
    if not _is_about_now(claim):
        return None
    clauses = [(_ending(one), _share(claim, one)) for one in _BYGONE_CLAUSES.split(evidence)]
    best = max((share for ending, share in clauses if ending), default=0.0)
    if best < TOLD or any(share >= best for ending, share in clauses if not ending):
        return None
    return next(ending for ending, share in clauses if ending and share == best)


def _is_about_now(claim: str) -> bool:
    return not (_ending(claim) or _is_past(claim) or re.search(rf"\b{_YEAR}\b", claim))


def _ending(sentence: str) -> str | None:
    ended = _ENDED.search(sentence)
    if ended is None and _is_past(sentence):
        ended = _UP_TO.search(sentence) or _ONCE.search(sentence)
    return ended[0].strip() if ended else None


def _is_past(text: str) -> bool:
    """True if a verb is in the past; a participle after "is" or "has" is not."""
    if _PAST.search(text):
        return True
    return not re.search(r"\b(?:is|are|has|have|be|been|can|will|must|may)\b", text, re.I) and any(
        map(is_past, _LETTERS.findall(text))
    )


def _share(claim: str, sentence: str) -> float:
    wanted = {word[:5] for word in content_words(claim)}
    return len(wanted & {word[:5] for word in content_words(sentence)}) / max(1, len(wanted))


AGREEING = 0.8
"""Least share of a claim's other content words that evidence has for the two to speak of the same."""

_STATES = (
    ("open opens opened", "closed shut"),
    ("allowed permitted allows permits", "forbidden prohibited banned disallowed forbids prohibits bans"),
    ("mandatory compulsory obligatory required", "optional voluntary"),
    ("included includes including", "excluded excludes excluding"),
    ("minimum least", "maximum most"),
    ("earliest", "latest"),
    ("lowest", "highest"),
    ("smallest", "largest biggest"),
    ("shortest", "longest"),
    ("oldest", "youngest newest"),
    ("increase increases increased rise rises rose", "decrease decreases decreased fall falls fell dropped declined"),
    ("enabled enables enable", "disabled disables disable"),
    ("accepted accepts", "rejected refused rejects refuses"),
    ("approved", "rejected refused denied"),
    ("valid", "invalid expired"),
    ("legal", "illegal"),
    ("safe", "unsafe dangerous"),
    ("available", "unavailable"),
    ("indoor indoors", "outdoor outdoors"),
    ("upstairs", "downstairs"),
    ("public", "private"),
    ("odd", "even"),
)
_RELATIONS = (("with", "without"), ("before", "after"), ("inside", "outside"), ("above", "below"))
_OPPOSITE: dict[str, frozenset[str]] = {}
for _one, _other in _STATES:
    for _word in _one.split():
        _OPPOSITE[_word] = _OPPOSITE.get(_word, frozenset()) | word_set(_other)
    for _word in _other.split():
        _OPPOSITE[_word] = _OPPOSITE.get(_word, frozenset()) | word_set(_one)
_RELATION = {**dict(_RELATIONS), **{second: first for first, second in _RELATIONS}}

_WORD = re.compile(r"\w+(?:'\w+)?")
_NEGATING = re.compile(r"(?:not|no|never|nor|neither|cannot|hardly|\w+n't|none|nobody|nothing)", re.IGNORECASE)
_CHANGING = re.compile(
    r"\b(?:until|till|no longer|used to|formerly|previously|unless|except|instead|but|while)\b", re.I
)
_CLAUSES = re.compile(r"(?<=[.!?;])\s+|,\s+(?=(?:and|or|while|whereas)\b)")
_ARTICLES = word_set("a an the any some your his her their its our my each every all")


def opposite_word(claim: str, evidence: str) -> str | None:
    """The word of the claim of which a clause of the evidence says the opposite; None for none.

    Where one of both denies, or tells of a change or an exception, nothing is held to be opposed but "allowed" and "not
    allowed": which word a "not" or a "but" turns round is for a reader to say.
    """
    return next((word for one in _CLAUSES.split(evidence) if (word := _opposite_in_clause(claim, one))), None)


def _opposite_in_clause(claim: str, evidence: str) -> str | None:
    said, found = tuple(_tokens(claim)), tuple(_tokens(evidence))
    return _denied_word(claim, evidence, said, found) or (
        None if _is_turned(claim, said) or _is_turned(evidence, found) else _plainly(claim, evidence, said, found)
    )


def _plainly(claim: str, evidence: str, said: tuple[str, ...], found: tuple[str, ...]) -> str | None:
    for word in said:
        against = _OPPOSITE.get(word, frozenset())
        apart = against.isdisjoint(said) and not against.isdisjoint(found)
        if apart and _siblings(word).isdisjoint(found) and _agrees(claim, evidence, {word}):
            return word
    return _opposed_relation(claim, evidence, said, found)


def _denied_word(claim: str, evidence: str, said: tuple[str, ...], found: tuple[str, ...]) -> str | None:
    """A word of the list that one text denies and the other one states, once each."""
    for word in set(said) & set(found) & set(_OPPOSITE):
        if said.count(word) == found.count(word) == 1 and _OPPOSITE[word].isdisjoint((*said, *found)):
            turned = _is_negated(said, said.index(word)), _is_negated(found, found.index(word))
            if turned[0] != turned[1] and not _CHANGING.search(evidence) and _agrees(claim, evidence, {word}):
                return word
    return None


def _opposed_relation(claim: str, evidence: str, said: tuple[str, ...], found: tuple[str, ...]) -> str | None:
    """A preposition that stands before the same word as its opposite does in the evidence, and itself does not."""
    given = set(_relations(found))
    for word, thing in _relations(said):
        if (_RELATION[word], thing) in given and (word, thing) not in given and _agrees(claim, evidence, {word}):
            return f"{word} {thing}"
    return None


def _relations(tokens: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for place, word in enumerate(tokens):
        if word in _RELATION:
            thing = next((token for token in tokens[place + 1 : place + 4] if token not in _ARTICLES), "")
            yield word, thing.rstrip("s")


def _agrees(claim: str, evidence: str, without: set[str]) -> bool:
    """True if the evidence has nearly all of the claim's other words."""
    wanted = _stems(claim) - {word[:5] for word in without}
    return bool(wanted) and len(wanted & _stems(evidence)) >= AGREEING * len(wanted)


def _is_turned(text: str, tokens: tuple[str, ...]) -> bool:
    return _CHANGING.search(text) is not None or any(map(_NEGATING.fullmatch, tokens))


def _is_negated(tokens: tuple[str, ...], place: int) -> bool:
    return (
        any(map(_NEGATING.fullmatch, tokens[max(0, place - 3) : place]))
        and "only" not in tokens[max(0, place - 3) : place]
    )


def _siblings(word: str) -> frozenset[str]:
    """The words that say the same as a state does."""
    return frozenset().union(*(_OPPOSITE[other] for other in _OPPOSITE[word]))


@lru_cache(maxsize=1024)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in content_words(text))


def _tokens(text: str) -> Iterator[str]:
    return (match.group().lower() for match in _WORD.finditer(text.replace("’", "'")))


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
    """True if a document could settle the claim: no question, taste, value judgement, feeling or speaker's life."""
    return not (QUESTION.match(claim) or cues.of_a_mind(claim) or cues.personal(claim) or judges(claim))


def is_mentioned(claim: str, documents: Sequence[Passage]) -> bool:
    """True if one passage has most of the claim's content words."""
    wanted = _content(folded(claim))
    return bool(wanted) and any(
        len(wanted & _content(f"{folded(one.title or '')} {folded(one.text)}")) >= SPOKEN_OF * len(wanted)
        for one in documents
    )


@lru_cache(maxsize=1024)
def _content(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in content_words(text) if word not in _EMPTY)
