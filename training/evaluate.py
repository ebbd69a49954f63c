"""Score the shipped int8 files: ``python -m training.evaluate --data DIR [--split dev | --split test --final]``.

Prints one markdown table. Test files are opened with ``--split test --final`` only, once, for the final number.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from training import evalsets
from training.data import data_argument
from training.judging import FIVE, Claims, Judge, Scores, Thresholds, decide
from training.metrics import accuracy, auc, calibration_error, f1, macro_f1, majority

THREE_WAY = ("fever_dev", "fever_test", "dnli_dev_3")
Row = tuple[str, float, float | None]  # metric, value, majority baseline


def three_way(score: Scores) -> str:
    """The likeliest verifier label."""
    values = {"supported": score.supported, "contradicted": score.contradicted, "not_enough": score.not_enough}
    return max(values, key=lambda label: values[label])


def binary_rows(gold: list[bool], scores: list[Scores], limit: float) -> Iterator[Row]:
    """Supported or not."""
    names = [str(g) for g in gold]
    found = [str(s.supported >= limit) for s in scores]
    p = [s.supported for s in scores]
    yield "supported-or-not accuracy", accuracy(names, found), majority(names)
    yield (
        "supported-or-not macro-F1",
        macro_f1(names, found),
        macro_f1(names, [max(set(names), key=names.count)] * len(names)),
    )
    yield "AUC of P(supported)", auc(gold, p), 0.5
    yield "ECE of P(supported)", calibration_error(gold, p), None


def three_way_rows(gold: list[str], scores: list[Scores], limits: Thresholds) -> Iterator[Row]:
    """Three labels, and how often a contradiction would be raised wrongly."""
    found = [three_way(s) for s in scores]
    yield "three-way accuracy", accuracy(gold, found), majority(gold)
    yield "three-way macro-F1", macro_f1(gold, found), None
    yield from alarm_rows(gold, scores, limits)


def alarm_rows(gold: list[str], scores: list[Scores], limits: Thresholds) -> Iterator[Row]:
    """Share of each gold label that the rule calls CONTRADICTED, and the precision of that call."""
    alarms = [decide(s, limits) == "CONTRADICTED" for s in scores]
    for label in sorted(set(gold)):
        yield (
            f"CONTRADICTED raised on {label}",
            float(np.mean([a for a, g in zip(alarms, gold, strict=True) if g == label])),
            None,
        )
    if any(alarms):
        yield (
            "precision of CONTRADICTED",
            float(np.mean([g == "contradicted" for a, g in zip(alarms, gold, strict=True) if a])),
            None,
        )


def vista_rows(claims: Claims, scores: list[Scores], limits: Thresholds) -> Iterator[Row]:
    """Claims (two and five labels) and whole turns, claims given."""
    verified = [gold == "VERIFIED" for gold in claims.gold]
    yield from binary_rows(verified, scores, limits.supported)
    found = [decide(s, limits) for s in scores]
    yield "five-label accuracy", accuracy(claims.gold, found), majority(claims.gold)
    yield "five-label macro-F1", macro_f1(claims.gold, found), None
    for label in FIVE:
        if label in claims.gold:
            yield f"F1 of {label} (n={claims.gold.count(label)})", f1(claims.gold, found, label), None
    wary = [decide(s, limits, wary=True) for s in scores]
    names, kept = ([str(label == "VERIFIED") for label in labels] for labels in (claims.gold, wary))
    yield "supported-or-not accuracy, opinions need opinion_support", accuracy(names, kept), majority(names)
    yield "five-label accuracy, opinions need opinion_support", accuracy(claims.gold, wary), majority(claims.gold)
    yield "five-label macro-F1, opinions need opinion_support", macro_f1(claims.gold, wary), None
    gold_turns, found_turns = (by_turn(claims.turns, labels) for labels in (claims.gold, found))
    yield (
        f"turn unverifiable or not, accuracy (n={len(gold_turns)})",
        accuracy(gold_turns, found_turns),
        majority(gold_turns),
    )


def by_turn(turns: list[int], labels: list[str]) -> list[str]:
    """A turn is unverifiable when any of its claims is not VERIFIED."""
    bad = {turn for turn, label in zip(turns, labels, strict=True) if label != "VERIFIED"}
    return ["unverifiable" if turn in bad else "verified" for turn in sorted(set(turns))]


def rows_of(name: str, claims: Claims, judge: Judge) -> Iterator[Row]:
    """The metrics that fit a set."""
    limits = judge.thresholds
    scores = judge.scores(claims, types=name.startswith("vista"))
    if name.startswith("vista"):
        yield from vista_rows(claims, scores, limits)
    elif name in THREE_WAY:
        yield from three_way_rows(claims.gold, scores, limits)
    elif name.startswith("decode"):
        gold = [g == "contradicted" for g in claims.gold]
        yield "AUC of P(contradicted)", auc(gold, [s.contradicted for s in scores]), 0.5
        found = ["contradicted" if three_way(s) == "contradicted" else "other" for s in scores]
        yield "contradicted-or-not accuracy", accuracy(claims.gold, found), majority(claims.gold)
        yield from alarm_rows(claims.gold, scores, limits)
    else:
        yield from binary_rows([g == "supported" for g in claims.gold], scores, limits.supported)


def table(judge: Judge, data: Path, split: str, only: list[str], limit: int) -> Iterator[str]:
    """Markdown lines."""
    yield "| set | split | n | metric | value | majority baseline |"
    yield "|---|---|---:|---|---:|---:|"
    for name, (kind, _, _) in evalsets.SETS.items():
        if kind == split and (not only or name in only):
            claims = evalsets.load(name, data)
            claims = claims.first(limit) if limit else claims
            for metric, value, base in rows_of(name, claims, judge):
                floor = "" if base is None else f"{base:.3f}"
                yield f"| {name} | {split} | {len(claims.texts)} | {metric} | {value:.3f} | {floor} |"


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--weights", type=Path, default=Path("vista_guard/weights"))
    parser.add_argument("--split", choices=(evalsets.DEV, evalsets.TEST), default=evalsets.DEV)
    parser.add_argument("--final", action="store_true", help="needed to open test files")
    parser.add_argument("--limit", type=int, default=0, help="at most so many rows of each set")
    parser.add_argument("--only", nargs="*", default=[], help="names of sets")
    parser.add_argument(
        "--verifier", default="verifier.onnx", help="another verifier file in the folder (fp32 comparison)"
    )
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    if args.split == evalsets.TEST and not args.final:
        parser.error("test files are for the final number: add --final")
    for line in table(Judge(args.weights, args.threads, args.verifier), args.data, args.split, args.only, args.limit):
        print(line, flush=True)


if __name__ == "__main__":
    main()
