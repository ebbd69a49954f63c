"""Rules that overrule the verifier if claim and evidence share nearly all words but disagree.

"Before meals" against "after meals": a pair of opposites from a list. "Until 2023 the fee was 10 euros" against "The fee is
10 euros": the evidence is past. Also decides whether documents settle a claim that reads like advice: "You can take ten a day" is
advice to the claim-type head, whatever the leaflet says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from vista_guard.judges.embedded.english import cues
from vista_guard.judges.embedded.english.cues import judges
from vista_guard.judges.embedded.english.words import QUESTION, STEM, content_words, is_past, word_set, word_stems
from vista_guard.reading.canonical import folded
from vista_guard.types import Passage

TOLD = 0.6
"""Minimum share of the claim's content words in a clause about the past, for the clause to be its source."""

_BYGONE_CLAUSES = re.compile(
    r"(?<=[.!?;:])\s+|\s*[()–—]\s*|(?<!ly),\s+(?!(?:the|a|an|it|he|she|they|we|there|this|these)\b)|\s+(?=(?:and|but|which|who|where|while)\b)",
    re.I,
)
"""Clause boundaries: an aside about the past says nothing of its neighbours. "Formerly, Sund was ..." is one clause."""
_YEAR = r"(?:1[5-9]|20)\d\d"
_UP_TO = re.compile(rf"\b(?:until|till|up to|prior to|before)\b(?: (?!(?:19|20)\d)[\w,]+){{0,4}} {_YEAR}\b", re.I)
_ONCE = re.compile(
    r"\b(?:formerly|previously|in the past|back then|in former (?:times|years|days)|in those days)\b", re.I
)
# "A knife used to cut bread" is not past: "used to" counts only behind a pronoun.
_ENDED = re.compile(r"\bno longer\b|\b(?:i|it|he|she|they|we|there|who|which) used to (?!(?:it|this|that|the)\b)", re.I)
_PAST = re.compile(r"\b(?:was|were|had|did|wasn't|weren't|hadn't|didn't)\b", re.I)
_LETTERS = re.compile(r"[A-Za-z]+")


def bygone(claim: str, evidence: str) -> str | None:
    """The words by which the evidence puts the claim into the past; None if it doesn't, or if the claim is past too.

    A clause without such words that shares as much with the claim prevails.
    """
    if not _is_about_now(claim):
        return None
    clauses = [(_past_cue(clause), _word_share(claim, clause)) for clause in _BYGONE_CLAUSES.split(evidence)]
    best = max((share for ending, share in clauses if ending), default=0.0)
    if best < TOLD or any(share >= best for ending, share in clauses if not ending):
        return None
    return next(ending for ending, share in clauses if ending and share == best)


def _is_about_now(claim: str) -> bool:
    return not (_past_cue(claim) or _is_past(claim) or re.search(rf"\b{_YEAR}\b", claim))


def _past_cue(sentence: str) -> str | None:
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


def _word_share(claim: str, sentence: str) -> float:
    wanted = word_stems(claim)
    return len(wanted & word_stems(sentence)) / max(1, len(wanted))


AGREEING = 0.8
"""Minimum share of a claim's other content words in evidence on the same matter."""

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
    """The claim's word whose opposite a clause of the evidence has; None for none.

    With a negation, a change or an exception in either, none is found: rules cannot tell which word a "not" or a "but" reverses.
    """
    return next((word for clause in _CLAUSES.split(evidence) if (word := _opposite_in_clause(claim, clause))), None)


def _opposite_in_clause(claim: str, evidence: str) -> str | None:
    tokens, known = tuple(_tokens(claim)), tuple(_tokens(evidence))
    if _is_turned(claim, tokens) or _is_turned(evidence, known):
        return None
    for word in tokens:
        against = _OPPOSITE.get(word, frozenset())
        apart = against.isdisjoint(tokens) and not against.isdisjoint(known)
        if apart and _synonyms(word).isdisjoint(known) and _agrees(claim, evidence, {word}):
            return word
    return _opposed_relation(claim, evidence, tokens, known)


def _opposed_relation(claim: str, evidence: str, tokens: tuple[str, ...], known: tuple[str, ...]) -> str | None:
    """A preposition whose opposite precedes the same word in the evidence, where itself does not."""
    relations = set(_relations(known))
    for word, thing in _relations(tokens):
        if (
            (_RELATION[word], thing) in relations
            and (word, thing) not in relations
            and _agrees(claim, evidence, {word})
        ):
            return f"{word} {thing}"
    return None


def _relations(tokens: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for place, word in enumerate(tokens):
        if word in _RELATION:
            thing = next((token for token in tokens[place + 1 : place + 4] if token not in _ARTICLES), "")
            yield word, thing.rstrip("s")


def _agrees(claim: str, evidence: str, without: set[str]) -> bool:
    """True if the evidence has nearly all the claim's other words."""
    wanted = word_stems(claim) - {word[:STEM] for word in without}
    return bool(wanted) and len(wanted & word_stems(evidence)) >= AGREEING * len(wanted)


def _is_turned(text: str, tokens: tuple[str, ...]) -> bool:
    return _CHANGING.search(text) is not None or any(map(_NEGATING.fullmatch, tokens))


def _synonyms(word: str) -> frozenset[str]:
    """The synonyms of a state."""
    return frozenset().union(*(_OPPOSITE[opposite] for opposite in _OPPOSITE[word]))


def _tokens(text: str) -> Iterator[str]:
    return (match.group().lower() for match in _WORD.finditer(text.replace("’", "'")))


SPOKEN_OF = 0.6
"""Minimum share of a claim's content words in one passage, for the document to mention it.

Cross-fitted over conversations, on claims that read like opinions and tell of no mind: 135 of faithful MTRAG-UN and DSTC9 answers
(train) should reach it, 261 of disclosures and generic talk (the CMU-DoG and TopicalChat parts of FaithDial's audit and of BEGIN
dev) should not. The largest share within one standard error of the best is 0.6 in four folds of five; on the fold left out it
is right about 75 % of the former and 91 % of the latter. From 0.35 to 0.6 it hardly matters (mean of both 0.84 to 0.82).
"""
_EMPTY = word_set(
    """should can may must need needs make sure please user users assistant wizard apprentice if so very just will would could
    your my our us me them such when then some any other more most than only too out up into about which who what how where
    why all many much keep get let use people person want like fine okay ok"""
)


def may_be_settled(claim: str) -> bool:
    """True if a document could settle the claim: no question, taste, value judgement, feeling or part of a speaker's life."""
    return not (QUESTION.match(claim) or cues.of_a_mind(claim) or cues.personal(claim) or judges(claim))


def is_mentioned(claim: str, documents: Sequence[Passage]) -> bool:
    """True if one passage has most of the claim's content words."""
    wanted = _content(folded(claim))
    return bool(wanted) and any(
        len(wanted & _content(f"{folded(passage.title or '')} {folded(passage.text)}")) >= SPOKEN_OF * len(wanted)
        for passage in documents
    )


@lru_cache(maxsize=1024)
def _content(text: str) -> frozenset[str]:
    # A wrong figure stands nowhere, and is no other matter for it.
    return frozenset(word[:STEM] for word in content_words(text) if word not in _EMPTY and not word[0].isdigit())
