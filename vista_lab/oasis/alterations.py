"""Falsifies one claim without a model, by the edits that LLM-OASIS allows (§3.2 and Table 1, step 2).

Numbers, dates and names stay, and no verb is denied. What changes is a relation: a word becomes its opposite or another of its
kind, a cause, a condition, a duty or a comparison is turned round, two things change their roles, or a claim takes the predicate
of a parallel one. `--edits all` adds the edits of `rewriters.falsify`, which change values and names, and deny.
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
from vista_lab.oasis.gates import changed_words
from vista_lab.oasis.rewriters.carrier import content_words, read_json, stem, stems
from vista_lab.oasis.rewriters.falsify import denial, other_name, other_value
from vista_lab.oasis.rewriters.logic import OTHER_MARK, split_condition, with_condition
from vista_lab.oasis.rewriters.polarity import verb_at
from vista_lab.oasis.rewriters.text import a_or_an, capitalised, stripped, tokens, uncapitalised
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
_JOINED = re.compile(r"[\w-]$")
FRONT = re.compile(
    r"^(?:In|On|At|During|Since|After|By|For|From|Under|With|Throughout|Unlike|As of|To|Within|Among) [^,]{2,50}, "
)
"""A time, a place or a condition in front of a claim's subject."""
_MEASURED = re.compile(r"\d\S*(?: \w+)? $")
_GRADES = frozenset(["few", "less", "more", "many", "most"])
_TAGS = ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ")


@dataclass(frozen=True)
class Alteration:
    """A claim made false. `kind`: the sort of edit. `removed` and `added`: the words that changed; equal sets for exchanges."""

    kind: str
    text: str
    removed: str
    added: str

    @property
    def words(self) -> frozenset[str]:
        """Words that a paraphrase must leave alone, or the edit would be lost."""
        return frozenset(re.findall(r"[\w'-]+", f"{self.removed} {self.added}".lower()))


class Ground(NamedTuple):
    """A claim, the text of its passage, and the passage's other claims."""

    claim: str
    passage: str
    others: Sequence[str]


@lru_cache(maxsize=1)
def _lexicon() -> dict[str, list[list[str]]]:
    return read_json("alterations.json")  # type: ignore[no-any-return]


def alterations(
    claim: str, passage: str, others: Sequence[str], edits: str = "paper", seed: int = 0
) -> list[Alteration]:
    """All known edits that make the claim false under its passage, without duplicates.

    Args:
        claim: one statement of the passage.
        passage: its text; edits whose new words occur in it are dropped, as they may be true there.
        others: the passage's other claims, whose predicates may be borrowed.
        edits: `paper`, or `all` for changed values and names and for denials too.
        seed: random seed of the values that `all` draws.

    """
    makers = (_verbs, _words, _kinds, _phrases, _conditions, _roles, _directions, _comparisons, _parallels)
    by_text = {alteration.text: alteration for maker in makers for alteration in maker(Ground(claim, passage, others))}
    if edits == "all":
        by_text |= {alteration.text: alteration for alteration in _values(claim, passage, seed)}
    return [
        alteration for alteration in by_text.values() if alteration.text not in passage and alteration.text != claim
    ]


def _verbs(ground: Ground) -> Iterator[Alteration]:
    """Open and close, raise and lower: a verb becomes its opposite, in the same form."""
    claim = ground.claim
    if _BARRED.search(claim) or _HEDGED.search(claim):
        return
    for token in tokens(claim):
        if token.tag not in _TAGS or not token.text.islower():
            continue
        lemma = getLemma(token.lower, upos="VERB")[0]
        for other in _opposite_verbs().get(lemma, ()):
            if claim[token.end :].startswith(" to ") and other in {"end", "stop", "begin", "start"}:
                continue
            forms = getInflection(other, token.tag)
            new = forms[0] if forms else ""
            if new and _may_stand(claim, ground.passage, token.start, token.end, new):
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
    """An adjective, adverb, noun or preposition becomes its opposite."""
    claim = ground.claim
    if _BARRED.search(claim):
        return
    hedged = _HEDGED.search(claim)
    for token in tokens(claim):
        if not token.text.islower() or token.tag in _TAGS:
            continue
        for new in _opposite_words().get(token.lower, ()):
            free = not hedged or hedged.group().lower() == token.lower
            if free and _may_stand(claim, ground.passage, token.start, token.end, new):
                yield _replace("word", claim, token.start, token.end, new)


@lru_cache(maxsize=1)
def _opposite_words() -> dict[str, list[str]]:
    counterparts = _both_ways(_lexicon()["words"])
    for word, (other, _) in opposites().items():
        if other not in counterparts[word]:
            counterparts[word].append(other)
    return counterparts


def _kinds(ground: Ground) -> Iterator[Alteration]:
    """A thing becomes another of its kind: a lake a river, each week each month."""
    claim = ground.claim
    if _BARRED.search(claim) or _HEDGED.search(claim):
        return
    for token in tokens(claim):
        groups = [group for group in _lexicon()["sets"] if token.text.islower() and token.lower in group]
        for new in (word for group in groups for word in group if word != token.lower):
            if _may_stand(claim, ground.passage, token.start, token.end, new):
                yield _replace("kind", claim, token.start, token.end, new)


def _phrases(ground: Ground) -> Iterator[Alteration]:
    """Causes, duties, bounds and shares: "because of" becomes "despite"."""
    claim = ground.claim
    if _BARRED.search(claim):
        return
    for one, other in _lexicon()["phrases"]:
        for old, new in ((one, other), (other, one)):
            for start, end in occurrences(claim, old)[:1]:
                if _may_stand(claim, ground.passage, start, end, new, strict=False):
                    yield _replace("phrase", claim, start, end, new)


def _conditions(ground: Ground) -> Iterator[Alteration]:
    """ "If" becomes "unless", and the reverse."""
    claim = ground.claim
    parts = split_condition(claim)
    if parts:
        main, mark, condition = parts
        other = OTHER_MARK[mark]
        text = with_condition(main, other, condition, Random(len(claim) if claim.startswith(capitalised(mark)) else 0))
        yield Alteration("condition", text, mark, other)


def _roles(ground: Ground) -> Iterator[Alteration]:
    """Tenant and landlord, input and output change places within a claim that has both."""
    claim = ground.claim
    for one, other in _lexicon()["roles"]:
        spans = occurrences(claim, one), occurrences(claim, other)
        if len(spans[0]) == len(spans[1]) == 1 and not _in_one_list(claim, *spans[0], *spans[1]):
            swapped = _exchange(claim, spans[0][0], spans[1][0])
            yield Alteration("role", swapped, f"{one} {other}", f"{other} {one}")


def _in_one_list(claim: str, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """True if both are items of one list, where order means nothing."""
    (_, end), (start, _) = sorted((one, other))
    between = claim[end:start]
    return bool(re.search(r"\b(?:and|or|between)\b|/|,", between)) or "between" in claim


_NP = r"(?:(?:The|the|A|a|An|an|This|this|Its|its) )?[\w'’-]+(?: (?!(?:which|who|that|and|or|but|to|with|by)\b)[\w'’-]+){0,4}"


def _directions(ground: Ground) -> Iterator[Alteration]:
    """Swaps the two sides of a relation that has a direction."""
    claim = ground.claim
    if _BARRED.search(claim):
        return
    for verb in _lexicon()["directed"]:
        match = re.fullmatch(rf"(?P<a>{_NP}) (?P<v>{verb}) (?P<b>{_NP})\.", claim)
        if match and _alike_things(match["a"], match["b"]):
            yield _swap_sides("direction", match["a"], f"{verb}", match["b"])
            return
    match = re.search(r"\bfrom (?P<a>(?:the |an? )?[a-z][\w-]+) to (?P<b>(?:the |an? )?[a-z][\w-]+)(?=[ .,])", claim)
    if match and not re.search(r"\d", match.group()):
        text = f"{claim[: match.start()]}from {match['b']} to {match['a']}{claim[match.end() :]}"
        yield Alteration("direction", text, match.group(), f"from {match['b']} to {match['a']}")


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
    text = f"{capitalised(other)} {verb} {uncapitalised(one)}."
    return Alteration(kind, text, f"{one} {other}", f"{other} {one}")


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
_SUBJECT = rf"(?P<s>{_NP})"


def _parallels(ground: Ground) -> Iterator[Alteration]:
    """A claim takes another claim's predicate with the same verb: the words are the passage's, but the claim is false."""
    claim = ground.claim
    own = _split_frame(claim)
    if own is None or _BARRED.search(claim) or _HEDGED.search(claim):
        return
    for other in ground.others:
        theirs = _split_frame(other)
        if theirs is None or theirs[1] != own[1] or _BARRED.search(other):
            continue
        (subject, verb, predicate), (subject_2, _, new) = own, theirs
        mine = stems(subject) - stems(subject_2)
        apart = mine and stems(subject_2) - stems(subject) and not stems(predicate) & stems(new)
        lengths = len(new.split()), len(predicate.split())
        if apart and max(lengths) <= 2.5 * min(lengths) and not _mentions(ground.passage, mine, new):
            yield Alteration("parallel", f"{subject} {verb} {new}.", predicate, new)


_EXCLUSIVE = (
    "is used for", "are used for", "is used to", "are used to", "is located in", "are located in", "is called", "are called",
    "is known as", "refers to", "stands for", "is based on", "are based on", "is made of", "are made of", "begins in", "ends in",
    "consists of", "is responsible for", "means", "specifies", "defines", "describes", "determines", "indicates", "represents",
    "measures", "was born in", "died in", "opened in", "comes from",
)  # fmt: skip
"""Frames with one value per subject: a passage names subjects that share a value together."""


def _split_frame(claim: str) -> tuple[str, str, str] | None:
    """(subject, verb, predicate) of a plain claim whose frame admits only one predicate."""
    body = stripped(claim)[0]
    for verb in sorted(_EXCLUSIVE, key=len, reverse=True):
        match = re.fullmatch(rf"{_SUBJECT} {verb} (?P<r>.+)", body)
        if match and not re.search(r"\d", match["r"]) and 1 <= len(match["r"].split()) <= 10:
            return match["s"], verb, match["r"]
    return None


def _mentions(passage: str, subject: set[str], new: str) -> bool:
    """True if one passage sentence has both the subject and the new predicate: they may be true together."""
    predicate = stems(new)
    return any(
        subject & (words := stems(sentence)) and len(predicate & words) >= 0.5 * len(predicate)
        for sentence in re.split(r"(?<=[.!?;])\s+", passage)
    )


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


def _may_stand(claim: str, passage: str, start: int, end: int, new: str, *, strict: bool = True) -> bool:
    """True if the new word fits: in the predicate, no part of a name or compound, and in neither passage nor claim."""
    verb = main_verb(claim)
    if verb is None or start < verb or _MEASURED.search(claim[:start]):
        return False
    if _JOINED.search(claim[:start]) or _NAMED_AFTER.match(claim[end:]):
        return False
    if claim[end:].startswith(("-", "'", "’", " been", " - ")):
        return False
    if len(occurrences(claim, claim[start:end])) != 1 or occurrences(claim.lower(), new):
        return False
    before = claim[:start].rstrip()
    if strict and new in _GRADES and re.search(r"\b(?:more|less|most|least|very much|at|no|the)$", before):
        return False
    if strict and before.endswith((" more", " less", " most", " least", " very much", " at")):
        return False
    roots = {stem(word) for word in content_words(new)} or {new}
    return not (roots & stems(passage)) and not occurrences(passage.lower(), new)


def _replace(kind: str, claim: str, start: int, end: int, new: str) -> Alteration:
    text = a_or_an(capitalised(claim[:start] + new + claim[end:]))
    return Alteration(kind, text, claim[start:end], new)


def _exchange(text: str, one: tuple[int, int], other: tuple[int, int]) -> str:
    first, second = sorted((one, other))
    parts = text[: first[0]], text[slice(*second)], text[first[1] : second[0]], text[slice(*first)], text[second[1] :]
    return a_or_an(capitalised("".join(parts)))
