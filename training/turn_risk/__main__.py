"""Fit the turn's risk for the judge of a weights folder, write it into its ``risk.json``, and say what it comes to.

    python -m training.turn_risk --data DIR [--weights OUT] [--work build/turn_risk]
    python -m training.turn_risk --data DIR --measure
    python -m training.turn_risk --data DIR --twins FILE [--part dev]

The first takes the turns of ``cases`` through the guard (kept in the work folder by the judge's version and
weights, so that fitting anew costs seconds), fits on those for fitting, and measures on those for development. After new weights
``calibrate`` does the same at its end. The second fits and writes nothing: what does the risk that is there come to? The
third writes the falsified twins of MTRAG-UN's answers, for ``training.suites.faithful --twins FILE``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from training.data import data_argument
from training.turn_risk import measuring
from training.turn_risk.cases import twins
from training.turn_risk.fitting import WORK, turns, write
from vista_guard.policy.label_policy import build_policy
from vista_guard.policy.risk import RiskTable
from vista_guard.policy.turn_risk import TurnRisk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--weights", type=Path, default=Path("weights/vista_guard_weights"))
    parser.add_argument("--work", type=Path, default=WORK, help="folder for the judged turns")
    parser.add_argument("--anew", action="store_true", help="judge again: the judge's code has changed")
    parser.add_argument(
        "--measure", action="store_true", help="fit and write nothing: measure the risk.json that is there"
    )
    parser.add_argument("--limit", type=int, help="with --measure: at most so many cases, evenly spaced")
    parser.add_argument("--twins", type=Path, help="write falsified twins to this file, and nothing else")
    parser.add_argument("--part", choices=("fit", "dev"), default="dev", help="whose twins")
    args = parser.parse_args()
    if args.twins:
        lines = [json.dumps({"task_id": task, "text": text}) for task, text in twins(args.data, args.part)]
        args.twins.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    weights = args.weights.resolve()
    if not args.measure:
        write(args.data, weights, args.work, anew=args.anew)
    table = RiskTable.load(weights / "risk.json")
    if table.turn_risk is None:
        parser.error(f"{weights / 'risk.json'} has no fitted risk of turns: run this without --measure first")
    for line in _fitted(table, table.turn_risk):
        print(line)
    policy, judged = build_policy("balanced").fitted_to(table.turn_risk), partial(turns, args.data, weights, args.work)
    for line in measuring.lines(
        judged("dev", anew=args.anew, limit=args.limit if args.measure else None), table.turn_risk, policy
    ):
        print(line)


def _fitted(table: RiskTable, risk: TurnRisk) -> Iterator[str]:
    yield str(risk)
    limits = {"flagged": risk.flag, "blocked": risk.block}
    for group in table.turns:
        shares = {name: group.share(limit) for name, limit in limits.items() if limit is not None}
        told = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
        yield f"fine turns of {group.source} (n {group.n}), unseen by the fit: {told}"


if __name__ == "__main__":
    main()
