"""Which claims of several annotators are one and the same: the turn's claims, grouped. Pure but for the embedder.

Two claims are one where they come from the same claim of the judge; else where their places in the turn overlap by half or more
(intersection over union); else where they read the same; else, with an embedder, where their texts are alike. Each claim has one
partner at most, and as many find one as can: a maximum matching, step after step in this order. The paper (VISTA, App. D.1) says
when two texts match, and not how they pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vista_guard.evaluation.metrics.claim_sets import COSINE, maximum_matching, plain
from vista_guard.protocols import Embedder
from vista_guard.stores.reviews.records import AnnotatedClaim
from vista_guard.types import Label

OVERLAP = 0.5
"""Share of the characters of both places together that two claims must have in common."""

Same = Callable[[AnnotatedClaim, AnnotatedClaim], float]


@dataclass
class ClaimGroup:
    """One claim of the turn, as each annotator that has it left it."""

    by: dict[str, AnnotatedClaim] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, Label]:
        """The labels that it was given."""
        return {who: claim.label for who, claim in self.by.items() if claim.label is not None}


def groups(sets: Mapping[str, Sequence[AnnotatedClaim]], steps: Sequence[Same] | None = None) -> list[ClaimGroup]:
    """The claims of one turn, each with everybody's version of it, in the order of the text.

    Args:
        sets: each annotator's claims; deleted ones are not in their set. Taken in the order of names, so that the answer does
            not hang on who was first.
        steps: what makes two claims one, above 0 where it does, tried one after the other; see `STEPS`, which None stands for.

    Example:
        >>> pier = AnnotatedClaim(text="The pier is long.", source_claim_id="t1.c1")
        >>> [sorted(group.by) for group in groups({"ada": [pier], "ben": [pier]})]
        [['ada', 'ben']]
    """
    found: list[ClaimGroup] = []
    for who in sorted(sets):
        claims = [claim for claim in sets[who] if claim.kept]
        there = [list(group.by.values()) for group in found]
        met = matched(there, [[claim] for claim in claims], STEPS if steps is None else steps)
        for place, claim in enumerate(claims):
            at = met.get(place)
            if at is None:
                found.append(ClaimGroup({who: claim}))
            else:
                found[at].by[who] = claim
    return sorted(found, key=_place)


def matched(
    left: Sequence[Sequence[AnnotatedClaim]],
    right: Sequence[Sequence[AnnotatedClaim]],
    steps: Sequence[Same] | None = None,
) -> dict[int, int]:
    """For places of `right`, the place of `left` that it is one with; each place at most once.

    A place holds several versions of one claim: two places are one where any of their versions are.
    """
    found: dict[int, int] = {}
    for same in STEPS if steps is None else steps:
        free_left = [place for place in range(len(left)) if place not in found.values()]
        edges = {one: _nearest(left, right[one], free_left, same) for one in range(len(right)) if one not in found}
        found |= maximum_matching(edges)
    return found


def _nearest(
    left: Sequence[Sequence[AnnotatedClaim]], versions: Sequence[AnnotatedClaim], free: Sequence[int], same: Same
) -> list[int]:
    near = {at: max(same(one, other) for one in left[at] for other in versions) for at in free}
    return sorted((at for at in free if near[at] > 0), key=lambda at: (-near[at], at))


def _same_source(one: AnnotatedClaim, other: AnnotatedClaim) -> float:
    return float(one.source_claim_id is not None and one.source_claim_id == other.source_claim_id)


def _overlap(one: AnnotatedClaim, other: AnnotatedClaim) -> float:
    # Two claims of the judge are two, even in one place: "the pier opened in 1911" and "the pier is long" of one sentence.
    if one.span is None or other.span is None or _two_of_the_judge(one, other):
        return 0.0
    share = one.span.overlap(other.span)
    return share if share >= OVERLAP else 0.0


def same_text(one: AnnotatedClaim, other: AnnotatedClaim) -> float:
    """1 where two claims read the same, else 0."""
    return float(plain(one.text) == plain(other.text))


def _two_of_the_judge(one: AnnotatedClaim, other: AnnotatedClaim) -> bool:
    return None not in (one.source_claim_id, other.source_claim_id)


STEPS: Sequence[Same] = (_same_source, _overlap, same_text)
"""Origin, place, words."""


def alike(claims: Iterable[AnnotatedClaim], embedder: Embedder) -> Same:
    """A step for `groups`: two of these claims are one where the cosine of their embeddings is above 0.9, the nearer the more.

    All claims are embedded at once, when first two are compared: where all else pairs them all, no model is loaded.
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
