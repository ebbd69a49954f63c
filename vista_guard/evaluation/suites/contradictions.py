"""Contradictions between two turns of one speaker: RGM-Contradictions, and the DECODE sample that every choice was made on.

The score looks at the pair in four views and takes their mean; within a view it takes the largest P(contradicted) over
its pairs of texts, the earlier as evidence and the later as claim. A view without texts counts 0. Claims are the judge's
own, decomposed with what was said before; "named" is the message in the third person, as claims are.

On 620 rows of DECODE, with the first shipped verifier, the area under the ROC curve is 0.80 for whole messages and for
claims against claims, 0.84 for the four views (0.033 more than whole messages, bootstrap standard error 0.011). Means
within views, or both directions of a pair, change it by less than half a standard error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vista_guard.evaluation.datasets.published.sets.rgm import Pair
from vista_guard.evaluation.suites.answers import Answers, Target
from vista_guard.evaluation.suites.bench import Bench
from vista_guard.evaluation.suites.judged import Judged, judge_past
from vista_guard.evaluation.suites.loaders import decode, rgm
from vista_guard.evaluation.suites.product import Product, progress
from vista_guard.guard import Guard
from vista_guard.judges.embedded.english.speakers import name_speakers, names
from vista_guard.judges.embedded.forms.inline import clean
from vista_guard.reading.canonical import folded
from vista_guard.types import Label

DECODE = "train/prosecco/decode_sample.tsv"
YES, NO = "contradictory", "consistent"
RGM_TARGETS = (Target("accuracy", 0.66, 0.82), Target("f1", 0.68, 0.82))
WHOLE, NAMED_CLAIMS, CLAIMS_NAMED, CLAIMS = "whole messages", "whole, claims", "claims, whole", "claims, claims"

Views = dict[str, list[tuple[str, str]]]
"""Pairs of texts, evidence and claim, by view."""


@dataclass(frozen=True)
class Message:
    """One of the two turns: as it was said, in the third person, and taken apart."""

    said: str
    named: str
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Scored:
    """Gold and scores of some pairs; `views` holds one list of scores for each view, `guarded` what a guard said."""

    gold: list[str]
    views: dict[str, list[float]]
    guarded: list[list[Judged]]

    @cached_property
    def mean(self) -> list[float]:
        """The mean over the views."""
        return [sum(row) / len(self.views) for row in zip(*self.views.values(), strict=True)]

    @cached_property
    def guard(self) -> list[float]:
        """The largest P(contradicted) of a claim through the guard."""
        return [max((claim.measured.contradicted for claim in claims), default=0.0) for claims in self.guarded]


def rgm_protocol(bench: Bench, folder: Path) -> Iterator[Answers]:
    """RGM with history, thresholds from DECODE."""
    dev = score(bench, bench.some(decode(bench.data / DECODE)[::2]), "decode, to choose the threshold")
    yield from answers(score(bench, bench.some(rgm(folder)), "rgm"), dev, RGM_TARGETS)


def decode_protocol(bench: Bench, path: Path) -> Iterator[Answers]:
    """The odd rows of DECODE with thresholds from its even rows, each view by itself too."""
    rows = decode(path)
    dev = score(bench, bench.some(rows[::2]), "decode, even rows")
    found = score(bench, bench.some(rows[1::2]), "decode, odd rows")
    yield from answers(found, dev, ())
    for view, scores in found.views.items():
        yield _thresholded(f"variant: {view}", found.gold, scores, dev.gold, dev.views[view], ())


def answers(found: Scored, dev: Scored, targets: tuple[Target, ...]) -> Iterator[Answers]:
    """The four views, and the guard as it is shipped and with a threshold for balanced pairs."""
    yield _thresholded("contradiction, four views of the pair", found.gold, found.mean, dev.gold, dev.mean, targets)
    own = "contradiction, own claims through the guard, context=full"
    yield _thresholded(own, found.gold, found.guard, dev.gold, dev.guard, ())
    shipped = [any(claim.label is Label.CONTRADICTED for claim in claims) for claims in found.guarded]
    yield Answers(
        task=f"{own}, the shipped labels",
        gold=found.gold,
        found=[YES if one else NO for one in shipped],
        policy="judge.json: contradicted is set for few false alarms",
        positive=YES,
        scores=found.guard,
    )


def score(bench: Bench, pairs: Sequence[Pair], task: str) -> Scored:
    """All scores of the pairs."""
    product = bench.product
    views = asyncio.run(_all_views(product, pairs, task))
    texts = list(dict.fromkeys(pair for view in views for pairs_of in view.values() for pair in pairs_of))
    found = {pair: float(row[1]) for pair, row in zip(texts, product.probabilities(texts, task), strict=True)}
    kinds = (WHOLE, NAMED_CLAIMS, CLAIMS_NAMED, CLAIMS)
    return Scored(
        gold=[YES if pair.contradictory else NO for pair in pairs],
        views={kind: [max((found[one] for one in view[kind]), default=0.0) for view in views] for kind in kinds},
        guarded=bench.each(pairs, _guarded, f"{task}, through the guard", product.guard(context="full")),
    )


def threshold(gold: Sequence[str], scores: Sequence[float]) -> float:
    """The middle of the best stretch of balanced accuracy."""
    import numpy as np

    from vista_guard.evaluation.metrics.arrays import balanced_accuracy

    grid = np.arange(0.02, 0.99, 0.01)
    found = [balanced_accuracy(gold, [YES if one >= limit else NO for one in scores]) for limit in grid]
    smooth = np.convolve(found, np.ones(5) / 5, mode="valid")
    return round(float(grid[2:-2][int(smooth.argmax())]), 2)


def _thresholded(
    task: str,
    gold: Sequence[str],
    scores: Sequence[float],
    dev_gold: Sequence[str],
    dev_scores: Sequence[float],
    targets: tuple[Target, ...],
) -> Answers:
    limit = threshold(dev_gold, dev_scores)
    return Answers(
        task=task,
        gold=gold,
        found=[YES if one >= limit else NO for one in scores],
        policy=f"{limit:.2f}, best balanced accuracy on {len(dev_gold)} even rows of the DECODE sample",
        positive=YES,
        scores=scores,
        targets=targets,
    )


async def _guarded(product: Product, guard: Guard, pair: Pair) -> list[Judged]:
    return await judge_past(product, guard, pair.turns)


async def _all_views(product: Product, pairs: Sequence[Pair], task: str) -> list[Views]:
    return [await _views(product, pair) for pair in progress(pairs, f"{task}, claims")]


async def _views(product: Product, pair: Pair) -> Views:
    first = await _message(product, pair, pair.first)
    last = await _message(product, pair, len(pair.turns) - 1)
    return {
        WHOLE: [(first.said, last.said)],
        NAMED_CLAIMS: [(first.named, claim) for claim in last.claims],
        CLAIMS_NAMED: [(claim, last.named) for claim in first.claims],
        CLAIMS: [(earlier, later) for earlier in first.claims for later in last.claims],
    }


async def _message(product: Product, pair: Pair, place: int) -> Message:
    turn = pair.turns[place]
    said = clean(folded(turn.text))
    return Message(said, name_speakers(said, *names(turn.role)), tuple(await product.claims(turn, pair.turns[:place])))
