"""Replaces I and you by names ("I love my dog": "The assistant loves the assistant's dog"), and he, she, it, they by theirs.

An unresolved pronoun costs some precision, a wrong name makes a false claim. So only a claim's first word is replaced, by the
subject of the previous statement or the topic of the last question ("Do you know Ada Vale?"), and only without a rival.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from vista_guard.judges.embedded.english.cues import FUNCTION_WORDS, PREPOSITIONS, SAYING, can_be_verb, with_s
from vista_guard.judges.embedded.english.verbs import (
    may_open,
    past_adverbs,
    verb_index,
    words_of,
)
from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    AUXILIARIES,
    BASES,
    DETERMINERS,
    OPENER,
    PRONOUNS,
    SUBORDINATORS,
    any_of,
    is_past,
    is_pronoun_with_verb,
    word_set,
)
from vista_guard.judges.embedded.forms import emphasised_words, inline_code
from vista_guard.types import Role

_IRREGULAR = {
    "am": "is", "are": "is", "have": "has", "do": "does", "go": "goes", "were": "was", "don't": "doesn't", "dont": "doesn't",
    "haven't": "hasn't", "aren't": "isn't", "weren't": "wasn't",
}  # fmt: skip
_CLITICS = {"'m": " is", "'re": " is", "'ve": " has", "'ll": " will", "'d": " would"}
_KEPT = word_set("not and or but to read put set cut let myself yourself who")
_ORDERS = any_of(
    """Add, Book, Cancel, Change, Check, Close, Confirm, Contact, Delete, Download, Edit, Enter, Find, Follow, Forgot, Get,
    Go to, Join, Leave, Lost, Manage, Open, Order, Pay, Print, Rate, Remove, Renew, Request, Reset, Review, Save, Scan, See, Send,
    Set up, Share, Show, Start, Tell, Top up, Track, Transfer, Unlock, Update, Upload, Use, Verify, View, Write"""
)
_NUMBERED = any_of(
    """War, Part, Type, Class, Phase, Chapter, Level, Section, Title, Grade, Stage, Category, Schedule, Annex, Appendix, Volume,
    Division, Article, Table, Figure, Group, Elizabeth, James, Charles, Francis, Napoleon, Nicholas, Alexander, William, Peter"""
)
_NAMED = (
    r"(?<=[\w,>]\s)(?:My|Your|Our)\b"
    rf"|(?<=[\w,>]\s){_ORDERS}(?: us| for| about| to)? (?:my|your|our)\b"
    r"|\b(?:[Tt]ap|[Cc]lick|[Pp]ress|[Cc]hoose|[Ss]elect|[Tt]ick|[Hh]it)(?: on)? (?:I|My|Your)\b"
    rf"|\b{_NUMBERED} I\b"
)
"""Names of menus, buttons and pages, recognised by a capital within a sentence; a Roman "I"."""
_SPEAKING = re.compile(r"\b(?:I|me|my|mine|myself|you|your|yours|yourself)\b", re.IGNORECASE)
_MOST_NAMES, _MOST_NAME_WORDS, _LONGEST_NAME = 50, 6, 80
_ADVERB = "|".join(sorted(ADVERBS))
_ALONE = r"(?<![\w./@-])"
"""Not inside an identifier: `my-app`, I/O."""
_I = re.compile(
    rf"{_ALONE}(?P<who>I|i)(?P<clitic>'(?:m|ve|ll|d|re))?\b(?!\.\s?\w|[-/_@+])(?P<gap>(?:\s+(?:{_ADVERB}))*\s+)?(?P<verb>[A-Za-z]+(?:'t)?)?"
)
_YOU = re.compile(
    rf"{_ALONE}(?P<who>you)(?P<clitic>'(?:re|ve|ll|d))?\b(?P<gap>(?:\s+(?:{_ADVERB}))*\s+)?(?P<verb>[A-Za-z]+(?:'t)?)?",
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
"""Verbs that agree even if only joined by "and": other words there may be nouns."""


def name_speakers(text: str, speaker: str, listener: str, kept: Iterable[str] = ()) -> str:
    """`text` with "I" and "you" replaced by names, and verbs that agree. A general "you" ("you can see it") and quotes stay.

    So do names of menus and the like: those in `kept`, and recognisable ones ("open My bookings", "tap Change my seat").
    """
    quiet = [r'"[^"]*"', _NAMED, *(rf"(?<!\w){re.escape(name)}(?!\w)" for name in kept)]
    generic = _GENERIC_YOU.search(text) is not None and not _LIKELY_YOU.search(text)
    pieces, last = list[str](), 0
    for match in re.finditer("|".join(quiet), text):
        pieces += (_name_speakers(text[last : match.start()], speaker, listener, generic), match.group())
        last = match.end()
    return "".join((*pieces, _name_speakers(text[last:], speaker, listener, generic)))


def written_names(text: str) -> tuple[str, ...]:
    """Names in a turn: code, bold, italics, links, and names that contain "my" or "your"."""
    codes = (code for code in inline_code(text) if _SPEAKING.search(code))
    names = dict.fromkeys([*codes, *_marked_names(text)])
    return tuple(sorted((name for name in names if len(name) <= _LONGEST_NAME), key=len, reverse=True)[:_MOST_NAMES])


def _marked_names(text: str) -> Iterator[str]:
    for start, phrase in emphasised_words(text):
        words = phrase.split()
        if not words or len(words) > _MOST_NAME_WORDS or not words[0][0].isupper() or not _SPEAKING.search(phrase):
            continue
        goes_on = re.search(r"[\w,>]['\")]?\s$", text[max(0, start - 3) : start]) is not None
        if phrase[-1] not in ".!?:" and (goes_on or words[0] == "My"):
            yield phrase


def _name_speakers(text: str, speaker: str, listener: str, generic: bool) -> str:
    text = _name_speaker(_I, text, speaker)
    text = _replace_possessives(text, _forms("my", "mine", "me", "myself", speaker))
    if not generic:
        text = _replace_objects(_name_speaker(_YOU, text, listener), listener)
        text = _replace_possessives(text, _forms("your", "yours", "", "yourself", listener))
    return text


def _forms(possessive: str, own: str, objective: str, reflexive: str, name: str) -> dict[str, str]:
    itself = "itself" if name == "the assistant" else "themselves"
    forms = {possessive: f"{name}'s", own: f"{name}'s", objective: name, reflexive: itself}
    return {pronoun: form for pronoun, form in forms.items() if pronoun}


def names(role: Role) -> tuple[str, str]:
    """Names of a turn's speaker and listener."""
    return ("the user", "the assistant") if role is Role.USER else ("the assistant", "the user")


def _name_speaker(pattern: re.Pattern[str], text: str, name: str) -> str:
    """Replaces a subject pronoun, and puts its verb and a coordinated second verb into the third person."""
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
            subject = True
            return f"{name}{_CLITICS[clitic]}{gap}{verb}"
        if inverted or not verb or _is_object(before, verb):
            return f"{name}{gap}{verb}"
        subject = True
        return f"{name}{gap}{third_person(verb)}"

    named = pattern.sub(replace, text)
    return _AGAIN.sub(lambda match: match["joint"] + _agree_second_verb(match["verb"]), named) if subject else named


def _is_object(before: list[str], word: str) -> bool:
    """True if the pronoun is the object of the verb before it, so that `word` is not its verb."""
    if word.lower() in FUNCTION_WORDS | PREPOSITIONS and word.lower() not in ("not", "all"):
        return True
    acts = bool(before) and before[-1].islower() and can_be_verb(before[-1]) and before[-1] not in SAYING
    return acts and not can_be_verb(word)


def _agree_second_verb(verb: str) -> str:
    """A second verb of the same subject in the third person, if clearly a verb: "and have never been"."""
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
    return with_s(verb)


def _replace_objects(text: str, name: str) -> str:
    return re.sub(r"\byou\b", name, text, flags=re.IGNORECASE)


def _replace_possessives(text: str, forms: dict[str, str]) -> str:
    # "ME" and "MY" in capitals are abbreviations as often as words.
    pattern = re.compile("|".join(rf"{_ALONE}(?:{form}|{form.capitalize()})\b(?![-/_@.]\w)" for form in forms))
    return pattern.sub(lambda match: forms[match.group().lower()], text)


def without_opener(text: str) -> str:
    """`text` without openers that state nothing."""
    match = OPENER.match(text)
    while match and re.search(r"\w", text[match.end() :]):
        text = text[match.end() :]
        match = OPENER.match(text)
    return text


@dataclass(frozen=True)
class PronounTopic:
    """The noun that the next pronoun may mean; empty if there is none or more than one."""

    noun: str = ""
    plural: bool | None = False
    """None: may be either, such as "the Tides"."""
    thing: bool = False
    """True if "it" or "they" can mean nothing else."""
    person: bool = False
    """True if "he" or "she" can mean nothing else."""


NOTHING = PronounTopic()
_MAX_TEXT = 400
"""Longest statement or question, in characters, with a topic."""
_OPENING = re.compile(
    r"(?P<pronoun>he|she|it|they|his|her|its|their)(?P<clitic>'(?:s|re|ve|ll|d))?(?P<rest>\s+\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_VERBS_OF_CLITICS = {"'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "'s": " is"}
_HAS = re.compile(r"\s+(?:also |already |never |always )?(?:been|got|had|become|won|gone|made)\b")
_POSSESSIVE = frozenset(("his", "her", "its", "their"))
_PERSONAL = frozenset(("he", "she", "his", "her"))
_MANY = frozenset(("they", "their"))
_EXPLETIVE = re.compile(
    # "It is nice that ...", "it takes long to ...", "it is raining", "it is 5 pm": no noun is meant.
    r"(?:.*\b(?:that|to|how|whether|if|when|because|like|who)\b"
    r"|\s*(?:(?:is|was|will be|can be)\s+)?(?:\w+\s+)?(?:rain|snow|freez|dark|late|early|cold|hot|warm|sunny|windy|cloudy"
    r"|humid|true|possible|likely|\d+(?::\d+)?\s*(?:[ap]\.?m\b|o'clock)|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|\s*(?:also |really |all |just )?(?:depend|seem|appear|turn|take|mean|matter|look|feel|sound|happen))",
    re.IGNORECASE | re.DOTALL,
)
_NAME = r"(?:[Tt]he )?[A-Z][\w'.&-]{0,40}(?:(?: (?:of|in|the|to|a|an|de|van|von)){0,2} [A-Z][\w'.&-]{0,40}){0,6}"
_PROPER_NOUNS = re.compile(_NAME)
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


def resolve_pronoun(statement: str, topic: PronounTopic) -> tuple[str, PronounTopic]:
    """`statement`, in its speaker's words, with its opening pronoun replaced by `topic` if it can mean nothing else.

    Also returns the topic for the next pronoun.
    """
    match = _OPENING.fullmatch(statement)
    if not match or not topic.noun:
        return statement, topic_of(statement)
    pronoun, clitic, rest = match["pronoun"].lower(), match["clitic"] or "", match["rest"]
    if (pronoun in _POSSESSIVE and clitic) or not _agrees(pronoun, rest, topic):
        return statement, NOTHING
    if pronoun in _POSSESSIVE:
        return f"{topic.noun}{_genitive(topic)}{rest}", NOTHING
    words = words_of(statement)
    verb = verb_index(words)
    after = _subject(statement, words, verb, topic.noun) if verb is not None else NOTHING
    tense = " has" if clitic == "'s" and _HAS.match(rest) else _VERBS_OF_CLITICS.get(clitic, "")
    return f"{topic.noun}{tense}{rest}", replace(after, plural=topic.plural) if after.noun else NOTHING


def topic_of(statement: str) -> PronounTopic:
    """The topic for a pronoun right after the statement or question."""
    if len(statement) > _MAX_TEXT:
        return NOTHING
    statement = without_opener(statement)
    words = words_of(statement)
    first = past_adverbs(words, 0)
    opens = words[first].lower() if first < len(words) else ""
    verb = None if statement.endswith("?") else verb_index(words)
    if verb and opens not in PRONOUNS and not is_pronoun_with_verb(opens):
        return _subject(statement, words, verb)
    return NOTHING if not opens or opens in _POINTING else _sole_name(statement)


def topic_of_turn(text: str) -> PronounTopic:
    """The topic for a pronoun that opens the answer to a turn: none if the turn has a second name or person."""
    if not text or len(text) > _MAX_TEXT:
        return NOTHING
    spoken = re.split(r"(?<=[.!?])\s+", text)
    topics = [topic for topic in map(topic_of, spoken) if topic.noun]
    if len({topic.noun for topic in topics}) != 1 or len(proper_names(text)) > 1 or _SOMEONE.search(text):
        return NOTHING
    # "My mill" means another mill in the other speaker's turn.
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


def _subject(statement: str, words: list[str], verb: int, noun: str = "") -> PronounTopic:
    """The subject of a statement, if no rival is in it; `noun` replaces a pronoun as subject."""
    until = re.search(rf"\b{re.escape(words[verb])}(?!\w)", statement)
    if not until:
        return NOTHING
    noun = noun or _without_adverbs(statement[: until.start()].strip())
    first, last = noun.split(" ")[0], noun.rsplit(" ", 1)[-1]
    named = _PROPER_NOUNS.fullmatch(noun) is not None
    known = named or (first.lower() in DETERMINERS | _OWN and first.lower() not in _VAGUE)
    if first.lower() in SUBORDINATORS or not known or re.search(r"[,;:()\"]|\b(?:and|or|i|you)\b", noun, re.IGNORECASE):
        return NOTHING
    if first.lower() in ("a", "an") and last.islower():
        noun = f"the{noun[len(first) :]}"
    linked = words[verb].lower().endswith(("is", "are", "was", "were", "'s", "'re"))
    thing, person = _without_rivals(statement[until.end() :], linked)
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
    """Two flags: no thing, and no person, after the verb could be meant as well.

    The predicate in "Vale was a painter" is no rival.
    """
    predicate = _PREDICATE.match(rest) if linked else None
    rest = rest[predicate.end() :] if predicate else rest
    names = list(_PROPER_NOUNS.finditer(rest))
    things = bool(names or _SOME_NOUN.search(rest))
    people = (
        any(not _PLACE.search(rest[: match.start()]) for match in names) or _PEOPLE.search(rest) or _DOER.search(rest)
    )
    return not things, not people


def _sole_name(sentence: str) -> PronounTopic:
    """The only name of a question or a liking, if it ends the sentence: "Have you read The Tides?" """
    match = _SPOKEN_OF.search(sentence)
    if not match or len(proper_names(sentence)) != 1 or _THIRD.search(sentence[: match.start()]):
        return NOTHING
    noun = match["name"].strip(".")
    many = noun.lower().startswith("the ") and noun.endswith("s")
    return PronounTopic(noun, plural=None if many else False, thing=True, person=True)


def mentions_person(text: str) -> bool:
    """True if a text has a word for someone: "his father", "they", "the painter"."""
    return bool(_PEOPLE.search(text) or _DOER.search(text))


def proper_names(text: str) -> list[str]:
    """Names of a text, without capitals that may only open a sentence."""
    names = []
    for match in _PROPER_NOUNS.finditer(text):
        words = match.group().split(" ")
        opens = not text[: match.start()].strip() or text[: match.start()].rstrip()[-1:] in ".!?"
        if opens and (words[0] in _NO_NAMES or may_open(words[0])):
            words = words[1:]
        if any(word not in _NO_NAMES for word in words if word[0].isupper()):
            names.append(" ".join(words))
    return names
