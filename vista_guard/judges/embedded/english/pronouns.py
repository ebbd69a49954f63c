"""Replaces he, she, it and they by a name, where a claim opens with one and only one noun can be meant.

A pronoun left in place costs some precision, a wrong name makes a false claim. So a noun counts only as the subject of the
previous statement, or as the topic of the last question or like ("Do you know Ada Vale?"), and only without a rival.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from vista_guard.judges.embedded.english.speakers import without_opener
from vista_guard.judges.embedded.english.verbs import may_open, past_adverbs, verb_index, words_of
from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    DETERMINERS,
    PRONOUNS,
    SUBORDINATORS,
    any_of,
    is_pronoun_with_verb,
    word_set,
)


@dataclass(frozen=True)
class PronounTopic:
    """The noun that the next pronoun may stand for; empty when there is none or more than one."""

    noun: str = ""
    plural: bool | None = False
    """None: it may be either, as "the Tides" may."""
    thing: bool = False
    """Whether "it" or "they" can mean nothing else."""
    person: bool = False
    """Whether "he" or "she" can mean nothing else."""


NOTHING = PronounTopic()
_MAX_TEXT = 400
"""Longest statement or question, in characters, that gives a topic."""
_OPENING = re.compile(
    r"(?P<pronoun>he|she|it|they|his|her|its|their)(?P<clitic>'(?:s|re|ve|ll|d))?(?P<rest>\s+\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_CLITICS = {"'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "'s": " is"}
_HAS = re.compile(r"\s+(?:also |already |never |always )?(?:been|got|had|become|won|gone|made)\b")
_POSSESSIVE = frozenset(("his", "her", "its", "their"))
_PERSONAL = frozenset(("he", "she", "his", "her"))
_MANY = frozenset(("they", "their"))
_EXPLETIVE = re.compile(
    # "It is nice that ...", "it takes long to ...", "it is raining", "it is 5 pm": it stands for no noun.
    r"(?:.*\b(?:that|to|how|whether|if|when|because|like|who)\b"
    r"|\s*(?:(?:is|was|will be|can be)\s+)?(?:\w+\s+)?(?:rain|snow|freez|dark|late|early|cold|hot|warm|sunny|windy|cloudy"
    r"|humid|true|possible|likely|\d+(?::\d+)?\s*(?:[ap]\.?m\b|o'clock)|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|\s*(?:also |really |all |just )?(?:depend|seem|appear|turn|take|mean|matter|look|feel|sound|happen))",
    re.IGNORECASE | re.DOTALL,
)
_NAME = r"(?:[Tt]he )?[A-Z][\w'.&-]{0,40}(?:(?: (?:of|in|the|to|a|an|de|van|von)){0,2} [A-Z][\w'.&-]{0,40}){0,6}"
_NAMES = re.compile(_NAME)
_TOLD = (
    "about, know, knew, heard of, likes?, liked, loves?, loved, enjoy, enjoyed, prefer, see, seen, saw, watch, watched"
)
_KIND = "(?: the (?:actor|actress|author|writer|singer|band|player|film|movie|book|song|show|city))?"
_SPOKEN_OF = re.compile(rf"\b{any_of(f'{_TOLD}, read, recommend, visit, visited')}{_KIND} (?P<name>{_NAME})\W*$")
_NO_NAMES = word_set(
    """I I'm I've I'd I'll Yes No Yeah Yep Nope Sure Please Hello Hi Hey Wow Thanks Thank Ok OK Okay Well Oh Cool Interesting
    Really Great Tell Me Too And But So Or Also Plus Maybe Perhaps Of In On At By For From With To Monday Tuesday Wednesday
    Thursday Friday Saturday Sunday January February March April June July August September October November December"""
)
_SOMEONE = re.compile(
    r"\b(?:man|woman|men|women|boy|girl|wife|husband|brother|sister|mother|father|mom|mum|dad|son|daughter|friend|boss|teacher"
    r"|doctor|king|queen|president|guy|person|people|cousin|uncle|aunt)s?\b",
    re.IGNORECASE,
)
_PEOPLE = re.compile(rf"{_SOMEONE.pattern}|\b(?:he|she|him|they|them)\b", re.IGNORECASE)
_THIRD = re.compile(rf"{_PEOPLE.pattern}|\bit\b", re.IGNORECASE)
_OWN = word_set("my your our")
_PREDICATE = re.compile(
    r"\s*(?:also |still |now )?(?:an?|the|one of the)\s+(?:[\w'-]+\s+){0,4}?[\w'-]+(?=\W*$|\s+(?:of|in|at|from|by|with|for|on)\b)"
)
_SOME_NOUN = re.compile(r"\b(?:the|an?|his|her|its|their|my|your|our|this|that|some|many|two|three)\b", re.IGNORECASE)
_DOER = re.compile(r"\b(?:the|an?|his|her|its|their|my|your|our)\s+(?:\w+\s+)?\w+(?:er|or|ist|ian)s?\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:in|at|from|near|during|on|of|for|as)\s+(?:the\s+)?$")
_POINTING = word_set("this that these those there he she it they")
_VAGUE = word_set("many some most each every both all other another several few no")


def resolve_pronoun(said: str, topic: PronounTopic) -> tuple[str, PronounTopic]:
    """`said`, in its speaker's words, with the pronoun that opens it replaced by `topic`, where it can mean nothing else.

    Beside it stands what the next pronoun can mean.
    """
    match = _OPENING.fullmatch(said)
    if not match or not topic.noun:
        return said, topic_of(said)
    pronoun, clitic, rest = match["pronoun"].lower(), match["clitic"] or "", match["rest"]
    if (pronoun in _POSSESSIVE and clitic) or not _agrees(pronoun, rest, topic):
        return said, NOTHING
    if pronoun in _POSSESSIVE:
        return f"{topic.noun}{_genitive(topic)}{rest}", NOTHING
    words = words_of(said)
    verb = verb_index(words)
    after = _subject(said, words, verb, topic.noun) if verb is not None else NOTHING
    tense = " has" if clitic == "'s" and _HAS.match(rest) else _CLITICS.get(clitic, "")
    return f"{topic.noun}{tense}{rest}", replace(after, plural=topic.plural) if after.noun else NOTHING


def topic_of(said: str) -> PronounTopic:
    """The topic for a pronoun right after the statement or question `said`."""
    if len(said) > _MAX_TEXT:
        return NOTHING
    said = without_opener(said)
    words = words_of(said)
    first = past_adverbs(words, 0)
    opens = words[first].lower() if first < len(words) else ""
    verb = None if said.endswith("?") else verb_index(words)
    if verb and opens not in PRONOUNS and not is_pronoun_with_verb(opens):
        return _subject(said, words, verb)
    return NOTHING if not opens or opens in _POINTING else _sole_name(said)


def topic_of_turn(text: str) -> PronounTopic:
    """The topic for a pronoun that opens the answer to a turn: none if the turn has a second name or person."""
    if not text or len(text) > _MAX_TEXT:
        return NOTHING
    spoken = re.split(r"(?<=[.!?])\s+", text)
    topics = [topic for topic in map(topic_of, spoken) if topic.noun]
    if len({topic.noun for topic in topics}) != 1 or len(_all_names(text)) > 1 or _SOMEONE.search(text):
        return NOTHING
    # "My mill" is another's in another turn.
    return NOTHING if re.match(r"(?:my|your|our)\b", topics[0].noun, re.IGNORECASE) else topics[0]


def _agrees(pronoun: str, rest: str, topic: PronounTopic) -> bool:
    if pronoun in _PERSONAL:
        # "New York is big. He loves it."
        return topic.person and not topic.plural and not re.search(r"\b(?:there|here|it|its)\b", rest)
    if pronoun in _MANY:
        return topic.thing and topic.plural is not False
    return topic.thing and not topic.plural and not (pronoun == "it" and _EXPLETIVE.match(rest))


def _genitive(topic: PronounTopic) -> str:
    return "'" if topic.plural and topic.noun.endswith("s") else "'s"


def _subject(said: str, words: list[str], verb: int, noun: str = "") -> PronounTopic:
    """The subject of a statement, as far as nothing else in it can be meant; `noun` stands for a pronoun there."""
    until = re.search(rf"\b{re.escape(words[verb])}(?!\w)", said)
    if not until:
        return NOTHING
    noun = noun or _without_adverbs(said[: until.start()].strip())
    first, last = noun.split(" ")[0], noun.rsplit(" ", 1)[-1]
    named = _NAMES.fullmatch(noun) is not None
    known = named or (first.lower() in DETERMINERS | _OWN and first.lower() not in _VAGUE)
    if first.lower() in SUBORDINATORS or not known or re.search(r"[,;:()\"]|\b(?:and|or|i|you)\b", noun, re.IGNORECASE):
        return NOTHING
    if first.lower() in ("a", "an") and last.islower():
        noun = f"the{noun[len(first) :]}"
    linked = words[verb].lower().endswith(("is", "are", "was", "were", "'s", "'re"))
    thing, person = _without_rivals(said[until.end() :], linked)
    person = person and named and len(noun.split(" ")) > 1 and first.lower() != "the"
    plural = words[verb].lower() in ("are", "were", "have", "do") or (
        last.islower() and re.search(r"[^s]s$", last) is not None
    )
    return PronounTopic(noun if named else noun[0].lower() + noun[1:], plural, thing, person)


def _without_adverbs(noun: str) -> str:
    parts = noun.split(" ")
    while len(parts) > 1 and parts[-1].lower() in ADVERBS:
        parts.pop()
    return " ".join(parts)


def _without_rivals(rest: str, linked: bool) -> tuple[bool, bool]:
    """True if no thing or person after the verb could be meant as well.

    What the subject is said to be, as in "Vale was a painter", is no other.
    """
    predicate = _PREDICATE.match(rest) if linked else None
    rest = rest[predicate.end() :] if predicate else rest
    names = list(_NAMES.finditer(rest))
    things = bool(names or _SOME_NOUN.search(rest))
    people = (
        any(not _PLACE.search(rest[: match.start()]) for match in names) or _PEOPLE.search(rest) or _DOER.search(rest)
    )
    return not things, not people


def _sole_name(said: str) -> PronounTopic:
    """The one name of a question or of someone's likes, when it ends the sentence: "Have you read The Tides?" """
    match = _SPOKEN_OF.search(said)
    if not match or len(_all_names(said)) != 1 or _THIRD.search(said[: match.start()]):
        return NOTHING
    noun = match["name"].strip(".")
    many = noun.lower().startswith("the ") and noun.endswith("s")
    return PronounTopic(noun, plural=None if many else False, thing=True, person=True)


def _all_names(said: str) -> list[str]:
    """Names of a text. A capital that may only open a sentence is none."""
    found = []
    for match in _NAMES.finditer(said):
        words = match.group().split(" ")
        opens = not said[: match.start()].strip() or said[: match.start()].rstrip()[-1:] in ".!?"
        if opens and (words[0] in _NO_NAMES or may_open(words[0])):
            words = words[1:]
        if any(word not in _NO_NAMES for word in words if word[0].isupper()):
            found.append(" ".join(words))
    return found
