"""Second predicates of a subject ("and closes at 5"), and conditions or times that hold for several clauses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vista_guard.judges.embedded.english.cues import (
    CLEAR_S,
    INTRANSITIVE,
    REPORTING,
    SAYING,
    UNSURE_S,
    can_be_verb,
    is_clear_base,
    is_unsure_base,
)
from vista_guard.judges.embedded.english.verbs import (
    begins_imperative,
    finite_verb,
    has_verb,
    is_counted,
    is_participle,
    is_third,
    may_be_third,
    past_adverbs,
    words_of,
)
from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    CLEAR_THIRD_PERSON,
    CLITICS,
    DETERMINERS,
    PASTS,
    PRONOUNS,
    SUBORDINATORS,
    THIRD_PERSON,
    is_auxiliary,
    is_past,
    is_pronoun_with_verb,
    word_set,
)

_BE = word_set("is are was were be been isn't aren't wasn't weren't")
_MODALS = word_set("can could will would shall should may might must cannot can't won't")
_AGENTS = word_set("by in at on as from with for to")


def subject_of(clause: str, words: Sequence[str], verb: int) -> str:
    """The subject of a clause whose verb is `words[verb]`; nothing where no second predicate could be said of it."""
    first = past_adverbs(words, 0)
    if is_pronoun_with_verb(words[verb]):
        return words[verb].rsplit("'", 1)[0]
    if verb == first or words[0].lower() in SUBORDINATORS or words[first].lower() in ("there", "this", "that"):
        return ""
    until = re.search(rf"(?<![\w'-]){re.escape(words[verb])}(?!\w)", clause)
    start = clause.find(words[first])
    # What a name is set in belongs to it: `app.py`, "Pay later".
    while start > 0 and clause[start - 1] in "`*_\"'./-£$€":
        start -= 1
    # An adverb before the verb ("He also was") belongs to the verb.
    end = until.start() if until else 0
    found = clause[start:end].strip()
    tail = found.rsplit(" ", 1)
    return tail[0] if len(tail) == 2 and tail[1].lower() in ADVERBS else found


def goes_on(words: Sequence[str], verb: int, before: str, after: Sequence[str]) -> str | None:
    """The words between the subject and a further predicate `after`: none, or the shared auxiliary.

    `words` is the clause, its verb at `verb`; `before` is what stands between that verb and the joint. None: it is none.
    """
    if _same_subject(words[verb], after):
        return ""
    index = past_adverbs(after, 0)
    if index + 1 >= len(after):
        return None
    main = words[verb].lower()
    if main in _MODALS:
        apart = not re.search(r",|\bto\s+[a-z]|\b(?:help|let|make|have)\b", before)
        return words[verb] if is_clear_base(after[index]) and apart else None
    if main in _BE and is_participle(after[index]):
        return _passive(words, verb, after, index)
    return "" if _agrees(main, before, after, index) else None


def _passive(words: Sequence[str], verb: int, after: Sequence[str], index: int) -> str | None:
    """ "was written by Vale and published by Orbit" shares its "was"; "was born in Oslo, moved to Bergen" does not."""
    word, following = after[index].lower(), after[index + 1].lower()
    if word in INTRANSITIVE or (word in PASTS and not is_participle_only_form(word)):
        return "" if words[verb].lower() in ("was", "were") else None
    if words[verb].lower() in ("was", "were") and (following in DETERMINERS or after[index + 1][0].isdigit()):
        return ""
    behind = past_adverbs(words, verb + 1)
    if following in _AGENTS and behind < len(words) and is_participle(words[behind]):
        return words[verb]
    return None


def is_participle_only_form(word: str) -> bool:
    """True if a past form is a participle as well: "sold", but not "wrote"."""
    return is_participle(word) and word not in _PASTS_ONLY


_PASTS_ONLY = word_set(
    """ate became began broke chose did drank drew drove fell flew forgot gave grew knew rose sang saw shot spoke stole swam
    took tore went wore wrote won"""
)


def _agrees(main: str, before: str, after: Sequence[str], index: int) -> bool:
    """True if a present-tense verb continues the verb `main` in the same person."""
    word = after[index]
    if main in CLEAR_S | UNSURE_S | THIRD_PERSON or main in ("is", "has", "does", "isn't", "doesn't"):
        measured = (
            re.search(r"\b(?:\d\S*|one|two|three|four|five|six|seven|eight|nine|ten|twelve)(?:\s\w+){0,2}$", before)
            is not None
        )
        last = "" if measured else (words_of(before) or [""])[-1]
        return is_third(word) or may_be_third(after, index, last)
    plural = main in ("are", "have", "aren't", "haven't") or is_clear_base(main) or is_unsure_base(main)
    return plural and (is_clear_base(word) or (is_unsure_base(word) and is_counted(after[index + 1])))


def _same_subject(verb: str, after: Sequence[str]) -> bool:
    """True if `after` has the same subject: an auxiliary in the same number, or the same tense."""
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


def is_opening(lead: str) -> bool:
    """True if a lead-in begins with a condition, a time or a place that holds for each item: "If you are under 26:"."""
    words = words_of(lead)
    if _CONDITION.match(lead):
        return len(words) <= _MOST_WORDS
    return len(words) <= _MOST_WORDS // 2 and _SETTING.match(lead) is not None and not has_verb(lead)


def is_conditional(text: str) -> bool:
    """True if a clause, or the part after its colon, opens with a condition: "Option 2: if you ..."."""
    opens = text.rsplit(": ", 1)[-1]
    return _CONDITION.match(opens) is not None or words_of(opens[:20])[:1] in (["while"], ["although"], ["though"])


def hangs_on(right: str) -> bool:
    """True if a clause ends with a condition or a cause, which the clause before may share."""
    return _TRAILING.search(right) is not None


def embeds(words: Sequence[str], verb: int, *, nouns: bool = False) -> bool:
    """True if a subordinate clause is open behind its verb, so that later words may belong to it.

    `nouns`: a noun follows, which any verb may have as its object that can also have a clause ("requires the gym and the pool").
    """
    opening_verbs = REPORTING if nouns else SAYING
    return any(word.lower() in _SUBORDINATE or word.lower() in opening_verbs for word in words[verb:])


def says_again(begun: str, right: str) -> bool:
    """True if `right` has its own time or place, so that the sentence's opening one may not hold for it."""
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
