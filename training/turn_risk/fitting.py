"""The risk fitted to judged turns, and written beside the weights of their judge."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from training.comparison.sets import spaced
from training.turn_risk.cases import Part, cases
from training.turn_risk.judging import JudgedTurn, judged
from vista_guard.inference.weights import weights_place
from vista_guard.policy.risk import RiskTable
from vista_lab.metrics.turn_risk import Fit, RatedTurn, fit
from vista_lab.training.export import sha256 as file_digest
from vista_lab.training.export import update_judge

NAME = "answers beside their passages (MTRAG-UN, DSTC9) and talk (BEGIN dev cmu, tc), faithful, falsified and misplaced"
SOURCES = {"mtragun": "MTRAG-UN", "dstc9": "DSTC9"}
TALK = "BEGIN"
WORK = Path("build/turn_risk")


def turns(
    data: Path, weights: Path, work: Path, part: Part, *, anew: bool = False, limit: int | None = None
) -> list[JudgedTurn]:
    """The judged turns of a part, judged once for each judge; ``anew`` after its code has changed.

    ``limit``: at most so many cases, evenly spaced, kept in a file of their own.
    """
    kept = work / f"{part}-{_mark(weights)}{f'-{limit}' if limit else ''}.jsonl"
    if anew:
        kept.unlink(missing_ok=True)
    return judged(lambda: spaced(list(cases(data, part)), limit or 0), weights, kept)


def _mark(weights: Path) -> str:
    """Of all in the folder that decides what becomes of a claim."""
    judge = json.loads((weights / "judge.json").read_text())
    numbers = json.dumps([judge["version"], judge["temperature"], judge["thresholds"], judge.get("reader")])
    places = [weights_place(name, weights.resolve()) for name in ("verifier.onnx", "reader.onnx", "heads.npz")]
    files = [file_digest(place) for place in places if place.exists()]
    return sha256("".join([numbers, *files]).encode()).hexdigest()[:12]


def fitted(data: Path, weights: Path, work: Path, *, anew: bool = False) -> Fit:
    """The risk, from the turns for fitting."""
    rated = [
        RatedTurn(turn.outcomes, turn.evidence_missing, turn.faithful, turn.group, SOURCES.get(turn.source, TALK))
        for turn in turns(data, weights, work, "fit", anew=anew)
    ]
    return fit(rated, NAME)


def write(data: Path, weights: Path, work: Path = WORK, *, anew: bool = False) -> Fit:
    """The risk into the folder's ``risk.json``, whose table of alarms stays as it is."""
    found = fitted(data, weights, work, anew=anew)
    table = RiskTable.load(weights / "risk.json")
    table.model_copy(update={"version": 2, "turn_risk": found.risk, "turns": found.groups}).save(weights / "risk.json")
    update_judge(weights)
    return found
