"""Asides as claims of their own: "X, which did Y, ...", "X, a Y, ...", and statements in questions, brackets and small talk.

Only where the noun is sure: a capitalised name, or "the" and at most three words right before the comma.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from vista_guard.judges.embedded.english.cues import REPORTING, can_be_verb
from vista_guard.judges.embedded.english.verbs import (
    begins_imperative,
    finite_verb,
    is_participle,
    is_third,
    past_adverbs,
    words_of,
)
from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    DETERMINERS,
    PRONOUNS,
    is_auxiliary,
    is_past,
    is_verb,
    word_set,
)


@dataclass(frozen=True)
class Clause:
    """Text `start:end` of the turn, said of `subject` when the subject stands elsewhere in the sentence."""

    start: int
    end: int
    subject: str = ""


_NAME = r"(?:(?:[Tt]he\s+)?\b[A-Z][\w'.-]{0,40}\w(?:\s+(?:of\s+(?:the\s+)?)?[A-Z][\w'.-]{0,40}\w){0,5})"
_NOUN = r"(?:\b[Tt]he\s+[a-z][\w-]{1,30}(?:\s+[a-z][\w-]{1,30}){0,2})"
_OPENING_NOUN = re.compile(rf"^(?P<name>{_NOUN}),\s+(?:who|which)\s+(?P<said>[^,;:()]+),\s+(?P<rest>\w.*)$", re.DOTALL)
_RELATIVE = re.compile(rf"(?P<name>{_NAME})(?P<joint>,\s+(?:who|which)|\s+who)\s+(?P<said>[^,;:()]+?)(?=,\s|[.!?]*$)")
_APPOSITION = re.compile(rf"^(?P<name>{_NAME}),\s+(?P<said>(?:an?|the)\s+[^,;:()]+),\s+(?P<rest>\w.*)$", re.DOTALL)
_PARTICIPLE = re.compile(
    rf"^(?P<name>{_NAME}|{_NOUN}),\s+(?P<said>(?P<verb>born|built|founded|published|released|known|located|based|situated|completed"
    r"|designed|introduced|launched|established|invented|created|developed|discovered|formed|painted|erected|signed)"
    r"\s+[^,;:()]+),\s+(?P<rest>\w.*)$",
    re.DOTALL,
)
_STILL_SO = frozenset(("known", "located", "based", "situated"))
_LISTED = re.compile(r"\b(?:and|or)\b")


def asides(sentence: str, offset: int) -> Iterator[Clause]:
    """The sentence at `offset` of the turn: what is said in passing, and what is left to take apart, which has no `subject`.

    Behind a name that opens it, nothing is left to take apart.
    """
    opening = _of_opening_name(sentence, offset)
    if opening:
        yield from opening
        return
    passing = []
    for match in _RELATIVE.finditer(sentence):
        rest = sentence[match.end() :].lstrip(", ")
        if not _goes_on(match["said"]) or not ("," in match["joint"] or _is_full_name(match["name"])):
            continue
        passing.append(Clause(offset + match.start("said"), offset + match.end("said"), match["name"]))
        if match.start() == 0 and _goes_on(rest):
            yield from passing
            yield Clause(offset + len(sentence) - len(rest), offset + len(sentence), match["name"])
            return
        if not words_of(rest):
            yield Clause(offset, offset + match.end("name"))
            yield from passing
            return
    yield Clause(offset, offset + len(sentence))
    yield from passing


def _of_opening_name(sentence: str, offset: int) -> tuple[Clause, ...]:
    """Claims of "X, <aside>, <verb> ...", the main one last; none when the sentence has no such form."""
    for pattern in (_APPOSITION, _PARTICIPLE, _OPENING_NOUN):
        match = pattern.match(sentence)
        if not match or not _goes_on(match["rest"]):
            continue
        verb = _copula(match["rest"], match.groupdict().get("verb"))
        if pattern is _APPOSITION and _LISTED.search(match["said"]):
            continue
        if pattern is _OPENING_NOUN:
            if not _goes_on(match["said"]):
                continue
            verb = ""
        subject = f"{match['name']} {verb}".rstrip()
        return (
            Clause(offset + match.start("said"), offset + match.end("said"), subject),
            Clause(offset + match.start("rest"), offset + len(sentence), match["name"]),
        )
    return ()


def _copula(rest: str, participle: str | None) -> str:
    if participle:
        return "is" if participle in _STILL_SO else "was"
    return "was" if is_past(words_of(rest)[0]) else "is"


def _is_full_name(name: str) -> bool:
    """Two words and no plural: "Ada Vale who ..." tells of her, "young Danes who ..." tells which."""
    return len(name.split()) > 1 and not name.lower().startswith("the ") and not name.endswith("s")


def _goes_on(text: str) -> bool:
    """True if `text` is a verb with something behind it."""
    words = words_of(text)
    index = past_adverbs(words, 0)
    return index + 1 < len(words) and (is_verb(words[index]) or is_third(words[index]))


_SUPPOSING = word_set("if unless whether lest what whatever whoever whenever wherever whom")
"""Openers of a clause that states nothing."""
_TIMES = word_set("when until till before after once where how why while")
"""Conjunctions behind which a clause may only tell of a habit."""
_JOINS = _TIMES | word_set("that as since because although though whereas which who except")
_RELATIVES = word_set("which who that")
_ANY = word_set("a an another some any each every")
_LEARNING = word_set(
    "learn learned learnt learning knowing hearing reading read thinking seeing remember imagine discover and but"
)
"""Conjunctions behind which a clause states what it says, whatever stands before them."""
_LEADING = ADVERBS | word_set("and but or so for too as well yes no especially not least")
_APPOSES = frozenset(",(–—-[")
LITERAL = re.compile(
    r"\d|\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October"
    r"|November|December)\b"
)
_TURNED = re.compile(
    r"\s(?:do|does|did|am|is|was|ha(?:ve|s|d)|can|could|will|would|should)\s(?:i|you|we|the (?:assistant|user))(?![\w']).*",
    re.IGNORECASE,
)
""" "Only when I learnt that S did I smile": the main clause behind a statement."""
_SPEAKERS = frozenset(("the assistant", "the user"))
_LONGEST_NOUN = 8
_OWN = word_set("you i we one your my our let please")
FIGURE = re.compile(r"\d{2,}")
LONG_FIGURE = re.compile(r"\d{3,}")
"""A year, a price, a count: what nobody says without claiming it."""
_WHY = re.compile(
    r"(?:so |and |but )?(?:why|how come)\s+(?:did|does|do|is|are|was|were|has|have)\s+(?P<rest>.+)", re.IGNORECASE
)
_NOT = re.compile(
    r"(?:did|does|do|is|are|was|were|has|have|had|wo|would)n't\s+(?P<rest>(?!you\b|i\b|we\b|it\b|he\b|she\b|they\b|that\b).+)",
    re.IGNORECASE,
)
_SOMETHING = re.compile(
    r"(?:can you )?(?:guess )?(?:what|who|which(?: \w+){1,2})\s+(?P<rest>(?P<verb>\w+)\s.+)", re.IGNORECASE
)
_MOST = 6
"""Statements that are taken out of one sentence, at most."""
_MAX_SENTENCE = 1500
"""Longest sentence that is searched: each place is looked at once, and a longer one is no talk."""


def presuppositions(question: str) -> Iterator[str]:
    """Claims that a question or an exclamation takes for granted."""
    asked = question.rstrip("?! ")
    why = _WHY.match(asked)
    doubt = _NOT.match(asked)
    something = _SOMETHING.match(asked)
    if why:
        yield why["rest"]
    elif doubt and FIGURE.search(asked):
        yield doubt["rest"]
    elif something and LONG_FIGURE.search(asked) and is_past(something["verb"]):
        yield something["rest"]
    yield from inner_statements(asked)


_PART = re.compile(
    r"(?P<mark>[,:](?!\d)|[;()\[\]{}\"“”—–]|\s--?\s|[.!?](?=\s|$))|(?<![\w'-])(?P<word>"
    + "|".join(sorted(_JOINS | _SUPPOSING, key=len, reverse=True))
    + r")(?![\w'-]| well\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Part:
    """A stretch between marks and conjunctions: what opens it, its words, and all that stands before it."""

    opener: str
    marked: bool
    """True if a mark stands before it, beside the conjunction or instead of one."""
    text: str
    end: int
    before: str

    @cached_property
    def words(self) -> list[str]:
        """Its words from the first that does more than lead to it."""
        words = words_of(self.text)
        return words[next((index for index, word in enumerate(words) if word.lower() not in _LEADING), len(words)) :]

    @property
    def said(self) -> str:
        """Its text from there on."""
        return _from_word(self.text, words_of(self.text), len(words_of(self.text)) - len(self.words))

    @property
    def is_clause(self) -> bool:
        """True if it has a subject and its verb."""
        return _is_clause(self.words, joined=self.opener in _JOINS)


def _parts(said: str) -> Iterator[_Part]:
    begin, opener, marked, before = 0, "", False, 0
    for match in itertools.chain(_PART.finditer(said), [None]):
        end = match.start() if match else len(said)
        text = said[begin:end].strip(" \t\n'*_")
        if text:
            yield _Part(opener, marked, text, end, said[:before])
            opener, marked, before = "", False, end
        if match:
            # "given that", ", which": the last conjunction tells what follows.
            begin, marked = match.end(), marked or match["mark"] is not None
            opener = (match["word"] or opener or match["mark"].strip()).lower()


def inner_statements(said: str) -> Iterator[str]:
    """Finite clauses, participles and appositions inside a sentence, unless their subject is who speaks or listens."""
    if len(said) > _MAX_SENTENCE:
        return
    parts = [*_parts(said)]
    if any(part.opener in ("if", "unless") and part.words and not _is_own(part.words) for part in parts):
        # "If it rains, the tour moves inside": what hangs on the condition is not said by itself.
        parts = [part for part in parts if part.opener in _JOINS]
    texts = (text for number, part in enumerate(parts) for text in _stated(said, part, parts[number + 1 :]))
    whole = said.rstrip(" .!?")
    yield from itertools.islice((text for text in map(_without_main, texts) if text and len(text) < len(whole)), _MOST)


def _without_main(text: str) -> str:
    """ "Only when I learnt that S did I smile": S without the main clause; nothing of a clause that breaks off."""
    return "" if text.endswith((" and", " or")) else _TURNED.sub("", text)


def _stated(said: str, part: _Part, later: Sequence[_Part]) -> Iterator[str]:
    """The statement of a part, by itself or of a noun beside it; nothing if it only supposes or asks."""
    words, opens = part.words, part.words[0].lower() if part.words else ""
    if not words or part.opener in _SUPPOSING or (part.opener in _TIMES and not _has_value(part.said)):
        return
    if _is_own(words) or (is_auxiliary(opens) and part.opener not in _RELATIVES):
        yield from _clause_within(part.said, words)
    elif opens in PRONOUNS:
        yield from [part.said] if part.opener in _JOINS and part.is_clause and _has_value(part.said) else []
    elif part.opener in _RELATIVES and (can_be_verb(words[0]) or not part.before):
        noun = _noun_before(part.before)
        is_any = noun.split(" ")[0].lower() in _ANY and not part.marked and not _has_value(part.said)
        yield from [] if is_any else _said_of(noun, part.said)
    elif opens in ("having", "being") or (is_participle(words[0]) and (part.marked or not part.before)):
        main = next((one.said for one in later if one.opener not in _JOINS), "")
        verb = {"having": "has ", "being": "is "}.get(opens, "")
        subject = _noun_before(part.before) if part.before else _subject(main)
        yield from _said_of(subject, verb + _from_word(part.said, words, 1 if verb else 0))
    elif part.is_clause:
        yield from _whole_clause(said, part, later)
    elif part.opener in _APPOSES and _is_value(part, later):
        yield from _said_of(_noun_before(part.before), part.said, ":")
    else:
        yield from _clause_within(part.said, words)


def _whole_clause(said: str, part: _Part, later: Sequence[_Part]) -> Iterator[str]:
    """A clause with what belongs to it behind a comma or a preposition ("since 1850"); none if all else of the sentence does."""
    joined = _JOINS - _RELATIVES | {","}
    own = list(itertools.takewhile(lambda one: one.opener in joined and not (_acts(one.words) or one.is_clause), later))
    if part.opener or (later and later[0].opener != ","):
        end = own[-1].end if own else part.end
        yield said[said.index(part.said, len(part.before)) : end].strip(" '*_")


def _said_of(noun: str, text: str, joint: str = "") -> Iterator[str]:
    if noun and (joint or " " in text):
        yield f"{noun}{joint} {text}"


def _is_value(part: _Part, later: Sequence[_Part]) -> bool:
    """True for a figure or a day beside a noun, and for a name in brackets or between a subject and its verb."""
    if len(part.words) >= _LONGEST_NOUN:
        return False
    between = part.opener != "," or any(can_be_verb(word) for one in later[:1] for word in one.words[:1])
    named = all(word[0].isupper() and not word.isupper() for word in part.words)
    return LITERAL.search(part.said) is not None or (between and named)


def _has_value(text: str) -> bool:
    """True if a text has a figure, a day, or a name that does not open it."""
    return LITERAL.search(text) is not None or any(word[0].isupper() for word in words_of(text)[1:])


def states(said: str, *, joined: bool = False) -> bool:
    """True if a text is a clause whose subject is neither who speaks nor who listens; if `joined`, any verb will do."""
    words = words_of(said)
    return not _acts(words) and _is_clause(words, joined=joined)


def _acts(words: Sequence[str]) -> bool:
    """True for an order, a question of yes or no, and what the speaker or the listener does."""
    first = words[0].lower() if words else ""
    return first != "" and (_is_own(words) or is_auxiliary(first) or begins_imperative([first, *words[1:]]))


def _is_own(words: Sequence[str]) -> bool:
    """True if the subject is who speaks or who listens."""
    return words[0].lower().partition("'")[0] in _OWN or " ".join(words[:2]).lower() in _SPEAKERS


def _is_clause(words: Sequence[str], *, joined: bool) -> bool:
    """True if the words are a subject and its verb; behind a conjunction any verb will do."""
    words = [word for word in words if word.lower() not in ADVERBS]
    if len(words) < 3 or words[1].lower() in PRONOUNS:
        return False
    if finite_verb(words) is not None:
        return True
    return joined and any(
        is_verb(word) and before.lower() not in DETERMINERS | {"to"} for before, word in itertools.pairwise(words[:10])
    )


def _clause_within(text: str, words: Sequence[str]) -> Iterator[str]:
    """ "the hall opened in 1850" of "I'm glad to see the hall opened in 1850"."""
    for index in range(2, len(words) - 2):
        word, before = words[index], words[index - 1].lower()
        opens = word.lower() in DETERMINERS or (word[0].isupper() and word.isalpha())
        if opens and before in REPORTING | _LEARNING and not _is_own(words[index:]) and finite_verb(words[index:]):
            yield _from_word(text, words, index)
            return


def _subject(text: str) -> str:
    """The subject of a clause that is neither the speaker's nor the listener's; nothing for any other text."""
    words = words_of(text)
    verb = finite_verb(words) or 0
    return "" if not verb or _is_own(words) or words[0].lower() in PRONOUNS else " ".join(words[:verb])


def _noun_before(before: str) -> str:
    """The noun phrase that ends a text, from its last determiner or capital on."""
    words = words_of(before.rstrip(" ,;:([—–-"))[-_LONGEST_NOUN:]
    start = None
    for index in range(len(words) - 1, -1, -1):
        word = words[index]
        if not word[0].isalnum() or is_auxiliary(word) or word.lower() in PRONOUNS:
            break
        if word.lower() in DETERMINERS:
            start = index
            break
        if word[0].isupper() and not word.endswith("ly"):
            start = index
    return " ".join(words[start:]) if start is not None else ""


def _from_word(text: str, words: Sequence[str], index: int) -> str:
    """`text` from its word at `index` on."""
    place = 0
    for word in words[:index]:
        place = text.index(word, place) + len(word)
    return text[place:].strip()
