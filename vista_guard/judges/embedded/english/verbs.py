"""Where a clause's finite verb stands, told from closed lists alone. What is not sure is answered with None."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    CLEAR_THIRD_PERSON,
    DETERMINERS,
    NOT_IN_SUBJECT,
    PRONOUNS,
    is_auxiliary,
    is_past,
    is_pronoun_with_verb,
    is_verb,
)

_TOKEN = re.compile(r"[^\W_](?:[\w'&.-]*\w)?|[,;:()\"]")
_MAX_SUBJECT = 6
"""Longest subject, in words, that a verb is looked for behind."""


def verb_index(words: Sequence[str], *, nouns: bool = True) -> int | None:
    """Where the finite verb stands when `words` surely begin a clause: a subject, then its verb. Else None."""
    first = past_adverbs(words, 0)
    if first >= len(words):
        return None
    if is_pronoun_with_verb(words[first]):
        return first
    if words[first].lower() in PRONOUNS:
        second = past_adverbs(words, first + 1)
        return second if second < len(words) and is_verb(words[second]) else None
    if not nouns or not (words[first].lower() in DETERMINERS or words[first][:1].isupper()):
        return None
    for index in range(first + 1, min(first + 1 + _MAX_SUBJECT, len(words))):
        if is_auxiliary(words[index]) or words[index].lower() in CLEAR_THIRD_PERSON:
            return index
        if words[index].lower() in NOT_IN_SUBJECT or not words[index][0].isalnum():
            break
    return _past_index(words)


def words_of(text: str) -> list[str]:
    """Words and the punctuation that ends a phrase."""
    return _TOKEN.findall(text)


def has_verb(text: str) -> bool:
    """Whether a finite verb follows at least one other word."""
    words = words_of(text)
    return verb_index(words) is not None or any(is_verb(word) or is_pronoun_with_verb(word) for word in words[1:])


def past_adverbs(words: Sequence[str], index: int) -> int:
    """The first index from `index` on that is no adverb."""
    while index < len(words) and words[index].lower() in ADVERBS:
        index += 1
    return index


def _past_index(words: Sequence[str]) -> int | None:
    """Where the past tense stands in "The museum opened in 1925": a short subject, and no auxiliary further on.

    With one, the past is a participle: "the museum opened in 1925 is".
    """
    phrase = list(takewhile(lambda word: word[0].isalnum(), words))
    first = past_adverbs(words, 0)
    if any(map(is_auxiliary, phrase)):
        return None
    for index in range(first + 1, min(first + 4, len(phrase) - 1)):
        if is_past(words[index]):
            return index
        if words[index].lower() in NOT_IN_SUBJECT or not words[index][0].isalnum():
            return None
    return None
