"""First and second person to names: "I love my dog" is "The assistant loves the assistant's dog" out of context."""

from __future__ import annotations

import re

from vista_guard.judges.embedded.english.words import ADVERBS, AUXILIARIES, BASES, is_past, word_set
from vista_guard.types import Role

_IRREGULAR = {
    "am": "is", "are": "is", "have": "has", "do": "does", "go": "goes", "were": "was", "don't": "doesn't", "dont": "doesn't",
    "haven't": "hasn't", "aren't": "isn't", "weren't": "wasn't",
}  # fmt: skip
_CLITICS = {"'m": " is", "'re": " is", "'ve": " has", "'ll": " will", "'d": " would"}
_BE = _CLITICS | {"'d": " had"}
_KEPT = word_set("not and or but to read put set cut let myself yourself who")
_QUOTED = re.compile(r'("[^"]*")')
_ADVERB = "|".join(sorted(ADVERBS))
_I = re.compile(
    rf"\b(?P<who>I|i)(?P<clitic>'(?:m|ve|ll|d|re))?\b(?!\.\s?\w)(?P<gap>(?:\s+(?:{_ADVERB}))*\s+)?(?P<verb>[A-Za-z]+(?:'t)?)?"
)
_YOU = re.compile(
    rf"\b(?P<who>you)(?P<clitic>'(?:re|ve|ll|d))?\b(?P<gap>(?:\s+(?:{_ADVERB}))*\s+)?(?P<verb>[A-Za-z]+(?:'t)?)?",
    re.IGNORECASE,
)
_GENERIC_YOU = re.compile(
    r"\b(?:if|when|whenever|where|once|unless|before|after|while|as|which|so|lets?|allows?|helps?|makes?|gives?|for|of) you\b"
    r"|\byou(?:'ll|'d)?(?: \w+)? (?:can|could|may|might|will|should|must|would|need|get|use|also|simply|just)\b|\byou'(?:ll|d)\b",
    re.IGNORECASE,
)
_LIKELY_YOU = re.compile(
    r"\byou (?:may|might|will|would|should|must) (?:\w+ly |also )?(?:like|love|enjoy|prefer|live|be|feel|consider|try)\b",
    re.IGNORECASE,
)
"""Advice and guesses, which are about the listener: "you might like it"."""
_AGAIN = re.compile(
    r"(?P<joint>\b(?:and|but|or)\s+(?:(?:also|then|just|never|always|really)\s+)?)(?P<verb>[a-z]+(?:'t)?)(?=\s)"
)
_ALSO_AGAIN = word_set("love like hate enjoy prefer want know think live")
"""Verbs that agree even when only joined by "and": anything else there may be a noun."""


def name_speakers(text: str, speaker: str, listener: str) -> str:
    """`text` with "I" and "you" replaced by names, verbs agreeing. A general "you" ("you can see it") and quotes stay."""
    parts = _QUOTED.split(text)
    return "".join(part if part[:1] == '"' else _name_speakers(part, speaker, listener) for part in parts)


def _name_speakers(text: str, speaker: str, listener: str) -> str:
    generic = _GENERIC_YOU.search(text) and not _LIKELY_YOU.search(text)
    text = _named(_I, text, speaker)
    text = _possessives(text, _forms("my", "mine", "me", "myself", speaker))
    if not generic:
        text = _objects(_named(_YOU, text, listener), listener)
        text = _possessives(text, _forms("your", "yours", "", "yourself", listener))
    return text


def _forms(possessive: str, own: str, objective: str, reflexive: str, name: str) -> dict[str, str]:
    itself = "itself" if name == "the assistant" else "themselves"
    forms = {possessive: f"{name}'s", own: f"{name}'s", objective: name, reflexive: itself}
    return {pronoun: form for pronoun, form in forms.items() if pronoun}


def names(role: Role) -> tuple[str, str]:
    """Names of who speaks a turn and of who listens."""
    return ("the user", "the assistant") if role is Role.USER else ("the assistant", "the user")


def _named(pattern: re.Pattern[str], text: str, name: str) -> str:
    """Replaces a subject pronoun, and makes its verb and a coordinated second verb third person."""
    subject = False

    def replace(match: re.Match[str]) -> str:
        nonlocal subject
        before = re.findall(r"[\w']+", text[max(0, match.start() - 40) : match.start()])
        if match["who"] == "i" and not match["verb"] and not match["clitic"]:
            return match.group()
        inverted = bool(before) and before[-1].lower() in AUXILIARIES
        verb, clitic = match["verb"] or "", match["clitic"] or ""
        gap = match["gap"] or (" " if verb else "")
        if clitic:
            forms = _BE if clitic == "'d" and (is_past(verb) or verb in ("better", "been")) else _CLITICS
            subject = True
            return f"{name}{forms[clitic]}{gap}{verb}"
        if inverted or not verb:
            return f"{name}{gap}{verb}"
        subject = True
        return f"{name}{gap}{third_person(verb)}"

    named = pattern.sub(replace, text)
    return _AGAIN.sub(lambda match: match["joint"] + _again(match["verb"]), named) if subject else named


def _again(verb: str) -> str:
    """A second verb of the same subject, when it surely is one: "and have never been"."""
    return third_person(verb) if verb in _IRREGULAR or verb in _ALSO_AGAIN else verb


def third_person(verb: str) -> str:
    """The third person singular of a verb that followed "I" or "you". Pasts and modals stay."""
    lower = verb.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    if lower in _KEPT or (lower not in BASES and (lower in AUXILIARIES or is_past(lower))):
        return verb
    if lower not in BASES and (lower.endswith(("s", "ly", "ing", "n't")) or len(lower) < 3):
        return verb
    if lower.endswith(("ch", "sh", "ss", "x", "z", "o")):
        return f"{verb}es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _objects(text: str, name: str) -> str:
    return re.sub(r"\byou\b", name, text, flags=re.IGNORECASE)


def _possessives(text: str, forms: dict[str, str]) -> str:
    # "ME" and "MY" in capitals are abbreviations as often as words.
    pattern = re.compile("|".join(rf"\b(?:{form}|{form.capitalize()})\b" for form in forms))
    return pattern.sub(lambda match: forms[match.group().lower()], text)
