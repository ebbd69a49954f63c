"""What a conversation may bring. Pure."""

from __future__ import annotations

from vista_guard.errors import InputError
from vista_guard.settings.sources import Limits
from vista_guard.types import Conversation, Role, Turn


def check_limits(conversation: Conversation, limits: Limits) -> None:
    """Passes when the conversation's last turn can be judged.

    Raises:
        InputError: no turn, no assistant turn at the end, text with NUL bytes, or something over a limit.
    """
    if not conversation.turns:
        raise InputError("the conversation is empty; give at least the assistant turn to be judged")
    turn = conversation.turns[-1]
    if turn.role is not Role.ASSISTANT:
        raise InputError(f"the last turn is from the {turn.role}; only assistant turns are judged")
    if len(conversation.turns) > limits.turns:
        raise InputError(f"the conversation has {len(conversation.turns)} turns; limits.turns is {limits.turns}")
    _check_turn(turn, f"turn {len(conversation.turns) - 1}", limits)


def _check_turn(turn: Turn, name: str, limits: Limits) -> None:
    _check_text(turn.text, name, limits.turn_chars, "limits.turn_chars; judge it in parts or raise the limit")
    if len(turn.documents) > limits.documents:
        raise InputError(f"{name} has {len(turn.documents)} documents; limits.documents is {limits.documents}")
    for document in turn.documents:
        advice = "limits.document_chars; split it, raise the limit, or put it into the document store"
        _check_text(document.text, f"document {document.id!r}", limits.document_chars, advice)


def _check_text(text: str, name: str, most: int, advice: str) -> None:
    if len(text) > most:
        raise InputError(f"{name} has {len(text):,} characters, more than the {most:,} of {advice}")
    if "\x00" in text:
        raise InputError(f"{name} holds a NUL byte at character {text.index(chr(0))}; remove it, it is not text")
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise InputError(f"{name} holds half a surrogate pair at character {exc.start}; decode the text anew") from exc


def writable(text: str) -> str:
    """The text with what no file can hold replaced by question marks, for reports on turns that are not text."""
    return text.encode(errors="replace").decode()
