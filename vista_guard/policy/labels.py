"""Labels that people gave to turns and claims, read from a file. Needs no database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from vista_guard.errors import InputError, first_problem
from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Finding, Label, Outcome

TurnName = tuple[str, int]
"""A conversation's id and a turn's index."""


def turn_name(conversation_id: str | None, turn_index: int, question: str = "") -> str:
    """A turn's name for people: its conversation, its place as in claim ids (t0 is the first), and the question before it."""
    one_line = " ".join(question.split())
    words = f' (asked: "{one_line[:60]}{"…" * (len(one_line) > 60)}")' if one_line else ""
    return f"{conversation_id or 'an anonymous conversation'}, turn t{turn_index}{words}"


Word = Label | bool
"""A person's label of a claim; or True when the claim may be delivered."""


class FineLabel(BaseModel):
    """A line of a file of labels: a turn or a claim, and whether it is fine to deliver."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    conversation_id: str
    turn_index: int
    claim_id: str | None = None
    claim: str | None = None
    fine: bool

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if self.claim_id is not None and self.claim is not None:
            raise ValueError("name the claim by claim_id or by claim, not by both")
        return self


@dataclass
class GoldTurn:
    """The labels of one turn: `fine` of the whole turn, None when unlabelled, and `claims` by the claim's id or text."""

    fine: bool | None = None
    claims: dict[str, Word] = field(default_factory=dict)

    def word(self, outcome: Outcome) -> Word | None:
        """Returns the label of this outcome's claim, or None."""
        return self.word_on(outcome.claim.id, outcome.claim.text)

    def word_on(self, claim_id: str, text: str) -> Word | None:
        """Returns the label of a claim by its id, else by its text, or None."""
        label = self.claims.get(claim_id)
        return self.claims.get(text) if label is None else label

    def verdict(self, outcomes: Iterable[Outcome]) -> bool | None:
        """Returns True for a turn to deliver as it is: by its own label, else by its claims'. None when they leave it open."""
        if self.fine is not None:
            return self.fine
        words = [self.word(outcome) for outcome in outcomes]
        if any(word is not None and not is_fine(word) for word in words):
            return False
        return True if words and None not in words else None


Gold = Mapping[TurnName, GoldTurn]


def read_gold(path: Path, read_log: Callable[[Path], Gold] | None = None) -> Gold:
    """Reads labels as for `vista-guard calibrate`, else a log whose claims are labelled.

    Args:
        path: the file.
        read_log: reads a log; by default the entry point `log` of the group `vista_guard.labels`, which `vista_lab` provides.

    Raises:
        InputError: a line is malformed, or nothing in the file is labelled.
    """
    gold: Gold = {}
    if _holds_labels(path):
        gold = _labels(path)
    elif read_log is not None:
        gold = read_log(path)
    else:
        for point in entry_points(group="vista_guard.labels", name="log"):
            gold = point.load()(path)
    if not gold:
        raise InputError(
            f"{path} labels no turn and no claim; give a log with labelled claims, or labels as for vista-guard calibrate"
        )
    return gold


def is_right(outcome: Outcome, word: Word) -> bool:
    """True when the judge agrees with a person. A claim that it could not judge is an error, as in every figure of agreement."""
    return isinstance(outcome, Finding) and agrees(outcome.label, word)


def agrees(label: Label, word: Word) -> bool:
    """True when a label matches a person's."""
    return label is word if isinstance(word, Label) else (label in SAFE) is word


def is_fine(word: Word) -> bool:
    """True for a claim that may be delivered."""
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


def _labels(path: Path) -> Gold:
    gold: dict[TurnName, GoldTurn] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                label = _label(path, number, line)
                turn = gold.setdefault((label.conversation_id, label.turn_index), GoldTurn())
                claim = label.claim if label.claim_id is None else label.claim_id
                if claim is None:
                    turn.fine = label.fine
                else:
                    turn.claims[claim] = label.fine
    return gold


def _label(path: Path, number: int, line: bytes) -> FineLabel:
    try:
        return FineLabel.model_validate_json(line)
    except ValidationError as exc:
        raise InputError(f"{path}, line {number}: {first_problem(exc)}") from exc
