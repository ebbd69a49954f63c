"""Write pairs of small worlds: ``python -m training.worlds --part train --count 40000 --out worlds.jsonl``."""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from training.worlds.build import KINDS, build
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS

_LABELS = {SUPPORTED_CLASS: "supported", CONTRADICTED_CLASS: "contradicted", NOT_ENOUGH_CLASS: "not enough"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("train", "development"), default="train")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="print so many random pairs for reading")
    args = parser.parse_args()
    pairs = list(build(args.kind, args.count, args.seed, args.part))
    random.Random(args.seed).shuffle(pairs)
    if args.out:
        with args.out.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(asdict(pair), ensure_ascii=False) + "\n" for pair in pairs)
        for kind, number in sorted(Counter(p.kind for p in pairs).items()):
            print(f"{kind:16} {number:6}")
    for pair in pairs[: args.sample]:
        labels = "/".join(_LABELS[i] for i in pair.allowed)
        print(f"[{pair.kind} {pair.twin}] {labels}\n{pair.premise}\n  => {pair.hypothesis}\n")


if __name__ == "__main__":
    main()
