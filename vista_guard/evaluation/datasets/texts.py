"""Texts that no store and no report can hold: said before a conversation is handed on."""

from __future__ import annotations

from vista_guard.errors import InputError
from vista_guard.types import Conversation


def check_texts(conversation: Conversation) -> None:
    """Refuses NUL characters and halves of surrogate pairs.

    Raises:
        InputError: names the turn, the document or the claim, and the position.
    """
    _check_text("the conversation's id", str(conversation.id))
    for index, turn in enumerate(conversation.turns):
        _check_text(f"turn {index}", turn.text)
        for document in turn.documents:
            _check_text(f"turn {index}: the id of a document", document.id)
            _check_text(f"turn {index}: document {document.id!r}", document.text)
        for claim in turn.claims or ():
            _check_text(f"turn {index}: claim {claim.id}", claim.text)


def _check_text(what: str, text: str) -> None:
    if "\x00" in text:
        raise InputError(f"{what} holds a NUL character at position {text.index(chr(0))}; remove it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InputError(f"{what} holds half a surrogate pair at position {exc.start}; repair it") from exc
