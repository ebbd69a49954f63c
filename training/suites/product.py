"""The shipped judge as benchmarks run it: same code, same weights, its probabilities kept.

With the figures of a task, thresholds chosen on development sets, and turns through the guard.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from training.suites import loaders
from training.suites.loaders import CONTRADICTED, NOT_ENOUGH, SUPPORTED, GivenStatement
from vista_guard.errors import JudgeError
from vista_guard.guard import Guard
from vista_guard.inference.onnx import Encoder
from vista_guard.inference.weights import WEIGHTS
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.models import Calibration, ClaimTypeHead, ShippedVerifier
from vista_guard.protocols import KnowledgeStore
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.types import (  # fmt: skip
    Claim,
    Conversation,
    Finding,
    Label,
    Outcome,
    Role,
    Turn,
)
from vista_lab.policies.verifiers import NOTHING, ClaimScores, MeasuredJudge
from vista_lab.systems.recipes import NoKnowledge

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


COLUMNS = (
    "set", "split", "n", "task", "accuracy", "balanced accuracy", "macro-F1", "F1+", "AUC", "ECE", "majority", "floor / aim",
    "threshold policy",
)  # fmt: skip
HEADER = (f"| {' | '.join(COLUMNS)} |", "|---|---|" + "---:|---|" + "---:|" * 7 + "---|---|")


@dataclass(frozen=True)
class Target:
    """The least and the wanted value of a figure; shares in [0, 1]."""

    figure: str
    """A field of `Figures`."""
    floor: float
    aim: float


@dataclass(frozen=True)
class TaskAnswers:
    """One task on one set. `gold` and `found` are labels of the task's own kind, in the same order."""

    task: str
    gold: Sequence[str]
    found: Sequence[str]
    policy: str
    """Which threshold was used, and where it was chosen."""
    positive: str | None = None
    """The label that F1+, AUC and ECE are of."""
    scores: Sequence[float] = ()
    """For each row a score of `positive`."""
    calibrated: bool = False
    """True when `scores` are probabilities: ECE has a meaning only then."""
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True)
class Figures:
    """The figures of a task; None where one does not apply."""

    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    f1: float | None
    auc: float | None
    ece: float | None
    majority: float


def figures(answers: TaskAnswers) -> Figures:
    """All figures of the answers."""
    from training.suites import arrays

    gold, predicted = answers.gold, answers.found
    truth = [label == answers.positive for label in gold]
    auc = arrays.auc(truth, answers.scores) if answers.scores else nan
    return Figures(
        accuracy=arrays.accuracy(gold, predicted),
        balanced_accuracy=arrays.balanced_accuracy(gold, predicted),
        macro_f1=arrays.macro_f1(gold, predicted),
        f1=arrays.f1(gold, predicted, answers.positive) if answers.positive else None,
        auc=None if isnan(auc) else auc,
        ece=arrays.calibration_error(truth, answers.scores) if answers.scores and answers.calibrated else None,
        majority=arrays.majority(gold),
    )


def line(name: str, split: str, answers: TaskAnswers) -> str:
    measures = figures(answers)
    task = f"{answers.task} (F1+, AUC: {answers.positive})" if answers.positive else answers.task
    shares = ("" if share is None else f"{share:.3f}" for share in vars(measures).values())
    targets = "; ".join(_verdict(target, measures) for target in answers.targets)
    return f"| {' | '.join((name, split, str(len(answers.gold)), task, *shares, targets, answers.policy))} |"


def failure(name: str, split: str, error: Exception) -> str:
    """The line of a set that could not be scored."""
    message = f"failed: {type(error).__name__}: {error}".replace("|", "/").replace("\n", " ")
    return f"| {name} | {split} |  | {message} |" + " |" * 9


def _verdict(target: Target, measures: Figures) -> str:
    value = getattr(measures, target.figure)
    floor, aim = ("met" if value >= limit else "missed" for limit in (target.floor, target.aim))
    return f"{target.figure.replace('_', ' ')} ≥ {target.floor:.2f} {floor}, {target.aim:.2f} {aim}"


BLOCK = 512
"""Pairs between two reports of progress."""

T = TypeVar("T")


class Product:
    """The verifier for pairs, and guards around the whole judge, from one weights folder."""

    def __init__(self, folder: Path = WEIGHTS, verifier: str = "verifier.onnx") -> None:
        self.limits = Calibration.load(folder)
        name, most = verifier.removesuffix(".onnx"), self.limits.max_length
        self.verifier = ShippedVerifier(Encoder.load(name, max_length=most, folder=folder.resolve()), self.limits)
        self.embedder = OnnxEmbedder()
        eager = replace(self.limits, contradicted=0.0)
        judge = EmbeddedJudge(self.verifier, self.embedder, ClaimTypeHead.load(folder), eager)
        self.judge = MeasuredJudge(judge, self.limits.contradicted)

    def guard(self, *, context: Literal["none", "full"] = "none", knowledge: bool = True) -> Guard:
        """A guard that lets every turn through; without `knowledge` it forgets what earlier turns established."""
        store: KnowledgeStore = MemoryKnowledge(self.embedder) if knowledge else NoKnowledge(self.embedder)
        return Guard(self.judge, "monitor", knowledge=store, context=context)

    def probabilities(self, pairs: Sequence[tuple[str, str]], task: str) -> NDArray[np.float32]:
        """Calibrated verifier probabilities [pairs, 3] in the order supported, contradicted, not enough."""
        import numpy as np

        order = sorted(range(len(pairs)), key=lambda index: len(pairs[index][0]) + len(pairs[index][1]))
        rows = np.zeros((len(pairs), 3), np.float32)
        for start in progress(range(0, len(order), BLOCK), f"{task}, blocks of {BLOCK} pairs"):
            block = order[start : start + BLOCK]
            rows[block] = self.verifier.probabilities([pairs[index] for index in block])
        return rows

    async def claims(self, turn: Turn, history: Sequence[Turn]) -> list[str]:
        """Texts of the turn's claims; none for a language that the judge does not read."""
        try:
            return [claim.text for claim in await self.judge.decompose(turn, history)]
        except JudgeError:
            return []


def progress(items: Iterable[T], task: str) -> Iterator[T]:
    """The items, counted on stderr."""
    rows = list(items)
    for number, item in enumerate(rows, 1):
        yield item
        if sys.stderr.isatty() or number % 200 == 0 or number == len(rows):
            print(f"\r{task}: {number}/{len(rows)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


@dataclass(frozen=True)
class JudgedClaim:
    """One claim: the product's label, None when it could not be judged, and what was measured."""

    label: Label | None
    measured: ClaimScores

    @property
    def supported(self) -> bool:
        return self.label is Label.VERIFIED


Turns = Sequence[Turn]


async def judge_given(product: Product, guard: Guard, row: GivenStatement) -> JudgedClaim:
    """The row's statement as the one claim of its turn, against the row's documents."""
    claim = Claim(id="given", text=row.text)
    turn = Turn(role=Role.ASSISTANT, text=row.text, documents=row.documents, claims=(claim,))
    return (await judge_last(product, guard, (*row.history, turn)))[0]


async def judge_own(product: Product, guard: Guard, row: GivenStatement) -> list[JudgedClaim]:
    """The claims that the judge finds in the row's text, against the row's documents."""
    turn = Turn(role=Role.ASSISTANT, text=row.text, documents=row.documents)
    return await judge_last(product, guard, (*row.history, turn))


async def judge_last(product: Product, guard: Guard, turns: Turns) -> list[JudgedClaim]:
    """The claims of the last turn; earlier turns establish nothing."""
    product.judge.measured.clear()
    reports = guard.areplay(Conversation(turns=tuple(turns)), turns=(len(turns) - 1,))
    outcomes = [outcome async for report in reports for outcome in report.outcomes]
    return with_scores(product, outcomes)


async def judge_past(product: Product, guard: Guard, turns: Turns) -> list[JudgedClaim]:
    """The claims of the last turn; what earlier turns of the assistant established is known."""
    product.judge.measured.clear()
    report = await guard.acheck(Conversation(turns=tuple(turns)))
    return with_scores(product, report.outcomes)


def with_scores(product: Product, outcomes: Sequence[Outcome]) -> list[JudgedClaim]:
    """Labels with the scores that the judge just measured."""
    scores = product.judge.measured
    return [
        JudgedClaim(outcome.label if isinstance(outcome, Finding) else None, scores.get(outcome.claim.id, NOTHING))
        for outcome in outcomes
    ]


def all_supported(claims: Sequence[JudgedClaim]) -> bool:
    """True when a turn has claims and all are VERIFIED (VISTA §6.1)."""
    return bool(claims) and all(claim.supported for claim in claims)


def least_support(claims: Sequence[JudgedClaim]) -> float:
    """Least support of a claim; 0 for a turn that claims nothing."""
    return min((claim.measured.supported for claim in claims), default=0.0)


def three_way(claim: JudgedClaim, refuted: float) -> str:
    """Supported as the product says; else contradicted from P(contradicted) = `refuted` on."""
    if claim.supported:
        return SUPPORTED
    return CONTRADICTED if claim.measured.contradicted >= refuted else NOT_ENOUGH


def shipped_three_way(claim: JudgedClaim) -> str:
    """The product's label, opinions and abstentions counted as not enough."""
    if claim.supported:
        return SUPPORTED
    return CONTRADICTED if claim.label is Label.CONTRADICTED else NOT_ENOUGH


FEVER_DEV = "train/fever/dev.jsonl.gz"
REFUTED_ROWS = 1200
"""Rows of FEVER dev, evenly spaced, that the three-way threshold is chosen on."""

Row = TypeVar("Row")
Answer = TypeVar("Answer")


@dataclass
class Bench:
    """A product under test. `limit` is the most rows of a set that are judged; 0 for all."""

    product: Product
    data: Path
    limit: int = 0
    without_knowledge: bool = False
    """Repeat replays without the knowledge that conversations establish."""

    def some(self, rows: Sequence[Row], cap: int = 0) -> list[Row]:
        """At most `limit` (and `cap`) rows, evenly spaced: files are often sorted by label or source."""
        most = min((count for count in (self.limit, cap) if count), default=0)
        if not most or len(rows) <= most:
            return list(rows)
        return [rows[index * len(rows) // most] for index in range(most)]

    def each(
        self,
        rows: Sequence[Row],
        judge: Callable[[Product, Guard, Row], Coroutine[Any, Any, Answer]],
        task: str,
        guard: Guard | None = None,
    ) -> list[Answer]:
        """The rows one by one through a guard."""
        door = guard or self.product.guard()

        async def run() -> list[Answer]:
            return [await judge(self.product, door, row) for row in progress(rows, task)]

        return asyncio.run(run())

    @cached_property
    def refuted(self) -> float:
        """P(contradicted) from which an unsupported claim counts as refuted: best three-way macro-F1 on FEVER dev."""
        from training.suites.arrays import macro_f1

        gold, judged = self.fever_dev
        limits = [step / 100 for step in range(10, 96, 5)]
        return max(limits, key=lambda limit: macro_f1(gold, [three_way(claim, limit) for claim in judged]))

    @cached_property
    def fever_dev(self) -> tuple[list[str], list[JudgedClaim]]:
        """Gold labels and judged claims of some rows of FEVER dev."""
        rows = self.some(loaders.fever(self.data / FEVER_DEV), REFUTED_ROWS)
        return [row.gold for row in rows], self.each(rows, judge_given, "fever_dev through the guard")
