"""Sentences to atomic clauses, without a parser: split only where both halves surely stand alone.

A clause keeps its exact place in the text. What is unclear stays whole: a long claim costs some precision, a broken one
is judged wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vista_guard.judges.embedded.english.asides import Clause, asides
from vista_guard.judges.embedded.english.verbs import has_verb, past_adverbs, verb_index, words_of
from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    CLEAR_THIRD_PERSON,
    CLITICS,
    DETERMINERS,
    PRONOUNS,
    SUBORDINATORS,
    THIRD_PERSON,
    is_auxiliary,
    is_past,
    is_pronoun_with_verb,
)

_JOINT = re.compile(
    r"\s*;\s+(?:(?:however|moreover|furthermore|and|but|so)[, ]\s*)?"
    r"|\s*,\s+(?:and|but|so|yet|while|whereas|although|though)\s+"
    r"|\s+(?:and|but|so)\s+|\s+(?:-|–|--)\s+|\s*—\s*|\s*,\s+|\s*\.\.+\s+",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\s*,?\s+(?:and|but)\s+|\s*,\s+", re.IGNORECASE)
_MAX_SENTENCE = 1500
"""Longest sentence, in characters, that is taken apart: what is longer is no prose, and the rules compare many places."""


def clauses(text: str, start: int, end: int) -> Iterator[Clause]:
    """The clauses of the sentence `text[start:end]`, in order."""
    sentence = text[start:end]
    if len(sentence) > _MAX_SENTENCE:
        yield Clause(start, end)
        return
    for part in asides(sentence, start):
        if part.subject:
            yield part
            continue
        whole = text[part.start : part.end]
        for left, right in _independent(whole):
            yield from _cut_coordination(whole, left, right, part.start)


def _independent(sentence: str) -> Iterator[tuple[int, int]]:
    """Cuts at conjunctions, semicolons and dashes that are followed by a clause of its own."""
    begin = 0
    for match in _JOINT.finditer(sentence):
        left, right = sentence[begin : match.start()], sentence[match.end() :]
        if _cuts(match.group(), left, right):
            yield begin, match.start()
            begin = match.end()
    yield begin, len(sentence)


def _cuts(joint: str, left: str, right: str) -> bool:
    words = words_of(left)
    if not words or left.count("(") > left.count(")") or left.count('"') % 2 or not has_verb(left):
        return False
    following = words_of(right[:120])
    if ";" in joint:
        return verb_index(following) is not None or (verb_index(words) is not None and _is_clause(right))
    # "If it rains, it is closed and ...": what hangs on a condition is not said by itself.
    if words[0].lower() in SUBORDINATORS:
        return False
    if joint.strip() == ",":  # a comma splice: only ", it is ..." after a full clause
        opens = (
            words[0].lower() in PRONOUNS | DETERMINERS
            or is_pronoun_with_verb(words[0])
            or verb_index(words) is not None
        )
        return (
            opens
            and len(words) >= 4
            and verb_index(following, nouns=False) is not None
            and following[0].lower() != "that"
        )
    if joint.strip() in ("-", "–", "--", "—"):
        return verb_index(words) is not None and has_verb(right)
    if joint.strip().lower() in ("and", "but", "so"):
        if _is_bare_predicate(words):
            return verb_index(following) is not None
        # No noun is joined with a number: "... in the 1950s and work has gone on".
        if words[-1][0].isdigit() and len(following) > 2 and following[0].islower() and is_auxiliary(following[1]):
            return True
        return verb_index(following, nouns=False) is not None and following[0].lower() != "that"
    return verb_index(following) is not None


def _is_clause(text: str) -> bool:
    """Whether what follows a semicolon is no list item: a few words, then a finite verb, then more."""
    words = words_of(re.split(r"[;,(]", text[:200], maxsplit=1)[0])
    return (
        words[:1] != [] and words[0].lower() not in SUBORDINATORS and any(map(is_past, words[1:5])) and len(words) > 3
    )


def _is_bare_predicate(words: Sequence[str]) -> bool:
    """ "It is old": no noun stands last, so that none can be joined with the next."""
    return (
        len(words) == 3
        and words[0].lower() in PRONOUNS
        and words[1].lower() in ("am", "is", "are", "was", "were")
        and words[2].islower()
    )


def _cut_coordination(sentence: str, left: int, right: int, offset: int) -> Iterator[Clause]:
    """Cuts "X was a and was b" into "X was a" and "X was b" when X is short and clear; "X did a, did b and did c" too."""
    words = words_of(sentence[left:right])
    verb = verb_index(words)
    subject = _subject(sentence[left:right], words, verb) if verb is not None else ""
    joints = list(_LISTED.finditer(sentence, left, right)) if subject else []
    fit = [_same_subject(words[verb or 0], words_of(sentence[joint.end() : right])) for joint in joints]
    begin, said_of = left, ""
    for number, joint in enumerate(joints):
        comma = joint.group().strip() == ","
        if not fit[number] or len(words_of(sentence[begin : joint.start()])) < 2 + (not said_of):
            continue
        # Behind a comma alone a past may be a participle ("opened in 1890, closed by the war"): a list must go on to its "and".
        if comma and not (_is_deed(sentence[joint.end() : right]) and _closes(joints[number + 1 :], fit[number + 1 :])):
            continue
        yield Clause(offset + begin, offset + joint.start(), said_of)
        begin, said_of = joint.end(), subject
    yield Clause(offset + begin, offset + right, said_of)


def _closes(joints: Sequence[re.Match[str]], fit: Sequence[bool]) -> bool:
    return any(fits and joint.group().strip() != "," for joint, fits in zip(joints, fit, strict=True))


def _is_deed(text: str) -> bool:
    """ "painted portraits", not "painted by Vale"."""
    words = words_of(text[:80])
    return len(words) > 1 and words[1].lower() not in ("by", "with", "as", "from", "in", "at", "to", "on")


def _subject(clause: str, words: Sequence[str], verb: int) -> str:
    first = past_adverbs(words, 0)
    if is_pronoun_with_verb(words[verb]):
        return words[verb].rsplit("'", 1)[0]
    if verb == first or words[0].lower() in SUBORDINATORS or words[first].lower() in ("there", "this", "that"):
        return ""
    until = re.search(rf"\b{re.escape(words[verb])}(?!\w)", clause)
    start = clause.find(words[first])
    # An adverb before the verb ("He also was") belongs to the verb.
    end = until.start() if until else 0
    found = clause[start:end].strip()
    tail = found.rsplit(" ", 1)
    return tail[0] if len(tail) == 2 and tail[1].lower() in ADVERBS else found


def _same_subject(verb: str, after: Sequence[str]) -> bool:
    """Whether `after` goes on with the same subject: an auxiliary in the same number, or the same tense."""
    index = past_adverbs(after, 0)
    if index + 1 >= len(after):
        return False
    word, verb = after[index].lower(), verb.lower()
    plural = verb.endswith(("'re", "'ve")) or verb in ("are", "were", "have", "do")
    singular = verb.endswith(("'s", "'m")) or verb in ("is", "was", "has", "does", "am")
    if word in ("are", "were", "have", "do") and singular:
        return False
    if word in ("is", "was", "has", "does") and plural:
        return False
    if is_auxiliary(word):
        return True
    if word in CLEAR_THIRD_PERSON and verb in THIRD_PERSON:
        return True
    return is_past(word) and is_past(verb) and not verb.endswith(CLITICS) and verb not in ("was", "were", "had")
