"""Choose the temperature and the thresholds on development files: ``python -m training.calibrate --data DIR``.

- temperature: least mean negative log-likelihood over FEVER dev (three-way), BEGIN dev wow, FaithDial wow and VISTA dev
  (supported or not), each claim or whole response against its evidence, each set weighing the same;
- supported: best mean accuracy of supported-or-not on BEGIN dev wow and FaithDial wow (as above) and on VISTA dev, whose
  conversations are replayed through the guard with the human's claims;
- contradicted: the lowest value with at most 1.5% false alarms on supported and 5% on not-enough claims of FEVER dev
  (its first 5,000 rows);
- abstention, opinion: by hand, on VISTA dev and on the acts of FaithDial wow: the runtime's word rules decide with them.

Then the judge that these make is run as users run it, and ``risk.json`` keeps what it wrongly holds against fine turns
(``training.false_alarms``): ``policy.max_false_alarm_rate`` takes its thresholds from there. Last the turn's
risk is fitted into the same file (``turn_risk``). Needs scikit-learn, but no torch. ``--only-risk`` leaves ``judge.json``'s
temperature and thresholds as they are: what a new claim-type head needs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training import false_alarms
from training.data import data_argument
from training.suites import evalsets
from training.suites.product import FEVER_DEV, Bench, Product
from training.suites.tasks import read_conversations, replay
from training.turn_risk import fitting
from vista_guard.inference.onnx import Encoder
from vista_guard.inference.weights import VERSION, WEIGHTS
from vista_guard.judges.embedded.models import softmax
from vista_guard.types import Label
from vista_lab.training.export import update_judge
from vista_lab.training.rows import LABELS

MAX_LENGTH = 256
ABSTENTION, OPINION = 0.75, 0.4
FIRST_SUPPORTED = 0.6
"""What counts as supported in the replay that the support threshold is chosen on: it decides what becomes known."""
FEVER_ROWS = false_alarms.FIRST_ROW  # enough for a 1% rate; the other sets are smaller
FALSE_ALARMS = {"supported": 0.015, "not_enough": 0.05}
VISTA_DEV = "vista-human/human_eval_dev.json"
PAIR_SETS = {
    "BEGIN dev wow": ("begin/begin_dev_wow.tsv", evalsets.begin),
    "FaithDial wow": ("train/faithdial-audit", evalsets.faithdial_wow),
    "VISTA dev": (VISTA_DEV, evalsets.vista),
    "FEVER dev": (FEVER_DEV, evalsets.fever),
}

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Scored:
    """Verifier logits [claims, 3] of a set, and its gold labels."""

    logits: Floats
    gold: list[str]

    @property
    def supported(self) -> NDArray[np.bool_]:
        """Gold support, whatever the set calls it."""
        return np.array([label in {"supported", "VERIFIED"} for label in self.gold])

    def probabilities(self, heat: float) -> Floats:
        """[claims, 3] at a temperature."""
        return softmax(self.logits / heat)


def scored(weights: Path, data: Path) -> dict[str, Scored]:
    """The sets of `PAIR_SETS`, each claim as one pair with its evidence."""
    verifier = Encoder.load("verifier", max_length=MAX_LENGTH, folder=weights)
    found = {}
    for name, (path, load) in PAIR_SETS.items():
        claims = load(data / path).first(FEVER_ROWS)
        found[name] = Scored(verifier.run(list(zip(claims.evidence, claims.texts, strict=True))), claims.gold)
        print(f"{name}: {len(claims.texts)} pairs", flush=True)
    return found


def best_temperature(sets: dict[str, Scored]) -> float:
    """Grid search from 0.6 to 3."""

    def cost(one: Scored, heat: float) -> float:
        p = one.probabilities(heat)
        if set(one.gold) <= set(LABELS) and len(set(one.gold)) == 3:
            right = p[np.arange(len(p)), [LABELS.index(label) for label in one.gold]]
        else:
            right = np.where(one.supported, p[:, 0], 1 - p[:, 0])
        return float(-np.log(np.clip(right, 1e-6, 1)).mean())

    grid = np.arange(0.6, 3.01, 0.05)
    return round(float(min(grid, key=lambda heat: np.mean([cost(one, heat) for one in sets.values()]))), 2)


def best_support(sets: Sequence[tuple[NDArray[np.bool_], Floats]]) -> float:
    """The middle of the best stretch of mean accuracy; each set is gold support and P(supported)."""
    grid = np.arange(0.2, 0.86, 0.01)
    mean = [np.mean([((p >= limit) == gold).mean() for gold, p in sets]) for limit in grid]
    smooth = np.convolve(mean, np.ones(5) / 5, mode="same")[2:-2]
    return round(float(grid[2:-2][int(np.argmax(smooth))]), 2)


def replayed(weights: Path, data: Path) -> tuple[NDArray[np.bool_], Floats]:
    """Gold support and P(supported) of VISTA dev's claims, as the guard measures them with what is known by then."""
    bench = Bench(Product(weights), data)
    turns = asyncio.run(replay(bench, read_conversations(bench, data / VISTA_DEV), own=False, knowledge=True))
    gold = [label is Label.VERIFIED for turn in turns for label in turn.gold]
    found = [claim.measured.supported for turn in turns for claim in turn.claims]
    return np.array(gold), np.array(found, np.float32)


def least_contradicted(fever: Scored, heat: float, supported: float) -> float:
    """The lowest threshold that keeps the false alarm rates of ``FALSE_ALARMS``."""
    p, gold = fever.probabilities(heat), np.array(fever.gold)
    for limit in np.arange(0.4, 0.996, 0.005):
        alarms = (p[:, 1] >= limit) & (p[:, 0] < supported)
        if all(alarms[gold == label].mean() <= rate for label, rate in FALSE_ALARMS.items()):
            return round(float(limit), 3)
    return 0.995


def tune(weights: Path, data: Path, version: str, run: Path | None) -> None:
    """Temperature and thresholds into ``judge.json``."""
    sets = scored(weights, data)
    heat = best_temperature(sets)

    def write(supported: float) -> None:
        thresholds = {
            "supported": supported,
            "contradicted": least_contradicted(sets["FEVER dev"], heat, supported),
            "abstention": ABSTENTION,
            "opinion": OPINION,
        }
        fixed = {"version": version, "labels": list(LABELS), "max_length": MAX_LENGTH, "temperature": heat}
        update_judge(weights, **fixed, thresholds=thresholds, **(provenance(run) if run else {}))
        print(f"temperature {heat}, thresholds {thresholds}", flush=True)

    write(FIRST_SUPPORTED)  # the replay needs a judge that is whole
    pairwise = [(one.supported, one.probabilities(heat)[:, 0]) for name, one in sets.items() if "wow" in name]
    write(best_support([*pairwise, replayed(weights, data)]))


def provenance(run: Path) -> dict[str, object]:
    """What ``judge.json`` says of the training run: data fingerprint, date and seed."""
    facts = json.loads((run / "final.json").read_text())
    day = datetime.fromtimestamp((run / "final.pt").stat().st_mtime, UTC).date().isoformat()
    digest = (run / "pairs.sha256").read_text().strip()
    return {"training_data_sha256": digest, "trained": day, "seed": facts["seed"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--weights", type=Path, default=Path("weights/vista_guard_weights"))
    parser.add_argument("--run", type=Path, help="folder of the training run, for its date, seed and data fingerprint")
    parser.add_argument("--version", default=VERSION)
    parser.add_argument("--only-risk", action="store_true", help="write risk.json for the judge.json that is there")
    args = parser.parse_args()
    weights = args.weights.resolve()
    if weights == WEIGHTS and args.version != VERSION:
        parser.error(
            f"version {args.version} ships once VERSION in vista_guard/inference/weights.py and the requirements in "
            f"pyproject.toml say so; they say {VERSION}"
        )
    update_judge(weights, version=args.version)  # no other version is loaded, and risk.json names its judge's
    if not args.only_risk:
        tune(weights, args.data, args.version, args.run)
    table = false_alarms.write(weights, args.data)
    update_judge(weights)
    print(fitting.write(args.data, weights, anew=True).risk)
    print(table.name)


if __name__ == "__main__":
    main()
