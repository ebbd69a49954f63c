"""Labels in a log. The dashboard finds `from_log` by the entry point group `vista_guard.labels`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.policy import labels
from vista_guard.policy.labels import Gold, GoldTurn, TurnName, Word, is_fine
from vista_guard.types import Conversation, Role
from vista_lab.logs.formats import BrokenEntry, LoggedConversation, TurnGold, read_log


def read_gold(path: Path) -> Gold:
    """Reads labels as for `vista-guard calibrate`, else a log whose claims are labelled.

    Raises InputError if a line is malformed, or nothing in the file is labelled.
    """
    return labels.read_gold(path, from_log)


def from_log(path: Path) -> dict[TurnName, GoldTurn]:
    """Reads a log whose turns or claims are labelled. Raises InputError if the log cannot be read."""
    gold: dict[TurnName, GoldTurn] = {}
    for entry in read_log(path, None):
        if isinstance(entry, BrokenEntry):
            raise InputError(f"{entry.source}: {entry.error}")
        gold |= gold_of_entry(entry)
    return gold


def questions_of(conversation: Conversation) -> dict[int, str]:
    """The user's last message before each assistant turn, by the turn's index."""
    questions, question = {}, ""
    for index, turn in enumerate(conversation.turns):
        if turn.role is Role.USER:
            question = turn.text
        elif turn.role is Role.ASSISTANT:
            questions[index] = question
    return questions


def gold_of_entry(entry: LoggedConversation) -> dict[TurnName, GoldTurn]:
    """The log's own gold: labels of whole turns, or of their claims."""
    gold = {}
    for index, turn in enumerate(entry.conversation.turns):
        ids = [claim.id for claim in turn.claims or ()]
        words: dict[str, Word] = {name: entry.labels[name] for name in ids if name in entry.labels}
        fine = _turn_verdict(entry.gold.get(index), words, len(turn.claims or ()))
        if words or fine is not None:
            gold[str(entry.conversation.id), index] = GoldTurn(fine, words)
    return gold


def _turn_verdict(gold: TurnGold | None, words: Mapping[str, Word], claims: int) -> bool | None:
    """The turn's own label, else the verdict of its claims: all of them need labels for the turn to be fine."""
    if gold is not None and gold.positive is not None:
        return not gold.positive
    if not all(map(is_fine, words.values())):
        return False
    return True if words and len(words) == claims else None
