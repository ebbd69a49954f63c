"""Asides as claims of their own: "X, which did Y, ...", "X, a Y, ...", and statements in questions, brackets and small talk.

Only where the noun is sure: a capitalised name, or "the" and at most three words right before the comma.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vista_guard.judges.embedded.english.verbs import has_verb, is_third, past_adverbs, verb_index, words_of
from vista_guard.judges.embedded.english.words import SUBORDINATORS, any_of, is_auxiliary, is_past, is_verb, word_set


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
_LAST = re.compile(rf"(?P<name>{_NAME}),\s+(?P<said>an?\s+[^,;:()]+?)(?=[.!]*$)")
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
    yield from _of_last_name(sentence, offset)
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


def last_name(sentence: str, clause: Clause) -> Iterator[Clause]:
    """The clause, whose text is `sentence`, and what it says of the name that ends it."""
    found = list(_of_last_name(sentence, clause.start))
    yield from found if len(found) > 1 else [clause]


def _of_last_name(sentence: str, offset: int) -> Iterator[Clause]:
    """ "It stars Ada Vale, a painter." The name must not open the sentence: what is left needs a verb."""
    match = _LAST.search(sentence)
    before = words_of(sentence[: match.start()]) if match else []
    if match and not _LISTED.search(match["said"]) and "," not in before and any(map(is_verb, before[1:])):
        yield Clause(offset, offset + match.end("name"))
        yield Clause(offset + match.start("said"), offset + match.end("said"), f"{match['name']} is")
        return
    yield Clause(offset, offset + len(sentence))


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


_PART_END = re.compile(r"[,;:()\[\]{}?!\"—–]|\s-\s|\.(?=\s|$)")
_START = re.compile(
    r"(?<![\w'-])(?:(?:the|its|his|her|their|our|this|these|those|another|both|all|every|each|no)\s+\w|it\s|they\s|he\s|she\s|"
    r"there\s|[A-Z][a-z]+\s|[A-Z]{2,}\s)"
)
_RELATIVE_CLAUSE = re.compile(r"(?:,\s*|\s+)(?:that|which|who)\s+(?=(?P<verb>[\w']+))")
_ASKING = word_set(
    "what who whom whose why how where when if whether which did do does is are was were can could will would"
)
_OWN = word_set("you i we your my our let please")
_FIGURE = re.compile(r"\d{2,}")
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
_EXCLAIMED = re.compile(r"what an?\s+(?P<rest>.+)", re.IGNORECASE)
_ASIDE = re.compile(r"[(\[]([^()\[\]]{8,400})[)\]]|\s[-–—]{1,2}\s+([^–—]{8,400}?)\s+[-–—]{1,2}\s")
_FREE_TAIL = re.compile(
    rf"\b(?:{any_of('let me know if, feel free to, thanks for, thank you for, have an?, hope (?:this|that|it) helps, sorry')})"
    r"\s+(?P<tail>.+)",
    re.IGNORECASE | re.DOTALL,
)
_FRAME = re.compile(
    r"(?:(?:please|just|but|so|and|also|do|always)[, ]+)*"
    + any_of(
        r"""note\b, notice\b, remember\b, recall\b, (?:keep|bear) in mind, tell\b, imagine\b, picture\b, consider\b, know\b, be
        aware, be advised, rest assured, (?:don't|never) forget, mind you, think\b, believe\b, trust me, guess\b, look\b,
        listen\b, let\b, you\b, i\b, we\b, here\b, there you, have an?\b, enjoy\b, feel free, thanks\b, thank you, share\b,
        welcome\b, glad\b, sorry\b, hope\b, say\b, see\b, good\b, happy\b, isn't\b, how\b, what an?\b, see you\b, take care,
        in my (?:humble )?(?:opinion|view), as an?\b, never mind, no problem, hello\b, hi\b, hey\b, dear\b, ask\b, visit\b,
        come\b, try\b, check\b"""
    ),
    re.IGNORECASE,
)
_CONDITION = re.compile(r"(?:if|when|whenever|once|unless|in case|before|after|while|for)\b", re.IGNORECASE)
_MOST = 6
"""Statements that are taken out of one sentence, at most."""
_MAX_SENTENCE = 1500
"""Longest sentence that is searched: each place is looked at once, and a longer one is no talk."""


def hides_statement(small_talk: str) -> bool:
    """True if "let me know if …" contains a statement that is neither the speaker's nor the listener's own."""
    match = _FREE_TAIL.search(small_talk)
    if match is None:
        return False
    tail = match["tail"]
    if _FIGURE.search(tail) or next(inner_statements(tail), None):
        return True
    words = words_of(tail)
    return any(
        (is_past(word) or is_auxiliary(word))
        and before.lower() not in _OWN | {"there", "anything", "everything", "something"}
        for before, word in itertools.pairwise(words)
    )


def supposes(said: str) -> bool:
    """True for a sentence with a condition that need not hold: only its figures become claims."""
    return _CONDITION.match(said) is not None


def is_frame(said: str) -> bool:
    """True if a sentence opens like an order, a wish or an address to the listener, with any statement only in passing."""
    return _FRAME.match(said) is not None


def asides_of(said: str) -> Iterator[str]:
    """Statements in brackets or between dashes."""
    if len(said) > _MAX_SENTENCE:
        return
    for match in _ASIDE.finditer(said):
        inner = (match[1] or match[2]).strip()
        words = words_of(inner)
        if len(words) > 2 and (verb_index(words) is not None or (LONG_FIGURE.search(inner) and has_verb(inner))):
            yield inner


def presuppositions(question: str) -> Iterator[str]:
    """Claims that a question or an exclamation takes for granted."""
    asked = question.rstrip("?! ")
    why = _WHY.match(asked)
    doubt = _NOT.match(asked)
    something = _SOMETHING.match(asked)
    if why:
        yield why["rest"]
    elif doubt and _FIGURE.search(asked):
        yield doubt["rest"]
    elif something and LONG_FIGURE.search(asked) and is_past(something["verb"]):
        yield something["rest"]
    exclaimed = _EXCLAIMED.match(asked)
    if exclaimed and LONG_FIGURE.search(asked):
        yield f"the {_without_relative(exclaimed['rest'])}"
    yield from inner_statements(asked)


def figures_of(said: str) -> Iterator[str]:
    """Claims with a year or another long figure: "the hall, open since 1850" of "Welcome to the hall, open since 1850!" """
    match = LONG_FIGURE.search(said)
    if match is None or len(said) > _MAX_SENTENCE:
        return
    nouns = [noun.start() for noun in _START.finditer(said, 0, match.start()) if noun.start()]
    if nouns:
        yield said[nouns[0] :].rstrip(" .!?")


def inner_statements(said: str, *, behind: int = 0) -> Iterator[str]:
    """Clauses of a sentence, from `behind` on, that state by themselves about others than who speaks and listens."""
    if len(said) > _MAX_SENTENCE:
        return
    said = _without_relative(said)
    found, last = 0, 0
    for match in _START.finditer(said):
        if match.start() < max(last, behind):
            continue
        end = _PART_END.search(said, match.start())
        part = said[match.start() : end.start() if end else len(said)].strip()
        words = words_of(part)
        if len(words) > 3 and words[0].lower() not in _OWN | _ASKING | SUBORDINATORS and _tells(words):
            if _is_asked(said[: match.start()], takes_for_granted=LONG_FIGURE.search(part) is not None):
                continue
            yield part
            last, found = match.start() + len(part), found + 1
            if found == _MOST:
                return


def _tells(words: Sequence[str]) -> bool:
    """True if the words begin with subject and verb; "the halls do you mean" has them the other way round."""
    verb = verb_index(words)
    return verb is not None and (verb + 1 == len(words) or words[verb + 1].lower() not in _OWN)


def _without_relative(said: str) -> str:
    """ "the hall that opened" as "the hall opened"."""
    return _RELATIVE_CLAUSE.sub(lambda match: " " if is_verb(match["verb"]) else match.group(), said)


def _is_asked(before: str, *, takes_for_granted: bool) -> bool:
    """True if the words before make the clause a question: "whether the hall is open"; a "when" in first place does not."""
    words = words_of(before[-40:])
    if not words or words[-1].lower() not in _ASKING:
        return False
    if takes_for_granted and words[-1].lower() in ("how", "why", "what", "where"):
        return False
    return not (len(before.split()) == 1 and words[-1].lower() in ("when", "where"))
