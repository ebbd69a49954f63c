"""Paraphrases claims without a model and joins them into a text: synonyms, value forms, word order, voice.

Every choice depends on the seed and the words it changes, not on what was chosen before: a claim and its falsified twin come out
alike but for the edit, so that the unfactual text differs from the factual one there alone (LLM-OASIS, §3.3).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from random import Random

from lemminflect import getAllLemmas  # type: ignore[import-untyped]

from vista_guard.judges.embedded.english.words import word_set
from vista_lab.oasis.rewriters.carrier import read_json
from vista_lab.oasis.rewriters.forms import other_form
from vista_lab.oasis.rewriters.text import a_or_an, capitalised, contract, same_tags, stripped, tokens, uncapitalised
from vista_lab.oasis.rewriters.values import NUMERIC, Value, numeric_values, occurrences
from vista_lab.oasis.rewriters.voice import to_active, to_passive
from vista_lab.oasis.rewriters.wording import alike

_FRONTED = re.compile(
    r"^(?P<when>(?:In|On|At|During|Since|After|Before|By|For|Under|Throughout|Within) [^,;:]{3,45}), (?P<rest>.+)$"
)
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_TRAILING = re.compile(
    rf"^(?P<rest>(?!.*\b(?:than|as|since|like|until|before|after)\b).{{15,90}}) "
    rf"(?P<when>in (?:(?:early|late|mid) )?(?:{_MONTH} )?\d{{4}}|on (?:\d{{1,2}} {_MONTH}|{_MONTH} \d{{1,2}}),? \d{{4}})$"
)
_ORDERING = frozenset(["before", "after", "if", "unless", "because", "when", "only"])
"""Words of an edit that stand at its clause's edge: with them the order stays."""
_LINKS = ("", "", "", "Also, ", "Besides, ", "Moreover, ", "In addition, ", "Further, ")
_CONDITION = re.compile(
    r"^(?P<main>[A-Z][^,;]{8,80}) (?P<mark>if|when|because|unless|so that|although|while) (?P<rest>[^,;]{6,80})$"
)
_ASKED = re.compile(
    r"\b(?:know|ask\w*|see|tell\w*|told|wonder\w*|check\w*|decid\w+|determin\w+|sure|whether|even|as|only)\b",
    re.IGNORECASE,
)
"""Words that turn an "if" clause into an indirect question."""
_LEADING = re.compile(r"^(?P<mark>If|When|Because|Unless|Although|While) (?P<rest>[^,;]{6,80}), (?P<main>[^,;]{8,80})$")


def paraphrase(claim: str, seed: str, keep: AbstractSet[str] = frozenset()) -> str:
    """The claim in other words; words in `keep` stay.

    Examples:
        >>> paraphrase("In 1931, the company purchased numerous boats.", "3")
        'The firm bought many boats in 1931.'
    """
    text, stop = stripped(claim)
    for step in (_voice, _order, _values, _synonyms):
        text = step(text, seed, keep)
    text = contract(text) if _roll(seed, "contracted", "") < 0.25 and "not" not in keep else text
    return a_or_an(capitalised(text)) + (stop or ".")


def link_sentences(sentences: Sequence[str], seed: str) -> list[str]:
    """The sentences, some with a linking word in front."""
    linked = list(sentences[:1])
    names = {word for sentence in sentences for word in re.findall(r"(?<=[\w,] )[A-Z]\w+", sentence)}
    for place, sentence in enumerate(sentences[1:], 1):
        roll = Random(f"{seed}:link:{place}")
        link = roll.choice(_LINKS)
        linked.append(f"{link}{_lower_first(sentence, names)}" if link else sentence)
    return linked


def _lower_first(sentence: str, names: AbstractSet[str]) -> str:
    """The sentence after a linking word: its first word loses the capital if it is a known word, and no part of a name."""
    first, _, rest = sentence.partition(" ")
    known = first not in names and getAllLemmas(first.lower()) and not rest[:1].isupper()
    return sentence[:1].lower() + sentence[1:] if known else uncapitalised(sentence)


def _roll(seed: str, step: str, words: str) -> float:
    return Random(f"{seed}:{step}:{words}").random()


def _touches(text: str, keep: AbstractSet[str]) -> bool:
    return any(word in keep for word in re.findall(r"[\w'-]+", text.lower()))


def _voice(text: str, seed: str, keep: AbstractSet[str]) -> str:
    """Swaps active and passive, where the verb is known."""
    if _roll(seed, "voice", "") < 0.2:
        return text
    turned = to_active(f"{text}.") or to_passive(f"{text}.")
    return stripped(turned)[0] if turned and not keep else text


def _order(text: str, seed: str, keep: AbstractSet[str]) -> str:
    """Moves a time or place between front and end, or a condition before or after its clause."""
    if _roll(seed, "order", "") < 0.15 or keep & _ORDERING:
        return text
    for pattern, form in (
        (_FRONTED, "{rest} {when}"),
        (_TRAILING, "{when}, {rest}"),
        (_LEADING, "{main} {mark} {rest}"),
    ):
        match = pattern.match(text)
        if match:
            parts = {name: uncapitalised(part) for name, part in match.groupdict().items()}
            return capitalised(form.format(**parts))
    match = None if _ASKED.search(text) else _CONDITION.match(text)
    if match and match["mark"] != "so that" and not match["main"].endswith((" even", " only", " as", " what", " ask")):
        return f"{capitalised(match['mark'])} {match['rest']}, {uncapitalised(match['main'])}"
    return text


def _values(text: str, seed: str, keep: AbstractSet[str]) -> str:
    """Rewrites dates, amounts and counts in an equivalent form."""
    for value in reversed([candidate for candidate in numeric_values(text) if candidate.kind in NUMERIC]):
        if _touches(value.text, keep) or _roll(seed, "value", value.text) < 0.35 or not _may_be_reformed(text, value):
            continue
        new = other_form(value, Random(f"{seed}:form:{value.text}"))
        if new and not new.startswith(("about", "roughly")):
            text = text[: value.start] + new + text[value.end :]
    return text


def _may_be_reformed(text: str, value: Value) -> bool:
    """True if no neighbouring word depends on the value's form, nor counts with it: "three hundred"."""
    after = text[value.end : value.end + 1]
    beside = any(word.tag == "CD" and word.start == value.end + 1 for word in tokens(text))
    joined = re.search(r"(?:[\w$/.,-]|\b(?:the|a|an|this|that|each|every) )$", text[: value.start])
    return not beside and after not in {"-", "/", "%"} and not joined


def _synonyms(text: str, seed: str, keep: AbstractSet[str]) -> str:
    """Replaces words and phrases by synonyms, the longest first."""
    changed: list[tuple[int, int]] = []
    for phrase in _phrases():
        if _touches(phrase, keep):
            continue
        for start, end in occurrences(text.lower(), phrase)[:1]:
            if any(start < last and first < end for first, last in changed) or _roll(seed, "word", phrase) < 0.2:
                continue
            if text[start:end] != phrase and text[start:end] != capitalised(phrase):
                continue
            if text[end : end + 1] == "-" or text[start - 1 : start] == "-" or re.match(r" [A-Z]", text[end:]):
                continue
            new = Random(f"{seed}:synonym:{phrase}").choice(_synonyms_of()[phrase])
            if _touches(new, keep):
                continue
            new = capitalised(new) if start == 0 else new
            if not same_tags(text, text[:start] + new + text[end:]):
                continue  # the word has another part of speech here
            text = text[:start] + new + text[end:]
            shift = len(new) - (end - start)
            moved = [(a + shift, b + shift) if a >= start else (a, b) for a, b in changed]
            changed = [*moved, (start, start + len(new))]
    return text


@lru_cache(maxsize=1)
def _synonyms_of() -> dict[str, list[str]]:
    """word or phrase -> synonyms; a pair works both ways unless its plainer side is a common word."""
    synonyms: dict[str, list[str]] = defaultdict(list)
    for word, other in read_json("alterations.json")["alike"]:
        synonyms[word].append(other)
        if len(other.split()) > 1 or other not in _ONE_WAY:
            synonyms[other].append(word)
    for word, others in alike().items():
        synonyms[word] += [other for other in others if other not in synonyms[word] and word not in _UNSURE]
    return {word: others for word, others in synonyms.items() if others}


_UNSURE = word_set(
    "daily weekly monthly annually error difficult correct works vehicle purchase cheap often several numerous child children"
)
"""Words of the shipped verifier's list that mean the same in some places only: "a daily bus" is no "every day bus"."""
_ONE_WAY = word_set(
    """to many need needs require requires like though much whole so hard way ways right can use uses if and about all
    last first made makes make get gets help helps people big buy time now inside through part parts home car
    particular different further ended began work before most offer after changed kept keep keeps change show shows
    shown live lives person papers only vital meant holds seen bought stay stays choose chosen finish finished aim aims
    choice choices place region perform performs"""
)
"""Plain words with many meanings: each may stand for the rarer word of its pair, but not the rarer one for it."""


@lru_cache(maxsize=1)
def _phrases() -> tuple[str, ...]:
    return tuple(sorted(_synonyms_of(), key=lambda phrase: (-len(phrase), phrase)))
