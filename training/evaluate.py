"""Score the shipped files: ``python -m training.evaluate --data DIR [--split dev | --split test --final]``.

Prints one markdown table, a line as soon as it is known, for the judge as `vista_guard` runs it; progress goes to stderr. A set
that fails leaves a line that says so, and the exit status 1. Needs the package and scikit-learn, but no torch.

Test files are opened with ``--split test --final`` only, once, for the final number.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from training.data import data_argument
from training.suites.product import HEADER, Bench, Product, failure, line
from training.suites.sets import BENCHMARKS, DEV, TEST, Benchmark
from vista_guard.inference.weights import WEIGHTS


def lines(bench: Bench, chosen: list[Benchmark]) -> Iterator[tuple[str, bool]]:
    """The table's lines, and whether each is of a set that could be scored."""
    for benchmark in chosen:
        began = time.monotonic()
        try:
            for answers in benchmark.protocol(bench, bench.data / benchmark.path):
                yield line(benchmark.name, benchmark.split, answers), True
        except Exception as error:  # one broken set must not cost the figures of the others
            traceback.print_exc()
            yield failure(benchmark.name, benchmark.split, error), False
        print(f"{benchmark.name}: {time.monotonic() - began:.0f} s", file=sys.stderr)


def table(bench: Bench, chosen: list[Benchmark], files: list[TextIO]) -> bool:
    """Writes the table to every file, line by line; whether every set could be scored."""
    complete = True
    for header in HEADER:
        write(header, files)
    for text, scored in lines(bench, chosen):
        complete = complete and scored
        write(text, files)
    return complete


def write(text: str, files: list[TextIO]) -> None:
    """One line to each file, at once."""
    for file in files:
        print(text, file=file, flush=True)


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--split", choices=(DEV, TEST), default=DEV)
    parser.add_argument("--final", action="store_true", help="needed to open test files")
    parser.add_argument("--limit", type=int, default=0, help="at most so many rows of each set, evenly spaced")
    parser.add_argument("--only", nargs="*", default=[], help="names of sets", metavar="SET")
    parser.add_argument("--ablate", choices=("knowledge",), help="repeat the replays without known claims")
    parser.add_argument(
        "--verifier", default="verifier.onnx", help="another verifier: in the weights folder, or a path"
    )
    parser.add_argument("--markdown", type=Path, help="write the table to this file too")
    return parser


def main() -> None:
    parser = arguments()
    args = parser.parse_args()
    if args.split == TEST and not args.final:
        parser.error("test files are for the final number: add --final")
    known = {benchmark.name for benchmark in BENCHMARKS if benchmark.split == args.split}
    if unknown := sorted(set(args.only) - known):
        parser.error(f"--only {' '.join(unknown)}: the sets of --split {args.split} are {', '.join(sorted(known))}")
    bench = Bench(Product(args.weights, args.verifier), args.data, args.limit, args.ablate == "knowledge")
    chosen = [one for one in BENCHMARKS if one.split == args.split and (not args.only or one.name in args.only)]
    with ExitStack() as stack:
        files: list[TextIO] = [sys.stdout]
        if args.markdown:
            files.append(stack.enter_context(args.markdown.open("w", encoding="utf-8")))
        complete = table(bench, chosen, files)
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
