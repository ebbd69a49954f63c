"""FActScore's biographies (Min et al. 2023) as DAD judges them: sentences and pairs of sentences, in Lu et al.'s split.

JSON lines, a model each: `input`, `output` (the biography), `topic`, and `annotations`: sentences with `human-atomic-facts`,
each labelled S (supported by Wikipedia), NS (not), or IR (irrelevant). Biographies that abstain have no annotations, irrelevant
sentences no facts. A sentence is supported where none of its facts is NS, so one with irrelevant facts alone is, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from vista_guard.errors import InputError
from vista_guard.types import Claim, Role, Span, Turn
from vista_lab.datasets.files import Entry, Row, answer, entries, json_rows, labelled
from vista_lab.logs.source import BrokenEntry, LoggedConversation, PlaceGold, TurnGold

SUPPORTED, NOT_SUPPORTED, IRRELEVANT = "S", "NS", "IR"
LABELS = {label: label for label in (SUPPORTED, NOT_SUPPORTED, IRRELEVANT)}
BIOGRAPHIES, HELD_OUT, SEED = 183, 74, 42
"""Lu et al. (2025) permute the rows of each file by this seed and keep so many from training, half of them for testing."""

_LEFT_OUT = re.compile(r"\s+|\[\d+\]")
"""Blanks and citation marks: sentences were annotated without some of the response's."""


@dataclass(frozen=True)
class Sentence:
    """An annotated sentence: its place in the response, and the labels of its facts by their texts, in their order."""

    span: Span
    facts: tuple[tuple[str, str], ...]

    @property
    def relevant(self) -> tuple[str, ...]:
        """Facts that are S or NS."""
        return tuple(text for text, label in self.facts if label != IRRELEVANT)

    @property
    def supported(self) -> bool:
        return all(label != NOT_SUPPORTED for _, label in self.facts)


def reader(split: str, atomicity: int) -> Callable[[Sequence[Path]], Iterator[Entry]]:
    """A reader of one split, as single sentences (atomicity 1) or as pairs of neighbours (2).

    Its files are the model's, and for disjoint topics the other model's: topics that are in its training split are left out.
    """

    def read(paths: Sequence[Path]) -> Iterator[Entry]:
        seen = set().union(*(_training_topics(path) for path in paths[1:]))

        def make(row: Row) -> Iterator[LoggedConversation]:
            if splits()[row.number - 1] == split and row.nonblank("topic") not in seen:
                yield from _biography(row, atomicity)

        yield from entries(_all_rows(paths[0]), make)

    return read


@cache
def splits() -> Mapping[int, str]:
    """The split of each row, by its place in the file from 0: Lu et al. (2025), p[74:] for training, p[:74] permuted again.

    Examples:
        >>> sorted(splits().values()).count("test")
        37
    """
    order = np.random.default_rng(SEED).permutation(BIOGRAPHIES)
    held_out = np.random.default_rng(SEED).permutation(order[:HELD_OUT])
    half = HELD_OUT // 2
    parts = {"train": order[HELD_OUT:], "test": held_out[:half], "validation": held_out[half:]}
    return {int(place): name for name, places in parts.items() for place in places}


def _all_rows(path: Path) -> list[Row | BrokenEntry]:
    rows = list(json_rows(path))
    if len(rows) != BIOGRAPHIES:
        split = f"Lu et al.'s split is of {BIOGRAPHIES}, by their places in the file"
        raise InputError(f"{path} has {len(rows)} biographies; {split}")
    return rows


def _training_topics(path: Path) -> set[str]:
    rows = (row for row in _all_rows(path) if isinstance(row, Row) and splits()[row.number - 1] == "train")
    return {row.nonblank("topic") for row in rows if row.content.get("annotations") is not None}


def _biography(row: Row, atomicity: int) -> Iterator[LoggedConversation]:
    if row.value("annotations") is None:
        return
    text = row.nonblank("output")
    sentences = _sentences(row.parts("annotations"), text)
    units = [(sentence,) for sentence in sentences] if atomicity == 1 else joined(sentences)
    if not units:
        return
    places = tuple(_gold(unit) for unit in units)
    wrong = any(place.positive for place in places)
    gold = TurnGold(NOT_SUPPORTED if wrong else SUPPORTED, wrong, row.nonblank("topic"), places)
    question = Turn(role=Role.USER, text=row.nonblank("input").removeprefix("Question: "))
    response = answer(text).model_copy(update={"claims": _claims(sentences)})
    yield replace(labelled(row, f"{row.stem}-{row.number}", (question, response), gold), topic=gold.group)


def joined(sentences: Sequence[Sentence]) -> list[tuple[Sentence, ...]]:
    """Neighbours in pairs; the first three together where their number is odd."""
    odd = len(sentences) % 2
    first = 2 + odd
    later = range(first, len(sentences), 2)
    return [tuple(sentences[:first]), *(tuple(sentences[at : at + 2]) for at in later)] if sentences else []


def _gold(unit: Sequence[Sentence]) -> PlaceGold:
    spans, facts = tuple(one.span for one in unit), sum(len(one.relevant) for one in unit)
    return PlaceGold(spans=spans, positive=not all(one.supported for one in unit), facts=facts)


def _claims(sentences: Iterable[Sentence]) -> tuple[Claim, ...] | None:
    """People's own facts as the turn's claims, without irrelevant ones."""
    facts = [(fact, sentence.span) for sentence in sentences for fact in sentence.relevant if fact.strip()]
    claims = (Claim(id=f"t1.c{number}", text=fact, span=span) for number, (fact, span) in enumerate(facts, 1))
    return tuple(claims) or None


def _sentences(annotations: Iterable[Row], text: str) -> list[Sentence]:
    """The sentences that people took facts from, where they stand in the response."""
    bare, places = without_marks(text)
    sentences, after = [], 0
    for part in annotations:
        target = without_marks(part.nonblank("text"))[0]
        at = bare.find(target, after)
        if at < 0 or not target:
            raise InputError(f"{part.place}: {part.text('text')[:60]!r} is not in the response after the one before it")
        after = at + len(target)
        if part.value("human-atomic-facts") is not None:
            facts = tuple((fact.text("text"), fact.label("label", LABELS)) for fact in part.parts("human-atomic-facts"))
            sentences.append(Sentence(Span(start=places[at], end=places[after - 1] + 1), facts))
    return sentences


def without_marks(text: str) -> tuple[str, list[int]]:
    """A text without blanks and citation marks, and where each character of it was.

    Examples:
        >>> without_marks("It is old[1]. Yes.")[0]
        'Itisold.Yes.'
    """
    dropped = {place for match in _LEFT_OUT.finditer(text) for place in range(match.start(), match.end())}
    places = [place for place in range(len(text)) if place not in dropped]
    return "".join(text[place] for place in places), places
