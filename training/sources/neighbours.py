"""A sentence with its neighbours as evidence: asserted, or only asked, denied, reported, supposed or told as fiction.

The frames are those of the attacks on mentions (`tests/attacks/frames.py`), a third of them kept aside, so that what a model has
learnt of the others can be measured on them; the sentences are claims that were written for this project.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tests.attacks.frames import ASSERTIONS, MENTIONS
from training.pairs import KindPair
from training.sources.parts import Part
from training.sources.spoken import lowered
from training.sources.written import written
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS

FILES = ()
_LONGEST = 16
"""Words of a sentence that is put into a frame."""


def learnt(frames: Sequence[str]) -> list[str]:
    """The frames that any statement fits into, of the two thirds that are trained on."""
    return [frame for frame in frames[: 2 * len(frames) // 3] if set(re.findall(r"\{(\w+)\}", frame)) <= {"s", "S"}]


def neighbours(data: Path, part: Part) -> Iterator[KindPair]:
    """A true sentence in a frame that asserts it and in one that only mentions it, between two others of its text."""
    texts: dict[str, list[KindPair]] = defaultdict(list)
    for pair in written(data, part):
        texts[pair.premise].append(pair)
    for place, pairs in enumerate(texts.values()):
        yield from _framed(pairs, f"neighbours-{place}")


def _framed(pairs: Sequence[KindPair], twin: str) -> Iterator[KindPair]:
    rng = Random(twin)
    true = [pair for pair in pairs if pair.allowed == (SUPPORTED_CLASS,) and _is_one_sentence(pair.hypothesis)]
    if len(true) < 3:
        return
    said, *around = rng.sample(true, 3)
    if said.twin in {pair.twin for pair in around}:
        return
    claim = said.hypothesis
    false = next((p.hypothesis for p in pairs if p.twin == said.twin and p.allowed == (CONTRADICTED_CLASS,)), None)
    asks_false = false is not None and rng.random() < 0.35
    for frames, allowed in ((ASSERTIONS, _told(asks_false)), (MENTIONS, (CONTRADICTED_CLASS, NOT_ENOUGH_CLASS))):
        framed = rng.choice(learnt(frames)).format(s=lowered(claim.rstrip("."), said.premise), S=claim.rstrip("."))
        lines = [around[0].hypothesis, framed, around[1].hypothesis]
        premise = " ".join(lines[rng.randrange(2) : rng.choice((2, 3))])
        hypothesis = false if asks_false and false else claim
        yield KindPair(premise, hypothesis, allowed, "neighbours", "neighbours", "" if asks_false else twin)


def _told(asks_false: bool) -> tuple[int, ...]:
    return (CONTRADICTED_CLASS,) if asks_false else (SUPPORTED_CLASS,)


def _is_one_sentence(text: str) -> bool:
    return len(text.split()) <= _LONGEST and not re.search(r"[.!?:;] |\?", text)
