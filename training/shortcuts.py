"""Can a bag of words guess the labels? ``python -m training.shortcuts worlds.jsonl``, or ``--generate``.

The check is `vista_lab.oasis.shortcuts`, which `vista-guard oasis stats` runs on a generated set; here it looks at files of
pairs, and at what this folder's generators make.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from vista_lab.oasis.shortcuts import SEED, Row, check, read, row_of, shown


def generated(count: int, data: str | None) -> Iterator[tuple[str, list[Row]]]:
    """So many pairs of each generator; the rewriters need real text to edit."""
    from training import worlds

    yield "worlds", [row_of(asdict(pair), i) for i, pair in enumerate(worlds.build(None, count, SEED, "train"))]
    if data is None:
        print("rewriters: not checked, since they edit real text: set VISTA_GUARD_DATA to the data folder")
        return
    from training import rewriters

    yield "rewriters", [row_of(asdict(p), i) for i, p in enumerate(rewriters.build(Path(data), 3 * count, SEED))]


def main() -> None:
    """Entry point; exits 1 when a kind has a shortcut."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--generate", type=int, metavar="COUNT", help="make so many pairs instead of reading a file")
    parser.add_argument("--by-source", action="store_true", help="a line a source instead of a line a kind")
    parser.add_argument("--most", type=int, default=0, help="pairs of each kind that are looked at; 0 for all")
    args = parser.parse_args()
    if (args.file is None) == (args.generate is None):
        parser.error("give either a file of pairs, or --generate COUNT")
    parts = (
        [(args.file.name, read(args.file, "source" if args.by_source else "kind"))]
        if args.file
        else generated(args.generate, os.environ.get("VISTA_GUARD_DATA"))
    )
    failed = False
    for name, rows in parts:
        results = check(rows, args.most)
        failed |= any(r.fails for r in results)
        print(shown(name, results))
    sys.exit(failed)


if __name__ == "__main__":
    main()
