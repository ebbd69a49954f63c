"""Asides as separate claims: "X, which did Y, ...", "X, a Y, ...", and statements in questions, brackets and small talk.

Only if the noun is clear: a capitalised name, or "the" and at most three words right before the comma.
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
    """Text `start:end` of the turn; `subject` if it is elsewhere in the sentence."""

    start: int
    end: int
    subject: str = ""


_NAME = r"(?:(?:[Tt]he\s+)?\b[A-Z][\w'.-]{0,40}\w(?:\s+(?:of\s+(?:the\s+)?)?[A-Z][\w'.-]{0,40}\w){0,5})"
_NOUN = r"(?:\b[Tt]he\s+[a-z][\w-]{1,30}(?:\s+[a-z][\w-]{1,30}){0,2})"
_RELATIVE = re.compile(
    rf"(?P<name>{_NAME}|^{_NOUN})(?P<joint>,\s+(?:who|which)|\s+who)\s+(?P<said>[^,;:()]+?)(?=,\s|[.!?]*$)"
)
_APPOSITION = re.compile(rf"^(?P<name>{_NAME}),\s+(?P<said>(?:an?|the)\s+[^,;:()]+),\s+(?P<rest>\w.*)$", re.DOTALL)
_LISTED = re.compile(r"\b(?:and|or)\b")


def asides(sentence: str, offset: int) -> Iterator[Clause]:
    """The asides of the sentence at `offset`, and the rest to split further, which has no `subject`.

    With an aside behind an opening name, there is no such rest.
    """
    opening = _apposition(sentence, offset)
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


def _apposition(sentence: str, offset: int) -> tuple[Clause, ...]:
    """Claims of "X, a Y, <verb> ...", the main one last; none for other sentences."""
    match = _APPOSITION.match(sentence)
    if not match or not _goes_on(match["rest"]) or _LISTED.search(match["said"]):
        return ()
    verb = "was" if is_past(words_of(match["rest"])[0]) else "is"
    return (
        Clause(offset + match.start("said"), offset + match.end("said"), f"{match['name']} {verb}"),
        Clause(offset + match.start("rest"), offset + len(sentence), match["name"]),
    )


def _is_full_name(name: str) -> bool:
    """Two words and no plural: "Ada Vale who ..." describes her, "young Danes who ..." restricts them."""
    return len(name.split()) > 1 and not name.lower().startswith("the ") and not name.endswith("s")


def _goes_on(text: str) -> bool:
    """True if `text` begins with a verb and goes on."""
    words = words_of(text)
    index = past_adverbs(words, 0)
    return index + 1 < len(words) and (is_verb(words[index]) or is_third(words[index]))


_SUPPOSING = word_set("if unless whether lest what whatever whoever whenever wherever whom")
"""Openers of a clause that states nothing."""
_TIMES = word_set("when until till before after once where how why while")
"""Conjunctions whose clause may only describe a habit."""
_JOINS = _TIMES | word_set("that as since because although though whereas which who except")
_RELATIVES = word_set("which who that")
_ANY = word_set("a an another some any each every")
_LEARNING = word_set(
    "learn learned learnt learning knowing hearing reading read thinking seeing remember imagine discover and but"
)
"""Words whose clause is stated, whatever precedes them."""
_LEADING = ADVERBS | word_set("and but or so for too as well yes no especially not least")
_APPOSES = frozenset(",(–—-[")
LITERAL = re.compile(
    r"\d|\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October"
    r"|November|December)\b"
)
_UNTOLD = re.compile(r"(?:n['’]t|\bnot) (?P<verb>\w+)$")
_TURNED = re.compile(
    r"\s(?:do|does|did|am|is|was|ha(?:ve|s|d)|can|could|will|would|should)\s(?:i|you|we|the (?:assistant|user))(?![\w']).*",
    re.IGNORECASE,
)
""" "Only when I learnt that S did I smile": an inverted main clause behind a statement."""
_SPEAKERS = frozenset(("the assistant", "the user"))
_LONGEST_NOUN = 8
_OWN = word_set("you i we one your my our let please")
FIGURE = re.compile(r"\d{2,}")
LONG_FIGURE = re.compile(r"\d{3,}")
"""A year, a price, a count: always a claim."""
_WHY = re.compile(
    r"(?:so |and |but )?(?:why|how come)\s+(?:did|does|do|is|are|was|were|has|have)\s+(?P<rest>.+)", re.IGNORECASE
)
_SOMETHING = re.compile(
    r"(?:can you )?(?:guess )?(?:what|who|which(?: \w+){1,2})\s+(?P<rest>(?P<verb>\w+)\s.+)", re.IGNORECASE
)
_MOST = 6
"""Most statements taken from one sentence."""
MAX_SENTENCE = 1500
"""Longest sentence, in characters, to take apart: longer ones are no prose, and the rules are slow on them."""


def presuppositions(question: str) -> Iterator[str]:
    """Claims that a question or an exclamation presupposes."""
    text = question.rstrip("?! ")
    why = _WHY.match(text)
    something = _SOMETHING.match(text)
    if why:
        yield why["rest"]
    elif something and LONG_FIGURE.search(text) and is_past(something["verb"]):
        yield something["rest"]
    yield from inner_statements(text)


_PART = re.compile(
    r"(?P<mark>[,:](?!\d)|[;()\[\]{}\"“”—–]|\s--?\s|[.!?](?=\s|$))|(?<![\w'-])(?P<word>"
    + "|".join(sorted(_JOINS | _SUPPOSING, key=len, reverse=True))
    + r")(?![\w'-]| well\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Part:
    """A segment between marks and conjunctions: its opener, its words, and the text before it."""

    opener: str
    marked: bool
    """True if a mark precedes it, with or without a conjunction."""
    text: str
    end: int
    before: str

    @cached_property
    def words(self) -> list[str]:
        """Its words without leading adverbs and fillers."""
        words = words_of(self.text)
        return words[next((index for index, word in enumerate(words) if word.lower() not in _LEADING), len(words)) :]

    @property
    def said(self) -> str:
        """Its text from `words` on."""
        return _from_word(self.text, words_of(self.text), len(words_of(self.text)) - len(self.words))

    @property
    def is_clause(self) -> bool:
        """True if it has a subject and its verb."""
        return _is_clause(self.words, joined=self.opener in _JOINS)


def _parts(sentence: str) -> Iterator[_Part]:
    begin, opener, marked, before = 0, "", False, 0
    for match in itertools.chain(_PART.finditer(sentence), [None]):
        end = match.start() if match else len(sentence)
        text = sentence[begin:end].strip(" \t\n'*_")
        if text:
            yield _Part(opener, marked, text, end, sentence[:before])
            opener, marked, before = "", False, end
        if match:
            # "given that", ", which": the last conjunction counts.
            begin, marked = match.end(), marked or match["mark"] is not None
            opener = (match["word"] or opener or match["mark"].strip()).lower()


def inner_statements(sentence: str) -> Iterator[str]:
    """Finite clauses, participles and appositions inside a sentence, unless the speaker or listener is their subject.

    "The page doesn't say whether dogs may come in" has no statement inside: what doesn't say is no claim.
    """
    if len(sentence) > MAX_SENTENCE:
        return
    parts = [*_parts(sentence)]
    if any(part.opener in ("if", "unless") and part.words and not _is_own(part.words) for part in parts):
        # "If it rains, the tour moves inside": the consequence is no claim by itself.
        parts = [part for part in parts if part.opener in _JOINS]
    texts = (
        text for number, part in enumerate(parts) for text in _part_statements(sentence, part, parts[number + 1 :])
    )
    whole = sentence.rstrip(" .!?")
    inside = (text for text in map(_without_main, texts) if text and len(text) < len(whole) and not _is_silent(text))
    yield from itertools.islice(inside, _MOST)


def _is_silent(text: str) -> bool:
    """True if it ends where what isn't told would stand: "The page doesn't say"."""
    found = _UNTOLD.search(text)
    return found is not None and found["verb"].lower() in REPORTING


def _without_main(text: str) -> str:
    """ "Only when I learnt that S did I smile": S without the main clause; "" for an incomplete clause."""
    return "" if text.endswith((" and", " or")) else _TURNED.sub("", text)


def _part_statements(sentence: str, part: _Part, later: Sequence[_Part]) -> Iterator[str]:
    """The statement of a part, by itself or about a noun beside it; nothing if it only supposes or asks."""
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
        yield from [] if is_any else _statement_about(noun, part.said)
    elif opens in ("having", "being") or (is_participle(words[0]) and (part.marked or not part.before)):
        main = next((clause.said for clause in later if clause.opener not in _JOINS), "")
        verb = {"having": "has ", "being": "is "}.get(opens, "")
        subject = _noun_before(part.before) if part.before else _subject(main)
        yield from _statement_about(subject, verb + _from_word(part.said, words, 1 if verb else 0))
    elif part.is_clause and (part.before or part.opener != "how"):  # "How many bags may Ana take?" states nothing
        yield from _whole_clause(sentence, part, later)
    elif part.opener in _APPOSES and _is_value(part, later):
        yield from _statement_about(_noun_before(part.before), part.said, ":")
    else:
        yield from _clause_within(part.said, words)


def _whole_clause(sentence: str, part: _Part, later: Sequence[_Part]) -> Iterator[str]:
    """A clause with its attached parts ("since 1850"); none if the whole rest of the sentence is attached."""
    joined = _JOINS - _RELATIVES | {","}
    attached = list(
        itertools.takewhile(lambda other: other.opener in joined and not (_acts(other.words) or other.is_clause), later)
    )
    if part.opener or (later and later[0].opener != ","):
        end = attached[-1].end if attached else part.end
        yield sentence[sentence.index(part.said, len(part.before)) : end].strip(" '*_")


def _statement_about(noun: str, text: str, joint: str = "") -> Iterator[str]:
    if noun and (joint or " " in text):
        yield f"{noun}{joint} {text}"


def _is_value(part: _Part, later: Sequence[_Part]) -> bool:
    """True for a figure or day beside a noun, and for a name in brackets or between subject and verb."""
    if len(part.words) >= _LONGEST_NOUN:
        return False
    between = part.opener != "," or any(can_be_verb(word) for next_part in later[:1] for word in next_part.words[:1])
    named = all(word[0].isupper() and not word.isupper() for word in part.words)
    return LITERAL.search(part.said) is not None or (between and named)


def _has_value(text: str) -> bool:
    """True if a text has a figure, a day, or a name other than its first word."""
    names = (word for word in words_of(text)[1:] if word.partition("'")[0] != "I")
    return LITERAL.search(text) is not None or any(word[0].isupper() for word in names)


def states(text: str, *, joined: bool = False) -> bool:
    """True if a text is a clause about neither speaker nor listener; with `joined`, any verb will do."""
    words = words_of(text)
    return not _acts(words) and _is_clause(words, joined=joined)


def _acts(words: Sequence[str]) -> bool:
    """True for an order, a yes-or-no question, and an action of the speaker or listener."""
    first = words[0].lower() if words else ""
    return first != "" and (_is_own(words) or is_auxiliary(first) or begins_imperative([first, *words[1:]]))


def _is_own(words: Sequence[str]) -> bool:
    """True if the subject is the speaker or the listener."""
    return words[0].lower().partition("'")[0] in _OWN or " ".join(words[:2]).lower() in _SPEAKERS


def _is_clause(words: Sequence[str], *, joined: bool) -> bool:
    """True if the words are a subject and its verb; with `joined`, any verb will do."""
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
    """The subject of a clause, unless it is the speaker or listener; else ""."""
    words = words_of(text)
    verb = finite_verb(words) or 0
    return "" if not verb or _is_own(words) or words[0].lower() in PRONOUNS else " ".join(words[:verb])


def _noun_before(before: str) -> str:
    """The noun phrase at the end of a text, from its last determiner or capital on."""
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
    """`text` from the word at `index` on."""
    place = 0
    for word in words[:index]:
        place = text.index(word, place) + len(word)
    return text[place:].strip()
