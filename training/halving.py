"""Does the conformal promise hold? ``python -m training.halving [--weights DIR] [--times 200]``.

The fine turns of each group of ``risk.json`` are split at random into halves; the threshold of LACKING_EVIDENCE is taken from one
half and applied to the other. Prints the table of ``docs/design/risk-control.md``. Reads the file alone: nothing is judged.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import mean, stdev

from vista_guard.inference.weights import WEIGHTS
from vista_guard.policy.risk import Level, RiskGroup, RiskTable, alarms, smallest_threshold
from vista_guard.types import Label

RATES = (0.01, 0.02, 0.05, 0.10)
COLUMNS = (
    "group", "fine turns (alarms)", "rate asked", "rate obtained, mean ± sd", "halvings without a threshold",
    "threshold from all",
)  # fmt: skip
RULED = Label.LACKING_EVIDENCE


def confidences(group: RiskGroup) -> list[float]:
    """For each fine turn how surely a claim of it was called LACKING_EVIDENCE; -1 where none was."""
    held = [one.confidence for one in group.alarms.get(RULED, ()) for _ in range(round(one.loss))]
    return [*held, *[-1.0] * (group.n - len(held))]


def obtained(turns: list[float], rate: float, times: int, seed: int) -> list[float | None]:
    """For each halving the share of the second half's turns that the first half's threshold withholds; None without one."""
    rng, shares = Random(seed), list[float | None]()
    for _ in range(times):
        mixed = rng.sample(turns, len(turns))
        first, second = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
        limit = smallest_threshold(alarms((one, 1.0) for one in first if one >= 0), len(first), rate)
        shares.append(None if limit is None else sum(one >= limit for one in second) / len(second))
    return shares


def lines(table: RiskTable, times: int, seed: int) -> Iterator[str]:
    """Markdown. A half that carries no threshold withholds nothing: the promise is about it too, so it counts as 0."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    for group in table.groups:
        turns = confidences(group)
        for rate in RATES:
            shares, limit = obtained(turns, rate, times, seed), group.threshold(RULED, rate)
            known, held = [share or 0.0 for share in shares], sum(turn >= 0 for turn in turns)
            told = f"{mean(known):.4f} ± {stdev(known):.4f} | {shares.count(None)}"
            threshold = "none" if limit is None else f"{limit:.4f}"
            yield f"| {group.source} | {group.n:,} ({held}) | {rate:.2f} | {told} | {threshold} |"
    for group in table.groups:
        refuted = sum(one.loss for one in group.alarms.get(Label.CONTRADICTED, ()))
        yield f"\n{group.source}: CONTRADICTED was given to {refuted:g} of {group.n:,} fine turns"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--times", type=int, default=200, help="halvings (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    table = RiskTable.load(args.weights / "risk.json")
    if table.level is not Level.TURN:
        parser.error(f"{args.weights / 'risk.json'} is a table at the {table.level} level; halvings are of whole turns")
    print(f"{table.judge.name} {table.judge.version}, {table.created}, {args.times} halvings\n")
    print("\n".join(lines(table, args.times, args.seed)))


if __name__ == "__main__":
    main()
