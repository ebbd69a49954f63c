"""Temperature and thresholds of a verifier, from labelled claims. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vista_guard.evaluation.verifiers.cases import Gold
from vista_guard.judges.verifiers.calibrated import Thresholds, heated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDS = 5
GOLD: tuple[Gold, ...] = ("supported", "contradicted", "not_enough")
FALSE_CONTRADICTIONS: dict[Gold, float] = {"supported": 0.01, "not_enough": 0.05}
"""Most claims of each kind that may be called contradicted: what is contradicted may be blocked. As for the shipped verifier."""
COLDEST, HOTTEST = 0.5, 4.0
"""A verifier whose best temperature is the hottest tells next to nothing apart: any certainty of its is wrong too often."""
NEVER = 1.0
SURE = 1e-6
"""Closer to 0 or 1 than this a probability is a plain yes or no, which no temperature changes."""


@dataclass(frozen=True)
class Judged:
    """One claim as the embedded judge saw it over all of its evidence: the highest P(supported) and P(contradicted)."""

    gold: Gold
    document: str
    supported: float
    contradicted: float


@dataclass(frozen=True)
class CrossFitted:
    """Shares over claims of documents that the thresholds were not fitted on."""

    supported_or_not: float
    contradicted_precision: float | None


def best_temperature(rows: NDArray[np.float32], gold: Sequence[Gold]) -> float:
    """The temperature, between `COLDEST` and `HOTTEST`, at which the labels are likeliest.

    Args:
        rows: probabilities (claims, 3) at temperature 1, each claim against the evidence that decides it.
        gold: the claims' labels. A verifier that never says "contradicted" is held to supported or not.
    """
    import numpy as np

    if bool((np.minimum(rows, 1.0 - rows) < SURE).all()):
        return 1.0
    columns = np.array([GOLD.index(one) for one in gold])
    three = bool((rows[:, GOLD.index("contradicted")] > SURE).any())

    def cost(temperature: float) -> float:
        shares = heated(np.clip(rows, SURE / 10, None) if three else rows, temperature)
        supported = shares[:, 0]
        right = shares[np.arange(len(shares)), columns] if three else np.where(columns == 0, supported, 1 - supported)
        return float(-np.log(np.clip(right, SURE, 1)).mean())

    return float(min(np.round(np.geomspace(COLDEST, HOTTEST, 43), 2), key=cost))


def fit(claims: Sequence[Judged]) -> Thresholds:
    """The thresholds: supported by the best mean of both recalls, contradicted as low as `FALSE_CONTRADICTIONS` lets it be."""
    supported = _best_split([one.supported for one in claims], [one.gold == "supported" for one in claims])
    return Thresholds(supported=supported, contradicted=_least_contradicted(claims, supported))


def cross_fit(claims: Sequence[Judged], folds: int = FOLDS) -> CrossFitted:
    """How thresholds do on documents that they were not fitted on, over as many parts of the documents."""
    documents = list(dict.fromkeys(one.document for one in claims))
    right = called = truly = counted = 0
    for fold in range(min(folds, len(documents))):
        held = set(documents[fold::folds])
        inside = [one for one in claims if one.document not in held]
        if not 0 < sum(one.gold == "supported" for one in inside) < len(inside):
            continue
        limits = fit(inside)
        for one in (one for one in claims if one.document in held):
            verified = one.supported >= limits.supported
            contradicted = not verified and one.contradicted >= limits.contradicted
            counted += 1
            right += verified == (one.gold == "supported")
            called += contradicted
            truly += contradicted and one.gold != "supported"
    return CrossFitted(right / counted if counted else 0.0, truly / called if called else None)


def _best_split(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The middle of the best stretch of thresholds, by the mean of both recalls: one lucky threshold counts for little."""
    import numpy as np

    values = np.unique(np.array(scores))
    if len(values) < 2:
        return 0.5
    limits = (values[1:] + values[:-1]) / 2
    found, truth = np.array(scores), np.array(positive)
    balanced = np.array([_balanced(found >= limit, truth) for limit in limits])
    width = max(1, len(limits) // 20)
    padded = np.pad(balanced, (width // 2, width - 1 - width // 2), mode="edge")
    smooth = np.convolve(padded, np.ones(width) / width, mode="valid")
    return round(float(limits[int(smooth.argmax())]), 4)


def _balanced(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    return float((found[truth].mean() + (~found[~truth]).mean()) / 2)


def _least_contradicted(claims: Sequence[Judged], supported: float) -> float:
    held_against = [one for one in claims if one.supported < supported]
    for limit in sorted({one.contradicted for one in claims if one.contradicted > SURE}):
        if _few_false([one for one in held_against if one.contradicted >= limit], claims):
            # Rounded up: down, a claim that must not be called contradicted would be.
            return min(NEVER, round(limit + 0.00005, 4))
    return NEVER


def _few_false(called: Sequence[Judged], claims: Sequence[Judged]) -> bool:
    """Whether calling these contradicted keeps `FALSE_CONTRADICTIONS`."""
    return all(
        sum(one.gold == gold for one in called) <= most * sum(one.gold == gold for one in claims)
        for gold, most in FALSE_CONTRADICTIONS.items()
    )
