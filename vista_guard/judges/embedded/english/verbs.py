"""Finds a clause's finite verb from closed lists alone, None when unsure, and second predicates of its subject.

A word that may be a noun is a verb only if it agrees with the noun before it and a complement follows: "children under 6
travel free". A second predicate ("and closes at 5") has the subject of the first; a condition or time may hold for
several clauses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import takewhile

from vista_guard.judges.embedded.english.cues import (
    CLEAR_S,
    FUNCTION_WORDS,
    INTRANSITIVE,
    PREPOSITIONS,
    REPORTING,
    SAYING,
    UNSURE_S,
    can_be_verb,
    is_base,
    is_clear_base,
    is_plural,
    is_unsure_base,
)
from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    CLEAR_THIRD_PERSON,
    CLITICS,
    DETERMINERS,
    NOT_IN_SUBJECT,
    PASTS,
    PRONOUNS,
    SUBORDINATORS,
    THIRD_PERSON,
    is_auxiliary,
    is_past,
    is_pronoun_with_verb,
    is_verb,
    word_set,
)

_TOKEN = re.compile(r"[^\W_](?:[\w'&.-]*\w)?|[,;:()\"]")
_MAX_SUBJECT = 6
"""Longest subject, in words, to search for a verb behind."""


def verb_index(words: Sequence[str], *, nouns: bool = True) -> int | None:
    """Index of the finite verb if `words` clearly begin a clause: a subject, then its verb. Else None."""
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
        is_verb_form = is_auxiliary(words[index]) or words[index].lower() in CLEAR_THIRD_PERSON
        if is_verb_form and not _is_time(words, index):
            return index
        if words[index].lower() in NOT_IN_SUBJECT or not words[index][0].isalnum():
            break
    return _past_index(words)


def words_of(text: str) -> list[str]:
    """Words and phrase-ending punctuation."""
    return _TOKEN.findall(text)


def has_verb(text: str) -> bool:
    """True if a finite verb follows at least one other word."""
    words = words_of(text)
    return verb_index(words) is not None or any(is_verb(word) or is_pronoun_with_verb(word) for word in words[1:])


def past_adverbs(words: Sequence[str], index: int) -> int:
    """The first index from `index` on that is not an adverb."""
    while index < len(words) and words[index].lower() in ADVERBS:
        index += 1
    return index


def _past_index(words: Sequence[str]) -> int | None:
    """Index of the past tense in "The museum opened in 1925": a short subject, and no auxiliary behind.

    With an auxiliary, the past form is a participle: "the museum opened in 1925 is".
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


_MOST_WORDS = 10
"""Longest subject, in words, in `finite_verb`."""
_ENDS_SUBJECT = SUBORDINATORS | word_set(
    "that who which whose whom and or but than so because if yet i he she it we they"
)
_FREE = word_set("free well less more half double extra twice only up to about around nothing")
_PLURAL_AUXILIARIES = word_set("are were have do aren't weren't haven't don't")
_SINGULAR_AUXILIARIES = word_set("is was has does isn't wasn't hasn't doesn't")
_MANY = DETERMINERS & word_set("many some most all several few other") | word_set("these those both")
_NUMBER_WORDS = word_set(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred"
)
_ARTICLES = word_set("the a an its his her their my your our")
_NOT_SUBJECTS = word_set("please then not no-one there here")


def finite_verb(words: Sequence[str], *, joined: bool = False) -> int | None:
    """Index of the finite verb if `words` begin a clause; like `verb_index`, but also with bare nouns as subject.

    `joined`: the subject may be two nouns ("the southern and the alpine areas").
    """
    place = verb_index(words)
    if place is not None and _is_adjective(words, place):
        place = None
    if place is not None and _agrees_with_subject(words, place) and not _has_relative(words, place):
        return place
    first = past_adverbs(words, 0)
    if place is not None or first >= len(words) or not _opens_subject(words[first]):
        return None
    for index in range(first + 1, min(first + 1 + _MOST_WORDS, len(words))):
        word = words[index]
        if _is_finite(words, first, index):
            return None if _has_relative(words, index) else index
        if joined and word.lower() == "and":
            continue
        if word.lower() in _ENDS_SUBJECT or not word[0].isalnum() or is_pronoun_with_verb(word):
            return None
    return None


def begins_imperative(words: Sequence[str]) -> bool:
    """True for instructions: "tap the button", "do not use it"; false for a noun ("tap water")."""
    lower = [word.lower() for word in words[:5]]
    while lower and lower[0] in ("please", "then", "always", "never", "just", "simply"):
        lower = lower[1:]
    skipped = len(words[:5]) - len(lower)
    if len(lower) < 2:
        return False
    if lower[0] == "don't" or lower[:2] == ["do", "not"]:
        return True
    if is_clear_base(lower[0]):
        return not is_auxiliary(lower[1])
    return is_unsure_base(lower[0]) and _takes_object(words[skipped + 1])


def ends_elliptic(words: Sequence[str]) -> bool:
    """True if a clause ends with its auxiliary, so that its meaning is elsewhere: "electricity is not"."""
    lowered = [word.lower() for word in words if word[0].isalnum()]
    while lowered and lowered[-1] in ("not", "too", "either", "so"):
        lowered.pop()
    return bool(lowered) and is_auxiliary(lowered[-1])


def is_third(word: str) -> bool:
    """True if `word` is surely a third person singular verb."""
    return word.lower() in CLEAR_S


def may_be_third(words: Sequence[str], index: int, before: str) -> bool:
    """True if the word at `index` could be a third person or a plural noun, and its neighbours suggest a verb.

    `before` is the word before it: behind a plural noun, "prints" is one more thing that a shop sells.
    """
    if words[index].lower() not in UNSURE_S or index + 1 >= len(words):
        return False
    following = words[index + 1]
    return is_counted(following) or (_takes_object(following) and not is_plural(before))


def _is_adjective(words: Sequence[str], index: int) -> bool:
    """True if a past form describes a noun: "a limited edition", "the free guided tour of the hall"."""
    first = past_adverbs(words, 0)
    if words[first].lower() not in DETERMINERS or not is_past(words[index]) or is_auxiliary(words[index]):
        return False
    if words[index].lower() in PASTS | INTRANSITIVE:
        return False
    before, after = words[index - 1].lower(), words[index + 1]
    return before in DETERMINERS or before.endswith("ly") or not (_takes_object(after) or after.endswith("ing"))


def _has_relative(words: Sequence[str], verb: int) -> bool:
    """True if a subject has a relative clause without "that": "the first time the company goes public"."""
    articles = (index for index in range(2, verb) if words[index].lower() in _ARTICLES)
    return any(words[index - 1].lower() not in PREPOSITIONS | DETERMINERS | {"and"} for index in articles)


def _opens_subject(word: str) -> bool:
    lower = word.lower()
    if is_clear_base(word):
        return False
    if lower in _NOT_SUBJECTS or lower in SUBORDINATORS or lower in PREPOSITIONS or is_auxiliary(word):
        return False
    return lower not in PRONOUNS and word[0].isalnum()


def _is_finite(words: Sequence[str], first: int, index: int) -> bool:
    """True if the word at `index` is the verb of the noun phrase that starts at `first`."""
    word, before = words[index].lower(), _noun_before(words, first, index)
    if not before or _is_infinitive(words, index) or _is_time(words, index):
        return False
    if is_auxiliary(word):
        return _agrees(words, first, index)
    if before.lower() in DETERMINERS | PREPOSITIONS or any(map(is_auxiliary, _rest_of_phrase(words, index))):
        return False
    counts = words[index + 1 : index + 2] and not words[index + 1][0].isalpha()  # "parking costs 28 euros"
    if word == "like" or (words[first].endswith("ing") and word not in CLEAR_S and not counts):
        return False
    plural = is_plural(_head(words, first, index)) or words[first].lower() in _MANY
    if word in CLEAR_S:
        return not plural
    if is_clear_base(word):
        return plural
    if index + 1 >= len(words):
        return False
    if word in UNSURE_S:
        return not plural and not before[0].isdigit() and _takes_object(words[index + 1])
    return plural and is_unsure_base(word) and _takes_object(words[index + 1])


def _agrees_with_subject(words: Sequence[str], verb: int) -> bool:
    return (
        words[past_adverbs(words, 0)].lower() in PRONOUNS or verb == 0 or _agrees(words, past_adverbs(words, 0), verb)
    )


def _agrees(words: Sequence[str], first: int, verb: int) -> bool:
    """True if the auxiliary at `verb` agrees with its subject's number: "sauna are free" has another subject."""
    word = words[verb].lower()
    if word not in _PLURAL_AUXILIARIES | _SINGULAR_AUXILIARIES or word in ("do", "does"):
        return True
    head = _head(words, first, verb)
    if word in _PLURAL_AUXILIARIES:
        named = head[:1].isupper() or head[:1].isdigit()
        joined = "and" in words[first:verb] or words[first].lower() in _MANY
        return is_plural(head) or joined or named or word in ("were", "weren't")
    return True


def _head(words: Sequence[str], first: int, until: int) -> str:
    """The head noun of a phrase: the last word before its first preposition, "children" of "children under 6"."""
    for index in range(first, until):
        if words[index].lower() in PREPOSITIONS and index > first:
            return words[index - 1]
    return _noun_before(words, first, until)


def _noun_before(words: Sequence[str], first: int, index: int) -> str:
    last = index - 1
    while last > first and words[last].lower() in ADVERBS:
        last -= 1
    return words[last] if last >= first else ""


def _is_time(words: Sequence[str], index: int) -> bool:
    """True for the "am" of "9 am"."""
    return words[index] == "am" and words[index - 1][0].isdigit()


def _is_infinitive(words: Sequence[str], index: int) -> bool:
    return words[index - 1].lower() == "to"


def _rest_of_phrase(words: Sequence[str], index: int) -> Sequence[str]:
    """The words after a word, up to the end of its phrase or the next clause."""
    rest = []
    for word in words[index + 1 : index + 1 + _MOST_WORDS]:
        if not word[0].isalnum() or word.lower() in _ENDS_SUBJECT:
            break
        rest.append(word)
    return rest


def _takes_object(word: str) -> bool:
    """True if a word begins a verb's complement, rather than another noun."""
    lower = word.lower()
    if lower in ("of", "and", "or", ",", ";", ":", ")"):
        return False
    return (
        word[0].isdigit()
        or not word.isalnum()
        or word[0] == '"'
        or word[0].isupper()
        or lower in DETERMINERS | FUNCTION_WORDS | PREPOSITIONS | ADVERBS | _FREE | PRONOUNS
        or lower.endswith("ly")
        or lower in _NUMBER_WORDS
    )


def may_open(word: str) -> bool:
    """True if the word may be capitalised only because it opens a sentence."""
    lower = word.lower().partition("'")[0]
    known = PRONOUNS | DETERMINERS | SUBORDINATORS | ADVERBS | FUNCTION_WORDS | {"please"}
    return lower in known or is_auxiliary(word) or is_past(word) or is_base(lower)


def ends_with_verb(words: Sequence[str]) -> bool:
    """True if `words` break off before their verb's object: "you can bring"."""
    if len(words) < 2:
        return False
    last, before = words[-1].lower(), words[-2].lower()
    if is_clear_base(last) or last in CLEAR_S:
        return True
    return can_be_verb(last) and (is_auxiliary(before) or before in PRONOUNS | {"to", "not", "also"})


def is_counted(word: str) -> bool:
    """True if a word can follow only verbs: an article, or a number."""
    return word[0].isdigit() or word.lower() in _NUMBER_WORDS | DETERMINERS


def is_participle(word: str) -> bool:
    """True if `word` may be a past participle."""
    return is_past(word) or word.lower() in _PARTICIPLES


_PARTICIPLES = word_set(
    """born begun broken brought built bought caught chosen done drawn driven eaten fallen found given grown held hidden kept
    known laid led left lost made met paid put read run seen sent set shown shut sold spent spoken stolen swum taken
    taught thrown told torn understood woken won worn written"""
)

_LEFT_OVER = re.compile(r"^(?:[\s,;:–—]|-+(?![\w-]))+|[\s,;:–—-]+$")
_IDENTIFIER = re.compile(r"[a-z]+[A-Z]|\S*\w[_/.=(@]\w|\S*\w\(\)|-")
"""Beginnings of identifiers, and of names like "iPhone", that are not capitalised."""


def finish_sentence(text: str, codes: Collection[str]) -> str:
    """A claim as a sentence: strips stray marks, adds a capital and a full stop, and leaves code unchanged."""
    text = _strip_quotes(text.strip())
    text = _LEFT_OVER.sub("", text).strip()
    if not text:
        return ""
    if not (text.split(" ", 1)[0] in codes or _IDENTIFIER.match(text)):
        text = text[0].upper() + text[1:]
    return text if re.search(r"[.!?…。！？][\"']?$", text) else f"{text}."


def _strip_quotes(text: str) -> str:
    """Strips quotes around the whole text, and an unpaired quote; `"Pay later" is free` keeps both."""
    for quote in ('"', "'"):
        count = text.count(quote)
        if count == 2 and text[0] == text[-1] == quote:
            return text.strip(quote)
        if quote == '"' and count % 2:
            return text.removeprefix(quote) if text[0] == quote else text.removesuffix(quote)
    return text


_BE = word_set("is are was were be been isn't aren't wasn't weren't")
_MODALS = word_set("can could will would shall should may might must cannot can't won't")
_AGENTS = word_set("by in at on as from with for to")


def subject_of(clause: str, words: Sequence[str], verb: int) -> str:
    """The subject of a clause with the verb `words[verb]`; "" if no second predicate could follow."""
    first = past_adverbs(words, 0)
    if is_pronoun_with_verb(words[verb]):
        return words[verb].rsplit("'", 1)[0]
    if verb == first or words[0].lower() in SUBORDINATORS or words[first].lower() in ("there", "this", "that"):
        return ""
    until = re.search(rf"(?<![\w'-]){re.escape(words[verb])}(?!\w)", clause)
    start = clause.find(words[first])
    # Marks around a name belong to it: `app.py`, "Pay later".
    while start > 0 and clause[start - 1] in "`*_\"'./-£$€":
        start -= 1
    # An adverb before the verb ("He also was") belongs to the verb.
    end = until.start() if until else 0
    subject = clause[start:end].strip()
    tail = subject.rsplit(" ", 1)
    return tail[0] if len(tail) == 2 and tail[1].lower() in ADVERBS else subject


def shared_words(words: Sequence[str], verb: int, before: str, after: Sequence[str]) -> str | None:
    """The words between the subject and a further predicate `after`: none, or the shared auxiliary.

    `words` is the clause, its verb at `verb`; `before` is the text between that verb and the joint. None if `after` is none.
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
    return "" if _continues(main, before, after, index) else None


def _passive(words: Sequence[str], verb: int, after: Sequence[str], index: int) -> str | None:
    """ "was written by Vale and published by Orbit" shares its "was"; "was born in Oslo, moved to Bergen" does not."""
    word, following = after[index].lower(), after[index + 1].lower()
    if word in INTRANSITIVE:
        return "" if words[verb].lower() in ("was", "were") else None
    behind = past_adverbs(words, verb + 1)
    if following in _AGENTS and behind < len(words) and is_participle(words[behind]):
        return words[verb]
    return None


def _continues(main: str, before: str, after: Sequence[str], index: int) -> bool:
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
_TRAILING = re.compile(
    r"\s(?:if|unless|provided|providing|except|as long as|only when|because|since(?! \d)|whether|so that|in case)\s",
    re.IGNORECASE,
)
_SUBORDINATE = word_set(
    "that if because when who which whether how why where what although unless whenever whose whom provided once"
)
_LONGEST_LEAD_IN = 14
"""Longest lead-in, in words, to repeat with each item."""


def is_opening(lead: str) -> bool:
    """True if a lead-in begins with a condition, a time or a place that holds for each item: "If you are under 26:"."""
    words = words_of(lead)
    if _CONDITION.match(lead):
        return len(words) <= _LONGEST_LEAD_IN
    return len(words) <= _LONGEST_LEAD_IN // 2 and _SETTING.match(lead) is not None and not has_verb(lead)


def is_set(sentence: str) -> bool:
    """True if a time or a place opens a sentence, up to a comma, so that it may hold for all of it: "On Mondays, ..."."""
    setting = _SETTING.match(sentence)
    return setting is not None and sentence.startswith(", ", setting.end())


def is_conditional(text: str) -> bool:
    """True if a clause, or the part after its colon, opens with a condition: "Option 2: if you ..."."""
    opens = text.rsplit(": ", 1)[-1]
    return _CONDITION.match(opens) is not None


def hangs_on(right: str) -> bool:
    """True if a clause has a trailing condition or cause, which the clause before may share."""
    return _TRAILING.search(right) is not None


def embeds(words: Sequence[str], verb: int, *, nouns: bool = False) -> bool:
    """True if a subordinate clause is open behind its verb, so that later words may belong to it.

    `nouns`: a noun follows, which any verb may have as its object that can also have a clause ("requires the gym and the pool").
    """
    opening_verbs = REPORTING if nouns else SAYING
    return any(word.lower() in _SUBORDINATE or word.lower() in opening_verbs for word in words[verb:])
