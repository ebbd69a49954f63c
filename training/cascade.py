"""Which claims a cascade should pass on: ``python -m training.cascade --data DIR [--weights DIR] [--fit]``.

Replays the development half of the VISTA human evaluation, claims given, through the guard: the embedded judge first, and an
oracle that answers the human's label second. Prints the curve of accuracy against the share of claims passed on, its knee and
what is gained there, and the same through the guard, where a corrected claim also changes what is known later. ``--fit`` first
fits the weights of `vista_guard.judges.composed.cascade`, prints them, and takes the curve cross-validated as well.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.data import data_argument
from training.suites.product import progress
from vista_guard.guard import Guard
from vista_guard.inference.weights import WEIGHTS
from vista_guard.judges.composed.cascade import DEFAULT_THRESHOLD, CascadeJudge, signals, trust
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.protocols import Judge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, Turn, Unchecked
from vista_lab.datasets.files import whole
from vista_lab.datasets.sets import vista
from vista_lab.logs.formats import LoggedConversation

FILE = "vista-human/human_eval_dev.json"
SHARES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40, 0.50)
FOLDS = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A claim as the first judge judged it, and the human's label."""

    conversation: int
    check: Check
    gold: Label

    @property
    def label(self) -> Label:
        return self.check.finding.label if self.check.finding else Label.VERIFIED

    @property
    def wrong(self) -> bool:
        return self.label is not self.gold

    @property
    def wrong_support(self) -> bool:
        return (self.label is Label.VERIFIED) is not (self.gold is Label.VERIFIED)


class Oracle:
    """Implements `Judge`: answers the human's label of the claims that it is told of."""

    info = JudgeInfo(name="oracle", version="1")

    def __init__(self) -> None:
        self.labels: Mapping[str, Label] = {}

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:  # noqa: ARG002
        """Claims are given."""
        raise AssertionError("the oracle takes no turn apart")

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:  # noqa: ARG002
        """Supported when a human found it VERIFIED."""
        return [Check(claim=one, supported=self.labels[one.id] is Label.VERIFIED, confidence=1.0) for one in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:  # noqa: ARG002
        """The human's label."""
        return [
            Finding(claim=check.claim, label=self.labels[check.claim.id], confidence=1.0, reason="a human said so")
            for check in checks
        ]


async def replay(
    first: Judge, log: Sequence[LoggedConversation], threshold: float, of: Callable[[Check], float]
) -> tuple[list[Row], list[tuple[Label, Label | None, bool]]]:
    """What the first judge found of each claim; and gold, final label and whether the claim was passed on."""
    oracle, rows, final = Oracle(), list[Row](), list[tuple[Label, Label | None, bool]]()
    seen: list[Check] = []

    def watched(check: Check) -> float:
        seen.append(check)
        return of(check)

    cascade = CascadeJudge(first, oracle, threshold=threshold, trust=watched)
    guard = Guard(cascade, "monitor", knowledge=MemoryKnowledge(OnnxEmbedder()))
    for number, entry in enumerate(progress(log, f"cascade at {threshold:.2f}")):
        oracle.labels = entry.labels
        seen.clear()
        given = {index for index, turn in enumerate(entry.conversation.turns) if turn.claims}
        async for report in guard.areplay(entry.conversation, turns=given):
            for outcome in report.outcomes:
                label, by = (outcome.label, outcome.judged_by) if isinstance(outcome, Finding) else (None, None)
                final.append((entry.labels[outcome.claim.id], label, by == Oracle.info.name))
        rows += [Row(number, check, entry.labels[check.claim.id]) for check in seen]
    return rows, final


def kept(rows: Sequence[Row], trusts: Floats, share: float) -> tuple[float, float, float, float]:
    """Passing on this share of the claims, least trusted first: accuracies, and the shares of what the oracle could gain."""
    order = np.argsort(trusts, kind="stable")[: int(len(rows) * share)]
    figures = []
    for wrong in (np.array([row.wrong for row in rows]), np.array([row.wrong_support for row in rows])):
        figures.append((1.0 - (wrong.sum() - wrong[order].sum()) / len(rows), wrong[order].sum() / wrong.sum()))
    (labels, labels_gain), (support, support_gain) = figures
    return float(labels), float(labels_gain), float(support), float(support_gain)


def knee(rows: Sequence[Row], trusts: Floats) -> tuple[float, float]:
    """Share and threshold where the curve of five-label accuracy is highest above its chord (Kneedle, Satopaa et al. 2011).

    The chord leads from nothing passed on to everything; both axes are shares, so the distance is gain minus share.
    """
    order = np.argsort(trusts, kind="stable")
    wrong = np.array([row.wrong for row in rows], float)[order]
    gain = np.cumsum(wrong) / wrong.sum()
    share = np.arange(1, len(rows) + 1) / len(rows)
    ends = np.append(np.diff(trusts[order]) > 0, True)  # claims of the same trust go together
    place = int(np.argmax(np.where(ends, gain - share, -1.0)))
    above = trusts[order][min(place + 1, len(rows) - 1)]
    return float(share[place]), float(above + trusts[order][place]) / 2


def design(rows: Sequence[Row], names: Sequence[str]) -> Floats:
    """The signals of the rows, shape (rows, names)."""
    found = [signals(row.check) for row in rows]
    return np.array([[one.get(name, 0.0) for name in names] for one in found])


def fit(rows: Sequence[Row], names: Sequence[str]) -> tuple[Floats, float]:
    """Weights and bias of P(the label is right): ridge logistic regression on standardised signals."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found,import-untyped,unused-ignore]

    values = design(rows, names)
    scale = np.where(values.std(0) > 0, values.std(0), 1.0)
    model = LogisticRegression(C=1.0, max_iter=5000)
    model.fit((values - values.mean(0)) / scale, [not row.wrong for row in rows])
    weights = model.coef_[0] / scale
    return weights, float(model.intercept_[0] - weights @ values.mean(0))


def cross_validated(rows: Sequence[Row], names: Sequence[str]) -> Floats:
    """Trust in each claim by weights that were fitted without its conversation."""
    conversations = sorted({row.conversation for row in rows})
    fold = dict(zip(conversations, np.random.default_rng(0).permutation(len(conversations)) % FOLDS, strict=True))
    folds = np.array([fold[row.conversation] for row in rows])
    scores = np.zeros(len(rows))
    for number in range(FOLDS):
        weights, bias = fit([row for row, one in zip(rows, folds, strict=True) if one != number], names)
        scores[folds == number] = design(rows, names)[folds == number] @ weights + bias
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


def table(rows: Sequence[Row], trusts: Floats, title: str) -> None:
    """Prints the curve."""
    print(f"\n{title}\n\n| passed on | trust below | five labels | of the gain | supported or not | of the gain |")
    print("|---:|---:|---:|---:|---:|---:|")
    ordered = np.sort(trusts)
    for share in (0.0, *SHARES, 1.0):
        labels, labels_gain, support, support_gain = kept(rows, trusts, share)
        below = ordered[min(int(len(rows) * share), len(rows) - 1)]
        print(f"| {share:.2f} | {below:.3f} | {labels:.3f} | {labels_gain:.2f} | {support:.3f} | {support_gain:.2f} |")
    share, threshold = knee(rows, trusts)
    print(f"\nknee: {share:.3f} of the claims, threshold {threshold:.3f}")


def chosen(rows: Sequence[Row], names: Sequence[str]) -> Callable[[Check], float]:
    """Fits, prints, and returns trust by the fitted weights, rounded as printed."""
    weights, bias = fit(rows, names)
    rounded = {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)}
    print("\nBIAS =", round(bias, 2), "\nWEIGHTS =", rounded)
    table(rows, cross_validated(rows, names), f"Cross-validated, {FOLDS} folds of conversations:")

    def fitted(check: Check) -> float:
        score = round(bias, 2) + sum(rounded.get(name, 0.0) * value for name, value in signals(check).items())
        return float(1.0 / (1.0 + np.exp(-score)))

    return fitted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--fit", action="store_true", help="fit the weights of trust anew, and use those")
    args = parser.parse_args()
    first = EmbeddedJudge.load(OnnxEmbedder(), args.weights)
    log = list(whole(vista.read((args.data / FILE,))))
    rows, _ = asyncio.run(replay(first, log, 0.0, trust))
    print(f"{first.info.name} {first.info.version}: {len(rows)} claims of {FILE}")
    names = sorted({name for row in rows for name in signals(row.check)})
    of = chosen(rows, names) if args.fit else trust
    plain = np.array([row.check.finding.confidence if row.check.finding else row.check.confidence for row in rows])
    table(rows, plain, "By the judge's confidence in its label:")
    trusts = np.array([of(row.check) for row in rows])
    table(rows, trusts, "By trust:")
    threshold = round(knee(rows, trusts)[1], 2)
    print(
        f"\nThe default threshold is {DEFAULT_THRESHOLD:g}; the knee is {threshold:g}. Through the guard, at the knee:"
    )
    _, final = asyncio.run(replay(first, log, threshold, of))
    passed = np.mean([by for *_, by in final])
    labels = np.mean([gold is label for gold, label, _ in final])
    support = np.mean([(gold is Label.VERIFIED) is (label is Label.VERIFIED) for gold, label, _ in final])
    print(f"{passed:.3f} passed on, five labels {labels:.3f}, supported or not {support:.3f}")


if __name__ == "__main__":
    main()
