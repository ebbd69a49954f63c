"""What the annotators of each turn settle: by majority, else in a discussion, whose answers come back in a sheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from vista_guard.evaluation.study import cells
from vista_guard.evaluation.study.annotated import AnnotatedTurn, Match
from vista_guard.evaluation.study.cells import Faults, Row
from vista_guard.evaluation.study.filled import label_in
from vista_guard.evaluation.study.forms import WORDS
from vista_guard.stores.reviews.records import AnnotatedClaim, ConsensusClaim, Method, Op
from vista_guard.types import Label
from vista_lab.metrics.agreement import Item, answers, as_settled, compare, method_of

ID, ITEM, TURN, VERSIONS, ANSWER, LABEL, STUDY = COLUMNS = (
    "id", "item", "turn", "versions", "answer", "label", "study",
)  # fmt: skip
"""`versions` is what each annotator has; `answer` the claim's words that were agreed on, `label` its label."""

NO_CLAIM = "no claim"
"""An answer: the turn does not make the claim."""

QUEUE = "discuss.tsv"


@dataclass(frozen=True)
class SettledTurn:
    """One turn and what was settled on it. `open` are the claims that nobody has decided yet: then there is no consensus."""

    turn: AnnotatedTurn
    claims: tuple[ConsensusClaim, ...]
    method: Method | None
    open: tuple[Item, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether there is a consensus on all of it."""
        return self.method is not None


Answers = Mapping[tuple[str, str], ConsensusClaim | None]
"""What was agreed on in discussion, by turn and item; None: the turn makes no such claim."""


def settle(
    turns: Sequence[AnnotatedTurn], how: Match, discussed: Answers | None = None, *, needed: int = 2
) -> list[SettledTurn]:
    """Majority where there is one, else what was discussed. Turns of fewer than `needed` annotators settle nothing: left out."""
    return [_settled(turn, how, discussed or {}) for turn in turns if len(turn.by) >= needed]


def _settled(turn: AnnotatedTurn, how: Match, discussed: Answers) -> SettledTurn:
    items = compare(turn.by, how.versions)
    left = tuple(item for item in items if item.open and (turn.id, key(item)) not in discussed)
    if left:
        return SettledTurn(turn, (), None, left)
    known = [discussed[turn.id, key(item)] for item in items if item.open]
    said = tuple(claim for claim in known if claim is not None)
    method = Method.DISCUSSION if known else method_of(items)
    return SettledTurn(turn, (*answers(items), *said), method)


def key(item: Item) -> str:
    """Names what annotators have of a claim, so that an answer is of these versions and of no others."""
    versions = [f"{who}\x1f{claim.text}\x1f{claim.label}" for who, claim in sorted(item.group.by.items())]
    return sha256("\x1e".join(versions).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def queue(settled: Sequence[SettledTurn], about: str) -> str:
    """The sheet for the discussion: a row for each claim without a majority, with everybody's version."""
    rows = (
        [one.turn.id, key(item), one.turn.text, _versions(one.turn, item), _suggested(item), "", about]
        for one in settled
        for item in one.open
    )
    return cells.table(COLUMNS, rows)


def _versions(turn: AnnotatedTurn, item: Item) -> str:
    return "\n".join(
        f"{who}: {_version(item.group.by[who])}" if who in item.group.by else f"{who}: {NO_CLAIM}"
        for who in sorted(turn.by)
    )


def _version(claim: AnnotatedClaim) -> str:
    return f"{claim.text} [{WORDS[claim.label] if claim.label else 'no label'}]"


def _suggested(item: Item) -> str:
    """The words, where all that have the claim have the same: then only the label is open."""
    texts = {claim.text for claim in item.group.by.values()}
    return texts.pop() if len(texts) == 1 else ""


def read_answers(path: Path, turns: Sequence[AnnotatedTurn], how: Match) -> Answers:
    """What was discussed, from the filled sheet. Rows without a label are still open.

    Raises:
        InputError: the file cannot be read, or cells are wrong: names each.
    """
    open_items = {(turn.id, key(item)): item for turn in turns for item in compare(turn.by, how.versions) if item.open}
    faults = Faults()
    found = dict(_answers(path, open_items, faults))
    faults.check("the answers")
    return found


def has_answers(path: Path) -> bool:
    """Whether somebody wrote into a queue.

    Raises:
        InputError: the file is none.
    """
    return any(row[LABEL] or row[ANSWER].lower() == NO_CLAIM for row in cells.read(path, (ANSWER, LABEL), Faults()))


def _answers(
    path: Path, open_items: Mapping[tuple[str, str], Item], faults: Faults
) -> Iterator[tuple[tuple[str, str], ConsensusClaim | None]]:
    for row in cells.read(path, (ID, ITEM, ANSWER, LABEL), faults):
        name = row[ID], row[ITEM]
        none = row[ANSWER].lower() == NO_CLAIM
        if name not in open_items:
            faults.append(
                row.fault(
                    ITEM,
                    "the sheets have no such open claim; they were changed since, it is settled, or --match was another",
                )
            )
        elif none and row[LABEL]:
            faults.append(row.fault(LABEL, f"the answer is {NO_CLAIM!r}; it gets no label"))
        elif none:
            yield name, None
        elif row[LABEL]:
            yield from ((name, claim) for claim in _agreed(row, open_items[name], faults))


def _agreed(row: Row, item: Item, faults: Faults) -> Iterator[ConsensusClaim]:
    label = label_in(row[LABEL])
    if label is None:
        faults.append(row.fault(LABEL, f"the labels are {', '.join(WORDS.values())}"))
    elif not row[ANSWER]:
        faults.append(row.fault(ANSWER, f"give the claim's words, or {NO_CLAIM!r}"))
    else:
        yield _as_answered(item, row[ANSWER], label)


def _as_answered(item: Item, text: str, label: Label) -> ConsensusClaim:
    same = [claim for _, claim in sorted(item.group.by.items()) if cells.plain(cells.escaped(claim.text)) == text]
    if same:
        return as_settled(min(same, key=lambda claim: claim.op is not Op.CONFIRM), label)
    source = next((claim for claim in item.group.by.values() if claim.source_claim_id is not None), None)
    return ConsensusClaim(
        text=text,
        label=label,
        op=Op.EDIT if source else Op.ADD,
        source_claim_id=source and source.source_claim_id,
        span=source and source.span,
    )
