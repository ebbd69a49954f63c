"""What holds for more than one clause: a condition or a time that opens a sentence, a condition that ends it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vista_guard.judges.embedded.english.grammar.finite import begins_imperative, finite_verb
from vista_guard.judges.embedded.english.grammar.lexicon import REPORTING, SAYING, can_be_verb
from vista_guard.judges.embedded.english.verbs import has_verb, words_of
from vista_guard.judges.embedded.english.words import PRONOUNS, is_pronoun_with_verb, word_set

_CONDITION = re.compile(
    r"(?P<word>if|unless|when|whenever|once|provided that|as long as|in case)\s[^,;:()\"]{2,200}", re.IGNORECASE
)
_SETTING = re.compile(
    r"(?!(?:for (?:example|instance|one|now)|at (?:least|first)"
    r"|in (?:addition|fact|short|general|particular|other words|contrast|conclusion|total)"
    r"|on the (?:other|one) hand|with that|without further|in that case|after all|by contrast|for this reason)\b)"
    r"(?:on|in|at|for|from|during|until|since|between|with|without|after|before|within|by|outside|under)\s[^,;:()\"]{2,120}",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(r"\s*[,;]\s+(?:or\s+)?otherwise,?\s+|\.\s+otherwise,?\s+", re.IGNORECASE)
_TRAILING = re.compile(
    r"\s(?:if|unless|provided|providing|except|as long as|only when|because|since(?! \d)|whether|so that|in case)\s",
    re.IGNORECASE,
)
_SUBORDINATE = word_set(
    "that if because when who which whether how why where what although unless whenever whose whom provided once"
)
_MOST_WORDS = 14
"""Longest lead-in, in words, that is said with each of its items."""
_MOST = 400
"""Longest sentence, in characters, whose opening is said again with each of its clauses."""


def opening(sentence: str) -> int:
    """Where the sentence goes on behind a condition, a time or a place that opens it; 0 where none does.

    The comma must end it, and a clause or an order must follow.
    """
    if len(sentence) > _MOST:
        return 0
    match = _CONDITION.match(sentence) or _SETTING.match(sentence)
    if match is None:
        return 0
    if not sentence.startswith(", ", match.end()) or _OTHERWISE.match(sentence, match.end()):
        return _without_comma(match, sentence)
    after = match.end() + 2
    words = words_of(sentence[after : after + 160])
    return after if finite_verb(words) is not None or begins_imperative(words) else 0


def alternative(sentence: str) -> tuple[int, int, str] | None:
    """Where "If X, A, otherwise B" breaks off before and goes on behind "otherwise", and what B hangs on: "Unless X," """
    begins = opening(sentence)
    condition = _CONDITION.match(sentence)
    other = _OTHERWISE.search(sentence, begins) if begins and condition else None
    if other is None or condition is None or condition["word"].lower() not in ("if", "unless"):
        return None
    supposed = sentence[:begins].rstrip(" ,")[len(condition["word"]) :]
    opposite = "Unless" if condition["word"].lower() == "if" else "If"
    return other.start(), other.end(), f"{opposite}{supposed},"


def is_opening(lead: str) -> bool:
    """Whether a lead-in is or begins with a condition, a time or a place, which holds for each item: "If you are under 26:"."""
    words = words_of(lead)
    if _CONDITION.match(lead):
        return len(words) <= _MOST_WORDS
    return len(words) <= _MOST_WORDS // 2 and _SETTING.match(lead) is not None and not has_verb(lead)


def is_conditional(text: str) -> bool:
    """Whether a clause, or what a colon announces in it, opens with a condition: "Option 2: if you ..."."""
    opens = text.rsplit(": ", 1)[-1]
    return _CONDITION.match(opens) is not None or words_of(opens[:20])[:1] in (["while"], ["although"], ["though"])


def hangs_on(right: str) -> bool:
    """Whether a clause ends with a condition or a cause, which may be one of the clause before, too."""
    return _TRAILING.search(right) is not None


def embeds(words: Sequence[str], verb: int, *, nouns: bool = False) -> bool:
    """Whether a clause within the sentence is open behind its verb, so that what follows may go on with that one.

    `nouns`: a noun follows, which any verb may have as its object that can also have a clause ("requires the gym and the pool").
    """
    opening_verbs = REPORTING if nouns else SAYING
    return any(word.lower() in _SUBORDINATE or word.lower() in opening_verbs for word in words[verb:])


def says_again(begun: str, right: str) -> bool:
    """Whether `right` has a time or place of its own, so that the one that opens the sentence may not hold for it."""
    word = begun.split(" ", 1)[0].lower()
    return re.search(rf"\b{re.escape(word)}\b", right, re.IGNORECASE) is not None


def _without_comma(match: re.Match[str], sentence: str) -> int:
    """ "If you book online you'll save 10%": a second subject with its verb begins what follows."""
    if match.re is not _CONDITION:
        return 0
    found = [*re.finditer(r"\S+", sentence[: match.end()])]
    for number, word in enumerate(found[2:], start=2):
        again = word.group().lower() == found[1].group().lower() and word.group().lower() in PRONOUNS
        if is_pronoun_with_verb(word.group()) or (
            again and number + 1 < len(found) and can_be_verb(found[number + 1].group())
        ):
            return word.start()
    return 0
