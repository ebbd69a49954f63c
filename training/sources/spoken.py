"""Talk as it is said: answers that mean nothing without their question, as ``Q: … A: …``.

Made from sets of questions with yes or no, and from the claims that were written for this project: a user states or asks, the
assistant confirms, denies, or gives the bare value. Each question has a right answer and a wrong one of the same kind.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

from training.pairs import KindPair
from training.sources.parts import Part, ended
from training.sources.questions import (
    Asked,
    asked_boolq,
    asked_condaqa,
    asked_pubmed,
    asked_sharc,
    asked_strategy,
    to_user,
)
from training.sources.written import written
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS

FILES = ()  # those of the sets that the questions come from
_YES = (
    "Yes.", "Yes, that's right.", "Yes, it is so.", "That's correct.", "Correct.", "Indeed.", "Right.", "I can confirm that.",
    "Certainly.", "True.", "Yes, according to our documents.", "Exactly.", "Absolutely.", "Yep.", "Sure, that's the case.",
)  # fmt: skip
_NO = (
    "No.", "No, that's not right.", "No, that is not so.", "That's not correct.", "Incorrect.", "Unfortunately not.", "Wrong.",
    "I can't confirm that; it is not so.", "Not at all.", "False.", "No, according to our documents.", "Quite the opposite.",
    "I'm afraid not.", "Nope.", "No, that's not the case.",
)  # fmt: skip
_STATED = ("{claim}", "{bare}, right?", "Is it true that {low}?", "I read that {low}.", "So {low}?", "{bare}, correct?")
_OPPOSITE = {SUPPORTED_CLASS: CONTRADICTED_CLASS, CONTRADICTED_CLASS: SUPPORTED_CLASS}
_POLAR = re.compile(r"\b(?:not?|never|none|nobody|nothing|neither|nor|only|all|any|every|some|\w+n't)\b", re.IGNORECASE)
_LONGEST_VALUE = 4
_STATED_SHARE = 0.12
"""Of the written claims; all of them would drown the questions."""


def said(question: str, answer: str) -> str:
    """The claim side of an answer that needs its question: what the judge reads, too."""
    return f"Q: {question} A: {answer}"


def spoken(data: Path, part: Part) -> Iterator[KindPair]:
    """Yes and no to questions, confirmations and denials of statements, and bare values."""
    for read in (asked_boolq, asked_condaqa, asked_sharc, asked_strategy, asked_pubmed):
        for number, asked in enumerate(read(data, part)):
            yield from _polar(asked, f"spoken-{asked.source}-{number}")
    twins: dict[tuple[str, str], list[KindPair]] = defaultdict(list)
    for pair in written(data, part):
        twins[pair.twin, pair.premise].append(pair)
    for (twin, _), pairs in twins.items():
        yield from _talked_about(pairs, twin)


def _polar(asked: Asked, twin: str) -> Iterator[KindPair]:
    """Both answers to a question."""
    rng = asked.rng
    question = to_user(asked.question) if asked.source == "sharc" and rng.random() < 0.5 else asked.question
    question = ended(question.rstrip("?. ") + "?")
    for answer, verdict in ((rng.choice(_YES), asked.verdict), (rng.choice(_NO), _opposite(asked.verdict))):
        yield KindPair(asked.premise, said(question, answer), (verdict,), "spoken", f"spoken_{asked.source}", twin)


def _opposite(verdict: int) -> int:
    return _OPPOSITE.get(verdict, NOT_ENOUGH_CLASS)


def _talked_about(pairs: Sequence[KindPair], twin: str) -> Iterator[KindPair]:
    """A claim is stated by the user and confirmed or denied; twins that differ in a value are asked for it."""
    rng = Random(f"{twin}-{pairs[0].premise[:40]}")
    valued = list(_values(pairs, twin))
    if valued:
        yield from valued
    elif rng.random() < _STATED_SHARE:
        yield from _confirmed(rng.choice(pairs), twin, rng)


def _confirmed(pair: KindPair, twin: str, rng: Random) -> Iterator[KindPair]:
    bare = pair.hypothesis.rstrip(". ")
    if len(re.findall(r"[.!?] ", pair.hypothesis)) or bare.endswith(("?", "!")):
        return
    frame = rng.choice(_STATED)
    question = frame.format(claim=pair.hypothesis, bare=bare, low=lowered(bare, pair.premise))
    for answer, verdict in (
        (rng.choice(_YES), pair.allowed[0]),
        (rng.choice(_NO), _opposite(pair.allowed[0])),
    ):
        yield KindPair(pair.premise, said(question, answer), (verdict,), "spoken", "spoken_stated", f"spoken-{twin}")


def lowered(text: str, premise: str) -> str:
    """The text as it stands inside a sentence: its first word in lower case, unless the premise has it with a capital only."""
    first = text.split(" ", 1)[0]
    capital, small = (re.search(rf"\b{re.escape(form)}\b", premise) for form in (first, first.lower()))
    return text if (capital and not small) or first.split("'")[0] == "I" else text[:1].lower() + text[1:]


def _values(pairs: Sequence[KindPair], twin: str) -> Iterator[KindPair]:
    """Two claims that differ in a few words only: the words around them ask, the words answer."""
    for one, other in pairwise(pairs):
        a, b = (pair.hypothesis.rstrip(".").split() for pair in (one, other))
        if a == b or one.allowed == other.allowed:
            continue
        head = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        tail = next(
            (i for i, (x, y) in enumerate(zip(a[:head:-1], b[:head:-1], strict=False)) if x != y),
            min(len(a), len(b)) - head - 1,
        )
        values = [" ".join(words[head : len(words) - tail]) for words in (a, b)]
        if head < 2 or any(not 0 < len(v.split()) <= _LONGEST_VALUE or _POLAR.search(v) for v in values):
            continue
        question = " ".join([*a[:head], "what", *a[len(a) - tail :]]).rstrip(",") + "?"
        for pair, value in zip((one, other), values, strict=True):
            answer = value[:1].upper() + value[1:] + "."
            yield KindPair(
                pair.premise, said(question, answer), pair.allowed, "spoken", "spoken_value", f"spoken-{twin}"
            )
