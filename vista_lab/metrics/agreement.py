"""Agreement between annotators on the claims of a turn and on their labels, and the claims left to discuss. Pure.

Sets of claims are compared as in the paper (VISTA, Table 6): Jaccard and F1 of each pair, pooled over turns, so that F1 = 2J
/ (1 + J). Labels by Krippendorff's alpha for nominal data, over claims with two annotators or more, before any consensus (§5:
majority, else discussion).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from vista_guard._extras import require
from vista_guard.errors import InputError
from vista_guard.stores.reviewed import ConsensusClaim, Op
from vista_guard.types import Label, Span
from vista_lab.metrics import claim_sets
from vista_lab.metrics.claim_sets import ClaimGroup, Same, groups

T = TypeVar("T", bound=Hashable)

LABELS = tuple(Label)

DRAWS = 2000
"""Samples of turns for an interval."""

SEED = 13


class AnnotatedClaim(BaseModel):
    """A claim after an annotator's work on it.

    `source_claim_id` is the judge's claim it came from, None for an added one. `span` is its place in the judged draft, where it
    has one. `label` is None until it was chosen, and always None for a deleted claim.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(max_length=10_000)
    op: Op = Op.CONFIRM
    label: Label | None = None
    source_claim_id: str | None = None
    span: Span | None = None

    @property
    def kept(self) -> bool:
        """True unless the claim was deleted."""
        return self.op is not Op.DELETE


Turn = Mapping[str, Sequence[AnnotatedClaim]]
"""Each annotator's claims of one turn."""

Counts = NDArray[np.float64]

Scale = Literal["nominal", "ordinal", "interval", "ratio"]
"""Level of measurement, which weights the differences."""


class Method(StrEnum):
    """The way that annotators reached consensus."""

    UNANIMOUS = "unanimous"
    MAJORITY = "majority"
    DISCUSSION = "discussion"


@dataclass(frozen=True)
class Figure:
    """A number and the range that 95 % of samples give it. None where there is nothing to count."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class PairAgreement:
    """Two annotators' sets of claims, over the turns that both did. `shared` claims of `first` and `second` are matched."""

    annotators: tuple[str, str]
    turns: int
    first: int
    second: int
    shared: int
    jaccard: Figure
    f1: Figure


@dataclass(frozen=True)
class Agreement:
    """All figures of a set of turns. `jaccard` and `f1` are means over pairs, `alpha` is over `units` claims.

    `confusion` counts pairs of labels that two annotators gave one claim, in the order of `Label`, so that it is sorted.
    """

    turns: int
    pairs: tuple[PairAgreement, ...]
    jaccard: float | None
    f1: float | None
    alpha: Figure
    units: int
    confusion: Mapping[tuple[Label, Label], int]


def agreement(
    turns: Sequence[Turn],
    *,
    steps: Sequence[Same] | None = None,
    conversations: Sequence[str] | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Agreement:
    """Agreement of the annotators of these turns; not everybody has to have done every turn.

    `steps` say which claims are one, as for `groups`. Intervals draw turns, or whole conversations where `conversations` names
    each turn's.
    """
    aligned = [groups(turn, steps) for turn in turns]
    people = sorted({annotator for turn in turns for annotator in turn})
    weights = _weights(conversations or [str(place) for place in range(len(turns))], draws, seed)
    pairs = [_pair(one, other, turns, aligned, weights) for one, other in combinations(people, 2)]
    pair_figures = tuple(pair for pair in pairs if pair is not None)
    units = [list(group.labels.values()) for turn_groups in aligned for group in turn_groups if len(group.labels) > 1]
    return Agreement(
        turns=len(turns),
        pairs=pair_figures,
        jaccard=_mean([pair.jaccard.value for pair in pair_figures]),
        f1=_mean([pair.f1.value for pair in pair_figures]),
        alpha=alpha_figure(
            [coincidences([list(group.labels.values()) for group in turn_groups], LABELS) for turn_groups in aligned],
            weights,
            lambda drawn: alpha_of(drawn, LABELS),
        ),
        units=len(units),
        confusion=_confusion(units),
    )


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's kappa of two raters over the same cases, as scikit-learn has it.

    Returns:
        1 for perfect agreement, 0 for as much as chance gives; None without cases, and where both gave one and the same value.

    Examples:
        >>> cohen_kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
        0.5

    Raises:
        ConfigError: the extra `evaluation` is not installed.
        InputError: the raters did not rate equally many cases.
    """
    require("Cohen's kappa", "sklearn", extra="evaluation")
    from sklearn.metrics import cohen_kappa_score  # type: ignore[import-not-found,import-untyped,unused-ignore]

    if len(first) != len(second):
        raise InputError(
            f"Cohen's kappa needs two raters of the same cases; these rated {len(first)} and {len(second)}"
        )
    values = {value: number for number, value in enumerate(dict.fromkeys([*first, *second]))}
    if len(values) < 2:
        return None
    return float(cohen_kappa_score([values[rating] for rating in first], [values[rating] for rating in second]))


def fleiss_kappa(cases: Sequence[Sequence[Hashable]]) -> float | None:
    """Fleiss' kappa (1971): each case has the same number of ratings, by whomever.

    Returns:
        1 for perfect agreement, 0 for as much as chance gives; None without cases, and where all ratings are one value.

    Examples:
        >>> fleiss_kappa([["yes", "yes"], ["no", "no"]])
        1.0

    Raises:
        InputError: cases have different numbers of ratings, or fewer than two.
    """
    if not cases:
        return None
    raters = len(cases[0])
    odd = next((len(case) for case in cases if len(case) != raters or len(case) < 2), None)
    if odd is not None:
        raise InputError(
            f"Fleiss' kappa needs the same number of ratings per case, at least two; one case has {odd}, the first {raters}"
        )
    counts = [Counter(case) for case in cases]
    pairs = len(cases) * raters * (raters - 1)
    agreed = sum(count * (count - 1) for case in counts for count in case.values()) / pairs
    chance = sum((count / (len(cases) * raters)) ** 2 for count in sum(counts, Counter[Hashable]()).values())
    return (agreed - chance) / (1 - chance) if chance < 1 else None


def pearson(first: Counts, second: Counts) -> float | None:
    """Pearson's r; None for fewer than two cases, and where one of the two always gave the same."""
    if len(first) < 2 or not np.ptp(first) or not np.ptp(second):
        return None
    return float(np.corrcoef(first, second)[0, 1])


def icc(ratings: Counts) -> float | None:
    """ICC(2,1) of Shrout and Fleiss (1979): two-way random effects, absolute agreement, one rater.

    Args:
        ratings: cases by raters, each case rated by everybody.

    Returns:
        1 for perfect agreement; None for fewer than two cases or raters, and where all ratings are the same.
    """
    if ratings.ndim != 2 or min(ratings.shape) < 2 or not np.ptp(ratings):
        return None
    n, k = ratings.shape
    mean = ratings.mean()
    between = k * ((ratings.mean(axis=1) - mean) ** 2).sum() / (n - 1)
    raters = n * ((ratings.mean(axis=0) - mean) ** 2).sum() / (k - 1)
    total = ((ratings - mean) ** 2).sum()
    error = (total - between * (n - 1) - raters * (k - 1)) / ((n - 1) * (k - 1))
    return float((between - error) / (between + (k - 1) * error + k * (raters - error) / n))


def coincidences(units: Sequence[Sequence[Any]], values: Sequence[Any]) -> Counts:
    """Coincidences of values within units; each unit weighs as much as it has values."""
    place = {value: number for number, value in enumerate(values)}
    matrix = np.zeros((len(values), len(values)))
    for unit in units:
        if len(unit) < 2:
            continue
        counts = np.zeros(len(values))
        for value in unit:
            counts[place[value]] += 1
        matrix += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    return matrix


def krippendorff_alpha(
    units: Sequence[Sequence[Any]], scale: Scale = "nominal", values: Sequence[Any] | None = None
) -> float | None:
    """Krippendorff's alpha at a level of measurement. Units with fewer than two values count for nothing.

    Args:
        units: the values that each unit was given, by whomever.
        scale: how far two values are apart.
        values: all possible values, on an ordinal scale in order; those that occur when None.

    Returns:
        1 for perfect agreement, 0 for as much as chance gives; None when nothing can be compared, or nothing could differ.

    Examples:
        >>> krippendorff_alpha([["yes", "yes"], ["no", "no"], ["yes", "no"]])
        0.4444444444444444
        >>> krippendorff_alpha([["1", "1"], ["3", "2"]], "ordinal", ["1", "2", "3"])
        0.8333333333333334
    """
    known = sorted({value for unit in units for value in unit}, key=str) if values is None else values
    return alpha_of(coincidences(units, known), known, scale)


def alpha_of(found: Counts, values: Sequence[Any], scale: Scale = "nominal") -> float | None:
    """Alpha of a matrix of coincidences of these values."""
    totals = found.sum(axis=1)
    distance = _distances(values, totals, scale)
    n, expected = float(totals.sum()), float((np.outer(totals, totals) * distance).sum())
    if n <= 1 or expected <= 0:
        return None
    return 1.0 - (n - 1) * float((found * distance).sum()) / expected


def _distances(values: Sequence[Any], totals: Counts, scale: Scale) -> Counts:
    size = len(values)
    if scale == "nominal":
        return 1.0 - np.eye(size)
    if scale == "ordinal":  # values between two count, and half of the two themselves
        ranks = np.cumsum(totals) - totals / 2
        return np.asarray(np.subtract.outer(ranks, ranks) ** 2, float)
    numbers = np.asarray([float(value) for value in values])
    difference = np.subtract.outer(numbers, numbers)
    if scale == "interval":
        return np.asarray(difference**2, float)
    sums = np.add.outer(numbers, numbers)
    return np.asarray(np.divide(difference, sums, out=np.zeros_like(difference), where=sums != 0) ** 2, float)


def alpha_figure(matrices: Sequence[Counts], weights: Counts, of: Callable[[Counts], float | None]) -> Figure:
    """Alpha of the summed matrices, with an interval from samples that draw each of them as often as `weights` say."""
    value = of(np.sum(matrices, axis=0)) if matrices else None
    if value is None:
        return Figure(None)
    alphas = [of(drawn) for drawn in np.tensordot(weights, np.asarray(matrices), axes=1)]
    return Figure(value, *_interval(np.asarray([np.nan if alpha is None else alpha for alpha in alphas])))


def samples(turns: int, draws: int, seed: int) -> Counts:
    """Number of times each sample draws each turn: with replacement, as many as there are."""
    if turns < 2:
        return np.zeros((0, turns))
    generator = np.random.default_rng(seed)
    return generator.multinomial(turns, np.full(turns, 1 / turns), size=draws).astype(float)


def _weights(conversations: Sequence[str], draws: int, seed: int) -> Counts:
    """Number of times each sample draws each turn, where conversations are drawn whole."""
    places = {name: place for place, name in enumerate(dict.fromkeys(conversations))}
    return samples(len(places), draws, seed)[:, [places[name] for name in conversations]]


def _pair(
    one: str, other: str, turns: Sequence[Turn], aligned: Sequence[Sequence[ClaimGroup]], weights: Counts
) -> PairAgreement | None:
    both = zip(turns, aligned, strict=True)
    none = (0, 0, 0)
    rows = [_shared_counts(one, other, own) if {one, other} <= turn.keys() else none for turn, own in both]
    shared_turns = sum(one in turn and other in turn for turn in turns)
    if not shared_turns:
        return None
    counts = np.asarray(rows, float)
    first, second, shared = (int(count) for count in counts.sum(axis=0))
    jaccard, f1 = (_figure(counts, weights, of) for of in (claim_sets.jaccard, claim_sets.f1))
    return PairAgreement((one, other), shared_turns, first, second, shared, jaccard, f1)


def _shared_counts(one: str, other: str, turn_groups: Sequence[ClaimGroup]) -> tuple[int, int, int]:
    mine, theirs = (sum(annotator in group.by for group in turn_groups) for annotator in (one, other))
    return mine, theirs, sum(one in group.by and other in group.by for group in turn_groups)


def _figure(counts: Counts, weights: Counts, of: Any) -> Figure:
    value = float(of(*counts.sum(axis=0)))
    return Figure(None) if np.isnan(value) else Figure(value, *_interval(of(*(weights @ counts).T)))


def _interval(draws: Counts) -> tuple[float | None, float | None]:
    finite = draws[~np.isnan(draws)]
    if not len(finite):
        return None, None
    low, high = np.quantile(finite, [0.025, 0.975])
    return (float(low), float(high)) if low < high else (None, None)


def _confusion(units: Sequence[Sequence[Label]]) -> dict[tuple[Label, Label], int]:
    counts: Counter[tuple[Label, Label]] = Counter()
    for unit in units:
        for pair in combinations(sorted(unit, key=LABELS.index), 2):
            counts[pair[0], pair[1]] += 1
    return dict(counts)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@dataclass(frozen=True)
class ClaimVersions:
    """One claim of the turn with everybody's version. `answer` is what most of them say: None when it is that the turn does not
    make the claim, or when there is no such answer (`open`). `unanimous`: all say the same, word for word."""

    group: ClaimGroup
    answer: ConsensusClaim | None
    open: bool
    unanimous: bool


def compare(
    sets: Mapping[str, Sequence[AnnotatedClaim]], steps: Sequence[Same] | None = None
) -> tuple[ClaimVersions, ...]:
    """The claims of a turn, with the answer of more than half of its annotators where there is one.

    An annotator without the claim says that the turn does not make it. Annotators who agree on a label agree
    on the words where more than half have the same; else the claim is open. `steps` say which claims are one, as for `groups`.
    """
    return tuple(_item(group, len(sets)) for group in groups(sets, steps))


def method_of(items: Sequence[ClaimVersions]) -> Method | None:
    """The way to consensus; None while there is something to discuss."""
    if any(item.open for item in items):
        return None
    return Method.UNANIMOUS if all(item.unanimous for item in items) else Method.MAJORITY


def answers(items: Sequence[ClaimVersions]) -> tuple[ConsensusClaim, ...]:
    """The claims that the turn makes, by majority."""
    return tuple(item.answer for item in items if item.answer is not None)


def as_consensus(claim: AnnotatedClaim, label: Label) -> ConsensusClaim:
    """An annotator's version of a claim, as the consensus has it, with this label."""
    origin = {"source_claim_id": claim.source_claim_id, "span": claim.span}
    return ConsensusClaim(text=claim.text, label=label, op=claim.op, **origin)


def majority(values: Collection[T], of: int | None = None) -> T | None:
    """The value that more than half gave, `of` so many people if not all gave one; None if there is none.

    Examples:
        >>> majority(["yes", "no", "yes"]), majority(["yes", "yes"], of=4)
        ('yes', None)
    """
    people = len(values) if of is None else of
    return next((value for value, votes in Counter(values).items() if 2 * votes > people), None)


def _item(group: ClaimGroup, annotators: int) -> ClaimVersions:
    if 2 * (annotators - len(group.by)) > annotators:
        return ClaimVersions(group, None, open=False, unanimous=False)
    label = majority(group.labels.values(), annotators)
    text = majority([claim.text for claim in group.by.values()], annotators)
    if label is None or text is None:
        return ClaimVersions(group, None, open=True, unanimous=False)
    versions = [claim for _, claim in sorted(group.by.items()) if claim.text == text]
    words = min(versions, key=lambda claim: (claim.op is not Op.CONFIRM, claim.source_claim_id is None))
    unanimous = [claim.label for claim in versions] == [label] * annotators
    return ClaimVersions(group, as_consensus(words, label), open=False, unanimous=unanimous)
