"""Finds what may stand in a claim's place of a noun phrase: phrases that other claims have in the same role and frame.

A frame is a role and its governor: the object of "store", what is stored "in" something, the adjective beside "hut". A substitute
stood there in another claim of the corpus, so it fits, and its words are in true claims as often as in false ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from lemminflect import getLemma  # type: ignore[import-untyped]

from vista_guard.protocols import Embedder
from vista_lab.oasis.rewriters.carrier import content_words, stem
from vista_lab.oasis.rewriters.text import BE, Token, tokens

NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
VERBS = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
_BEFORE_NOUNS = NOUNS | {"JJ", "JJS", "VBN", "VBG", "CD"}
_OPENS_PHRASE = _BEFORE_NOUNS | {"DT", "PRP$"}
_LISTS = frozenset({",", "and", "or", "than", "as", "like", "between", "per", "'s", "’s", "-"})
_ARTICLES = frozenset({"the", "a", "an"})
SUBJECT, OBJECT, ATTRIBUTE, CLAUSE = "subject", "object", "attribute", "clause"
_SAME_FRAME, _SAME_ROLE, _ALIKE = 0.42, 0.55, 0.8
"""Least likeness (cosine) of substitutes in one frame, and after the same preposition; from `_ALIKE` they may be synonyms."""
_RARELY = 0.1
"""Weight of an attribute that is unlike the replaced one."""


class ClaimSlot(NamedTuple):
    """A phrase of a claim with its place. `governor`: lemma of the verb, or of the noun beside an attribute."""

    role: str
    governor: str
    text: str
    start: int
    end: int
    plural: bool


class Phrase(NamedTuple):
    """A substitute, and its likeness to what it replaces."""

    text: str
    likeness: float


@lru_cache(maxsize=50_000)
def slots(claim: str) -> tuple[ClaimSlot, ...]:
    """The replaceable phrases of a claim: subject, objects, what follows a preposition, and attributes."""
    words = tokens(claim)
    phrases = [slot for start, end in _phrases(words) for slot in _slots(claim, words, start, end)]
    return (*phrases, *_clause(claim, words))


def _phrases(words: Sequence[Token]) -> list[tuple[int, int]]:
    """Word ranges of noun phrases, an "of" phrase with its noun."""
    found: list[tuple[int, int]] = []
    place = 0
    while place < len(words):
        first = place + (words[place].tag == "DT")
        end = first
        while end < len(words) and words[end].tag in _BEFORE_NOUNS:
            end += 1
        while end > first and words[end - 1].tag not in NOUNS:
            end -= 1
        if end > first and found and words[place - 1].lower == "of" and found[-1][1] == place - 1:
            found[-1] = (found[-1][0], end)
        elif end > first:
            found.append((place, end))
        place = max(end, place + 1)
    return found


def _slots(claim: str, words: Sequence[Token], start: int, end: int) -> Iterator[ClaimSlot]:
    inside, before, after = words[start:end], words[:start], words[end:]
    beside = {word.lower for word in (*before[-1:], *after[:1])}
    owned = any(word.tag.startswith("PRP") for word in (*before[-1:], *inside))
    article = inside[0].tag == "DT"
    if beside & _LISTS or owned or (article and inside[0].lower not in _ARTICLES):
        return
    head = next((at for at, word in enumerate(inside) if word.lower == "of"), len(inside)) - 1
    plural = inside[head].tag.endswith("S")
    frame = _frame(before, after)
    if frame is not None:
        yield _slot(claim, *frame, inside, plural)
    if head > article and all(word.tag in {"JJ", "NN", "VBN"} for word in inside[article:head]):
        kind = f"{ATTRIBUTE} {inside[article].tag}"
        yield _slot(claim, kind, _lemma(inside[head], "NOUN"), inside[article:head], plural)


def _clause(claim: str, words: Sequence[Token]) -> Iterator[ClaimSlot]:
    """The clause that ends a claim: what follows "because", "until" or "before"."""
    for place, word in enumerate(words[1:-3], 1):
        inside, verbs = words[place + 1 : -1], [other for other in words[:place] if other.tag in VERBS]
        start, end = next(iter(_phrases(inside)), (1, 0))
        states = not start and any(other.tag in VERBS for other in inside[end : end + 1])
        if word.tag == "IN" and verbs and states and not any(other.tag.startswith("PRP") for other in inside):
            yield _slot(claim, f"{word.lower} {CLAUSE}", _lemma(verbs[-1], "VERB"), inside, plural=False)


def _slot(claim: str, role: str, governor: str, inside: Sequence[Token], plural: bool) -> ClaimSlot:
    start, end = inside[0].start, inside[-1].end
    return ClaimSlot(role, governor, claim[start:end], start, end, plural)


def _frame(before: Sequence[Token], after: Sequence[Token]) -> tuple[str, str] | None:
    """Role and governor of a noun phrase between these words; None if unsure. A passive's subject is its verb's object."""
    verbs = [word for word in before if word.tag in VERBS]
    finite = bool(after) and (after[0].tag in VERBS or after[0].tag == "MD")
    if not before and finite:
        full = next((at for at, word in enumerate(after[:4]) if word.tag in VERBS and not _is_light(word)), None)
        if full is None:
            return None
        if after[full].tag == "VBN" and any(word.lower in BE | {"be", "been"} for word in after[:full]):
            return OBJECT, _lemma(after[full], "VERB")
        acts = len(after) > full + 1 and after[full + 1].tag in _OPENS_PHRASE
        return SUBJECT, _lemma(after[full], "VERB") + (" it" if acts else "")
    if before and before[-1].tag in {"IN", "TO"} and verbs and not finite:
        return before[-1].lower, _lemma(verbs[-1], "VERB")
    direct = bool(before) and before[-1].tag in VERBS and not _is_light(before[-1])
    return (OBJECT, _lemma(before[-1], "VERB")) if direct else None


def _is_light(verb: Token) -> bool:
    """Be, have and do say nothing of what stands beside them."""
    return _lemma(verb, "VERB") in {"be", "have", "do"}


def _lemma(word: Token, kind: str) -> str:
    return str(getLemma(word.lower, upos=kind)[0])


def roots(text: str) -> frozenset[str]:
    """Stems of the content words, of nouns also those of their singular."""
    words = content_words(text)
    return frozenset(stem(word) for word in words) | {stem(_singular(word)) for word in words}


@lru_cache(maxsize=50_000)
def _singular(word: str) -> str:
    return str(getLemma(word, upos="NOUN")[0])


class Donors:
    """The phrases and words of a corpus's claims, by frame.

    Args:
        claims: of all documents, each with its document's name.
        embedder: measures how alike two phrases are.
    """

    def __init__(self, claims: Iterable[tuple[str, str]], embedder: Embedder) -> None:
        self._embedder = embedder
        self._phrases: dict[tuple[str, bool], dict[str, set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))
        self._words: set[tuple[str, str]] = set()
        self._pairs: set[frozenset[str]] = set()
        self._about: dict[str, set[int]] = defaultdict(set)
        self._roots: list[frozenset[str]] = []
        for document, claim in dict.fromkeys(claims):
            self._add(document, claim)

    def _add(self, document: str, claim: str) -> None:
        self._words |= {(word.lower, word.tag) for word in tokens(claim)}
        for slot in slots(claim):
            text = slot.text if slot.start else uncapital(slot.text)
            self._phrases[slot.role, slot.plural][text].add((slot.governor, document))
            if slot.role in {SUBJECT, OBJECT}:
                self._pairs |= {frozenset({slot.governor.removesuffix(" it"), root}) for root in roots(slot.text)}
        for root in (found := roots(claim)):
            self._about[root].add(len(self._roots))
        self._roots.append(found)

    def phrases(self, slot: ClaimSlot, document: str) -> Iterator[Phrase]:
        """Substitutes of a phrase of this document.

        A subject or object comes from another document: what else its own says of "paint" may be the same thing, the hull the
        ferry's. An attribute stood beside the same noun, a phrase after a preposition after the same one.
        """
        own, found = roots(slot.text), dict[str, float]()
        for plural in (False, True) if slot.start else (slot.plural,):
            for text, frames in self._phrases[slot.role, plural].items():
                same = {other for governor, other in frames if governor == slot.governor}
                if slot.role in {SUBJECT, OBJECT}:
                    same -= {document}
                if (same or _is_free(slot)) and roots(text) and not roots(text) & own:
                    found[text] = _SAME_FRAME if same else _SAME_ROLE
        if found:
            vectors = self._embedder.embed([slot.text, *found])
            for (text, least), likeness in zip(found.items(), (vectors[1:] @ vectors[0]).tolist(), strict=True):
                if (least <= likeness or slot.role.startswith(ATTRIBUTE)) and likeness < _ALIKE:
                    yield Phrase(text, max(likeness, _RARELY))

    def has_word(self, word: str, tag: str) -> bool:
        """True if a claim has the word with this tag."""
        return (word, tag) in self._words

    def takes(self, verb: str, claim: str) -> bool:
        """True if a verb was seen with a subject or an object of the claim."""
        phrases = [slot.text for slot in slots(claim) if slot.role in {SUBJECT, OBJECT}]
        return any(frozenset({verb, root}) in self._pairs for text in phrases for root in roots(text))

    def may_say(self, claim: str, new: str, governor: str) -> bool:
        """True if a claim of the corpus has the new words beside most of the claim's others: it may be true."""
        places = set.intersection(*(self._about.get(root, set()) for root in roots(new)))
        return any(says(self._roots[place], claim, new, governor) for place in places)


def says(told: frozenset[str], claim: str, new: str, governor: str) -> bool:
    """True if a text with these roots has the new words of a claim, and most of its others but the governor."""
    added = roots(new)
    others = roots(claim) - added - roots(governor)
    return added <= told and 2 * len(told & others) > len(others)


def _is_free(slot: ClaimSlot) -> bool:
    """True for what follows a preposition or a conjunction, which say enough of what may follow; "to" follows its verb."""
    return slot.role not in {SUBJECT, OBJECT, "to"} and not slot.role.startswith(ATTRIBUTE)


def uncapital(text: str) -> str:
    """A phrase from the start of a sentence, as it is elsewhere: only an article loses its capital."""
    first = text.split(" ", 1)[0].lower()
    return text[:1].lower() + text[1:] if first in _ARTICLES else text
