"""Similarity of two sets of claims, groups of equal claims, and easiness (VISTA, Table 6 and App. D.1).

Two claims match where they come from the same claim of the judge, overlap by half or more of their places in the turn, read
the same, or have embeddings with a cosine above 0.9. The paper does not say how claims pair: here each has at most one
partner, by a maximum matching. Easiness is that of LLM-OASIS (section 6.1, equations 8 and 9) over ROUGE-1, which is a few
lines here: packages that offer it bring a natural-language toolkit along.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean, harmonic_mean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vista_guard.protocols import Embedder
from vista_guard.types import Label

if TYPE_CHECKING:
    from vista_lab.metrics.agreement import AnnotatedClaim

Counts = NDArray[np.float64]

COSINE = 0.9
"""Similarity above which two claims are one (VISTA, §5)."""


@dataclass(frozen=True)
class SetAgreement:
    """Claims of two sides, and how many of them have a partner. Summed over turns, so that each claim weighs alike."""

    first: float
    second: float
    shared: float

    @property
    def jaccard(self) -> float | None:
        """Shared claims over all that either side has, in [0, 1]. None without claims."""
        return _none_if_nan(jaccard(self.first, self.second, self.shared))

    @property
    def f1(self) -> float | None:
        """Twice the shared claims over both sides' sizes, in [0, 1]; it is 2J / (1 + J). None without claims."""
        return _none_if_nan(f1(self.first, self.second, self.shared))


def maximum_matching(edges: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """As many pairs as there can be, one for each number at most (Kuhn's algorithm); nearer partners are tried first.

    Examples:
        >>> maximum_matching({0: [0, 1], 1: [0]})
        {1: 0, 0: 1}
    """
    taken: dict[int, int] = {}

    def find(one: int, seen: set[int]) -> bool:
        for other in edges[one]:
            if other in seen:
                continue
            seen.add(other)
            if other not in taken or find(taken[other], seen):
                taken[other] = one
                return True
        return False

    for one in edges:
        find(one, set())
    return {one: other for other, one in taken.items()}


def plain(text: str) -> str:
    """A claim's text without differences of case, blanks and final punctuation."""
    return " ".join(text.casefold().split()).rstrip(".!")


def jaccard(first: ArrayLike, second: ArrayLike, shared: ArrayLike) -> Counts:
    """Shared claims over those that either side has; NaN without claims. Works element by element on arrays."""
    return _ratio(shared, np.add(first, second) - np.asarray(shared))


def f1(first: ArrayLike, second: ArrayLike, shared: ArrayLike) -> Counts:
    """Twice the shared claims over the sizes of both sides; NaN without claims. Works element by element on arrays."""
    return _ratio(np.multiply(2, shared), np.add(first, second))


def _ratio(part: ArrayLike, whole: ArrayLike) -> Counts:
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    shares: Counts = np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    return shares


def _none_if_nan(value: Counts) -> float | None:
    return None if np.isnan(value) else float(value)


def set_agreement(
    turns: Iterable[tuple[Sequence[str], Sequence[str]]], embedder: Embedder | None = None
) -> SetAgreement:
    """Pools the claims of turns, each with both sides' texts. Without an embedder only equal texts match.

    Examples:
        >>> set_agreement([(["The pier is old."], ["The pier is old.", "It is long."])]).jaccard
        0.5
    """
    first = second = shared = 0
    for one, other in turns:
        first += len(one)
        second += len(other)
        shared += len(partners(one, other, embedder))
    return SetAgreement(first, second, shared)


def partners(one: Sequence[str], other: Sequence[str], embedder: Embedder | None = None) -> dict[int, int]:
    """Maps places in `one` to places in `other` that say the same, each at most once: a maximum matching.

    Examples:
        >>> partners(["The pier is long.", "It is old."], ["it is old"])
        {1: 0}
    """
    cosines = _cosines(one, other, embedder)
    words = [plain(text) for text in other]
    edges = {
        at: sorted(
            (to for to, phrase in enumerate(words) if phrase == plain(text) or cosines[at, to] > COSINE),
            key=lambda to: (words[to] != plain(text), -cosines[at, to], to),
        )
        for at, text in enumerate(one)
    }
    return maximum_matching(edges)


def _cosines(one: Sequence[str], other: Sequence[str], embedder: Embedder | None) -> np.ndarray:
    if embedder is None or not one or not other:
        return np.zeros((len(one), len(other)))
    vectors = embedder.embed([*one, *other])
    return np.asarray(vectors[: len(one)] @ vectors[len(one) :].T, float)


OVERLAP = 0.5
"""Least overlap of two claims' places, as a share of both places together."""

Same = Callable[["AnnotatedClaim", "AnnotatedClaim"], float]


@dataclass
class ClaimGroup:
    """One claim of the turn, with each annotator's version."""

    by: dict[str, AnnotatedClaim] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, Label]:
        return {who: claim.label for who, claim in self.by.items() if claim.label is not None}


def groups(sets: Mapping[str, Sequence[AnnotatedClaim]], steps: Sequence[Same] | None = None) -> list[ClaimGroup]:
    """The claims of one turn, each with everybody's version of it, in the order of the text.

    Annotators are taken in the order of names, so that the result does not depend on who was first. Deleted claims are left out.
    `steps` are tried in order: a value above 0 makes two claims one. None means `STEPS`.

    Examples:
        >>> from vista_lab.metrics.agreement import AnnotatedClaim
        >>> pier = AnnotatedClaim(text="The pier is long.", source_claim_id="t1.c1")
        >>> [sorted(group.by) for group in groups({"ada": [pier], "ben": [pier]})]
        [['ada', 'ben']]
    """
    merged: list[ClaimGroup] = []
    for annotator in sorted(sets):
        claims = [claim for claim in sets[annotator] if claim.kept]
        versions = [list(group.by.values()) for group in merged]
        matches = match_claims(versions, [[claim] for claim in claims], STEPS if steps is None else steps)
        for place, claim in enumerate(claims):
            at = matches.get(place)
            if at is None:
                merged.append(ClaimGroup({annotator: claim}))
            else:
                merged[at].by[annotator] = claim
    return sorted(merged, key=_place)


def match_claims(
    left: Sequence[Sequence[AnnotatedClaim]],
    right: Sequence[Sequence[AnnotatedClaim]],
    steps: Sequence[Same] | None = None,
) -> dict[int, int]:
    """Maps places in `right` to the matching place in `left`; each place at most once.

    A place holds several versions of one claim: two places match where any of their versions do.
    """
    matches: dict[int, int] = {}
    for same in STEPS if steps is None else steps:
        free_left = [place for place in range(len(left)) if place not in matches.values()]
        open_targets = [target for target in range(len(right)) if target not in matches]
        edges = {target: _nearest(left, right[target], free_left, same) for target in open_targets}
        matches |= maximum_matching(edges)
    return matches


def _nearest(
    left: Sequence[Sequence[AnnotatedClaim]], versions: Sequence[AnnotatedClaim], free: Sequence[int], same: Same
) -> list[int]:
    near = {at: max(same(one, other) for one in left[at] for other in versions) for at in free}
    return sorted((at for at in free if near[at] > 0), key=lambda at: (-near[at], at))


def _same_source(one: AnnotatedClaim, other: AnnotatedClaim) -> float:
    return float(one.source_claim_id is not None and one.source_claim_id == other.source_claim_id)


def _overlap(one: AnnotatedClaim, other: AnnotatedClaim) -> float:
    # Two claims of the judge are two, even in one place: "the pier opened in 1911" and "the pier is long" of one sentence.
    two_of_the_judge = None not in (one.source_claim_id, other.source_claim_id)
    if one.span is None or other.span is None or two_of_the_judge:
        return 0.0
    share = one.span.overlap(other.span)
    return share if share >= OVERLAP else 0.0


def same_text(one: AnnotatedClaim, other: AnnotatedClaim) -> float:
    """1 where two claims read the same, else 0."""
    return float(plain(one.text) == plain(other.text))


STEPS: Sequence[Same] = (_same_source, _overlap, same_text)
"""Origin, place, words."""


def alike(claims: Iterable[AnnotatedClaim], embedder: Embedder) -> Same:
    """A step for `groups`: two of these claims are one where the cosine of their embeddings is above 0.9, the nearer the more.

    All claims are embedded at the first comparison: where the other steps pair them all, no model is loaded.
    """
    texts = list(dict.fromkeys(claim.text for claim in claims))

    @cache
    def vectors() -> dict[str, NDArray[np.float32]]:
        return dict(zip(texts, embedder.embed(texts), strict=True))

    def same(one: AnnotatedClaim, other: AnnotatedClaim) -> float:
        near = float(vectors()[one.text] @ vectors()[other.text])
        return near if near > COSINE else 0.0

    return same


def _place(group: ClaimGroup) -> tuple[int, int, str]:
    spans = [claim.span for claim in group.by.values() if claim.span is not None]
    first = min(((span.start, span.end) for span in spans), default=(2**31, 0))
    return (*first, min(claim.text for claim in group.by.values()))


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
    """F-measure of shared words, in [0, 1]; each word counts as often as both have it. Case and punctuation do not count.

    Examples:
        >>> rouge1("The pier is old.", "the old pier")
        0.8571428571428571
    """
    one, other = (Counter(_WORD.findall(text.lower())) for text in (first, second))
    total_words = one.total() + other.total()
    return 2 * (one & other).total() / total_words if total_words else 0.0


def easiness(predicted: Sequence[str], reference: Sequence[str]) -> Easiness:
    """One turn: the mean over each side's claims of the best ROUGE-1 on the other side.

    All are 1 where both sides are empty, and 0 where one is.
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
    recalled = [best for predicted, reference in pairs for best in _best(reference, predicted)]
    return DecompositionScore(
        turns=len(pairs),
        micro=_easiness(fmean(hits) if hits else 0.0, fmean(recalled) if recalled else 0.0)
        if hits or recalled
        else single[0],
        macro=Easiness(*(fmean(getattr(turn, name) for turn in single) for name in ("precision", "recall", "f1"))),
        predicted_per_turn=len(hits) / len(pairs),
        reference_per_turn=len(recalled) / len(pairs),
    )


def _best(claims: Sequence[str], others: Sequence[str]) -> list[float]:
    return [max((rouge1(claim, other) for other in others), default=0.0) for claim in claims]


def _easiness(precision: float, recall: float) -> Easiness:
    return Easiness(precision, recall, harmonic_mean((precision, recall)))
