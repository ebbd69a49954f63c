"""Choose the temperature and the thresholds on development files: ``python -m training.calibrate --data DIR``.

- temperature: least mean negative log-likelihood over FEVER dev (three-way), BEGIN dev wow, FaithDial wow and VISTA dev
  (supported or not), each set weighing the same;
- supported: best mean accuracy of supported-or-not on BEGIN dev wow, FaithDial wow and VISTA dev;
- contradicted: the lowest value with at most 1% false alarms on supported and 5% on not-enough claims of FEVER dev
  (its first 5,000 rows);
- opinion_support: 0.95 by hand, what a claim of opinion or experience needs when the caller is wary of documents that
  "support" it;
- abstention, opinion: best five-label macro-F1 on VISTA dev, so its five-label scores are optimistic.

Then the judge that these make is run as users run it, and ``risk.json`` keeps what it wrongly holds against fine turns
(``training.false_alarms``): ``policy.max_false_alarm_rate`` takes its thresholds from there. Needs the package and scikit-learn,
but no torch. ``--only-risk`` leaves ``judge.json``'s temperature and thresholds as they are.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from training import evalsets, false_alarms
from training.data import data_argument
from training.export import update_judge
from training.judging import Claims, Judge, Scores, Thresholds, combine, decide, softmax
from training.metrics import accuracy, macro_f1

VERSION = "1.0.0"
VERIFIER_LABELS = ("supported", "contradicted", "not_enough")
MAX_LENGTH = 256
OPINION_SUPPORT = 0.95
FEVER_ROWS = false_alarms.FIRST_ROW  # enough for a 1% rate; the other sets are smaller
BINARY = ("begin_dev_wow", "faithdial_wow", "vista_human_dev")
FALSE_ALARMS = {"supported": 0.01, "not_enough": 0.05}
_THREE = {"supported": 0, "contradicted": 1, "not_enough": 2}
Logits = list[np.ndarray]


def is_supported(claims: Claims) -> np.ndarray:
    """Gold support as booleans, whatever the set calls it."""
    return np.array([gold in {"supported", "VERIFIED"} for gold in claims.gold])


def probabilities(logits: Logits, heat: float) -> list[Scores]:
    """Scores at a temperature, without claim types."""
    return [combine(softmax(part / heat), np.zeros(3)) for part in logits]


def binary_nll(scores: list[Scores], gold: np.ndarray) -> float:
    """Mean negative log-likelihood of supported-or-not."""
    p = np.clip([s.supported for s in scores], 1e-6, 1 - 1e-6)
    return float(-np.log(np.where(gold, p, 1 - p)).mean())


def three_way_nll(logits: Logits, gold: list[str], heat: float) -> float:
    """Mean negative log-likelihood of the three labels on each claim's first chunk."""
    p = softmax(np.stack([part[0] for part in logits]) / heat)
    return float(-np.log(p[np.arange(len(gold)), [_THREE[g] for g in gold]] + 1e-6).mean())


def best_temperature(logits: dict[str, Logits], sets: dict[str, Claims]) -> float:
    """Grid search from 0.6 to 3."""

    def cost(heat: float) -> float:
        binary = [binary_nll(probabilities(logits[name], heat), is_supported(sets[name])) for name in BINARY]
        return float(np.mean([*binary, three_way_nll(logits["fever_dev"], sets["fever_dev"].gold, heat)]))

    return round(float(min(np.arange(0.6, 3.01, 0.05), key=cost)), 2)


def best_support(scores: dict[str, list[Scores]], sets: dict[str, Claims]) -> float:
    """The middle of the best stretch of mean accuracy."""
    grid = np.arange(0.2, 0.86, 0.01)
    p = {name: np.array([s.supported for s in scores[name]]) for name in BINARY}
    gold = {name: is_supported(sets[name]) for name in BINARY}
    mean = [np.mean([((p[name] >= limit) == gold[name]).mean() for name in BINARY]) for limit in grid]
    smooth = np.convolve(mean, np.ones(5) / 5, mode="same")[2:-2]
    return round(float(grid[2:-2][int(np.argmax(smooth))]), 2)


def least_contradicted(scores: list[Scores], gold: list[str], supported: float) -> float:
    """The lowest threshold that keeps the false alarm rates of ``FALSE_ALARMS``."""
    for limit in np.arange(0.4, 0.996, 0.005):
        alarms = [s.contradicted >= limit and s.supported < supported and s.contradicted > s.supported for s in scores]
        rates = {kind: np.mean([a for a, g in zip(alarms, gold, strict=True) if g == kind]) for kind in FALSE_ALARMS}
        if all(rates[kind] <= rate for kind, rate in FALSE_ALARMS.items()):
            return round(float(limit), 3)
    return 0.995


def best_types(scores: list[Scores], gold: list[str], start: Thresholds) -> Thresholds:
    """Abstention and opinion thresholds by five-label macro-F1, accuracy breaking ties."""
    grid = np.arange(0.2, 0.96, 0.05)
    options = [replace(start, abstention=round(float(a), 2), opinion=round(float(o), 2)) for a in grid for o in grid]

    def quality(limits: Thresholds) -> float:
        labels = [decide(s, limits) for s in scores]
        return macro_f1(gold, labels) + accuracy(gold, labels) - 0.001 * abs(limits.abstention - 0.6)

    return max(options, key=quality)


def calibrate(judge: Judge, data: Path) -> tuple[float, Thresholds]:
    """Temperature and thresholds."""
    sets = {name: evalsets.load(name, data).first(FEVER_ROWS) for name in (*BINARY, "fever_dev")}
    logits = {name: judge.logits(claims) for name, claims in sets.items()}
    heat = best_temperature(logits, sets)
    scores = {name: probabilities(part, heat) for name, part in logits.items()}
    support = best_support(scores, sets)
    contradicted = least_contradicted(scores["fever_dev"], sets["fever_dev"].gold, support)
    typed = judge.scores(sets["vista_human_dev"], heat, types=True)
    return heat, best_types(
        typed, sets["vista_human_dev"].gold, Thresholds(support, contradicted, 0.6, 0.5, OPINION_SUPPORT)
    )


def provenance(run: Path) -> dict[str, object]:
    """What ``judge.json`` says of the training run: data fingerprint, date and seed."""
    facts = json.loads((run / "final.json").read_text())
    day = datetime.fromtimestamp((run / "final.pt").stat().st_mtime, UTC).date().isoformat()
    digest = (run / "pairs.sha256").read_text().strip()
    return {"training_data_sha256": digest, "trained": day, "seed": facts["seed"]}


def tune(weights: Path, data: Path, version: str, run: Path | None) -> None:
    """Temperature and thresholds into ``judge.json``."""
    heat, limits = calibrate(Judge(weights), data)
    update_judge(
        weights,
        version=version,
        labels=list(VERIFIER_LABELS),
        max_length=MAX_LENGTH,
        temperature=heat,
        thresholds=asdict(limits),
        **(provenance(run) if run else {}),
    )
    print(f"temperature {heat}, thresholds {asdict(limits)}", flush=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--weights", type=Path, default=Path("vista_guard/weights"))
    parser.add_argument("--run", type=Path, help="folder of the training run, for its date, seed and data fingerprint")
    parser.add_argument("--version", default=VERSION)
    parser.add_argument("--only-risk", action="store_true", help="write risk.json for the judge.json that is there")
    args = parser.parse_args()
    if not args.only_risk:
        tune(args.weights, args.data, args.version, args.run)
    table = false_alarms.write(args.weights, args.data)
    update_judge(args.weights)
    print(table.name)


if __name__ == "__main__":
    main()
