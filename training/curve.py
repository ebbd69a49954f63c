"""A point of the learning curve: ``python -m training.curve --run build/training/judge/run --data DIR``.

Measures the running mean of a run's last save, or any checkpoint, on development sets, and adds a line to ``curve.jsonl`` in the
folder of the run: pairs seen and figures. ``--show`` prints the lines as a table.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from training import compare
from training.comparison.scorers import scorer
from training.comparison.sets import Item
from training.data import data_argument

SETS = (
    "written dev", "challenge, gold", "worlds", "condaqa", "infotabs", "cad", "students", "paws", "realsumm", "vitaminc",
    "MTRAG-UN", "SummEdits", "VISTA", "BEGIN", "FEVER", "DNLI",
)  # fmt: skip
SHOWN = {
    "written AUC": "written dev: AUC", "both": "written dev: pairs right", "order": "written dev: pairs in order",
    "3-way": "written dev: three labels", "challenge AUC": "challenge, gold: AUC", "both ": "challenge, gold: pairs right",
    "order ": "challenge, gold: pairs in order", "worlds both": "worlds: pairs right", "CondaQA": "condaqa dev: three labels",
    "INFOTABS": "infotabs dev: three labels", "CAD": "cad dev: three labels", "PAWS AUC": "paws dev: AUC",
    "MTRAG AUC": "MTRAG-UN dev: AUC", "SummEdits AUC": "SummEdits, mean sentence: AUC", "VISTA": "VISTA dev: supported or not",
    "VISTA AUC": "VISTA dev: AUC", "BEGIN": "BEGIN dev wow: supported or not", "BEGIN AUC": "BEGIN dev wow: AUC",
    "FEVER": "FEVER dev: three labels", "DNLI": "DNLI dev: three labels",
}  # fmt: skip
CHALLENGE = Path("vista_lab/policies/pairs")


def checkpoint_of(run: Path) -> tuple[Path, int]:
    """The running mean of the last save as a checkpoint of its own, and the pairs that were seen by then."""
    from training.snapshot import progress, write
    from vista_lab.training.lora import merged_file

    path = run / "mean_so_far.pt"
    write(merged_file(run / "last.pt"), path)
    return path, int(progress(run)["examples"])


def items_of(table: Mapping[str, compare.Measure], kept: Path) -> dict[str, list[Item]]:
    """The items of each set; finding their evidence takes long, so they are kept until ``kept`` is deleted."""
    known: dict[str, list[Item]] = pickle.loads(kept.read_bytes()) if kept.exists() else {}
    for name in table.keys() - known.keys():
        began = time.monotonic()
        known[name] = table[name][0]()
        print(f"{name} read: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    kept.write_bytes(pickle.dumps(known))
    return known


def shown(lines: list[dict[str, float]]) -> str:
    """A row a point of the curve."""
    head = ["pairs seen", *(name.strip() for name in SHOWN)]
    rows = [
        [str(int(line["pairs"])), *(f"{line.get(key, float('nan')):.1f}" for key in SHOWN.values())] for line in lines
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---:"] * len(head), *rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--run", type=Path, required=True, help="folder of the run, where curve.jsonl is")
    parser.add_argument("--checkpoint", type=Path, help="measure this instead of the last save's mean")
    parser.add_argument("--pairs", type=int, default=0, help="pairs that the checkpoint has seen")
    parser.add_argument("--worlds", type=int, default=1200)
    parser.add_argument("--show", action="store_true", help="print the curve and measure nothing")
    args = parser.parse_args()
    curve = args.run / "curve.jsonl"
    if not args.show:
        path, pairs = (args.checkpoint, args.pairs) if args.checkpoint else checkpoint_of(args.run)
        table = {n: m for n, m in compare.measures(args.data, CHALLENGE, args.worlds).items() if n.startswith(SETS)}
        figures = compare.measured(table, scorer(path), items_of(table, args.run / "sets.pickle"))
        with curve.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"pairs": pairs, **figures}) + "\n")
    print(shown([json.loads(line) for line in curve.read_text(encoding="utf-8").splitlines()]))


if __name__ == "__main__":
    main()
