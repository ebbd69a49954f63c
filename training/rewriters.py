"""Pairs of edited real sentences: ``python -m training.rewriters --data DIR --count 60000 --out FILE --sample 50``.

The edits are those of `vista_lab.oasis.rewriters`; here they get the sentences of the sources, and WordNet's opposites.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from random import Random

from training import wordnet
from training.data import data_argument
from training.pairs import Carrier, KindPair
from training.rewriting.build import Workshop, build_pairs
from training.sources import dstc9, fever, grounded, mtragun, nli, passages, summedits
from vista_lab.oasis.rewriters.names import NameKinds

wordnet.install()

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
    made = islice(build_pairs(Workshop(carriers, kinds, rng), carriers), round(_CHOICE * count))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=0, help="print so many pairs")
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    pairs = list(build(args.data, args.count, args.seed))
    with args.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(asdict(pair), ensure_ascii=False) + "\n" for pair in pairs)
    for (kind, allowed), count in sorted(Counter((p.kind, p.allowed) for p in pairs).items()):
        print(f"{kind:32} {allowed!s:10} {count:6}")
    for pair in Random(args.seed).sample(pairs, min(args.sample, len(pairs))):
        print(f"[{pair.kind} {pair.source} {pair.twin}] {pair.allowed}\n  P: {pair.premise}\n  H: {pair.hypothesis}")


if __name__ == "__main__":
    main()
