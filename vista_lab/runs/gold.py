"""People's word on turns and claims: labels as `vista-guard calibrate` takes them, or a log whose claims are labelled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from vista_guard.errors import InputError
from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Finding, Label, Outcome
from vista_lab.logs.formats import BrokenEntry, LoggedConversation, TurnGold, read_log
from vista_lab.metrics.calibration import FineLabel
from vista_lab.runs.folder import TurnName

Word = Label | bool
"""A person's verdict on a claim: its label, or True where it is fine to say."""


@dataclass
class GoldTurn:
    """People's word on one turn. `fine` is None where nobody spoke of the turn; `claims` is by the claim's id or text."""

    fine: bool | None = None
    claims: dict[str, Word] = field(default_factory=dict)

    def word(self, outcome: Outcome) -> Word | None:
        """The label of this claim; None when it has none."""
        return self.word_on(outcome.claim.id, outcome.claim.text)

    def word_on(self, claim_id: str, text: str) -> Word | None:
        """The label of a claim, by its id and text."""
        found = self.claims.get(claim_id)
        return self.claims.get(text) if found is None else found

    def verdict(self, outcomes: Iterable[Outcome]) -> bool | None:
        """True when the turn should be delivered as it is, by its own label or by those of its claims; else None."""
        if self.fine is not None:
            return self.fine
        words = [self.word(outcome) for outcome in outcomes]
        if any(word is not None and not is_fine(word) for word in words):
            return False
        return True if words and None not in words else None


Gold = Mapping[TurnName, GoldTurn]


def read_gold(path: Path) -> Gold:
    """The words in a file: JSON lines of `vista-guard calibrate`'s labels, else a log whose claims carry labels.

    Raises:
        InputError: the file is neither, a line makes no sense, or nothing in it is labelled.
    """
    found = _from_lines(path) if _holds_labels(path) else _from_log(path)
    if not found:
        raise InputError(
            f"{path} labels no turn and no claim; give a log with labelled claims, or labels as for vista-guard calibrate"
        )
    return found


def is_right(outcome: Outcome, word: Word) -> bool:
    """True when the judge agrees with the person. An unchecked claim is an error, as in every figure of agreement."""
    return isinstance(outcome, Finding) and agrees(outcome.label, word)


def agrees(label: Label, word: Word) -> bool:
    """True when a label agrees with what a person said."""
    return label is word if isinstance(word, Label) else (label in SAFE) is word


def is_fine(word: Word) -> bool:
    """True when a person finds the claim fine to say."""
    return word in SAFE if isinstance(word, Label) else word


def _holds_labels(path: Path) -> bool:
    """True when the first line is a label: no log has its field `fine`."""
    try:
        with path.open("rb") as file:
            first = next((line for line in file if line.strip()), b"")
    except OSError as exc:
        raise InputError(f"labels {path} cannot be read: {exc.strerror}") from exc
    try:
        return "fine" in json.loads(first)
    except (ValueError, TypeError):
        return False


def _from_lines(path: Path) -> dict[TurnName, GoldTurn]:
    found: dict[TurnName, GoldTurn] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                _take(found, _label(path, number, line))
    return found


def _label(path: Path, number: int, line: bytes) -> FineLabel:
    try:
        return FineLabel.model_validate_json(line)
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{path}, line {number}: {where + ': ' if where else ''}{first['msg']}") from exc


def _take(found: dict[TurnName, GoldTurn], label: FineLabel) -> None:
    turn = found.setdefault((label.conversation_id, label.turn_index), GoldTurn())
    claim = label.claim if label.claim_id is None else label.claim_id
    if claim is None:
        turn.fine = label.fine
    else:
        turn.claims[claim] = label.fine


def _from_log(path: Path) -> dict[TurnName, GoldTurn]:
    found: dict[TurnName, GoldTurn] = {}
    for entry in read_log(path, None):
        if isinstance(entry, BrokenEntry):
            raise InputError(f"{entry.source}: {entry.error}")
        found |= of_entry(entry)
    return found


def of_entry(entry: LoggedConversation) -> dict[TurnName, GoldTurn]:
    """The log's own gold: a label of the whole turn, or labels of the claims that it brings."""
    found = {}
    for index, turn in enumerate(entry.conversation.turns):
        words: dict[str, Word] = {one.id: entry.labels[one.id] for one in turn.claims or () if one.id in entry.labels}
        fine = _of_turn(entry.gold.get(index), words, len(turn.claims or ()))
        if words or fine is not None:
            found[str(entry.conversation.id), index] = GoldTurn(fine, words)
    return found


def _of_turn(gold: TurnGold | None, words: Mapping[str, Word], claims: int) -> bool | None:
    """A label of the turn counts before those of its claims, which have to be all there for a turn to be fine."""
    if gold is not None and gold.positive is not None:
        return not gold.positive
    if not all(map(is_fine, words.values())):
        return False
    return True if words and len(words) == claims else None
