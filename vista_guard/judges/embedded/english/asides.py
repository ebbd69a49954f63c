"""What is said of a noun in passing: "X, which did Y, ...", "X, a Y, ...", "X, born in Y, ..." are claims of their own.

Only where the noun is sure: a capitalised name, or "the" and at most three words right before the comma.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vista_guard.judges.embedded.english.grammar.finite import is_third
from vista_guard.judges.embedded.english.verbs import past_adverbs, words_of
from vista_guard.judges.embedded.english.words import is_past, is_verb


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
    """Whether `text` is a verb with something behind it."""
    words = words_of(text)
    index = past_adverbs(words, 0)
    return index + 1 < len(words) and (is_verb(words[index]) or is_third(words[index]))
