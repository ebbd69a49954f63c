"""Protocols that put each kind of benchmark to the judge: each reads a file and yields the answers of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from training.suites.evalsets import Claims, chunks
from training.suites.loaders import CONTRADICTED, NOT_ENOUGH, PARTLY, SUPPORTED, GivenStatement
from training.suites.product import (
    Bench,
    JudgedClaim,
    Target,
    TaskAnswers,
    all_supported,
    judge_given,
    judge_own,
    least_support,
    shipped_three_way,
    three_way,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNSUPPORTED = "unsupported"
THREE = (SUPPORTED, CONTRADICTED, NOT_ENOUGH)
Load = Callable[[Path], Claims]
LoadGiven = Callable[[Path], list[GivenStatement]]


def whole_response(load: Load, target: Target | None = None) -> Callable[[Bench, Path], Iterator[TaskAnswers]]:
    """A response as it stands against its knowledge, without decomposition: verifier pairs, support = max over chunks."""

    def protocol(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
        claims = _some(bench, load(path))
        scores = [float(rows[:, 0].max()) for rows in _pairwise(bench, claims, path.stem)]
        limit = bench.product.limits.supported
        yield TaskAnswers(
            task="supported or not, whole response pair-wise (not decomposed)",
            gold=[SUPPORTED if gold == SUPPORTED else UNSUPPORTED for gold in claims.gold],
            found=[SUPPORTED if score >= limit else UNSUPPORTED for score in scores],
            policy=f"supported {limit:g} of judge.json, chosen on BEGIN dev wow, FaithDial wow and VISTA dev",
            positive=SUPPORTED,
            scores=scores,
            calibrated=True,
            targets=(target,) if target else (),
        )

    return protocol


def pair_three_way(load: Load, target: Target | None = None) -> Callable[[Bench, Path], Iterator[TaskAnswers]]:
    """Evidence and claim as one pair for the verifier, the likeliest of three labels."""

    def protocol(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
        claims = _some(bench, load(path))
        rows = [row.max(0) for row in _pairwise(bench, claims, path.stem)]
        yield TaskAnswers(
            task="three-way, pair-wise",
            gold=claims.gold,
            found=[THREE[int(row.argmax())] for row in rows],
            policy="none: likeliest label",
            positive=SUPPORTED,
            scores=[float(row[0]) for row in rows],
            calibrated=True,
            targets=(target,) if target else (),
        )

    return protocol


def own_claims(load: LoadGiven, target: Target | None = None) -> Callable[[Bench, Path], Iterator[TaskAnswers]]:
    """Whole turns through the guard: the judge's own claims, and a turn is supported when all of them are VERIFIED."""

    def protocol(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
        rows = bench.some(load(path))
        judged = bench.each(rows, judge_own, f"{path.stem}, own claims")
        yield TaskAnswers(
            task="supported or not, own claims through the guard",
            gold=[SUPPORTED if row.gold == SUPPORTED else UNSUPPORTED for row in rows],
            found=[SUPPORTED if all_supported(claims) else UNSUPPORTED for claims in judged],
            policy="judge.json; a turn is supported when all of its claims, at least one, are",
            positive=SUPPORTED,
            scores=[least_support(claims) for claims in judged],
            targets=(target,) if target else (),
        )

    return protocol


def given_claims(load: LoadGiven, cap: int = 0) -> Callable[[Bench, Path], Iterator[TaskAnswers]]:
    """Statements given, each through the guard with its own documents: three-way, and supported or not."""

    def protocol(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
        rows = bench.some(load(path), cap)
        claims = bench.each(rows, judge_given, f"{path.stem.removesuffix('.jsonl')}, given claims")
        yield from given_answers(bench, [row.gold for row in rows], claims)

    return protocol


def given_support(load: LoadGiven, cap: int = 0) -> Callable[[Bench, Path], Iterator[TaskAnswers]]:
    """Statements given, each through the guard with its own documents: supported or not alone, where gold knows no more."""

    def protocol(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
        rows = bench.some(load(path), cap)
        claims = bench.each(rows, judge_given, f"{path.name}, given claims")
        yield _supported_or_not([row.gold for row in rows], claims)

    return protocol


def fever_guarded(bench: Bench, _path: Path) -> Iterator[TaskAnswers]:
    """The rows of FEVER dev that the three-way threshold is chosen on."""
    yield from given_answers(bench, *bench.fever_dev)


def given_answers(bench: Bench, gold: Sequence[str], claims: Sequence[JudgedClaim]) -> Iterator[TaskAnswers]:
    """Counts partly supported claims as not enough; further lines leave them out."""
    yield from _given_tasks(bench, [NOT_ENOUGH if label == PARTLY else label for label in gold], claims, "")
    clear = [index for index, label in enumerate(gold) if label != PARTLY]
    if len(clear) < len(gold):
        without = ", without the partly supported"
        yield from _given_tasks(bench, [gold[i] for i in clear], [claims[i] for i in clear], without)


def _given_tasks(bench: Bench, gold: Sequence[str], claims: Sequence[JudgedClaim], note: str) -> Iterator[TaskAnswers]:
    yield TaskAnswers(
        task=f"three-way, claims given{note}",
        gold=gold,
        found=[three_way(claim, bench.refuted) for claim in claims],
        policy=f"supported of judge.json; contradicted {bench.refuted:g}, best macro-F1 on FEVER dev",
    )
    yield TaskAnswers(
        task=f"three-way, claims given, the shipped labels{note}",
        gold=gold,
        found=[shipped_three_way(claim) for claim in claims],
        policy="judge.json: contradicted is set for few false alarms",
    )
    yield _supported_or_not(gold, claims, note)


def _supported_or_not(gold: Sequence[str], claims: Sequence[JudgedClaim], note: str = "") -> TaskAnswers:
    return TaskAnswers(
        task=f"supported or not, claims given{note}",
        gold=[SUPPORTED if label == SUPPORTED else UNSUPPORTED for label in gold],
        found=[SUPPORTED if claim.supported else UNSUPPORTED for claim in claims],
        policy="supported of judge.json",
        positive=SUPPORTED,
        scores=[claim.measured.supported for claim in claims],
        calibrated=True,
    )


def _some(bench: Bench, claims: Claims) -> Claims:
    chosen = bench.some(range(len(claims.texts)))
    evidence, texts, gold = (
        [column[index] for index in chosen] for column in (claims.evidence, claims.texts, claims.gold)
    )
    return Claims(evidence, texts, gold, [claims.turns[index] for index in chosen])


def _pairwise(bench: Bench, claims: Claims, task: str) -> Iterator[NDArray[np.float32]]:
    """Probabilities [chunks, 3] of each claim over the chunks of its evidence."""
    parts = [chunks(evidence) for evidence in claims.evidence]
    pairs = [(chunk, text) for chunked, text in zip(parts, claims.texts, strict=True) for chunk in chunked]
    rows = bench.product.probabilities(pairs, task)
    start = 0
    for part in parts:
        yield rows[start : start + len(part)]
        start += len(part)
