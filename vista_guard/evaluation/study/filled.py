"""What annotators wrote into their sheets: read whole, each wrong cell named, and taken only where none is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.evaluation.study import cells
from vista_guard.evaluation.study.cells import Faults, Row
from vista_guard.evaluation.study.forms import (
    CLAIM,
    HANDLING,
    ID,
    LABEL,
    NEEDED,
    NEW,
    NEW_TEXT,
    NO_CLAIMS,
    NOTES,
    TEXT,
    WORDS,
)
from vista_guard.evaluation.study.records import Material, StudyTurn
from vista_guard.stores.reviews.annotation import MOST_CLAIMS
from vista_guard.stores.reviews.queue import LONGEST_TEXT, person
from vista_guard.stores.reviews.records import AnnotatedClaim, Op
from vista_guard.types import Claim, Label
from vista_lab.logs.reference import JUDGEMENTS

HANDLINGS = (Op.CONFIRM, Op.EDIT, Op.DELETE)


@dataclass(frozen=True)
class Work:
    """One annotator's claims of one turn, deleted ones included, and what they noted."""

    claims: tuple[AnnotatedClaim, ...]
    notes: str = ""


@dataclass(frozen=True)
class Filled:
    """A sheet that was read. Turns that the annotator did not begin are in none of the two; `open` counts them."""

    annotator: str
    turns: Mapping[str, Work]
    open: int


def read_sheets(paths: Sequence[Path], material: Material) -> list[Filled]:
    """The sheets of several annotators, each named after its file.

    Raises:
        InputError: a file cannot be read, two are of one annotator, or cells are wrong: names file, row, column and value.
    """
    names = [person(path.stem) for path in paths]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InputError(f"two sheets are of {twice}: a sheet is named after its annotator; give each once")
    faults = Faults()
    found = [_sheet(path, name, material, faults) for path, name in zip(paths, names, strict=True)]
    faults.check("the sheets")
    return found


def label_in(cell: str) -> Label | None:
    """The label that a cell names, in the paper's words or in ours; None for none of them."""
    return JUDGEMENTS.get(" ".join(cell.lower().replace("_", " ").replace("-", " ").split()))


def _sheet(path: Path, name: str, material: Material, faults: Faults) -> Filled:
    by_turn: dict[str, list[Row]] = defaultdict(list)
    unread = Faults()
    rows = list(cells.read(path, NEEDED, unread))
    faults.extend(unread)
    for row in rows:
        if row[ID] in material.turns:
            by_turn[row[ID]].append(row)
        else:
            faults.append(row.fault(ID, "the study has no such turn; ids are as the sheet had them"))
    found = {}
    for turn in material.study.turns:
        # Where rows cannot be read, that is said, and not that they are missing.
        if turn.id not in by_turn and not unread:
            faults.append(cells.Fault(str(path), 1, ID, None, f"the rows of turn {turn.id} are missing"))
        work = _turn(turn, by_turn.get(turn.id, []), faults, whole=not unread)
        if work is not None:
            found[turn.id] = work
    return Filled(name, found, len(material.study.turns) - len(found))


def _turn(turn: StudyTurn, rows: Sequence[Row], faults: Faults, *, whole: bool) -> Work | None:
    """The work on one turn; None where nothing was written."""
    begun = [row for row in rows if row[HANDLING] or row[NEW_TEXT] or row[LABEL]]
    _check_twice(rows, faults)
    heads = [row for row in rows if not row[CLAIM]]
    given = {claim.id: claim for claim in turn.claims}
    for row in rows:
        _check_row(row, given, faults)
    if not begun:
        return None
    found: dict[str, AnnotatedClaim] = {}
    there = {row[CLAIM] for row in rows}
    for claim in turn.claims:
        if whole and claim.id not in there and rows:
            faults.append(rows[0].fault(ID, f"the row of claim {claim.id} is missing"))
    for row in rows:
        claim_id = row[CLAIM]
        if claim_id in given:
            found[claim_id] = _given(row, given[claim_id], faults)
        elif claim_id.startswith(NEW) and (row[NEW_TEXT] or row[LABEL] or row[HANDLING]):
            found[claim_id] = _added(row, faults)
    if heads and heads[0][HANDLING] and any(claim.kept for claim in found.values()):
        faults.append(heads[0].fault(HANDLING, "the turn has claims that are not deleted"))
    ordered = [found[one] for one in [*given, *sorted(found.keys() - given.keys())] if one in found]
    if len(ordered) > MOST_CLAIMS:
        faults.append(rows[0].fault(ID, f"{len(ordered)} claims for one turn; at most {MOST_CLAIMS} are kept"))
    place = {claim_id: number for number, claim_id in enumerate(["", *given])}
    sheet_order = sorted(rows, key=lambda row: (place.get(row[CLAIM], len(place)), row[CLAIM]))
    return Work(tuple(ordered), "\n".join(_notes(sheet_order)))


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row[NOTES]:
            yield f"{row[CLAIM]}: {row[NOTES]}" if row[CLAIM] else row[NOTES]


def _check_twice(rows: Sequence[Row], faults: Faults) -> None:
    seen: dict[str, int] = {}
    for row in rows:
        if row[CLAIM] in seen:
            faults.append(row.fault(CLAIM, f"turn {row[ID]} has it in row {seen[row[CLAIM]]} already"))
        seen.setdefault(row[CLAIM], row.number)


def _check_row(row: Row, given: Mapping[str, Claim], faults: Faults) -> None:
    """What a row is of, and that nothing stands where nothing belongs."""
    claim = row[CLAIM]
    for column in (TEXT, NEW_TEXT, NOTES):
        if len(row[column]) > LONGEST_TEXT:
            faults.append(row.fault(column, f"{len(row[column]):,} characters; at most {LONGEST_TEXT:,} are kept"))
    if not claim:
        if row[HANDLING].lower() not in ("", NO_CLAIMS):
            faults.append(row.fault(HANDLING, f"the turn's own row takes {NO_CLAIMS!r} or nothing"))
        for column in (NEW_TEXT, LABEL):
            if row[column]:
                faults.append(row.fault(column, "this is the turn's own row; claims have rows of their own below"))
    elif claim not in given and not claim.startswith(NEW):
        faults.append(row.fault(CLAIM, f"turn {row[ID]} has no such claim; one that you add is {NEW} 1, {NEW} 2, …"))


def _given(row: Row, claim: Claim, faults: Faults) -> AnnotatedClaim:
    there, known = _words(row[TEXT]), _words(cells.plain(cells.escaped(claim.text)))
    if there != known and there.isascii() and _marks(there) == _marks(known):
        faults.append(row.fault(TEXT, f"letters became question marks, here and maybe elsewhere; {cells.SAVE}"))
    elif there != known:
        faults.append(
            row.fault(TEXT, f"the claim read {claim.text[: cells.SHOWN]!r}; write its new words into {NEW_TEXT}")
        )
    handling = row[HANDLING].lower() or (Op.EDIT if row[NEW_TEXT] else Op.CONFIRM)
    if handling not in HANDLINGS:
        faults.append(row.fault(HANDLING, f"give {', '.join(HANDLINGS)}"))
        handling = Op.CONFIRM
    op = Op(handling)
    if op is Op.EDIT and not row[NEW_TEXT]:
        faults.append(row.fault(NEW_TEXT, "an edited claim needs its new words"))
    if op is not Op.EDIT and row[NEW_TEXT]:
        faults.append(row.fault(NEW_TEXT, f"the claim is to be {_done(op)}; new words are for edit"))
    if op is Op.DELETE and row[LABEL]:
        faults.append(row.fault(LABEL, "the claim is to be deleted; it gets no label"))
    label = None if op is Op.DELETE else _label(row, faults)
    text = row[NEW_TEXT] if op is Op.EDIT else claim.text
    return AnnotatedClaim(text=text[:LONGEST_TEXT], op=op, label=label, source_claim_id=claim.id, span=claim.span)


def _done(op: Op) -> str:
    return "deleted" if op is Op.DELETE else "confirmed"


def _added(row: Row, faults: Faults) -> AnnotatedClaim:
    if row[HANDLING].lower() not in ("", Op.ADD):
        faults.append(row.fault(HANDLING, "a claim that is added takes add or nothing"))
    if not row[NEW_TEXT]:
        faults.append(row.fault(NEW_TEXT, "a claim that is added needs its words"))
    return AnnotatedClaim(text=row[NEW_TEXT][:LONGEST_TEXT], op=Op.ADD, label=_label(row, faults))


def _label(row: Row, faults: Faults) -> Label | None:
    found = label_in(row[LABEL])
    if found is None:
        known = ", ".join(WORDS.values())
        faults.append(row.fault(LABEL, f"the labels are {known}"))
    return found


def _words(text: str) -> str:
    return " ".join(text.split())


def _marks(text: str) -> str:
    """The text as it comes back in an encoding that lacks some of its letters: one question mark for all of a stretch."""
    return re.sub(r"(?:[^\x00-\x7f]|\?)+", "?", text)
