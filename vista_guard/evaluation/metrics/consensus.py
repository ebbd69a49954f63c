"""What annotators agree on, claim by claim, and what they have to talk about (VISTA, §5: majority, else discussion). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vista_guard.evaluation.metrics.alignment import ClaimGroup, Same, groups
from vista_guard.stores.reviews.records import AnnotatedClaim, ConsensusClaim, Method, Op
from vista_guard.types import Label


@dataclass(frozen=True)
class Item:
    """One claim of the turn with everybody's version. `answer` is what most of them say: None when it is that the turn does not
    make the claim, or when there is no such answer (`open`). `unanimous`: all say the same, word for word."""

    group: ClaimGroup
    answer: ConsensusClaim | None
    open: bool
    unanimous: bool


def compare(sets: Mapping[str, Sequence[AnnotatedClaim]], steps: Sequence[Same] | None = None) -> tuple[Item, ...]:
    """The claims of a turn, with the answer of more than half of its annotators where there is one.

    An annotator without the claim says that the turn does not make it. Who agree on a label and not on the words are of one mind
    where more than half have the same words; else the claim is open. `steps` say which claims are one, as for `groups`.
    """
    return tuple(_item(group, len(sets)) for group in groups(sets, steps))


def method_of(items: Sequence[Item]) -> Method | None:
    """How they came to one answer: None while there is something to discuss."""
    if any(item.open for item in items):
        return None
    return Method.UNANIMOUS if all(item.unanimous for item in items) else Method.MAJORITY


def answers(items: Sequence[Item]) -> tuple[ConsensusClaim, ...]:
    """The claims that the turn makes, as most have it."""
    return tuple(item.answer for item in items if item.answer is not None)


def as_settled(claim: AnnotatedClaim, label: Label) -> ConsensusClaim:
    """An annotator's version of a claim, as the consensus has it, with this label."""
    where = {"source_claim_id": claim.source_claim_id, "span": claim.span}
    return ConsensusClaim(text=claim.text, label=label, op=claim.op, **where)


def _item(group: ClaimGroup, annotators: int) -> Item:
    label, votes = Counter(group.labels.values()).most_common(1)[0] if group.labels else (None, 0)
    without = annotators - len(group.by)
    if 2 * without > annotators:
        return Item(group, None, open=False, unanimous=False)
    words = _most_common(group, annotators)
    if label is None or 2 * votes <= annotators or words is None:
        return Item(group, None, open=True, unanimous=False)
    same = votes == annotators and all(claim.text == words.text for claim in group.by.values())
    return Item(group, as_settled(words, label), open=False, unanimous=same)


def _most_common(group: ClaimGroup, annotators: int) -> AnnotatedClaim | None:
    """The version that more than half of the annotators have; the confirmed one, where there is one."""
    text, count = Counter(claim.text for claim in group.by.values()).most_common(1)[0]
    if 2 * count <= annotators:
        return None
    versions = [claim for _, claim in sorted(group.by.items()) if claim.text == text]
    return min(versions, key=lambda claim: (claim.op is not Op.CONFIRM, claim.source_claim_id is None))
