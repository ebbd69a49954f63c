"""The human evaluation of VISTA (§5): conversations of AIS, BEGIN, FADE and FaithDial, whose claims people labelled.

A JSON list of conversations in the reference implementation's format. Both golds are read: the consensus labels of claims, from
which the readings `strict` and `safe` follow, and as the turn's gold what the original data set says of it (Fig. 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from vista_guard.errors import InputError
from vista_lab.datasets.files import Row, reader
from vista_lab.logs.readers import reference
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue, TurnGold, values

LABELS = {word: TurnGold(word, word == "hallucinated") for word in ("faithful", "hallucinated")}
TURNS = "turns"


def _rows(path: Path) -> Iterator[Row | BrokenEntry]:
    """A conversation is a list of turns: it stands under a name of ours, so that it can be read as other rows are."""
    for number, value in enumerate(values(path), 1):
        if isinstance(value, BrokenEntry):
            yield value
        else:
            yield Row({TURNS: value.content}, path, value.place, number, value.line)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    entry = reference.parse(LogValue(row.content[TURNS], row.place, row.line))
    turns = row.parts(TURNS)
    gold = {place: _gold(turns[place]) for place, one in enumerate(entry.conversation.turns) if one.claims is not None}
    if not gold:
        raise InputError("has no turn with human_claims")
    yield replace(entry, gold=gold)


def _gold(turn: Row) -> TurnGold:
    try:
        return turn.label("original_dataset_label", LABELS)
    except InputError as exc:
        raise InputError(f"turn {turn.number - 1}: {exc}") from exc


read = reader(_rows, _conversation)
"""Turns with claims are those that people annotated."""
