"""Turns with everybody's work on them, and how far it agrees. Pure but for the embedder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations

from vista_guard.evaluation.study.filled import Filled
from vista_guard.evaluation.study.records import Material
from vista_guard.protocols import Embedder
from vista_guard.stores.reviews.records import AnnotatedClaim
from vista_guard.types import Label
from vista_lab.metrics.agreement import Agreement, agreement, cohen_kappa, fleiss_kappa
from vista_lab.metrics.claim_sets import STEPS, ClaimGroup, Same, alike, groups, same_text


@dataclass(frozen=True)
class AnnotatedTurn:
    """One turn: `by` has each annotator's claims, deleted ones included; `talk` is its conversation. `text` is what was said."""

    id: str
    talk: str
    text: str
    by: Mapping[str, tuple[AnnotatedClaim, ...]]
    notes: Mapping[str, str]


@dataclass(frozen=True)
class Match:
    """When two annotators' claims are one.

    `sets` is for agreement, and follows the paper (§5): the same text, or with an embedder a cosine above 0.9. `versions` is for
    the consensus, and knows as well which claim of the judge each came from: an edit is no other claim.
    """

    sets: tuple[Same, ...]
    versions: tuple[Same, ...]


@dataclass(frozen=True)
class Rates:
    """All figures of how far people agree, before any consensus. Cohen's kappa is by pair; None where there is none to take.

    `shared` claims have a label of everybody: Fleiss' kappa is over these.
    """

    figures: Agreement
    cohen: Mapping[tuple[str, str], float | None] | None
    fleiss: float | None
    shared: int


def of_sheets(sheets: Sequence[Filled], material: Material) -> list[AnnotatedTurn]:
    """Turns that somebody annotated, in the order of the study."""
    found = []
    for turn in material.study.turns:
        work = {sheet.annotator: sheet.turns[turn.id] for sheet in sheets if turn.id in sheet.turns}
        if work:
            claims = {who: one.claims for who, one in work.items()}
            notes = {who: one.notes for who, one in work.items() if one.notes}
            said = material.conversations[turn.talk].turns[turn.turn_index].text
            found.append(AnnotatedTurn(turn.id, turn.talk, said, claims, notes))
    return found


def match(turns: Sequence[AnnotatedTurn], embedder: Embedder | None) -> Match:
    """Which claims of these turns are one. Without an embedder, by text alone."""
    if embedder is None:
        return Match((same_text,), tuple(STEPS))
    near = alike((claim for turn in turns for claims in turn.by.values() for claim in claims), embedder)
    return Match((same_text, near), (*STEPS, near))


def rates(turns: Sequence[AnnotatedTurn], how: Match) -> Rates:
    """How far people agree. Intervals are over conversations drawn again. Cohen's kappa needs the extra evaluation."""
    each = [_kept(turn) for turn in turns]
    figures = agreement(each, steps=how.sets, conversations=[turn.talk for turn in turns])
    people, aligned = _people(turns), [group for turn in each for group in groups(turn, how.sets)]
    everybody = [list(group.labels.values()) for group in aligned if len(group.labels) == len(people)]
    cohen = dict(_cohen(aligned, people)) if find_spec("sklearn") is not None else None
    fleiss = fleiss_kappa(everybody) if len(people) > 1 else None
    return Rates(figures, cohen, fleiss, len(everybody))


def _people(turns: Sequence[AnnotatedTurn]) -> list[str]:
    return sorted({who for turn in turns for who in turn.by})


def _kept(turn: AnnotatedTurn) -> dict[str, list[AnnotatedClaim]]:
    return {who: [claim for claim in claims if claim.kept] for who, claims in turn.by.items()}


def _cohen(aligned: Sequence[ClaimGroup], people: Sequence[str]) -> Iterator[tuple[tuple[str, str], float | None]]:
    both: dict[tuple[str, str], list[tuple[Label, Label]]] = defaultdict(list)
    for group in aligned:
        for one, other in combinations(sorted(group.labels), 2):
            both[one, other].append((group.labels[one], group.labels[other]))
    for pair in combinations(people, 2):
        labels = both[pair]
        yield pair, cohen_kappa([one for one, _ in labels], [other for _, other in labels])
