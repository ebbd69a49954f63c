"""Falsifies one claim without a model, by the edits that LLM-OASIS allows (§3.2 and Table 1, step 2).

Numbers, dates and names stay, and no verb is denied. A phrase becomes one that another claim of the corpus has in the same role
and frame (`frames`), a word or verb its opposite where the corpus has that in such a place, and two things that are compared
change sides. `--edits all` also changes values and names, and denies.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import NamedTuple

from lemminflect import getInflection, getLemma  # type: ignore[import-untyped]

from vista_guard.judges.embedded.english.verbs import begins_imperative, verb_index, words_of
from vista_lab.oasis.frames import VERBS, Donors, roots, says, slots
from vista_lab.oasis.gates import changed_words
from vista_lab.oasis.records import Passage
from vista_lab.oasis.rewriters.carrier import content_words, read_json, stem, stems
from vista_lab.oasis.rewriters.falsify import denial, other_name, other_value
from vista_lab.oasis.rewriters.polarity import verb_at
from vista_lab.oasis.rewriters.text import Token, a_or_an, capitalised, same_tags, tokens, uncapitalised
from vista_lab.oasis.rewriters.values import occurrences
from vista_lab.oasis.rewriters.wording import opposites

_BARRED = re.compile(
    r"\b(?:not|never|no|none|nothing|neither|nor|without|hardly|seldom|may|might|could|possibly|perhaps|or|whether"
    r"|such as|for example|for instance|including|e\.g|i\.e|either|unless)\b|n['’]t\b|[?\"“”]",
    re.IGNORECASE,
)
"""Words near which a swapped word may leave the claim true."""
_HEDGED = re.compile(r"\b(?:can|some|sometimes|often|usually|several|many|one of)\b", re.IGNORECASE)
"""Some open and some close: the opposite verb or adjective may be true too. A whole relation that is reversed is not."""
_NAMED_AFTER = re.compile(r"^(?:\s|-)[A-Z]")
FRONT = re.compile(
    r"^(?:In|On|At|During|Since|After|By|For|From|Under|With|Throughout|Unlike|As of|To|Within|Among) [^,]{2,50}, "
)
"""A time, a place or a condition in front of a claim's subject."""
_MEASURED = re.compile(r"\d\S*(?: \w+)? $")


@dataclass(frozen=True)
class Alteration:
    """A claim made false. `kind`: the sort of edit. `removed` and `added`: the words that changed; equal sets for exchanges."""

    kind: str
    text: str
    removed: str
    added: str
    weight: float = 1.0
    """Of the draw."""

    @property
    def words(self) -> frozenset[str]:
        """Words that a paraphrase must leave alone, or the edit would be lost."""
        return frozenset(re.findall(r"[\w'-]+", f"{self.removed} {self.added}".lower()))


class Ground(NamedTuple):
    """A claim, its passage, and the claims of the corpus, those of the passage among them."""

    claim: str
    passage: Passage
    donors: Donors


@lru_cache(maxsize=1)
def _lexicon() -> dict[str, list[list[str]]]:
    return read_json("alterations.json")  # type: ignore[no-any-return]


def alterations(claim: str, passage: Passage, donors: Donors, edits: str = "paper", seed: int = 0) -> list[Alteration]:
    """All known edits that make the claim false under its passage, without duplicates.

    Args:
        claim: one statement of the passage.
        passage: edits that it may make true are dropped.
        donors: the corpus, where the new words come from. What may be true by one of its claims is dropped.
        edits: `paper`, or `all` for changed values and names and for denials too.
        seed: random seed of the values that `all` draws.

    """
    ground = Ground(claim, passage, donors)
    by_text = {edit.text: edit for maker in (_phrases, _verbs, _words, _comparisons) for edit in maker(ground)}
    found = [edit for edit in by_text.values() if edits == "all" or not _names_or_counts(edit)]
    if edits == "all":
        found += _values(claim, passage.text, seed)
    return [edit for edit in found if edit.text not in passage.text and edit.text != claim]


def _names_or_counts(edit: Alteration) -> bool:
    changed = f"{edit.removed} {edit.added}"
    return bool(re.search(r"\d|\b[A-Z]", uncapitalised(changed))) or any(word.tag == "CD" for word in tokens(changed))


def _phrases(ground: Ground) -> Iterator[Alteration]:
    """A subject, object, attribute, adjunct or clause becomes one of another claim."""
    claim = ground.claim
    if _BARRED.search(claim) or _HEDGED.search(claim):
        return
    told = [roots(sentence) for sentence in re.split(r"(?<=[.!?;])\s+", ground.passage.text)]
    for slot in slots(claim):
        for text, likeness in ground.donors.phrases(slot, ground.passage.document):
            edit = _replace(slot.role, claim, slot.start, slot.end, text, likeness)
            about = edit.text, text, slot.governor
            if not any(says(sentence, *about) for sentence in told) and not ground.donors.may_say(*about):
                yield edit


def _verbs(ground: Ground) -> Iterator[Alteration]:
    """Open and close, raise and lower: a verb becomes its opposite, in the same form, where that takes the same things."""
    claim = ground.claim
    if _BARRED.search(claim) or _HEDGED.search(claim):
        return
    for token in tokens(claim):
        if token.tag in VERBS and token.text.islower():
            lemma = getLemma(token.lower, upos="VERB")[0]
            for other in filter(lambda verb: ground.donors.takes(verb, claim), _opposite_verbs().get(lemma, ())):
                new = next(iter(getInflection(other, token.tag)), "")
                if new and _may_stand(ground, token, new):
                    yield _replace("verb", claim, token.start, token.end, new)


@lru_cache(maxsize=1)
def _opposite_verbs() -> dict[str, list[str]]:
    return _both_ways(_lexicon()["verbs"])


def _both_ways(pairs: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    counterparts: dict[str, list[str]] = defaultdict(list)
    for one, other in pairs:
        counterparts[one].append(other)
        counterparts[other].append(one)
    return counterparts


def _words(ground: Ground) -> Iterator[Alteration]:
    """A comparative, superlative, preposition or adverb becomes its opposite, where the corpus has that too."""
    claim = ground.claim
    hedged = _HEDGED.search(claim)
    if _BARRED.search(claim) or hedged:
        return
    for token in tokens(claim):
        if token.text.islower() and token.tag in _GRADED:
            for new in _opposite_words().get(token.lower, ()):
                if ground.donors.has_word(new, token.tag) and _may_stand(ground, token, new):
                    yield _replace("word", claim, token.start, token.end, new)


_GRADED = frozenset({"JJR", "JJS", "RBR", "RBS", "RB", "IN", "DT"})


@lru_cache(maxsize=1)
def _opposite_words() -> dict[str, list[str]]:
    counterparts = _both_ways(_lexicon()["words"])
    for word, (other, _) in opposites().items():
        if other not in counterparts[word]:
            counterparts[word].append(other)
    return counterparts


_NP = r"(?:(?:The|the|A|a|An|an|This|this|Its|its) )?[\w'’-]+(?: (?!(?:which|who|that|and|or|but|to|with|by)\b)[\w'’-]+){0,4}"


def _comparisons(ground: Ground) -> Iterator[Alteration]:
    """ "A is larger than B" becomes "B is larger than A"."""
    claim = ground.claim
    verb = r"(?:is|are|was|were|has|have|had) (?:much |far )?(?:\w+er|(?:more|less) \w+)(?: \w+)? than"
    match = re.fullmatch(rf"(?P<a>{_NP}) (?P<v>{verb}) (?P<b>{_NP})\.", claim)
    if not match or _BARRED.search(claim) or re.search(r"\d", match["b"]):
        return
    if _alike_things(match["a"], match["b"]):
        yield _swap_sides("comparison", match["a"], match["v"], match["b"])


def _swap_sides(kind: str, one: str, verb: str, other: str) -> Alteration:
    first, second = uncapitalised(one), uncapitalised(other)
    return Alteration(kind, f"{capitalised(other)} {verb} {first}.", f"{first} {second}", f"{second} {first}")


def _alike_things(one: str, other: str) -> bool:
    """True if both are nouns of one number, so that either fits the verb, and neither is a pronoun or a measure."""
    tags = [[token.tag for token in tokens(text)] for text in (one, other)]
    kinds = [{"NNS": "many", "NNPS": "many", "NN": "one", "NNP": "one"}.get(noun_tags[-1], "") for noun_tags in tags]
    if any(tag not in _PLAIN_NOUNS for noun_tags in tags for tag in noun_tags):
        return False
    if re.search(r"\b(?:it|this|that|they|he|she|there|these|those|its|their)\b|\d", f"{one} {other}", re.IGNORECASE):
        return False
    return bool(kinds[0]) and kinds[0] == kinds[1] and not stems(one) & stems(other)


_PLAIN_NOUNS = frozenset({"DT", "PRP$", "JJ", "NN", "NNS", "NNP", "NNPS", "JJS"})


def _values(claim: str, passage: str, seed: int) -> Iterator[Alteration]:
    """Number, name and denial edits of `rewriters.falsify`, which the paper's step 2 forbids."""
    for name, maker in (("value", other_value), ("name", other_name), ("denial", denial)):
        text = maker(claim, passage, Random(f"{seed}:{claim}"))
        if text:
            old, new = changed_words(claim, text)
            yield Alteration(name, text, " ".join(old), " ".join(new))


@lru_cache(maxsize=4096)
def main_verb(claim: str) -> int | None:
    """Start of the claim's finite verb after a plain subject; None if unsure."""
    front = FRONT.match(claim)
    offset = front.end() if front else 0
    clause = claim[offset:]
    at = verb_at(clause)
    if at is not None:
        return offset + tokens(clause)[at].start
    words = words_of(clause)
    index = None if begins_imperative(words) else verb_index(words)
    if index is None or index == 0:
        return None
    place = re.search(rf"\b{re.escape(words[index])}\b", clause[len(words[0]) :])
    return offset + len(words[0]) + place.start() if place else None


def _may_stand(ground: Ground, token: Token, new: str) -> bool:
    """True if the new word fits: in the predicate, no part of a name or compound, and in neither passage nor claim."""
    claim, start, end = ground.claim, token.start, token.end
    verb = main_verb(claim)
    if verb is None or start < verb or _MEASURED.search(claim[:start]):
        return False
    if _NAMED_AFTER.match(claim[end:]) or claim[end:].startswith(("-", "'", "’", " been", " to ")):
        return False
    if len(occurrences(claim, token.text)) != 1 or occurrences(claim.lower(), new):
        return False
    if not same_tags(claim, claim[:start] + new + claim[end:]):
        return False  # the new word has another part of speech here
    found = {stem(word) for word in content_words(new)} or {new}
    return not (found & stems(ground.passage.text)) and not occurrences(ground.passage.text.lower(), new)


def _replace(kind: str, claim: str, start: int, end: int, new: str, weight: float = 1.0) -> Alteration:
    text = a_or_an(capitalised(claim[:start] + new + claim[end:]))
    return Alteration(kind, text, claim[start:end], new, weight)
