"""Samples of data sets: so many turns that are looked for, and as many others, by a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets.published.dataset import Entry
from vista_guard.evaluation.datasets.source import BrokenEntry, LoggedConversation

Read = Callable[[Sequence[Path]], Iterator[Entry]]


def balanced(read: Read, each: int, seed: int) -> Read:
    """A reader of `each` conversations with a positive turn and `each` without, in the files' order, the same for a seed.

    Conversations whose gold is left open are not sampled; what could not be read is handed on. Numbers of the paper's own
    samples are not known: a seed gives a sample of the same size, not the same sample.

    Raises:
        InputError: when reading, the files hold fewer; says how many.
    """

    def sampled(paths: Sequence[Path]) -> Iterator[Entry]:
        found = list(read(paths))
        chosen = {place for kind in (True, False) for place in _drawn(found, kind, each, seed)}
        yield from (one for place, one in enumerate(found) if place in chosen or isinstance(one, BrokenEntry))

    return sampled


def _drawn(found: Sequence[Entry], positive: bool, each: int, seed: int) -> list[int]:
    places = [place for place, one in enumerate(found) if isinstance(one, LoggedConversation) and _is(one, positive)]
    if len(places) < each:
        kind = "positive" if positive else "negative"
        raise InputError(f"a sample of {each} {kind} conversations cannot be drawn: the files hold {len(places)}")
    return Random(seed).sample(places, each)


def _is(entry: LoggedConversation, positive: bool) -> bool:
    known = [gold.positive for gold in entry.gold.values() if gold.positive is not None]
    return bool(known) and any(known) is positive
