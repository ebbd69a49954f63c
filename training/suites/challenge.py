"""`python -m training.suites.challenge`: a half of the challenge through a guard, and its table.

The sealed half is for the final figure: never look at it while anything is chosen.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

from vista_guard.guard import Guard
from vista_lab.policies import challenge
from vista_lab.policies.challenge import ChallengeItem, as_text, judge_items, rows

Half = Literal["development", "sealed"]
SEALED = Path(__file__).parent / "pairs" / "sealed.jsonl.gz"


def read_items(half: Half) -> Iterator[ChallengeItem]:
    """The items of one half."""
    sealed = gzip.decompress(SEALED.read_bytes()).decode("utf-8").splitlines() if half == "sealed" else None
    return challenge.read_items(sealed)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.suites.challenge", description=__doc__)
    parser.add_argument("--judge", default="embedded", help="as in the settings")
    parser.add_argument("--policy", default="balanced")
    parser.add_argument("--sealed", action="store_true", help="the sealed half; needs --final")
    parser.add_argument("--final", action="store_true", help="says that nothing will be chosen by what comes out")
    parser.add_argument("--limit", type=int, help="the first documents only: to see that it works")
    args = parser.parse_args()
    if args.sealed != args.final:
        parser.error("the sealed half is opened once, for the final figure: give --sealed and --final together")
    half: Half = "sealed" if args.sealed else "development"
    with Guard.from_settings(judge=args.judge, policy=args.policy, store="memory", retrieve=False) as guard:
        judged = asyncio.run(judge_items(guard, islice(read_items(half), args.limit)))
        judge = guard.parts.judge.info
    sys.stdout.write(
        f"challenge, {half} half, {judge.name} {judge.version}, policy {args.policy}\n{as_text(rows(judged))}\n"
    )


if __name__ == "__main__":
    main()
