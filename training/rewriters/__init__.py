"""Real sentences, edited: what keeps a claim true beside what breaks it, under the same kind of edit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from training.rewriters.build import Workshop, assembled
from training.rewriters.names import NameKinds
from training.sources import dstc9, fever, grounded, mtragun, nli, passages, summedits
from training.sources.carrier import Carrier, KindPair

_CHOICE = 2.5
"""How many pairs are made for each that is kept: the large kinds are cut, the small ones kept in full."""


def all_carriers(data: Path, rng: Random) -> tuple[list[Carrier], NameKinds]:
    """True claims of every source in random order, and the register of names that FEVER's sentences give."""
    rows = fever.claims(data)
    kinds = NameKinds((c.title, s) for c in rows for s in c.evidence)
    real = [*summedits.carriers(data), *dstc9.carriers(data, rng), *mtragun.carriers(data)]
    own = passages.carriers(data, rng)
    carriers = [*fever.carriers(rows, rng), *real, *own, *nli.carriers(data), *grounded.carriers(data)]
    rng.shuffle(carriers)
    return carriers, kinds


def build(data: Path, count: int, seed: int) -> Iterator[KindPair]:
    """Up to ``count`` pairs of edited text, twins side by side, no kind taking more than its share."""
    rng = Random(seed)
    carriers, kinds = all_carriers(data, rng)
    people = fever.minimal_pairs(fever.claims(data), rng)
    made = islice(assembled(Workshop(carriers, kinds, rng), carriers), round(_CHOICE * count))
    yield from levelled([*people, *made], count, rng)


def levelled(pairs: list[KindPair], count: int, rng: Random) -> list[KindPair]:
    """Whole groups of twins, the small kinds in full, the large ones cut to what is left."""
    groups: dict[str, dict[str, list[KindPair]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        groups[pair.kind][pair.twin].append(pair)
    room, kept = count, []
    sizes = Counter(pair.kind for pair in pairs)
    for place, kind in enumerate(sorted(groups, key=lambda k: (sizes[k], k))):
        quota = room // (len(groups) - place)
        twins = list(groups[kind].values())
        rng.shuffle(twins)
        taken: list[KindPair] = []
        while twins and len(taken) < quota:
            taken += twins.pop()
        kept += taken
        room -= len(taken)
    return kept
