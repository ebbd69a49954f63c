"""Splits sentences into atomic clauses, without a parser, only if both halves clearly stand alone.

A clause keeps its place in the text. Unclear sentences stay whole: a long claim costs some precision, a broken one gets a
wrong verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vista_guard.judges.embedded.english.asides import MAX_SENTENCE, Clause, asides
from vista_guard.judges.embedded.english.cues import INTRANSITIVE, UNSURE_S, can_be_verb, is_base
from vista_guard.judges.embedded.english.verbs import (
    begins_imperative,
    embeds,
    ends_elliptic,
    ends_with_verb,
    finite_verb,
    hangs_on,
    has_verb,
    is_conditional,
    is_participle,
    is_set,
    past_adverbs,
    shared_words,
    subject_of,
    verb_index,
    words_of,
)
from vista_guard.judges.embedded.english.words import (
    DETERMINERS,
    PRONOUNS,
    SUBORDINATORS,
    is_auxiliary,
    is_past,
    is_pronoun_with_verb,
)

_JOINT = re.compile(
    r"\s*;\s+(?:(?:however|moreover|furthermore|and|but|so)[, ]\s*)?"
    r"|\s*,\s+(?:and|but|so|yet|while|whereas|although|though|however,?|and\s+then|then)\s+"
    r"|\s+(?:and\s+then|and|but|so)\s+|\s+(?:-|–|--)\s+|\s*—\s*|\s*,\s+|\s*\.\.+\s+",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\s*,?\s+(?:and|but)\s+(?:then\s+)?|\s*,\s+", re.IGNORECASE)
_AHEAD = 120
"""Characters of a clause that are read to recognise it."""


def clauses(text: str, start: int, end: int) -> Iterator[Clause]:
    """The clauses of the sentence `text[start:end]`, in order."""
    sentence = text[start:end]
    if len(sentence) > MAX_SENTENCE:
        yield Clause(start, end)
        return
    for part in asides(sentence, start):
        if part.subject:
            yield from _cut_coordination(text, part.start, part.end, 0, part.subject)
            continue
        whole = text[part.start : part.end]
        for left, right in _split_independent(whole):
            if is_set(whole[left:right]):
                yield Clause(part.start + left, part.start + right)
            else:
                yield from _clauses_within(whole[left:right], part.start + left)


def _clauses_within(sentence: str, offset: int) -> Iterator[Clause]:
    """The clauses of a part that stands alone."""
    for left, right in _split_at_and(sentence):
        yield from _cut_coordination(sentence, left, right, offset)


def _split_independent(sentence: str) -> Iterator[tuple[int, int]]:
    """Cuts at conjunctions, semicolons and dashes before an independent clause."""
    yield from _split_at(sentence, [joint for joint in _JOINT.finditer(sentence) if not _is_plain(joint)])


def _split_at_and(sentence: str) -> Iterator[tuple[int, int]]:
    """Cuts at an "and" without a comma, which joins clauses more closely."""
    yield from _split_at(sentence, [joint for joint in _JOINT.finditer(sentence) if _is_plain(joint)])


def _is_plain(joint: re.Match[str]) -> bool:
    return joint.group().strip().lower() in ("and", "but", "so", "and then")


def _split_at(sentence: str, joints: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in joints:
        left, right = sentence[begin : match.start()], sentence[match.end() :]
        if _cuts(match.group(), left, right):
            yield begin, match.start()
            begin = match.end()
    yield begin, len(sentence)


def _cuts(joint: str, left: str, right: str) -> bool:
    words = words_of(left)
    if not words or _is_open(left):
        return False
    following = words_of(right[:_AHEAD])
    if not following:
        return False
    if _are_orders(joint, left, words, following):
        return True
    if not _has_verb(left):
        return False
    if ";" in joint:
        return (
            finite_verb(following) is not None
            or begins_imperative(following)
            or (verb_index(words) is not None and has_verb(right) and following[0].lower() not in SUBORDINATORS)
        )
    # "If it rains, it is closed and ...": the consequence is no claim by itself.
    if words[0].lower() in SUBORDINATORS or is_conditional(left):
        return False
    if joint.strip() == ",":
        return _is_splice(left, words, following)
    if joint.strip() in ("-", "–", "--", "—"):
        return verb_index(words) is not None and has_verb(right)
    if joint.strip().lower() in ("and", "but", "so", "and then"):
        return _are_clauses(left, words, following, right)
    if _lists(left, following) or ("then" in joint.lower() and embeds(words, 1)):
        return False
    return finite_verb(following, joined=True) is not None and not ends_elliptic(_phrase(following))


def _has_verb(text: str) -> bool:
    return has_verb(text) or finite_verb(words_of(text)) is not None


def _lists(left: str, following: Sequence[str]) -> bool:
    """True if the last comma before a joint separates list items, so that a bare noun behind the joint is one more."""
    _, comma, last = left.rpartition(", ")
    return comma != "" and len(words_of(last)) < 3 and following[0].lower() not in DETERMINERS | PRONOUNS


def _is_open(left: str) -> bool:
    """True inside a bracket, quotation or Markdown emphasis, where no clause can end."""
    return (
        left.count("(") > left.count(")")
        or left.count("[") > left.count("]")
        or any(left.count(mark) % 2 for mark in ('"', "`", "**"))
    )


def _are_orders(joint: str, left: str, words: Sequence[str], following: Sequence[str]) -> bool:
    """ "Open the app and tap My seat" are two; behind "to" ("call to cancel and get it back") the verb may belong to that one."""
    if joint.strip() in ("-", "–", "--", "—") or not begins_imperative(following):
        return False
    if not begins_imperative([words[0].lower(), *words[1:]]) or len(words) < 3 or len(_phrase(following)) < 3:
        return False
    if _shares_object(words) or (joint.strip() == "," and embeds(words_of(left.rpartition(", ")[2])[:2], 0)):
        return False
    return not _has_infinitive(words)


def _has_infinitive(words: Sequence[str]) -> bool:
    places = (index for index, word in enumerate(words) if word.lower() == "to")
    return any(is_base("".join(words[past_adverbs(words, place + 1) :][:1])) for place in places)


def _is_splice(left: str, words: Sequence[str], following: Sequence[str]) -> bool:
    """True if a comma alone joins two clauses: ", it is ..." after a full clause, or a noun with its verb right behind it."""
    opens = (
        words[0].lower() in PRONOUNS | DETERMINERS or is_pronoun_with_verb(words[0]) or verb_index(words) is not None
    )
    if opens and len(words) >= 4 and verb_index(following, nouns=False) is not None and following[0].lower() != "that":
        return True
    verb = finite_verb(words)
    phrase = _phrase(following)
    if verb is None or len(words) - verb < 2 or embeds(words, verb, nouns=True) or ends_elliptic(phrase):
        return False
    if not _has_verb(left.rpartition(", ")[2]) or following[0].lower() == "that":
        return False
    return finite_verb(phrase) is not None and not {"and", "or"} & {
        word.lower() for word in phrase[: finite_verb(phrase)]
    }


def _are_clauses(left: str, words: Sequence[str], following: Sequence[str], right: str) -> bool:
    """True if "and", without a comma, joins two clauses rather than two nouns."""
    if _is_bare_predicate(words):
        return verb_index(following) is not None
    # "and" joins no noun with a number: "... in the 1950s and work has gone on".
    if words[-1][0].isdigit() and len(following) > 2 and following[0].islower() and is_auxiliary(following[1]):
        return True
    if verb_index(following, nouns=False) is not None and following[0].lower() != "that":
        return True
    verb = finite_verb(words)
    if verb is None or len(words) - verb < 2 or embeds(words, verb, nouns=True) or hangs_on(right):
        return False
    if not _has_verb(left.rpartition(", ")[2]) or words[-1].lower() in DETERMINERS:
        return False
    return finite_verb(following) is not None and not ends_elliptic(_phrase(following))


def _phrase(words: Sequence[str]) -> Sequence[str]:
    """The words up to the first punctuation mark."""
    return words[: next((index for index, word in enumerate(words) if not word[0].isalnum()), len(words))]


def _is_bare_predicate(words: Sequence[str]) -> bool:
    """ "It is old": no noun at the end that "and" could join with the next."""
    return (
        len(words) == 3
        and words[0].lower() in PRONOUNS
        and words[1].lower() in ("am", "is", "are", "was", "were")
        and words[2].islower()
    )


def _cut_coordination(sentence: str, left: int, right: int, offset: int, said_of: str = "") -> Iterator[Clause]:
    """Cuts "X was a and was b" into "X was a" and "X was b" if X is short and clear; "X did a, did b and did c" too.

    `said_of`: the subject, if it is elsewhere and the text begins with its verb.
    """
    words = words_of(sentence[left:right])
    verb = finite_verb(words)
    subject = subject_of(sentence[left:right], words, verb) if verb is not None else ""
    if said_of:
        verb, subject = 0, said_of if words and can_be_verb(words[0]) else ""
    joints = list(_LISTED.finditer(sentence, left, right)) if subject else []
    fit = [_predicate(sentence, left, right, joint, words, verb or 0) for joint in joints]
    if (
        fit
        and fit[-1] is None
        and any(predicate == "" and _is_comma(joint) for predicate, joint in zip(fit, joints, strict=True))
    ):
        # "has a screen, weighs 180 g and supports charging": in a list of verbs, "supports" is no noun.
        last = words_of(sentence[joints[-1].end() : right][:_AHEAD])
        fit[-1] = "" if len(last) > 1 and last[0].lower() in UNSURE_S and not _is_comma(joints[-1]) else None
    begin = left
    for number, joint in enumerate(joints):
        shared = fit[number]
        if shared is None or len(words_of(sentence[begin : joint.start()])) < 2 + (not said_of):
            continue
        # Behind a comma alone a past may be a participle ("opened in 1890, closed by the war"): a list must go on to its "and".
        if _is_comma(joint) and not (
            _is_deed(sentence[joint.end() : right]) and _closes(joints[number + 1 :], fit[number + 1 :])
        ):
            continue
        yield Clause(offset + begin, offset + joint.start(), said_of)
        begin, said_of = joint.end(), f"{subject} {shared}".rstrip()
    yield Clause(offset + begin, offset + right, said_of)


def _predicate(
    sentence: str, left: int, right: int, joint: re.Match[str], words: Sequence[str], verb: int
) -> str | None:
    """The words that a second predicate shares with the first; None if no predicate with the same subject follows."""
    after = words_of(sentence[joint.end() : min(right, joint.end() + _AHEAD)])
    before = sentence[left : joint.start()]
    left_words = words_of(before)
    if (
        _is_open(before)
        or len(left_words) <= verb
        or _shares_object(left_words)
        or embeds(left_words, verb)
        or hangs_on(sentence[joint.end() : right])
    ):
        return None
    return None if ends_elliptic(_phrase(after)) else shared_words(words, verb, before, after)


def _shares_object(words: Sequence[str]) -> bool:
    """ "It is owned and run by Vale", "close and save it": the object of the second verb is the first's, too."""
    return ends_with_verb(words) or (len(words) > 1 and is_auxiliary(words[-2]) and is_participle(words[-1]))


def _is_comma(joint: re.Match[str]) -> bool:
    return joint.group().strip() == ","


def _closes(joints: Sequence[re.Match[str]], fit: Sequence[str | None]) -> bool:
    return any(fits is not None and not _is_comma(joint) for joint, fits in zip(joints, fit, strict=True))


def _is_deed(text: str) -> bool:
    """ "painted portraits", not "painted by Vale"; a verb in the present is no participle."""
    words = words_of(text[:80])
    if words and (not is_past(words[0]) or words[0].lower() in INTRANSITIVE):
        return True
    return len(words) > 1 and words[1].lower() not in ("by", "with", "as", "from", "in", "at", "to", "on")
