"""Reads what a turn asks or states last: all that a short answer leaves out.

"Is the pool open on Mondays?" asks whether "the pool is open on Mondays"; "the first" of "Is it 318 or 731?" is a whole
statement, too. Questions become statements by moving the auxiliary behind the subject, whose end closed word classes tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, pairwise, takewhile

from vista_guard.judges.embedded.english.cues import (
    PREPOSITIONS,
    REPORTING,
    can_be_verb,
    is_base,
    is_clear_base,
    is_plural,
    judges,
    of_a_mind,
    subjective,
)
from vista_guard.judges.embedded.english.speakers import name_speakers, names, third_person, without_opener
from vista_guard.judges.embedded.english.verbs import (
    begins_imperative,
    finite_verb,
    has_verb,
    is_participle,
    may_open,
    verb_index,
    words_of,
)
from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    DETERMINERS,
    EXCLAMATION,
    PRONOUNS,
    QUESTION,
    SMALL_TALK,
    SUBORDINATORS,
    TAG,
    is_auxiliary,
    is_past,
    is_pronoun_with_verb,
    word_set,
)
from vista_guard.judges.embedded.mentions.cues import OPEN_VERBS, SAYING, THINKING, TURNING, denies, is_closed
from vista_guard.judges.embedded.quantities import amounts
from vista_guard.types import Role

NOT_TRUE = "it is not true that"
"""Begins the claim of a denial."""
_MOST_READ = 1000
"""Characters of a turn to read, from its end."""
_MOST_STATEMENTS = 3
"""Most statements of a turn that one answer confirms."""
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n+")
_I = re.IGNORECASE


@dataclass(frozen=True)
class Choice:
    """Alternatives, and the statement around them: "the code is", ("318", "731"), "on Mondays"."""

    before: str
    parts: tuple[str, ...]
    behind: str = ""

    def with_(self, part: str) -> str:
        """The statement with `part` in place of the alternatives."""
        return " ".join(filter(None, (self.before, part, self.behind)))


@dataclass(frozen=True)
class Asked:
    """One question or statement of a turn, in words that its listener could answer with.

    `said` is the statement that a yes affirms, and `open` a question for something else, without its mark.
    """

    said: str = ""
    open: str = ""
    choice: Choice | None = None
    is_question: bool = True
    role: Role = Role.USER
    is_request: bool = False
    """True if "of course" may only accept it: "Can you tell me whether the pool is open?" """
    asks_truth: bool = False
    """True if "it is" says that all of the statement is true: "The pool has no slide, is that right?" """
    topic: str = ""
    """All that a question without a verb names: "And parking?" """

    @property
    def is_unread(self) -> bool:
        """True for a question of which only its answer would tell what it asks: "With or without?" """
        return not (self.said or self.open or self.is_request)

    def filled(self, value: str) -> str:
        """The open question's statement with the value, in words of who answers; "" if it has no place for one."""
        mine = _PERSONS.sub(lambda match: f"{match[0]}{_MINE}", value)
        return voiced(fill(self.open, mine), self.role).replace(_MINE, "")

    @property
    def denies(self) -> bool:
        """True if the statement is a denial, so that a "no" agrees with it. "Withdrawals are free" is none."""
        return TURNING.search(self.said.replace("’", "'")) is not None


def asked_in(text: str, role: Role, earlier: str = "") -> tuple[Asked, ...]:
    """The questions of a turn in order; without any, its last statements.

    Args:
        text: of the turn, cleaned.
        role: its speaker.
        earlier: the turn before it, which "Are you sure?" asks about.
    """
    read: list[Asked] = []
    for sentence in _sentences(text):
        pointing = _points_back(sentence)
        if pointing is None:
            read += _asked(sentence, role)
            continue
        about = [one for one in read if one.said] or _statements_of(earlier)
        if about:
            read = [
                replace(one, said=said, is_question=sentence.endswith("?"), asks_truth=True)
                for one in about[-_MOST_STATEMENTS:]
                for said in [one.said if pointing else negation(one.said)]
            ]
    questions = [one for one in read if one.is_question]
    return tuple(questions or read[-_MOST_STATEMENTS:])


def _sentences(text: str) -> list[str]:
    text = _OR_ELSE.sub(" or ", re.sub(r"\bI['’]m\b", "I am", _YOU.sub("you", text[-_MOST_READ:])))
    return [sentence.strip(" \"'*_") for sentence in _SENTENCE.split(text) if re.search(r"\w", sentence)]


def _statements_of(text: str) -> list[Asked]:
    """The last statements of the assistant's earlier turn."""
    found = [sentence for sentence in _sentences(text) if not sentence.endswith("?") and _has_subject(sentence)]
    return [Asked(said=without_opener(sentence).rstrip(" .!")) for sentence in found[-_MOST_STATEMENTS:]]


_POINTING = word_set(
    """sure certain confirm verify check correctly understand understanding yes yeah okay ok please still believe mistaken
    positive double for me"""
)


def _points_back(sentence: str) -> bool | None:
    """True if a sentence only asks about the one before it ("Is that right?"), False if it only denies that; else None."""
    bare = sentence.rstrip("?.! ")
    words = [word for word in re.findall(r"[\w']+", bare.lower()) if word not in _POINTING]
    if re.match(r"(?:what|who|why|how|where|when|which)\b", bare, _I) or not is_closed(" ".join(words)):
        return None
    asks = sentence.endswith("?")
    if not asks and (not re.search(r"\b(?:that|it|this)\b", bare, _I) or SMALL_TALK.fullmatch(bare)):
        return None
    return asks or not denies(bare)


_ASKS_TRUTH = re.compile(r",\s+(?:is|am|are|was|were)\b.*\b(?:right|correct|true|so)\b", _I)
_LAST_PART = re.compile(r",\s+(?P<tag>[^,]+?)\s*\?+\s*$")
_OR_ELSE = re.compile(r"[.?!] or (?:is|was|are|were) (?:it|that|they|he|she) ", _I)
"""Between two alternatives: "It opens on Monday. Or was it Sunday?" """
_YOU = re.compile(r"(?<![\w.'-])u(?![\w.'-])", _I)
_OWN = word_set("i i'm i've i'd i'll we we're we've we'd we'll my our me let's you your")
WH = re.compile(
    r"(?:(?:in|at|on|for|from|to|with|by|of|until|till|since|about) )?(?:what|who|whom|whose|why|how|where|when|which)\b",
    _I,
)


_SO = re.compile(r"\A(?:so|and|but|or|then)\s+(?!(?:much|many|far|long|that)\b(?!'))", _I)
_ABOUT = re.compile(r"\A(?:what|how) about\s+", _I)
_PERSONAL = re.compile(r"\b(?:it|he|she|they|them)\b", _I)
_IT_IS_THAT = re.compile(r"(?<=\w) (?:is|was) it (?:that|who)\b", _I)
_SPLIT = re.compile(r"(?P<topic>[^,?]+),\s+(?P<asks>[^?]+)")
_VIEW = re.compile(
    r"(?:as|so far as|from what|to) (?:i|we|my|our)\b[^,]*,\s+|in (?:my|our) (?:view|opinion|understanding),?\s+", _I
)


def _asked(sentence: str, role: Role) -> Iterator[Asked]:
    """Questions and statements of one sentence; none for small talk, wishes and news of the speaker."""
    text = _SO.sub("", _VIEW.sub("", without_opener(sentence)), count=1)
    label = re.match(r"(?P<words>[^:–—]{2,40}?)(?::|\s[–—-])\s+(?=\S)", text)
    if label and (
        _AUXILIARY.match(text[label.end() :])
        or is_closed(label["words"])
        or begins_imperative([*words_of(label["words"]), "it"])
    ):
        text = text[label.end() :]  # "Just to check:", "Let me get this straight:"
    bare = text.rstrip("?.! ")
    text = f"{bare}?" if TAG.search(f"{bare}?") and text == bare else text  # "It is free, isn't it"
    is_question = text.endswith("?") or bool(WH.match(text) and not text.endswith(".") and not EXCLAMATION.match(text))
    if SMALL_TALK.fullmatch(text) or len(bare) < 2:
        return
    tag = _also_tag(text) or TAG.search(text) if is_question and not WH.match(bare) else None
    untagged = text[: tag.start()].strip() if tag else bare
    if not tag and is_question:
        bare = untagged = _joined_topic(bare)
    inner, is_request = embedded(untagged)
    if inner:
        asks = is_question or is_request or begins_imperative(words_of(bare))
        yield _statement(inner, role, is_question=asks, is_request=is_request)
        return
    if WH.match(bare):
        question = bare if is_question and not bare.lower().startswith("what if ") else value_question(sentence)
        first, *others = _joined_questions(question)
        yield from [_open(first, role)] if first else []
        for other in others:
            yield from _asked(f"{other}?", role)
    elif tag and _AUXILIARY.match(text):
        yield from _polar(untagged, role)
    elif tag:
        yield replace(_statement(untagged, role, is_question=True), asks_truth=_ASKS_TRUTH.match(tag[0]) is not None)
    elif _AUXILIARY.match(bare) and (is_question or QUESTION.match(bare)):
        yield from _polar(bare, role)
    elif _asks_value(sentence, bare, role):
        yield _open(value_question(sentence), role)
    elif is_question or _is_stated(bare):
        said = _statement(bare, role, is_question=is_question)
        yield from [said] if _has_subject(said.said) else _verbless(bare, role, is_question=is_question)


def _also_tag(text: str) -> re.Match[str] | None:
    """A last part of closed words that asks only for a yes: "..., is that still so?", "..., or not?" """
    last = _LAST_PART.search(text)
    words = words_of(last["tag"].lower()) if last else []
    opens = bool(words) and (len(words) == 1 or words[0] == "or" or is_auxiliary(words[0]))
    closed = all(is_closed(word) or is_auxiliary(word) or word == "yes" for word in words)
    return last if opens and closed else None


def _joined_topic(question: str) -> str:
    """ "What about my dog, does it pay" asks "does my dog pay", and "I am 14, can I ride" only "can I ride"."""
    question = _ABOUT.sub("", question)
    parts = _SPLIT.fullmatch(question)
    asks = _AUXILIARY.match(parts["asks"]) if parts else None
    if parts and not asks and parts["topic"].split(" ", 1)[0].lower() in _OWN:
        return _SO.sub("", parts["asks"])  # "We are ten, any discount"
    if not parts or not asks or _AUXILIARY.match(question):
        return question
    topic = parts["topic"]
    if topic.split(" ", 1)[0].lower() in SUBORDINATORS | PREPOSITIONS:
        return f"{parts['asks']} {topic[0].lower()}{topic[1:]}"
    if _is_clause(topic):
        return parts["asks"]
    return parts["asks"][: asks.start("rest")] + _PERSONAL.sub(topic, asks["rest"], count=1)


_LONGEST_TOPIC = 3


def _verbless(text: str, role: Role, *, is_question: bool) -> Iterator[Asked]:
    """A question without a verb: "pool open on mondays?", "And parking?" """
    text = re.sub(r"\Aany ", "", text, flags=_I)
    words = text.split(" ")
    place = next((index for index, word in enumerate(words) if index and is_adjective(word)), None)
    if not is_question and (place is None or judges(text)):
        return
    choice = alternatives(f"there is {text}")
    if choice and not any(shape(part).startswith("p:") for part in choice.parts):
        yield Asked(said=f"there is {text}", choice=choice)
    elif re.search(r"\bor\b", text) or TURNING.search(text) or begins_imperative(words_of(text)):
        yield Asked()
    elif place is not None:
        be = "are" if is_plural(words[place - 1]) else "is"
        yield Asked(said=voiced(" ".join((*words[:place], be, *words[place:])), role))
    elif len(words) <= _LONGEST_TOPIC:
        yield Asked(said=voiced(f"there is {text}", role), topic=voiced(text, role))


def _joined_questions(question: str) -> list[str]:
    """The two of "How old is it and can I bring a bike"; "When and where is it" and "What is open and is free" stay one."""
    first, *others = _ENDS_QUESTION.split(question)
    asks = [
        WH.match(words[0]) or not (is_adjective(words[1]) or words[1].lower() in PREPOSITIONS | ADVERBS | {"being"})
        for words in (other.split(" ") for other in others)
        if len(words) > 1
    ]
    return [first, *others] if " " in first and len(asks) == len(others) and all(asks) else [question]


def _open(question: str, role: Role) -> Asked:
    """An open question, with alternatives if it names some: "Who leads the tour, Ana or Rui?" """
    question = _IT_IS_THAT.sub("", _without_contraction(question))
    listed = re.match(r"(?P<asks>[^,:?–]+)[,:?–]\s+(?P<listed>[^?]*\bor\b[^?]+)$", question)
    parts = _listed(listed["listed"]) if listed else ()
    if listed and len(parts) > 1:
        before, _, behind = voiced(fill(listed["asks"], parts[0]), role).partition(parts[0])
        return Asked(open=listed["asks"], choice=Choice(before.strip(), parts, behind.strip()), role=role)
    return Asked(open=question, role=role)


def _is_stated(text: str) -> bool:
    """True if a sentence states something of the world: no order, wish, judgement or remark."""
    words = words_of(text)
    if not words or text.split(" ", 1)[0].lower() in _OWN or begins_imperative(words):
        return False
    pointing = words[0].lower() in ("this", "that", "these", "those", "that's", "it's")
    return not (subjective(text) or (pointing and judges(text)))


def _has_subject(text: str) -> bool:
    words = words_of(text)
    if (
        finite_verb(words) is not None
        or verb_index(words) is not None
        or any(is_auxiliary(word) or is_pronoun_with_verb(word) for word in words[1:])
    ):
        return True
    # "The soup tastes odd" and "The rim's wet" have a verb that no list has.
    told = any(map(can_be_verb, words[2:])) or any(word.endswith("'s") for word in words[1:])
    return len(words) > 3 - told and words[0].lower() in DETERMINERS


def _statement(text: str, role: Role, *, is_question: bool, is_request: bool = False) -> Asked:
    text = voiced(turned(text) if _AUXILIARY.match(text) else text, role)
    choice = alternatives(text) if is_question else None
    return Asked(said=text, choice=choice, is_question=is_question, is_request=is_request)


def _asks_value(sentence: str, bare: str, role: Role) -> bool:
    """True for "And how long it lasts, please" and for a user's "Tell me when the ferry leaves"."""
    value = value_question(sentence)
    orders = role is Role.USER and (begins_imperative(words_of(bare)) or bare.split(" ", 1)[0].lower() in _OWN)
    return bool(value) and (orders or not has_verb(bare.removesuffix(value)))


_DEED = re.compile(
    r"(?:(?:can|could|would|will|won't|may|might) you"
    r"|(?:can|could|may|shall|should) (?:i|we) (?:ask|get some|speak|talk|please))\b"
    r"(?P<rest>.*)",
    _I,
)
_SERVES = re.compile(
    r"\b(?:me|us|my|please|help|assist|tell|explain|show|send|book|recommend|suggest|repeat|write|summari[sz]e|list|describe"
    r"|translate|look|find|give|check|cancel|change|elaborate|clarify|talk|speak|say|do|go|continue|try|mind|like|ask)\b",
    _I,
)
"""Verbs of requests to an assistant; "Can you swim there?" asks whether something is possible."""


_OR_ASKS = re.compile(
    r",?\s+or\s+(?=(?:do|does|did|is|are|can|will|must|should) (?:i|you|we|it|he|she|they|there|the)\b)", _I
)
"""Before a second question: "Is it free or do I have to pay?" """


def _polar(question: str, role: Role) -> Iterator[Asked]:
    """A yes-or-no question as a statement, with its alternatives; a request for a deed claims nothing."""
    question = _OR_ASKS.split(question)[0]
    deed = _DEED.match(question)
    if deed and (not re.match(r"can you\b", question, _I) or _SERVES.search(deed["rest"])):
        yield Asked(is_request=True)
        return
    said = voiced(turned(question), role)
    if said:
        yield Asked(said=said, choice=alternatives(said))


def embedded(text: str) -> tuple[str, bool]:
    """The clause that a frame of closed words asks about or reports, and whether the frame requests to be told.

    "Can you confirm that the ferry leaves at 9": the ferry leaves at 9. A frame that denies is no frame: "" then.
    """
    for match in re.finditer(r"\b(?P<joint>that|if|whether)\s+(?=\w)", text, _I):
        before, inner = text[: match.start()].strip(" ,"), text[match.end() :]
        if before and _frames(before) and _is_clause(inner):
            return inner, match["joint"].lower() != "that" and _TELLS.search(before) is not None
    words = list(re.finditer(r"\S+", text))
    for index in range(1, min(8, len(words))):
        before, inner = text[: words[index].start()].strip(" ,"), text[words[index].start() :]
        last = before.rsplit(" ", 1)[-1].lower()
        said = last in REPORTING or _ASSERTING.fullmatch(last)
        if said and _frames(before) and (_opens_clause(inner) or turned(inner)):
            return inner, False
    return "", False


def _opens_clause(text: str) -> bool:
    words = words_of(text)
    opens = bool(words) and (words[0].lower() in DETERMINERS | PRONOUNS or words[0][:1].isupper())
    return _is_clause(text) if opens else finite_verb(words) is not None


_TELLS = re.compile(r"\b(?:tell|say|check|see|find out|let me know)\b", _I)
_ASSERTING = re.compile(
    rf"{SAYING.pattern}|{THINKING.pattern}|{OPEN_VERBS.pattern}"
    r"|confirm|verify|check|understand|remember|recall|correctly|right|correct|true",
    _I,
)
_TRUE = re.compile(r"\b(?:true|correct|right|the case|sure|certain|aware|accurate|so)$", _I)


def _frames(before: str) -> bool:
    """True if the words before a clause only say, think or ask about it, and do not deny it."""
    words = re.findall(r"[\w']+", before.lower())
    last = words[-1] if words else ""
    saying = (
        any(word in REPORTING or _ASSERTING.fullmatch(word) for word in words[-4:])
        or _ASSERTING.fullmatch(last)
        or _TRUE.search(before)
        or last in ("me", "us", "correctly", "in")
    )
    inverted = _AUXILIARY.match(before) is not None
    return bool(saying) and len(words) <= 10 and (inverted or not denies(before))


def _is_clause(text: str) -> bool:
    words = words_of(text)
    return len(words) > 2 and not is_auxiliary(words[0]) and (finite_verb(words) is not None or has_verb(text))


# ---- Yes-or-no questions as statements

_AUXILIARY = re.compile(
    r"(?P<verb>do|does|did|am|is|are|was|were|have|has|had|can|could|will|would|shall|should|must|may|might|wo|ca)"
    r"(?P<no>\s?n't)?\s+(?P<rest>\S[^?]*)",
    _I,
)
_LOST = {"wo": "will", "ca": "can"}
_ADJECTIVES = word_set(
    """open free closed shut available full empty safe legal illegal valid old new big small large high low long short deep wide
    wet dry hot cold warm cool heavy light true false right wrong correct ready due early late near far cheap expensive vegan
    vegetarian indoor outdoor indoors outdoors optional mandatory compulsory daily weekly online offline male female public
    private red blue green black white yellow alive dead active made part worth able extra ill here there nearby upstairs
    downstairs inside outside good bad"""
)
_LIKE_ADJECTIVES = re.compile(r"\w{2,}(?:able|ible|ful|ous|ive|less|proof|free)|\w+-\w+(?:ed|ing|le)")


def turned(question: str, *, near: bool = False) -> str:
    """ "Is the pool open on Mondays": "the pool is open on Mondays"; "" if it has no subject and predicate.

    `near`: a gap at its end is an object, which stands before adjuncts.
    """
    match = _AUXILIARY.match(question.strip().rstrip("? "))
    if not match:
        return ""
    verb, rest = match["verb"].lower(), match["rest"].strip()
    verb = _LOST.get(verb, verb) if match["no"] else verb
    words = rest.split(" ")
    end = _subject_end(words, verb)
    subject, predicate = " ".join(words[:end]).rstrip(","), words[end:]
    while predicate and predicate[0].lower() == "ever":
        predicate = predicate[1:]
    if not predicate:
        return ""
    predicate = _with_near_gap(predicate) if near else predicate
    rest = re.sub(r"\bany(thing|one|body)?\b", r"some\1", " ".join(predicate))
    negated = predicate[0].lower() in ("not", "never")
    if verb in ("do", "does") and not negated:
        first, _, others = rest.partition(" ")
        return f"{subject} {_with_s(first) if verb == 'does' else first} {others}".rstrip()
    return f"{subject} {verb} {rest}"


def _with_near_gap(predicate: Sequence[str]) -> Sequence[str]:
    """A predicate with its last gap right behind the verb, before adjuncts: "bring \0 to the desk", "be \0 to come along"."""
    *words, last = predicate
    place = words.index("be") + 1 if "be" in words else 1
    behind = [word.lower() for word in words[place : place + 2]]
    infinitive = behind[:1] == ["to"] and is_base(behind[-1])
    if last != _GAP or len(behind) < 2 or behind[0] not in PREPOSITIONS or behind[1] in PREPOSITIONS:
        return predicate
    return predicate if infinitive and place == 1 else [*words[:place], _GAP, *words[place:]]


def _with_s(base: str) -> str:
    """The third person of a base verb; "cost" looks like a past."""
    changed = third_person(base)
    return f"{base}s" if changed == base else changed


def _subject_end(words: Sequence[str], verb: str) -> int:
    """Index of the first word behind the subject of a question."""
    bare = [word.strip(",.;:\"'()") for word in words]
    first = bare[0].lower()
    alone = first in ("i", "you", "he", "she", "it", "they", "we", "there") or (
        first in ("this", "that", "these", "those")
        and (len(bare) < 2 or not bare[1][:1].isalpha() or _opens_predicate(bare, 1))
    )
    if alone:
        return 1
    if verb in ("is", "are", "was", "were", "am", "have", "has", "had"):
        return _end_before_complement(bare)
    return _end_before_base(bare)


_EXPECTS = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|would)n't (?!(?:i|you|we)\b)", _I)


def supposed_in(question: str) -> str:
    """The claim that "Aren't they owned by Vale?" expects; "" for any other question."""
    question = question.replace(" n't", "n't")
    return turned(question) if _EXPECTS.match(question) else ""


def is_adjective(word: str) -> bool:
    """True if a word may say how something is: "open", "accessible", "included"."""
    lower = word.lower()
    return lower in _ADJECTIVES or _LIKE_ADJECTIVES.fullmatch(lower) is not None or is_participle(word)


def _opens_predicate(words: Sequence[str], index: int) -> bool:
    """True if the word at `index`, behind a subject, surely begins a predicate."""
    word = words[index].lower()
    if words[index - 1].lower() in DETERMINERS | PREPOSITIONS:
        return False
    if word in ADVERBS or word in ("not", "never", "been") or word in ("the", "a", "an", "its", "his", "her", "their"):
        return True
    if word[:1].isdigit() or word[:1] in "$€£" or is_adjective(word) or _compares(words, index):
        return True
    return word.endswith("ing") and index > 1


def _compares(words: Sequence[str], index: int) -> bool:
    """True before "than": "taller than", "more expensive than"."""
    behind = words[index + 1 : index + 3]
    return behind[:1] == ["than"] or ("than" in behind and words[index].lower() in ("more", "less"))


def _end_before_complement(words: Sequence[str]) -> int:
    """The subject's end in a question with a form of "be" or "have"."""
    start = 1 if words[0].lower() not in DETERMINERS or len(words) < 3 else 2
    sure = [i for i in range(start, len(words)) if _opens_predicate(words, i) and not _joins_noun(words, i)]
    if sure:
        # "the free guided tour included": what describes the noun stands before it.
        return next((one for one in sure if not _describes(words, one)), sure[-1])
    if _GAP in words[1:-1]:
        return words.index(_GAP)
    if words[-1] == _GAP:
        # "Which languages are the tours in", "When is the ride over".
        stranded = len(words) > 2 and words[-2].lower() in PREPOSITIONS and not any(map(is_auxiliary, words))
        return len(words) - 1 - stranded
    for index in range(start, len(words)):
        before = words[index - 1]
        if words[index][:1].isupper() and before[:1].islower() and before.lower() not in DETERMINERS | PREPOSITIONS:
            return index
    place = next(
        (i for i in range(start, len(words)) if words[i].lower() in PREPOSITIONS and words[i].lower() != "of"), None
    )
    if place is None:
        return max(start, len(words) - 1)
    # "Is the soup vegan at weekends", but "Is the pool on the roof".
    return place - 1 if place - 1 > start else place


def _describes(words: Sequence[str], index: int) -> bool:
    """True if an adjective or participle stands between a determiner and its noun: "the heated indoor pool"."""
    follows = words[index + 1].lower() if index + 1 < len(words) else ""
    describing = all(word.lower() in _ADJECTIVES or is_participle(word) for word in words[1 : index + 1])
    return (
        words[0].lower() in DETERMINERS and describing and follows.isalpha() and follows not in PREPOSITIONS | ADVERBS
    )


def _joins_noun(words: Sequence[str], index: int) -> bool:
    """True in "the spending limit more than 900"; False in "the museum showing paintings"."""
    follows = words[index + 1].lower() if index + 1 < len(words) else ""
    return (
        words[index].endswith("ing")
        and follows.isalpha()
        and follows not in PREPOSITIONS | ADVERBS | DETERMINERS
        and any(words[at] == _GAP or _opens_predicate(words, at) for at in range(index + 2, len(words)))
    )


def _end_before_base(words: Sequence[str]) -> int:
    """The subject's end in a question with "do" or a modal: before its base verb."""
    joints = DETERMINERS | PREPOSITIONS
    starts = (
        i for i in range(1, len(words)) if words[i].lower() in joints or words[i][:1].isdigit() or words[i] == _GAP
    )
    cuts = [0, *starts, len(words)]
    for begin, end in pairwise(cuts):
        surely = [i for i in range(max(1, begin), end) if words[i] in ("be", "have", "not", "do")]
        found = [
            i
            for i in range(max(1, begin + (words[begin].lower() in joints)), end)
            if words[i].islower() and is_base(words[i]) and words[i - 1].lower() not in joints
        ]
        surely = sorted(surely + [i for i in found if is_clear_base(words[i])])
        if found or surely:
            return surely[0] if surely else found[-1]
    # An unknown verb: the last word before the first phrase behind the subject.
    first = next((cut for cut in cuts[1:-1] if cut > (2 if words[0].lower() in DETERMINERS else 1)), len(words))
    return max(1, first - 1)


_MIND = word_set(
    "like love hate enjoy prefer know think believe want feel remember mean wish hope understand agree see"
)


def voiced(said: str, role: Role) -> str:
    """A statement in words that its listener could say: of a house that answers, "you open" is "we open"; a user's "can I" is
    "you can". What is asked of the assistant's own mind or life names it."""
    if role is not Role.USER or not re.search(r"\b(?:i|me|my|we|us|our|you|your)\b", said, _I):
        return said
    words = said.split(" ")
    first, second = words[0].lower(), next((word.lower() for word in words[1:] if word.lower() not in ADVERBS), "")
    named = name_speakers(said, *names(role))
    if first in ("i", "we"):
        return re.sub(r"^you (am|was)\b", lambda match: f"you {_PLURAL_BE[match[1]]}", _in_other_voice(said))
    about = re.search(r"\byou(?= (\w+))", said, _I)
    verb = about[1].lower() if about else second
    if first == "you" and (
        verb in _MIND or of_a_mind(named) or (verb in ("have", "are", "were", "do", "had") and not _HOUSE.search(said))
    ):
        return named
    if about and (verb in _MIND or is_past(verb) or (verb in ("are", "have") and first != "you")):
        return named
    return _in_other_voice(said)


_BE_OF_MANY = {"is": "are", "was": "were", "has": "have", "does": "do"}
_MINE = "\u02d0"
"""A letter that marks a pronoun of the one who answers, whose voice does not change."""
_PLURAL_BE = {"am": "are", "was": "were"}
_OTHER_VOICE = {
    "i": "you", "we": "you", "me": "you", "us": "you", "my": "your", "our": "your", "you": "we", "your": "our", "yours": "ours",
}  # fmt: skip
"""The user's pronouns in the words of a house that answers."""
_PERSONS = re.compile(rf"\b(?:(?P<before>\w+) )?(?P<who>{'|'.join(_OTHER_VOICE)})\b", _I)


def _in_other_voice(said: str) -> str:
    """ "My dog may stay with you" of a user: "your dog may stay with us"."""

    def other(match: re.Match[str]) -> str:
        before, who = match["before"] or "", match["who"].lower()
        is_object = who == "you" and (before.lower() in PREPOSITIONS or can_be_verb(before))
        return f"{before} {'us' if is_object else _OTHER_VOICE[who]}".lstrip()

    return _PERSONS.sub(other, said)


_HOUSE = re.compile(
    r"\byou (?:are (?:not )?(?:open|closed|located|based|fully)\b|have (?:an?|any|some|free|no|parking|\d))", _I
)


def negation(said: str) -> str:
    """The denial of a statement."""
    first, _, rest = said.partition(" ")
    return f"{NOT_TRUE} {first.lower() if may_open(first) else first} {rest}".rstrip()


# ---- Alternatives


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip(" .,?") for part in re.split(r",\s+or\s+|\s+or\s+|,\s+", text) if part.strip(" .,?"))


def shape(word: str) -> str:
    """The class of a phrase's first word, by which alternatives are matched."""
    lower = word.lower()
    if lower in PREPOSITIONS:
        return f"p:{lower}"
    if word[:1].isdigit() or word[:1] in "$€£":
        return "figure"
    if lower in DETERMINERS:
        return "determiner"
    return "name" if word[:1].isupper() else "word"


def alternatives(said: str) -> Choice | None:
    """The alternatives in a statement: "the ferry leaves at 7 am or 9 am"; None for none."""
    place = re.search(r"(?P<joint>,?\s+or\s+)(?P<last>\S.*)$", said, _I)
    if not place:
        return None
    before, last = said[: place.start()].split(" "), place["last"].split(" ")
    begin = _begin(before, last)
    if begin is None or begin == 0:
        return None
    mine = before[begin:]
    length = _length(mine, last)
    parts = [*filter(None, " ".join(mine).split(", ")), " ".join(last[:length])]
    return Choice(" ".join(before[:begin]), tuple(part.strip(" ,") for part in parts), " ".join(last[length:]))


def _begin(before: Sequence[str], last: Sequence[str]) -> int | None:
    """Where the first alternative begins in the words before the "or"."""
    wanted = shape(last[0])
    same = [i for i, word in enumerate(before) if word.lower() == last[0].lower()]
    if same and wanted != "determiner":
        return same[0] if "," in " ".join(before) else same[-1]
    alike = [i for i, word in enumerate(before) if shape(word) == wanted and i]
    if not alike and wanted.startswith("p:"):
        alike = [i for i, word in enumerate(before) if i and word.lower() in PREPOSITIONS - {"of"}]
    if not alike:
        return len(before) - 1 if wanted in ("word", "name") else None
    index = alike[-1]
    if wanted in ("name", "word", "figure"):
        listed = any(word.endswith(",") for word in before)
        while (index - 1 in alike and wanted == "name") or (listed and index > 1 and before[index - 1].endswith(",")):
            index -= 1
        if wanted == "word":
            return len(before) - 1 if not listed else index
    return index


def _length(first: Sequence[str], last: Sequence[str]) -> int:
    """Words of the last alternative; the rest belongs to the statement around it."""
    relative = next((i for i, word in enumerate(last) if i and word.lower() in ("who", "that", "which")), len(last))
    last = last[:relative]
    if len(last) <= len(first) or shape(last[0]) == "determiner":
        return len(last)
    return next((i for i, word in enumerate(last) if i and word.lower() in PREPOSITIONS), len(last))


# ---- Open questions

_ENDS_QUESTION = re.compile(
    r",? (?:and|or|but) (?=(?:what|when|where|who|how|which|why|can|do|does|is|are)\b)|, (?:please|then)\b"
)
_REQUESTS = re.compile(r"\b(?:tell|know|remind|say|show|find out|need|wonder)\b", _I)
_VALUE_WORDS = re.compile(
    r"\b(?:(?:(?:from|until|till|since) )?when|where|who"
    r"|how (?:much|many|long|far|old|tall|high|deep|wide|heavy|big|large|fast|often|hot|cold)"
    r"|(?:what|which) (?:[\w']+ ){0,4}?(?:price|cost|fee|dose|dosage|number|age|size|height|length|width|weight|rate|limit|date"
    r"|day|hour|month|time|year|total|amount|temperature|code|address|capital|name))\b",
    _I,
)


def value_question(text: str) -> str:
    """The last question of a turn's text that asks for a value: "When does the ferry leave", "how long it lasts"."""
    for sentence in reversed(re.split(r"(?<=[.!?])\s+", text[-400:])):
        for clause in reversed(_ENDS_QUESTION.split(sentence.strip(" \"'").rstrip("?.! "))):
            clause = _without_contraction(clause)
            place = _VALUE_WORDS.search(clause)
            if place and ("?" in sentence or _REQUESTS.search(clause[: place.start()])):
                return clause[place.start() :]
    return ""


def _without_contraction(question: str) -> str:
    return re.sub(r"\b(wh\w+|how)'s\b", r"\1 is", question, flags=_I)


_GAP = "\0"
"""Stands for the value while the words around it are put in order."""
_MEASURES = word_set("long old tall high deep wide heavy thick")
_BE = word_set("is are was were be been")
_COUNT = re.compile(r"(?P<count>as (?:many|much)|\w+)(?P<behind>(?:,| as| at| per| a| each| every) .+)", _I)
"""A count and what goes on behind what it counts: "five at a time", "as many as you like", "six, plus two more"."""
_PREPOSED = re.compile(rf"\A(?:{'|'.join(PREPOSITIONS)}) (?=\S)", _I)
_TIMED = re.compile(r"(?:when|where|(?:what|which) (?:time|day|date|month|year|hour))\b", _I)
DAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", _I)
_RANGE = re.compile(r"(?!\d{4}-\d\d-)\d[\d:.]*(?: ?[ap]\.?m\b\.?)? ?(?:to|till|until|[-–]) ?\d", _I)
"""The hours of "9 to 5", "10:00–12:00"."""
_LEADING = re.compile(
    r"(?P<prep>in|at|on|for|from|to|with|by|of|until|till|since|about) (?=(?:what|which|whom|whose|when|where)\b)", _I
)


def fill(question: str, value: str) -> str:
    """An open question as a statement with the value in it: "the ferry leaves at 9"; "" if it has no place for one.

    Args:
        question: without its mark; in the order of a question or, behind "tell me", of a statement.
        value: any words, kept as they are.
    """
    leading = _LEADING.match(question)
    question = question[leading.end() :] if leading else question
    asks, *words = question.split(" ")
    asks = asks.lower()
    if not words or "whom" in words:  # "who sued whom" has two places
        return ""
    placed = _placed(question, value) if not leading else f"{leading['prep'].lower()} {_PREPOSED.sub('', value)}"
    # "What happens if it doesn't arrive" has its verb before the "if".
    own = takewhile(lambda word: word.lower() not in SUBORDINATORS, words)
    verb = next((number for number, word in enumerate(own) if is_auxiliary(word)), None)
    if verb is None or (verb and asks in ("when", "where", "who", "why")):
        # "when the hall is open" has the order of a statement; of "who built the hall" the value is the subject.
        if asks == "how" and not words[1:] and words[0] != "many":
            return f"it is {placed}"  # "How far?"
        if asks == "how" and words[0] in ("many", "much"):
            counted = f"{value} {' '.join(words[1:])}"
            return counted if has_verb(question) or any(map(is_base, words[2:3])) else f"there are {counted}"
        words = words[1:] if asks in ("what", "which", "how") and _is_subject_start(words[1:]) else words
        behind = asks in ("when", "where", "why", "how") or _is_subject_start(words)
        return f"{' '.join(words)} {placed}" if behind else _of_subject(value, words, asks)
    kind, auxiliary, rest = words[:verb], words[verb].lower(), words[verb + 1 :]
    if asks == "what" and auxiliary in _BE and "like" in rest[1:]:
        asks, rest = "how", [word for word in rest if word != "like"]  # "What is the water like"
    if asks == "how" and auxiliary in _BE and not (kind or " " in value or any(map(is_participle, rest))):
        placed = value.lower()  # "Cold." is no name
    if not rest:
        return f"{value} {auxiliary}" if not kind else ""
    measure = kind[0].lower() if asks == "how" and kind else ""
    if not leading and _is_subject(asks, kind, auxiliary, rest):
        counted = _counted(value, kind[1:], of=measure == "much") if measure else value
        return _of_subject(counted, words[verb:], asks)
    if (
        measure in _MEASURES
        and auxiliary in _BE
        and measure not in value
        and any(one.dimension for one in amounts(value))
    ):
        placed = f"{placed} {measure}"
    if measure in ("much", "many"):
        placed = _counted(placed, kind[1:], of=measure == "much")
    # "How long does it take to get there": "it takes an hour to get there".
    joint = "from" if measure == "far" else "to" if rest[0].lower() == "it" else ""
    gap = rest.index(joint) if joint in rest else len(rest)
    placed = placed.removeprefix(f"{rest[-1]} ")  # "What year was it built in"
    near = (
        not leading
        and "," not in placed
        and (asks in ("what", "which", "who") or measure in {"much", "many", *_MEASURES})
    )
    return turned(" ".join((auxiliary, *rest[:gap], _GAP, *rest[gap:])), near=near).replace(_GAP, placed)


def _counted(value: str, nouns: Sequence[str], *, of: bool) -> str:
    """The value with what it counts: "four" of "how many times a day" is "four times a day"."""
    found = _COUNT.match(value)
    head, behind = (found["count"], found["behind"]) if found else (value, "")
    nouns = [*dropwhile(head.split(" ").__contains__, nouns)]
    joint = ["of"] if of and nouns and "more" not in nouns and re.search(r"[a-z]", value) else []
    return " ".join((head, *joint, *nouns)) + behind


def _is_subject_start(words: Sequence[str]) -> bool:
    return bool(words) and (words[0].lower() in DETERMINERS | PRONOUNS or words[0][:1].isupper())


def _is_subject(asks: str, kind: Sequence[str], auxiliary: str, rest: Sequence[str]) -> bool:
    """True if the value is the question's subject: "who is leading the tour", "what is in the hall"."""
    first = rest[0].lower()
    if auxiliary in ("do", "does", "did"):
        # "Who does the repairs", where no other verb can be.
        deeds = is_plural(rest[-1]) or rest[-1].endswith("ing")
        named = first in DETERMINERS and deeds and not any(map(is_base, rest))
        return asks == "who" and (named or (first in PRONOUNS and not rest[1:]))
    counts = bool(kind) and kind[0].lower() in ("much", "many")
    if asks in ("when", "where", "why") or kind[:1] == ["time"] or (asks == "how" and not counts):
        return False
    if auxiliary in ("have", "has", "had") and asks != "how" and first not in PRONOUNS:
        # "Who has the key", but "What has the school planned".
        return first == "been" or not any(
            is_participle(word) and before.lower() not in DETERMINERS for before, word in pairwise([asks, *rest])
        )
    if auxiliary not in _BE:
        return first in ("be", "been") or is_clear_base(first) or (is_base(first) and not any(map(is_base, rest[1:2])))
    if asks == "how" and (not kind[1:] or first == "there"):
        return False  # "How much is parking"
    participle = (is_participle(first) or first.endswith("ing") or first in PREPOSITIONS) and first not in DETERMINERS
    return participle or is_adjective(first) or (len(rest) == 1 and first not in PRONOUNS and rest[0].islower())


def _of_subject(value: str, words: Sequence[str], asks: str) -> str:
    """The value as the subject. A lone name comes last, where its capital tells that it is one."""
    verb = words[0] if words else ""
    if value.lower().removesuffix(_MINE) in ("i", "you", "we"):  # "pay" of "Who pays"
        bases = (verb.removesuffix("s"), verb.removesuffix("es"), re.sub("ies$", "y", verb))
        verb = _BE_OF_MANY.get(verb) or next(filter(is_base, bases), verb)
        return " ".join((value, verb, *words[1:]))
    counted = is_plural(verb) and any(map(is_base, words[1:2]))  # "Which tours include lunch"
    named = asks in ("which", "whose", "what") and not (is_auxiliary(verb) or is_past(verb) or verb.endswith("s"))
    rest = " ".join(words[1:] if (named or counted) and len(words) > 1 else words)
    return f"the one who {rest} is {value}" if asks == "who" and re.fullmatch(r"[A-Z]\w+", value) else f"{value} {rest}"


def _placed(question: str, value: str) -> str:
    """The value with the preposition of a time or place, if it has none."""
    first = value.split(" ", 1)[0].lower()
    asks = question.split(" ", 1)[0].lower()
    if asks == "why":
        return value if first in PREPOSITIONS | SUBORDINATORS | {"so", "due", "thanks"} else f"because of {value}"
    if not _TIMED.match(question) or first in PREPOSITIONS | ADVERBS | {_GAP, "only", "not"} or first.endswith("ly"):
        return value
    if first in DETERMINERS - {"the", "a", "an"} and asks != "where":
        return value  # "every Monday"
    if asks == "where":
        return value if first in _ADJECTIVES or not value[0].isalpha() else f"in {value}"
    if _RANGE.match(value):
        return f"from {value}"
    found = next(iter(amounts(value)), None)
    if (found and found.dimension == "clock") or question.lower().startswith("what time"):
        return f"at {value}"
    if (found and found.dimension == "date") or DAY.match(value):
        return f"on {value}"
    return f"in {value}" if value[0].isdigit() or value[0].isupper() else value
