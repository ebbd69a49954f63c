"""Fit the turn's risk for the judge of a weights folder, write it into its ``risk.json``, and say what it comes to.

    python -m training.turn_risk --data DIR [--weights vista_guard/weights] [--work build/turn_risk]
    python -m training.turn_risk --data DIR --twins FILE [--part dev]

The second form writes the falsified twins of MTRAG-UN's answers, for ``vista_guard.evaluation.suites.faithful --twins FILE``. The
first takes the turns of ``training.turn_risk.cases`` through the guard (kept in the work folder by the judge's version and weights,
so that fitting anew costs seconds), fits on those for fitting, and measures on those for development. After new weights it
runs by itself at the end of ``training.calibrate``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from training.data import data_argument
from training.export import sha256, update_judge
from training.turn_risk import measuring
from training.turn_risk.cases import cases, twins
from training.turn_risk.judging import JudgedTurn, judged
from vista_guard.evaluation.metrics.turn_risk import Fit, RatedTurn, fit
from vista_guard.policy.presets import build_policy
from vista_guard.policy.risk import RiskTable

NAME = "answers beside their passages (MTRAG-UN, DSTC9) and talk (BEGIN dev cmu, tc), faithful, falsified and misplaced"
SOURCES = {"mtragun": "MTRAG-UN", "dstc9": "DSTC9"}
TALK = "BEGIN"
WORK = Path("build/turn_risk")


def turns(data: Path, weights: Path, work: Path, part: str) -> list[JudgedTurn]:
    """The judged turns of a part, judged once for each judge."""
    judge = json.loads((weights / "judge.json").read_text())
    mark = f"{judge['version']}-{sha256(weights / 'verifier.onnx')[:8]}-{judge['temperature']}-{judge['thresholds']['supported']}"
    known: list = list(cases(data, "dev" if part == "dev" else "fit"))  # type: ignore[type-arg]
    return judged(known, weights, work / f"{part}-{mark}.jsonl")


def fitted(data: Path, weights: Path, work: Path) -> Fit:
    """The risk, from the turns for fitting."""
    rated = [
        RatedTurn(one.outcomes, one.evidence_missing, one.faithful, one.group, SOURCES.get(one.source, TALK))
        for one in turns(data, weights, work, "fit")
    ]
    return fit(rated, NAME)


def write(data: Path, weights: Path, work: Path = WORK) -> Fit:
    """The risk into the folder's ``risk.json``, whose table of alarms stays as it is."""
    found = fitted(data, weights, work)
    table = RiskTable.load(weights / "risk.json")
    table.model_copy(update={"version": 2, "turn_risk": found.risk, "turns": found.groups}).save(weights / "risk.json")
    update_judge(weights)
    return found


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--weights", type=Path, default=Path("vista_guard/weights"))
    parser.add_argument("--work", type=Path, default=WORK, help="folder for the judged turns")
    parser.add_argument("--twins", type=Path, help="write falsified twins to this file, and nothing else")
    parser.add_argument("--part", choices=("fit", "dev"), default="dev", help="whose twins")
    args = parser.parse_args()
    if args.twins:
        lines = [json.dumps({"task_id": task, "text": text}) for task, text in twins(args.data, args.part)]
        args.twins.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    found = write(args.data, args.weights.resolve(), args.work)
    print(found.risk)
    for group in found.groups:
        shares = ", ".join(f"{name} {group.share(limit):.1%}" for name, limit in _limits(found).items())
        print(f"fine turns of {group.source} (n {group.n}), unseen by the fit: {shares}")
    policy = build_policy("balanced").fitted_to(found.risk)
    for line in measuring.lines(turns(args.data, args.weights.resolve(), args.work, "dev"), found.risk, policy):
        print(line)


def _limits(found: Fit) -> dict[str, float]:
    limits = {"flagged": found.risk.flag, "blocked": found.risk.block}
    return {name: limit for name, limit in limits.items() if limit is not None}


if __name__ == "__main__":
    main()
