"""A claim as talk says it, or as a headline."""

from __future__ import annotations

import re
from random import Random

from vista_lab.oasis.rewriters.text import a_or_an, contract, stripped, uncapitalised
from vista_lab.oasis.rewriters.values import occurrences
from vista_lab.oasis.rewriters.wording import alike


def replace_words(text: str, old: str, new: str) -> str:
    """Every whole-word ``old`` becomes ``new``."""
    for start, end in reversed(occurrences(text, old)):
        text = text[:start] + new + text[end:]
    return text


_LONG = (
    (r"\bwon['’]t\b", "will not"),
    (r"\bcan['’]t\b", "cannot"),
    (r"\b(\w+)n['’]t\b", r"\1 not"),
    (r"\b([Tt]hey|[Ww]e|[Yy]ou)['’]re\b", r"\1 are"),
    (r"\b([Tt]hey|[Ww]e|[Yy]ou|[Ii]t|[Hh]e|[Ss]he|I)['’]ll\b", r"\1 will"),
    (r"\b([Tt]hey|[Ww]e|[Yy]ou|I)['’]ve\b", r"\1 have"),
    (r"\b([Ii]t|[Tt]here)['’]s (?=(?:a|an|the|not|no|in|on|also|located|open|free|available)\b)", r"\1 is "),
)


_OPENINGS = (
    "Sure, ", "Yes, ", "As far as I can see, ", "From what I found, ", "To answer your question: ", "Good question! ",
    "Just so you know, ", "Right, so ", "Quick note: ", "In short, ", "Here's what I have: ", "Happy to help! ", "Okay, ",
    "Basically, ", "According to the page, ", "The document says that ", "Per the text, ",
)  # fmt: skip


_CLOSINGS = ("", "", "", " :)", " Hope that helps!", " Let me know if you need more.")


def expand(text: str) -> str:
    """The text with long forms: is not, they are."""
    for pattern, long in _LONG:
        text = re.sub(pattern, long, text)
    return text


def apply_register(claims: tuple[str, ...], rng: Random) -> tuple[str, ...]:
    """All twins in one register: as they are, contracted or expanded, with an opening, in lower case."""
    claims = alike_in_all(claims, rng) if rng.random() < 0.25 else claims
    roll, opening = rng.random(), rng.choice(_OPENINGS)
    if roll < 0.62:
        return claims
    if roll < 0.72:
        return tuple(contract(c) for c in claims)
    if roll < 0.78:
        return tuple(expand(c) for c in claims)
    if roll < 0.9:
        closing = rng.choice(_CLOSINGS)
        return tuple(f"{opening}{after_opening(c, opening)}{closing}" for c in claims)
    if roll < 0.94:
        return tuple(headline(c) for c in claims)
    return tuple(stripped(c)[0].lower() for c in claims)


def headline(text: str) -> str:
    """Without articles and full stop, as headlines and notes are."""
    return stripped(re.sub(r"\b(?:the|a|an) (?=\w)", "", re.sub(r"^(?:The|A|An) (?=[a-z])", "", text)))[0]


def alike_in_all(claims: tuple[str, ...], rng: Random) -> tuple[str, ...]:
    """One or two words that all twins share, exchanged for words of the same meaning."""
    words = [w for w in alike() if all(occurrences(c, w) for c in claims)]
    for word in rng.sample(words, min(len(words), 2)):
        other = rng.choice(alike()[word])
        claims = tuple(a_or_an(replace_words(c, word, other)) for c in claims)
    return claims


def after_opening(text: str, opening: str) -> str:
    """The sentence as it continues after an opening."""
    return text if opening.rstrip()[-1] in "!:" else uncapitalised(text)
