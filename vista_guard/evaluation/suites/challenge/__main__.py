"""`python -m vista_guard.evaluation.suites.challenge`: the table of the development half, as users run the judge."""

from __future__ import annotations

import argparse
import asyncio
import sys
from itertools import islice

from vista_guard.evaluation.suites.challenge.items import Half, read_items
from vista_guard.evaluation.suites.challenge.judging import judge_items
from vista_guard.evaluation.suites.challenge.results import as_text, rows
from vista_guard.guard import Guard


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m vista_guard.evaluation.suites.challenge", description=__doc__)
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
