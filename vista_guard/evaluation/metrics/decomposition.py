"""How near a judge's claims come to a human's: easiness over ROUGE-1 (LLM-OASIS, section 6.1, equations 8 and 9). Pure.

ROUGE-1 is a few lines here: the packages that offer it bring a natural-language toolkit and a stemmer along, and the
plain form is an overlap of word counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Easiness:
    """Shares in [0, 1]. Precision falls with claims that no human made, recall with human claims that are missing."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class DecompositionScore:
    """Scores of one or more turns."""

    turns: int
    micro: Easiness
    """Every claim counts alike."""
    macro: Easiness
    """Every turn counts alike: means over turns, of F1 too."""
    predicted_per_turn: float
    reference_per_turn: float


def rouge1(first: str, second: str) -> float:
    """F-measure of shared words, in [0, 1]; each word counts as often as both have it. Case and punctuation do not count."""
    one, other = (Counter(_WORD.findall(text.lower())) for text in (first, second))
    return _harmonic((one & other).total(), one.total(), other.total())


def easiness(predicted: Sequence[str], reference: Sequence[str]) -> Easiness:
    """One turn: the mean over each side's claims of the best ROUGE-1 on the other side.

    Nothing claimed where nothing was to be claimed is right, 1; where one side alone is empty, all are 0.
    """
    if not predicted and not reference:
        return Easiness(1.0, 1.0, 1.0)
    if not predicted or not reference:
        return Easiness(0.0, 0.0, 0.0)
    return _easiness(fmean(_best(predicted, reference)), fmean(_best(reference, predicted)))


def score(turns: Iterable[tuple[Sequence[str], Sequence[str]]]) -> DecompositionScore | None:
    """All turns, each with its predicted and its reference claims. None without turns."""
    pairs = list(turns)
    if not pairs:
        return None
    single = [easiness(predicted, reference) for predicted, reference in pairs]
    hits = [best for predicted, reference in pairs for best in _best(predicted, reference)]
    found = [best for predicted, reference in pairs for best in _best(reference, predicted)]
    return DecompositionScore(
        turns=len(pairs),
        micro=_easiness(fmean(hits) if hits else 0.0, fmean(found) if found else 0.0) if hits or found else single[0],
        macro=Easiness(*(fmean(getattr(one, name) for one in single) for name in ("precision", "recall", "f1"))),
        predicted_per_turn=len(hits) / len(pairs),
        reference_per_turn=len(found) / len(pairs),
    )


def _best(claims: Sequence[str], others: Sequence[str]) -> list[float]:
    return [max((rouge1(claim, other) for other in others), default=0.0) for claim in claims]


def _easiness(precision: float, recall: float) -> Easiness:
    return Easiness(precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0)


def _harmonic(shared: int, first: int, second: int) -> float:
    return 2 * shared / (first + second) if first + second else 0.0
