"""The claims of turns that annotators confirm, edit, delete, add and label: read from a form's answers, and matched.

A majority of a turn's annotators settles a claim, else a discussion (VISTA, §5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from vista_guard.protocols import Embedder
from vista_guard.stores.reviewed import LONGEST_TEXT, ConsensusClaim, Op
from vista_guard.types import Label, Span
from vista_lab.annotate.forms import Answers, Form, Item, Level, Part, TextMark, Value
from vista_lab.metrics.agreement import AnnotatedClaim, ClaimVersions, Method, as_consensus
from vista_lab.metrics.claim_sets import STEPS, Same, alike, same_text


@dataclass(frozen=True)
class Match:
    """Rules that match the claims of two annotators.

    `sets` is for agreement, and follows the paper (§5): the same text, or with an embedder a cosine above 0.9. `versions` is for
    the consensus, and also matches edits of the same claim of the judge.
    """

    sets: tuple[Same, ...]
    versions: tuple[Same, ...]

    @classmethod
    def of(cls, claims: Iterable[AnnotatedClaim], embedder: Embedder | None) -> Match:
        """Rules that match these claims. Without an embedder, by text alone."""
        near = () if embedder is None else (alike(claims, embedder),)
        return cls((same_text, *near), (*STEPS, *near))


@dataclass(frozen=True)
class SettledTurn:
    """One turn and its consensus. While claims are open, which nobody has decided yet, there is none and no method."""

    id: str
    claims: tuple[ConsensusClaim, ...]
    method: Method | None

    @property
    def settled(self) -> bool:
        """True if there is a consensus on all of its claims."""
        return self.method is not None


def claims_of(given: Answers, item: Item, form: Form) -> tuple[AnnotatedClaim, ...]:
    """One annotator's claims of a turn, deleted ones included."""
    known = {part.id: part for part in item.parts}
    known |= {name: Part("", {}, place=given.places.get(name)) for name in given.parts.keys() - known.keys()}
    return tuple(_claim(values, known[name], form) for name, values in given.parts.items())


def notes_of(given: Answers, form: Form) -> str:
    """One annotator's free texts on a turn and on its claims, a line each."""
    parts = (f"{name}: {note}" for name, values in given.parts.items() for note in _notes(form, Level.PART, values))
    return "\n".join((*_notes(form, Level.ITEM, given.item), *parts))


def _claim(values: Mapping[str, Value], source: Part, form: Form) -> AnnotatedClaim:
    """The claim of a part; one that the annotator added has no id."""
    revise, labels = form.revision, form.labels
    assert revise is not None  # a form without it has no claims to make
    assert labels is not None
    op = Op(str(values.get(revise.by, Op.CONFIRM)))
    chosen = labels.find(str(values[labels.name])) if labels.name in values else None
    words = str(values.get(revise.words, ""))[:LONGEST_TEXT]
    return AnnotatedClaim(
        text=words if op is Op.EDIT or not source.id else source.texts[form.part_columns[0]],
        op=op,
        label=None if chosen is None else chosen.label,
        source_claim_id=source.id or None,
        span=None if source.place is None else Span(start=source.place[0], end=source.place[1]),
    )


def _notes(form: Form, level: Level, values: Mapping[str, Value]) -> Iterator[str]:
    for mark in form.marks_of(level):
        if isinstance(mark, TextMark) and mark.name in values and not mark.when:
            yield str(values[mark.name])


def key_of(claim: ClaimVersions) -> str:
    """A hash of the annotators' versions of a claim, so that an answer applies to these versions only."""
    versions = [f"{who}\x1f{own.text}\x1f{own.label}" for who, own in sorted(claim.group.by.items())]
    return sha256("\x1e".join(versions).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def answered(claim: ClaimVersions, text: str, label: Label) -> ConsensusClaim:
    """The claim that a discussion agreed on: an annotator's version if one has these words, else an edit."""
    same = [own for _, own in sorted(claim.group.by.items()) if own.text.split() == text.split()]
    if same:
        return as_consensus(min(same, key=lambda own: own.op is not Op.CONFIRM), label)
    source = next((own for own in claim.group.by.values() if own.source_claim_id is not None), None)
    op, known = (Op.EDIT, source) if source else (Op.ADD, None)
    place = {"source_claim_id": known and known.source_claim_id, "span": known and known.span}
    return ConsensusClaim(text=text, label=label, op=op, **place)
