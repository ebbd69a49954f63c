"""How the quick and the careful reader become one: ``python -m training.two_readers --data DIR --weights DIR``.

Claims of development sets go through the judge, each as a turn of its own, with every claim read again; kept are both readers'
probabilities for the pieces that decide. Then:

- the weights of both readers' log probabilities and a bias a label are fitted (least log loss, each set weighing the same), and
  reported from a fit over other documents: five folds;
- the band of quick support that is read again is the cheapest whose log loss is within 1.5 % of reading everything again; it
  begins at 0.01 at least: a fourth of the claims of real answers lie below, and reading is what a turn costs;
- supported: the strictest threshold within a point of the best mean balanced accuracy, since a wrong claim that passes costs more
  than a right one that is flagged; contradicted: the lowest that is right in three of
  four; the bias of contradicted is such that nine of ten are right from the confidence where `balanced` blocks.

They are written into ``judge.json``. Both readers' rows are kept in ``--work``: a second run is quick.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]

from training.comparison import labelled
from training.comparison.sets import THREE, Item, spaced
from training.data import data_argument
from training.suites import arrays
from vista_guard.guard import Guard
from vista_guard.inference.weights import weights_place
from vista_guard.judges.embedded.judge import EmbeddedJudge
from vista_guard.judges.embedded.models import Calibration, CarefulReader, ClaimTypeHead, ReaderFit, ShippedVerifier
from vista_guard.protocols import Verifier
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.types import Claim, Conversation, Document, Label, Role, Span, Turn
from vista_lab.policies import challenge
from vista_lab.training.export import sha256, update_judge

if TYPE_CHECKING:
    from numpy.typing import NDArray

LENGTH = 192
FOLDS = 5
WRITTEN = 1500
"""Written claims, about."""
CONFIDENT = 0.8
"""Lowest confidence of a contradiction that the preset `balanced` blocks."""
NAMED, BLOCKED = 0.75, 0.9
"""Shares of contradictions that are right, from where they are called so, and from where they block."""
BEFORE = ReaderFit(0, 1, quick=0.5, careful=0.5, bias=(0, 0, 0), supported=0.5, contradicted=0.9, max_length=LENGTH)
Fitted = tuple[float, float, float, float]
"""Weight of the quick and of the careful reader, bias of contradicted and of not enough."""


@dataclass(frozen=True)
class Case:
    """A claim in a conversation that ends with it, its gold label (or "not" for either of the last two), and its document."""

    source: str
    group: str
    conversation: Conversation
    gold: str


@dataclass
class Reading:
    """Both readers' answers to a case: quick support, and rows [pieces, 2 readers, 3 labels]."""

    case: Case
    support: float = 0.0
    rows: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = field(default_factory=list)


def ending_with(claim: str, documents: Sequence[Document], question: str = "") -> Conversation:
    """The conversation whose last turn is this claim."""
    asked = (Turn(role=Role.USER, text=question),) if question else ()
    claims = (Claim(id="c1", text=claim, span=Span(start=0, end=len(claim))),)
    return Conversation(
        turns=(*asked, Turn(role=Role.ASSISTANT, text=claim, documents=tuple(documents), claims=claims))
    )


def challenges() -> Iterator[Case]:
    """The development half of the hand-written pairs."""
    names = {Label.VERIFIED: THREE[0], Label.CONTRADICTED: THREE[1]}
    for item in challenge.read_items():
        for pair in item.pairs:
            for member in (pair.right, pair.wrong):
                gold = names.get(member.label, THREE[2])
                yield Case(f"challenge, {item.wording}", item.id, item.saying(member.text), gold)


def attributions(data: Path) -> Iterator[Case]:
    """Claims of generative search beside their references (AttributionBench, development part)."""
    for line in gzip.decompress((data / "attribution/dev.jsonl.gz").read_bytes()).decode().splitlines():
        row = json.loads(line)
        documents = [Document(id=f"d{i}", text=text) for i, text in enumerate(row["references"]) if text.strip()]
        gold = THREE[0] if row["attribution_label"] == "attributable" else "not"
        yield Case("attribution", row["question"], ending_with(row["claim"], documents, row["question"]), gold)


def items_as_cases(source: str, items: Iterable[Item]) -> Iterator[Case]:
    """Claims beside one passage; a passage is a group."""
    for item in items:
        yield Case(source, item.pieces[0], ending_with(item.claim, [Document(id="d", text=item.pieces[0])]), item.gold)


def twins(items: Sequence[Item], most: int) -> Iterator[Item]:
    """Evenly spaced items, with the others of their twins."""
    chosen = {item.group for item in spaced(items, most // 2)}
    return (item for item in items if item.group in chosen)


def cases(data: Path) -> list[Case]:
    """All of them."""
    return [
        *challenges(),
        *attributions(data),
        *items_as_cases("written", twins(labelled.development(data, "written"), WRITTEN)),
        *items_as_cases("MTRAG-UN", labelled.mtrag(data)),
    ]


@dataclass(frozen=True)
class Recording(ReaderFit):
    """Reads every claim again, and keeps what both readers say of the case at hand."""

    at: list[Reading] = field(default_factory=list)

    def is_open(self, support: float) -> bool:
        self.at[-1].support = support
        return True

    def combine(self, quick: NDArray[np.float32], careful: NDArray[np.float32]) -> NDArray[np.float32]:
        self.at[-1].rows.append((quick, careful))
        return super().combine(quick, careful)


class KeptRows:
    """Implements `Verifier` with rows that are kept in a file."""

    def __init__(self, inner: Verifier, path: Path) -> None:
        self._inner, self._path, self.name = inner, path, inner.name
        self._rows: dict[tuple[str, str], NDArray[np.float32]] = (
            pickle.loads(path.read_bytes()) if path.exists() else {}
        )

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._rows]
        if missing:
            self._rows |= dict(zip(missing, self._inner.probabilities(missing), strict=True))
        return np.array([self._rows[pair] for pair in pairs])

    def save(self) -> None:
        """Writes the file."""
        self._path.write_bytes(pickle.dumps(self._rows))


async def read(found: Sequence[Case], weights: Path, work: Path) -> list[Reading]:
    """Every case through the judge, with every claim read again; cases without evidence to read are left out."""
    recording = Recording(**{name: getattr(BEFORE, name) for name in BEFORE.__dataclass_fields__})
    limits = replace(Calibration.load(weights), reader=recording)
    quick = KeptRows(ShippedVerifier.load(limits, weights), work / f"{sha256(weights / 'verifier.onnx')[:12]}.pickle")
    careful = KeptRows(
        CarefulReader(LENGTH, weights), work / f"{sha256(weights_place('reader.onnx', weights))[:12]}.pickle"
    )
    embedder = OnnxEmbedder()
    judge = EmbeddedJudge(quick, embedder, ClaimTypeHead.load(weights), limits, reader=careful)
    guard = Guard(judge, "monitor", knowledge=MemoryKnowledge(embedder))
    try:
        for number, case in enumerate(found, 1):
            recording.at.append(Reading(case))
            await guard.acheck(case.conversation)
            if number % 500 == 0:
                print(f"{number} of {len(found)} claims", file=sys.stderr, flush=True)
                careful.save()
    finally:
        quick.save()
        careful.save()
    return [reading for reading in recording.at if reading.rows]


def combined(readings: Sequence[Reading], fitted: Fitted) -> NDArray[np.float32]:
    """Support and contradiction of each claim by this fit, [claims, 2]: the largest over its pieces."""
    quick, careful, contradicted, lacking = fitted
    weights = replace(BEFORE, quick=quick, careful=careful, bias=(0, contradicted, lacking))
    first, second = (np.array(rows) for rows in zip(*(row for one in readings for row in one.rows), strict=True))
    starts = np.cumsum([0, *(len(one.rows) for one in readings[:-1])])
    found: NDArray[np.float32] = np.maximum.reduceat(weights.combine(first, second)[:, :2], starts)
    return found


def log_loss(readings: Sequence[Reading], scores: NDArray[np.float32]) -> float:
    """Of supported or not, and where the gold label is one of three also of contradicted or not; each set weighs the same."""
    gold = np.array([one.case.gold for one in readings])
    sources, counts = np.unique([one.case.source for one in readings], return_inverse=True)
    weight = 1 / np.bincount(counts)[counts] / len(sources)
    support, against = scores.clip(1e-4, 1 - 1e-4).T
    cost = -np.log(np.where(gold == THREE[0], support, 1 - support))
    second = -np.log(np.where(gold == THREE[1], against, 1 - against))
    return float((weight * np.where(gold == "not", cost, (cost + second) / 2)).sum())


def fit(readings: Sequence[Reading]) -> Fitted:
    """The weights and biases of least loss."""
    found = minimize(lambda x: log_loss(readings, combined(readings, tuple(x))), (0.3, 0.7, 0, 0), method="Nelder-Mead")
    first, second, third, fourth = (round(float(x), 3) for x in found.x)
    return first, second, third, fourth


def blocking(readings: Sequence[Reading], fitted: Fitted) -> Fitted:
    """The fit with the bias of contradicted raised until those that are right in nine of ten begin at `CONFIDENT`.

    Policies name one confidence for both judges; support ranks as before.
    """
    quick, careful, bias, lacking = fitted
    while thresholds(readings, combined(readings, fitted), BLOCKED)["contradicted"] < CONFIDENT and bias < 1:
        bias = round(bias + 0.05, 3)
        fitted = quick, careful, bias, lacking
    return fitted


def cross_fitted(readings: Sequence[Reading]) -> NDArray[np.float32]:
    """Each claim's scores by a fit over the documents of other folds."""
    groups = {group: number % FOLDS for number, group in enumerate(sorted({one.case.group for one in readings}))}
    scores = np.zeros((len(readings), 2), np.float32)
    for fold in range(FOLDS):
        own = [i for i, one in enumerate(readings) if groups[one.case.group] == fold]
        others = [one for one in readings if groups[one.case.group] != fold]
        scores[own] = combined([readings[i] for i in own], fit(others))
    return scores


def by_source(readings: Sequence[Reading], support: NDArray[np.float32]) -> dict[str, float]:
    """Area under the curve of support, a set."""
    names = dict.fromkeys(one.case.source for one in readings)
    chosen = {name: [i for i, one in enumerate(readings) if one.case.source == name] for name in names}
    return {
        name: 100 * arrays.auc([readings[i].case.gold == THREE[0] for i in rows], [float(support[i]) for i in rows])
        for name, rows in chosen.items()
    }


def best_band(readings: Sequence[Reading], scores: NDArray[np.float32]) -> tuple[float, float]:
    """The band of quick support that is read again: the cheapest that costs 1.5 % of the log loss at most.

    Log loss, since few claims are at the ends and rank hardly sees them: it is what the quick reader is surely wrong about that
    reading again must find.
    """
    quick = np.array([one.support for one in readings])
    alone = combined(readings, (1, 0, 0, 0))
    whole = log_loss(readings, scores)
    options = []
    for low, high in product((0.01, 0.02, 0.05, 0.1, 0.2), (1.0, 0.99, 0.98, 0.97, 0.95, 0.9, 0.8)):
        again = (quick >= low) & (quick <= high)
        loss = log_loss(readings, np.where(again[:, None], scores, alone))
        print(f"band {low}-{high}: read again {again.mean():.1%}, log loss {loss:.4f} of {whole:.4f}")
        if loss <= 1.015 * whole:
            options.append((float(again.mean()), low, high))
    return min(options)[1:]


def thresholds(
    readings: Sequence[Reading], scores: NDArray[np.float32], precision: float = NAMED
) -> Mapping[str, float]:
    """Supported: the strictest within a point of the best mean balanced accuracy; contradicted: the lowest of this precision."""
    gold = np.array([one.case.gold for one in readings])
    sources = np.array([one.case.source for one in readings])

    def accuracy(limit: float) -> float:
        right = (scores[:, 0] >= limit) == (gold == THREE[0])
        sides = [right[(sources == name) & ((gold == THREE[0]) == side)] for name in set(sources) for side in (0, 1)]
        return float(np.mean([side.mean() for side in sides if len(side)]))

    limits = np.arange(0.3, 0.81, 0.01)
    as_good = max(map(accuracy, limits)) - 0.01
    supported = max(limit for limit in limits if accuracy(limit) >= as_good)
    known = (gold != "not") & (scores[:, 0] < supported)
    for limit in np.arange(0.4, 0.99, 0.01):
        alarms = known & (scores[:, 1] >= limit)
        if alarms.any() and (gold[alarms] == THREE[1]).mean() >= precision:
            break
    print(f"supported {supported:.2f}: balanced accuracy {100 * accuracy(supported):.1f}; contradicted {limit:.2f}")
    return {"supported": round(float(supported), 2), "contradicted": round(float(limit), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--weights", type=Path, required=True, help="folder with both readers")
    parser.add_argument("--work", type=Path, default=Path("build/two_readers"), help="folder for the readers' rows")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    readings = asyncio.run(read(cases(args.data), args.weights.resolve(), args.work))
    scores = cross_fitted(readings)
    alone = {
        "quick": combined(readings, (1, 0, 0, 0)),
        "careful": combined(readings, (0, 1, 0, 0)),
        "both, cross-fitted": scores,
    }
    for name, rows in alone.items():
        sets = ", ".join(f"{source} {auc:.1f}" for source, auc in by_source(readings, rows[:, 0]).items())
        print(f"{name}: log loss {log_loss(readings, rows):.4f}; AUC {sets}")
    quick, careful, contradicted, lacking = fitted = blocking(readings, fit(readings))
    low, high = best_band(readings, scores)
    written = json.loads((args.weights / "judge.json").read_text(encoding="utf-8"))
    update_judge(
        args.weights,
        reader={
            "open_from": low,
            "open_to": high,
            "quick": quick,
            "careful": careful,
            "bias": [0, contradicted, lacking],
            **thresholds(readings, combined(readings, fitted)),
            "max_length": LENGTH,
        },
    )
    print(written["version"], (quick, careful, contradicted, lacking), (low, high))


if __name__ == "__main__":
    main()
