"""A little English grammar over sentences that start with their subject: negation, questions, agreement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from lemminflect import getInflection, getLemma  # type: ignore[import-untyped]

_AUXILIARIES = {"is", "are", "was", "were", "can", "may", "must", "will", "should", "could", "would", "had to"}
_VOWEL = re.compile(
    r"\b([Aa]) (?=(?!one\b|once\b|eu|uni[^nm]|use|usu|Eu|Uni)(?:[aeiouAEIOU]|8\b|8\d\b|11\b|18\b|hour\b|honest|MRI))"
)


def sentence(text: str) -> str:
    """First letter up, one final stop, ``a`` before vowels mended."""
    text = _VOWEL.sub(r"\1n ", re.sub(r"\s+", " ", text).strip())
    text = text.replace("m..", "m.")
    text = text if text[-1:] in '.!?:"' else text + "."
    return text[:1].upper() + text[1:]


def filled(template: str, slots: Mapping[str, str]) -> str:
    """The template as a sentence, its slots replaced in their order."""
    for slot, text in slots.items():
        template = template.replace(slot, text)
    return sentence(template)


def clause(text: str) -> str:
    """Words for use inside a sentence: no final stop, except after ``a.m.``"""
    text = text.strip()
    return text if text.endswith(".m.") else text.rstrip(".")


@cache
def base(verb: str) -> str:
    """costs -> cost, went -> go."""
    if verb in ("has", "had"):
        return "have"
    lemmas = getLemma(verb, upos="VERB")
    return str(lemmas[0]) if lemmas else verb


@cache
def third(verb: str) -> str:
    """cost -> costs; auxiliaries agree."""
    fixed = {"are": "is", "were": "was", "have": "has", "do": "does"}
    if verb in fixed or verb in _AUXILIARIES:
        return fixed.get(verb, verb)
    if base(verb) != verb:  # the past does not agree
        return verb
    forms = getInflection(verb, tag="VBZ")
    return str(forms[0]) if forms else verb + "s"


def singular_phrase(phrase: str) -> str:
    """A plural verb phrase for one subject: ``allow pets`` -> ``allows pets``."""
    verb, _, rest = phrase.partition(" ")
    return f"{third(verb)} {rest}".strip()


def _is_auxiliary(verb: str, rest: str) -> bool:
    following = rest.split(" ", 1)[0]
    perfect = verb in ("has", "have", "had") and (following == "been" or following.endswith("ed"))
    return verb in _AUXILIARIES or perfect


def _do(verb: str) -> str:
    lemma = base(verb)
    if verb == lemma:
        return "do"
    return "does" if verb == third(lemma) else "did"


_ADVERBS = (
    "never", "also", "still", "only", "once", "often", "commonly", "already", "almost", "usually", "always", "cannot", "no",
    "nobody",
)  # fmt: skip


def negated_phrase(phrase: str, contracted: bool = False) -> str:
    """``costs 12`` -> ``does not cost 12``; ``is open`` -> ``is not open``."""
    verb, _, rest = phrase.partition(" ")
    if verb in ("does", "do", "did") and rest.startswith("not "):
        return singular_phrase(rest[4:]) if verb == "does" else rest[4:]
    if _is_auxiliary(verb, rest):
        if rest.startswith("not "):
            return f"{verb} {rest[4:]}"
        if verb == "can":
            return f"{'can’t' if contracted else 'cannot'} {rest}".replace("’", "'")
        joined = f"{verb}n't" if contracted and verb not in ("may", "will", "must") else f"{verb} not"
        return f"{joined} {rest}"
    helper = _do(verb)
    return f"{helper}n't {base(verb)} {rest}" if contracted else f"{helper} not {base(verb)} {rest}"


def negated(subject: str, text: str, contracted: bool = False) -> str | None:
    """The negation of ``text``, a sentence that starts with ``subject`` and its verb."""
    phrase = _after(subject, text)
    return f"{subject} {negated_phrase(phrase, contracted)}" if phrase else None


def asked(subject: str, text: str) -> str | None:
    """The yes-or-no question of ``text``, a sentence that starts with ``subject`` and its verb."""
    phrase = _after(subject, text)
    if not phrase:
        return None
    verb, _, rest = phrase.rstrip(".").partition(" ")
    inner = subject[:4].lower() + subject[4:] if subject.startswith("The ") else subject
    if _is_auxiliary(verb, rest):
        return f"{verb.capitalize()} {inner} {rest}?"
    return f"{_do(verb).capitalize()} {inner} {base(verb)} {rest}?"


def _after(subject: str, text: str) -> str:
    if not text.lower().startswith(subject.lower() + " "):
        return ""
    phrase = text[len(subject) + 1 :]
    words = phrase.split()
    plain = words[0] not in _ADVERBS and "no" not in words[:3] and "not" not in words[:3]
    return phrase if plain else ""
