"""Agreement and consensus of several annotators who confirmed, edited, deleted, added and labelled the claims of turns.

A majority of a turn's annotators settles a claim, else a discussion, whose answers come back in a sheet (§5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

from vista_guard.protocols import Embedder
from vista_guard.stores.reviewed import LONGEST_TEXT, ConsensusClaim, Op
from vista_guard.types import Label, Span
from vista_lab.annotate.forms import Answers, Form, Item, Level, Measure, Part, TextMark, Value
from vista_lab.annotate.sheets import QUEUE, Faults, Field, FilledSheet, Row, Table, read
from vista_lab.annotate.study import StudyData
from vista_lab.metrics.agreement import (
    Agreement,
    AnnotatedClaim,
    Method,
    agreement,
    answers,
    as_consensus,
    cohen_kappa,
    compare,
    fleiss_kappa,
    method_of,
)
from vista_lab.metrics.agreement import ClaimVersions as Disagreement
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
    """Rules that match the claims of two annotators.

    `sets` is for agreement, and follows the paper (§5): the same text, or with an embedder a cosine above 0.9. `versions` is for
    the consensus, and also matches edits of the same claim of the judge.
    """

    sets: tuple[Same, ...]
    versions: tuple[Same, ...]


@dataclass(frozen=True)
class Rates:
    """All agreement figures, before any consensus. Cohen's kappa is by pair; None where it is undefined.

    Fleiss' kappa is over the `shared` claims, which every annotator labelled.
    """

    figures: Agreement
    cohen: Mapping[tuple[str, str], float | None] | None
    fleiss: float | None
    shared: int


def of_sheets(sheets: Sequence[FilledSheet], data: StudyData) -> list[AnnotatedTurn]:
    """Turns that somebody annotated, in the order of the study."""
    turns = []
    for item in data.items:
        by = {sheet.annotator: sheet.answers[item.id] for sheet in sheets if item.id in sheet.answers}
        if by:
            text = data.conversations[item.group].turns[data.turns[item.id].turn_index].text
            turns.append(annotated_turn(item, text, by, data.study.form))
    return turns


def annotated_turn(item: Item, text: str, by: Mapping[str, Answers], form: Form) -> AnnotatedTurn:
    """A turn with the claims and notes of each annotator."""
    notes = {who: notes_of(answers, form) for who, answers in by.items()}
    claims = {who: claims_of(answers, item, form) for who, answers in by.items()}
    return AnnotatedTurn(item.id, item.group, text, claims, {who: note for who, note in notes.items() if note})


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


def match(turns: Sequence[AnnotatedTurn], embedder: Embedder | None) -> Match:
    """Rules that match the claims of these turns. Without an embedder, by text alone."""
    if embedder is None:
        return Match((same_text,), tuple(STEPS))
    near = alike((claim for turn in turns for claims in turn.by.values() for claim in claims), embedder)
    return Match((same_text, near), (*STEPS, near))


def rates(turns: Sequence[AnnotatedTurn], how: Match, measures: Sequence[Measure] = tuple(Measure)) -> Rates:
    """Agreement of annotators, with the kappas among these measures. Intervals resample conversations.

    Cohen's kappa needs the extra evaluation.
    """
    each = [{who: [claim for claim in own if claim.kept] for who, own in turn.by.items()} for turn in turns]
    figures = agreement(each, steps=how.sets, conversations=[turn.talk for turn in turns])
    people = sorted({who for turn in turns for who in turn.by})
    aligned = [group for turn in each for group in groups(turn, how.sets)]
    everybody = [list(group.labels.values()) for group in aligned if len(group.labels) == len(people)]
    cohen = dict(_cohen(aligned, people)) if Measure.COHEN in measures and find_spec("sklearn") else None
    fleiss = fleiss_kappa(everybody) if Measure.FLEISS in measures and len(people) > 1 else None
    return Rates(figures, cohen, fleiss, len(everybody))


def _cohen(aligned: Sequence[ClaimGroup], people: Sequence[str]) -> Iterator[tuple[tuple[str, str], float | None]]:
    both: dict[tuple[str, str], list[tuple[Label, Label]]] = defaultdict(list)
    for group in aligned:
        for one, other in combinations(sorted(group.labels), 2):
            both[one, other].append((group.labels[one], group.labels[other]))
    for pair in combinations(people, 2):
        labels = both[pair]
        yield pair, cohen_kappa([one for one, _ in labels], [other for _, other in labels])


# Settling


ID, ITEM, TURN, VERSIONS, ANSWER, LABEL, STUDY = COLUMNS = (
    "id", "item", "turn", "versions", "answer", "label", "study",
)  # fmt: skip
"""`versions` is what each annotator has; `answer` the claim's words that were agreed on, `label` its label."""

NO_CLAIM = "no claim"
"""An answer: the turn does not make the claim."""


@dataclass(frozen=True)
class SettledTurn:
    """One turn and its consensus. While claims are `open`, which nobody has decided yet, there is none."""

    turn: AnnotatedTurn
    claims: tuple[ConsensusClaim, ...]
    method: Method | None
    open: tuple[Disagreement, ...] = ()

    @property
    def settled(self) -> bool:
        """True if there is a consensus on all of its claims."""
        return self.method is not None


DiscussedClaims = Mapping[tuple[str, str], ConsensusClaim | None]
"""Claims agreed on in discussion, by turn and item; None: the turn makes no such claim."""


def settle(
    turns: Sequence[AnnotatedTurn], how: Match, discussed: DiscussedClaims | None = None, *, needed: int = 2
) -> list[SettledTurn]:
    """Settles turns by majority, else by the discussion. Turns of fewer than `needed` annotators are left out."""
    return [_settle_turn(turn, how, discussed or {}) for turn in turns if len(turn.by) >= needed]


def _settle_turn(turn: AnnotatedTurn, how: Match, discussed: DiscussedClaims) -> SettledTurn:
    items = compare(turn.by, how.versions)
    undecided = tuple(item for item in items if item.open and (turn.id, key(item)) not in discussed)
    if undecided:
        return SettledTurn(turn, (), None, undecided)
    decisions = [discussed[turn.id, key(item)] for item in items if item.open]
    claims = tuple(claim for claim in decisions if claim is not None)
    method = Method.DISCUSSION if decisions else method_of(items)
    return SettledTurn(turn, (*answers(items), *claims), method)


def key(item: Disagreement) -> str:
    """A hash of the annotators' versions of a claim, so that an answer applies to these versions only."""
    versions = [f"{who}\x1f{claim.text}\x1f{claim.label}" for who, claim in sorted(item.group.by.items())]
    return sha256("\x1e".join(versions).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def queue(settled: Sequence[SettledTurn], form: Form, about: str) -> Table:
    """The sheet for the discussion: a row for each claim without a majority, with everybody's version."""
    label = Field(form.labels, () if form.labels is None else form.labels.values)
    rows: list[list[str | Field]] = []
    for one in settled:
        for item in one.open:
            texts = {claim.text for claim in item.group.by.values()}
            # Where all that have the claim have the same words, only the label is open.
            words = Field(text=texts.pop() if len(texts) == 1 else "")
            rows.append([one.turn.id, key(item), one.turn.text, _versions(one.turn, item, form), words, label, about])
    guide = f"Talk about each claim. Write its words into {ANSWER}, or {NO_CLAIM!r}, and give its {LABEL}."
    return Table(QUEUE, COLUMNS, rows, guide)


def _versions(turn: AnnotatedTurn, item: Disagreement, form: Form) -> str:
    lines = []
    for who in sorted(turn.by):
        claim = item.group.by.get(who)
        label = "no label" if claim is None or claim.label is None else form.word_for(claim.label)
        lines.append(f"{who}: {NO_CLAIM}" if claim is None else f"{who}: {claim.text} [{label}]")
    return "\n".join(lines)


def read_discussed_claims(path: Path, turns: Sequence[AnnotatedTurn], how: Match, form: Form) -> DiscussedClaims:
    """Decisions of the discussion, from the filled sheet. Rows without a label are still open.

    Raises InputError: the file cannot be read, or cells are wrong: names each.
    """
    open_items = {(turn.id, key(item)): item for turn in turns for item in compare(turn.by, how.versions) if item.open}
    faults = Faults()
    discussed = dict(_read_answers(path, open_items, form, faults))
    faults.check("the answers")
    return discussed


def has_answers(path: Path) -> bool:
    """True if somebody wrote into a sheet for the discussion, of whichever form. Raises InputError: the file is none."""
    # The words of a claim are prefilled where all annotators have the same; a mark's answer never is.
    rows = read(path, (ANSWER,), Faults())
    return any(row[LABEL] or row[ANSWER].lower() == NO_CLAIM or (row["mark"] and row[ANSWER]) for row in rows)


def _read_answers(
    path: Path, open_items: Mapping[tuple[str, str], Disagreement], form: Form, faults: Faults
) -> Iterator[tuple[tuple[str, str], ConsensusClaim | None]]:
    for row in read(path, (ID, ITEM, ANSWER, LABEL), faults):
        name = row[ID], row[ITEM]
        no_claim = row[ANSWER].lower() == NO_CLAIM
        if name not in open_items:
            why = "the sheets have no such open claim; they were changed since, it is settled, or --match was another"
            faults.append(row.fault(ITEM, why))
        elif no_claim and row[LABEL]:
            faults.append(row.fault(LABEL, f"the answer is {NO_CLAIM!r}; it gets no label"))
        elif no_claim:
            yield name, None
        elif row[LABEL]:
            yield from ((name, claim) for claim in _read_claim(row, open_items[name], form, faults))


def _read_claim(row: Row, item: Disagreement, form: Form, faults: Faults) -> Iterator[ConsensusClaim]:
    chosen = form.labels.find(row[LABEL]) if form.labels is not None else None
    if chosen is None or chosen.label is None:
        labels = form.labels.values if form.labels is not None else ()
        faults.append(row.fault(LABEL, f"the labels are {', '.join(labels)}"))
    elif not row[ANSWER]:
        faults.append(row.fault(ANSWER, f"give the claim's words, or {NO_CLAIM!r}"))
    else:
        yield _answered_claim(item, row[ANSWER], chosen.label)


def _answered_claim(item: Disagreement, text: str, label: Label) -> ConsensusClaim:
    same = [claim for _, claim in sorted(item.group.by.items()) if claim.text.split() == text.split()]
    if same:
        return as_consensus(min(same, key=lambda claim: claim.op is not Op.CONFIRM), label)
    source = next((claim for claim in item.group.by.values() if claim.source_claim_id is not None), None)
    op, known = (Op.EDIT, source) if source else (Op.ADD, None)
    place = {"source_claim_id": known and known.source_claim_id, "span": known and known.span}
    return ConsensusClaim(text=text, label=label, op=op, **place)
