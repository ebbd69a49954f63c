"""Sentences to atomic clauses, without a parser: split only where both halves surely stand alone.

A clause keeps its exact place in the text. What is unclear stays whole: a long claim costs some precision, a broken one
is judged wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from vista_guard.judges.embedded.words import (
    ADVERBS,
    CLEAR_THIRD_PERSON,
    CLITICS,
    DETERMINERS,
    NOT_IN_SUBJECT,
    PRONOUNS,
    SUBORDINATORS,
    is_auxiliary,
    is_past,
    is_pronoun_with_verb,
    is_verb,
)


@dataclass(frozen=True)
class Clause:
    """Text `start:end` of the turn, said of `subject` when the subject stands elsewhere in the sentence."""

    start: int
    end: int
    subject: str = ""


_TOKEN = re.compile(r"[^\W_](?:[\w'&.-]*\w)?|[,;:()\"]")
_JOINT = re.compile(
    r"\s*;\s+(?:(?:however|moreover|furthermore|and|but|so)[, ]\s*)?"
    r"|\s*,\s+(?:and|but|so|yet|while|whereas|although|though)\s+"
    r"|\s+(?:and|but|so)\s+|\s+(?:-|–|--)\s+|\s*—\s*|\s*,\s+|\s*\.\.+\s+",
    re.IGNORECASE,
)
_CONJUNCTION = re.compile(r"\s*,?\s+(?:and|but)\s+", re.IGNORECASE)
_NAME = r"(?:(?:[Tt]he\s+)?\b[A-Z][\w'.-]{0,40}\w(?:\s+(?:of\s+(?:the\s+)?)?[A-Z][\w'.-]{0,40}\w){0,5})"
_RELATIVE = re.compile(rf"(?P<name>{_NAME}),\s+(?:who|which)\s+(?P<said>[^,;:()]+?)(?=,\s|[.!?]*$)")
_APPOSITION = re.compile(rf"^(?P<name>{_NAME}),\s+(?P<said>(?:an?|the)\s+[^,;:()]+),\s+(?P<rest>\w.*)$", re.DOTALL)
_MAX_SENTENCE = 1500
"""Longest sentence, in characters, that is taken apart: what is longer is no prose, and the rules compare many places."""
_MAX_SUBJECT = 6
"""Longest subject, in words, that a verb is looked for behind."""


def clauses(text: str, start: int, end: int) -> Iterator[Clause]:
    """The clauses of the sentence `text[start:end]`, in order."""
    sentence = text[start:end]
    if len(sentence) > _MAX_SENTENCE:
        yield Clause(start, end)
        return
    rest = yield from _asides(sentence, start)
    if isinstance(rest, Clause):
        yield rest
        return
    sentence = sentence[:rest]
    for left, right in _independent(sentence):
        yield from _coordinated(sentence, left, right, start)


def verb_index(words: Sequence[str], *, nouns: bool = True) -> int | None:
    """Where the finite verb stands when `words` surely begin a clause: a subject, then its verb. Else None."""
    first = _past_adverbs(words, 0)
    if first >= len(words):
        return None
    if is_pronoun_with_verb(words[first]):
        return first
    if words[first].lower() in PRONOUNS:
        second = _past_adverbs(words, first + 1)
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


def _past_adverbs(words: Sequence[str], index: int) -> int:
    while index < len(words) and words[index].lower() in ADVERBS:
        index += 1
    return index


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
        return verb_index(following) is not None
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
        return verb_index(following, nouns=False) is not None and following[0].lower() != "that"
    return verb_index(following) is not None


def _coordinated(sentence: str, left: int, right: int, offset: int) -> Iterator[Clause]:
    """Cuts "X was a and was b" into "X was a" and "X was b" when X is short and clear."""
    words = words_of(sentence[left:right])
    verb = verb_index(words)
    subject = _subject(sentence[left:right], words, verb) if verb is not None else ""
    begin, said_of = left, ""
    for match in _CONJUNCTION.finditer(sentence, left, right):
        before, after = sentence[begin : match.start()], words_of(sentence[match.end() : right])
        if subject and _same_subject(words[verb or 0], after) and len(words_of(before)) >= 3:
            yield Clause(offset + begin, offset + match.start(), said_of)
            begin, said_of = match.end(), subject
    yield Clause(offset + begin, offset + right, said_of)


def _past_index(words: Sequence[str]) -> int | None:
    """Where the past tense stands in "The museum opened in 1925": a short subject, and no auxiliary further on.

    With one, the past is a participle: "the museum opened in 1925 is".
    """
    phrase = list(takewhile(lambda word: word[0].isalnum(), words))
    first = _past_adverbs(words, 0)
    if any(map(is_auxiliary, phrase)):
        return None
    for index in range(first + 1, min(first + 4, len(phrase) - 1)):
        if is_past(words[index]):
            return index
        if words[index].lower() in NOT_IN_SUBJECT or not words[index][0].isalnum():
            return None
    return None


def _subject(clause: str, words: Sequence[str], verb: int) -> str:
    first = _past_adverbs(words, 0)
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
    """Whether `after` goes on with the same subject: an auxiliary in the same number, or a past after a past."""
    index = _past_adverbs(after, 0)
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
    return is_past(word) and is_past(verb) and not verb.endswith(CLITICS) and verb not in ("was", "were", "had")


def _asides(sentence: str, offset: int) -> Generator[Clause, None, Clause | int]:
    """ "X, which did Y, ..." and "X, a Y, ...": what is said of X in passing.

    Returns what is left: a clause of its own, or how much of the sentence still has to be taken apart.
    """
    apposition = _APPOSITION.match(sentence)
    if apposition and _goes_on(apposition["rest"]) and not re.search(r"\b(?:and|or)\b", apposition["said"]):
        verb = "was" if is_past(words_of(apposition["rest"])[0]) else "is"
        yield Clause(offset + apposition.start("said"), offset + apposition.end("said"), f"{apposition['name']} {verb}")
        return Clause(offset + apposition.start("rest"), offset + len(sentence), apposition["name"])
    for match in _RELATIVE.finditer(sentence):
        rest = sentence[match.end() :].lstrip(", ")
        if not _goes_on(match["said"]):
            continue
        yield Clause(offset + match.start("said"), offset + match.end("said"), match["name"])
        if match.start() == 0 and _goes_on(rest):
            return Clause(offset + len(sentence) - len(rest), offset + len(sentence), match["name"])
        if not words_of(rest):
            return match.end("name")
    return len(sentence)


def _goes_on(text: str) -> bool:
    """Whether `text` is a verb with something behind it."""
    words = words_of(text)
    index = _past_adverbs(words, 0)
    return index + 1 < len(words) and is_verb(words[index])
