"""Fit the turn's risk for the judge of a weights folder, write it into its ``risk.json``, and say what it comes to.

    python -m training.turn_risk --data DIR [--weights vista_guard/weights] [--work build/turn_risk]
    python -m training.turn_risk --data DIR --twins FILE [--part dev]

The second form writes the falsified twins of MTRAG-UN's answers, for ``vista_guard.evaluation.suites.faithful --twins FILE``. The
first takes the turns of ``training.turn_risk.cases`` through the guard (kept in the work folder by the judge's version and
weights, so that fitting anew costs seconds), fits on those for fitting, and measures on those for development. After new
weights ``training.calibrate`` does the same at its end.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from training.data import data_argument
from training.turn_risk import measuring
from training.turn_risk.cases import twins
from training.turn_risk.fitting import WORK, turns, write
from vista_guard.evaluation.metrics.turn_risk import Fit
from vista_guard.policy.presets import build_policy


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--weights", type=Path, default=Path("vista_guard/weights"))
    parser.add_argument("--work", type=Path, default=WORK, help="folder for the judged turns")
    parser.add_argument("--anew", action="store_true", help="judge again: the judge's code has changed")
    parser.add_argument("--twins", type=Path, help="write falsified twins to this file, and nothing else")
    parser.add_argument("--part", choices=("fit", "dev"), default="dev", help="whose twins")
    args = parser.parse_args()
    if args.twins:
        lines = [json.dumps({"task_id": task, "text": text}) for task, text in twins(args.data, args.part)]
        args.twins.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    found = write(args.data, args.weights.resolve(), args.work, anew=args.anew)
    print(found.risk)
    for group in found.groups:
        shares = ", ".join(f"{name} {group.share(limit):.1%}" for name, limit in _limits(found).items())
        print(f"fine turns of {group.source} (n {group.n}), unseen by the fit: {shares}")
    policy = build_policy("balanced").fitted_to(found.risk)
    for line in measuring.lines(
        turns(args.data, args.weights.resolve(), args.work, "dev", anew=args.anew), found.risk, policy
    ):
        print(line)


def _limits(found: Fit) -> dict[str, float]:
    limits = {"flagged": found.risk.flag, "blocked": found.risk.block}
    return {name: limit for name, limit in limits.items() if limit is not None}


if __name__ == "__main__":
    main()
