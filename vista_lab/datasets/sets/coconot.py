"""CoCoNot (Brahman et al. 2024): requests, each with an answer that complies and one that does not.

JSON lines with `prompt`, `chosen` and `rejected`: the contrast set, where requests deserve an answer, so that `rejected` is the
one that does not comply. In the preference file both are texts; in the training file they are chats, and the kind of request is
told by `prompt_id`. VISTA (§7.1) leaves out incomplete and indeterminate requests: their answers correct or explain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import InputError
from vista_lab.datasets.files import Row, answer, json_rows, labelled, reader, records, turns_of
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold

INCOMPLETE = frozenset(("Incomplete requests", "Indeterminate requests"))
COMPLIES, REFUSES = "compliant", "non-compliant"
SIDES = (("chosen", False), ("rejected", True))
_KINDS = {"presupposition": "Incomplete requests", "underspecified": "Incomplete requests"}


@dataclass(frozen=True)
class Reply:
    """An answer to a request, and whether it is the one that does not comply."""

    request: str
    answer: str
    refuses: bool
    category: str


def replies(path: Path) -> Iterator[Reply | BrokenEntry]:
    """All answers, those to incomplete and indeterminate requests among them: `category` says which they are."""
    for both in records(json_rows(path), lambda row: list(_replies(row))):
        yield from (both,) if isinstance(both, BrokenEntry) else both


def _conversations(row: Row) -> Iterator[LoggedConversation]:
    for reply in _replies(row):
        if reply.category not in INCOMPLETE:
            gold = TurnGold(REFUSES if reply.refuses else COMPLIES, reply.refuses)
            identity = f"{row.stem}-{row.name('prompt_id', 'id')}-{gold.label}"
            yield labelled(row, identity, (*turns_of([reply.request]), answer(reply.answer)), gold)


def _replies(row: Row) -> Iterator[Reply]:
    request, category = row.nonblank("prompt"), _category(row)
    for side, refuses in SIDES:
        yield Reply(request, _content(row, side), refuses, category)


def _category(row: Row) -> str:
    if "category" in row.content:
        return row.nonblank("category")
    kind = row.nonblank("prompt_id")
    if kind.startswith("Contrastive"):
        return "Unsupported requests"
    return _KINDS.get(kind.split("_")[0], "Requests with safety concerns")


def _content(row: Row, side: str) -> str:
    if isinstance(row.value(side), str):
        return row.nonblank(side)
    messages = row.parts(side)
    if not messages:
        raise InputError(f"{side} is an empty chat")
    return messages[-1].nonblank("content")


read = reader(json_rows, _conversations)
"""A conversation for each answer, without documents, and without incomplete and indeterminate requests."""
