"""Write the pairs: ``python -m training.rewriters --data DIR --count 60000 --out FILE --sample 50``."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from random import Random

from training.data import data_argument
from training.rewriters import build
from training.sources.carrier import KindPair


def shown(pair: KindPair) -> str:
    """One pair to be read by eye."""
    return f"[{pair.kind} {pair.source} {pair.twin}] {pair.allowed}\n  P: {pair.premise}\n  H: {pair.hypothesis}"


def main() -> None:
    """Entry point."""
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
        print(shown(pair))


if __name__ == "__main__":
    main()
