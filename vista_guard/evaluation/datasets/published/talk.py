"""Dialogues of data sets as turns: whose turn it was, what it was grounded in, what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vista_guard.evaluation.datasets.published.files import Row
from vista_guard.evaluation.datasets.source import LoggedConversation, TurnGold
from vista_guard.types import Conversation, Document, Role, Turn


def said(texts: Sequence[str]) -> tuple[Turn, ...]:
    """Turns of a dialogue that the assistant goes on with: the last is the user's, and so on backwards. Drops blank ones."""
    roles = (Role.USER, Role.ASSISTANT)
    spoken = [Turn(role=roles[place % 2], text=text) for place, text in enumerate(reversed(texts)) if text.strip()]
    return tuple(reversed(spoken))


def documents(texts: Iterable[str]) -> tuple[Document, ...]:
    """Documents that have no ids of their own: `e1`, `e2`, … by their places. Blank ones are left out."""
    return tuple(Document(id=f"e{number}", text=text) for number, text in enumerate(texts, 1) if text.strip())


def answer(text: str, grounds: Sequence[Document] = ()) -> Turn:
    """A turn of the assistant with its documents."""
    return Turn(role=Role.ASSISTANT, text=text, documents=tuple(grounds))


def ending(row: Row, identity: str, turns: Sequence[Turn], gold: TurnGold) -> LoggedConversation:
    """A conversation of which the last turn has gold."""
    conversation = Conversation(turns=tuple(turns), id=identity)
    return LoggedConversation(conversation, labels={}, line=row.line, gold={len(turns) - 1: gold})
