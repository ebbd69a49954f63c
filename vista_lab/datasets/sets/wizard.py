"""Wizard of Wikipedia (Dinan et al. 2019), as far as annotations of it need it: what was said before a turn, and its sentence."""

from __future__ import annotations

from collections.abc import Mapping

from vista_guard.errors import InputError
from vista_guard.types import Document, Role, Turn
from vista_lab.datasets.files import Row

NO_PASSAGE = "no_passages_used"


def grounds_of(dialogue: Row, turn: int) -> tuple[tuple[Turn, ...], tuple[Document, ...]]:
    """The turns before turn `turn`, which counts from 0, and the sentence that the wizard chose for it.

    The wizard is the assistant. `dialogue` is an item of `test_random_split.json`: a list `dialog` of `speaker` (`0_Wizard`,
    `1_Apprentice`), `text`, and of the wizard's turns `checked_sentence` and `checked_passage`, each one text by its key.

    Raises:
        InputError: there is no such turn, or it is of another shape.
    """
    said = dialogue.parts("dialog")
    if turn >= len(said):
        raise InputError(f"{dialogue.source} has no turn {turn}: it has {len(said)}")
    try:
        history = tuple(Turn(role=_role(one), text=one.text("text")) for one in said[:turn])
        return history, _documents(said[turn])
    except InputError as exc:
        raise InputError(f"{dialogue.source}: {exc}") from exc


def _role(message: Row) -> Role:
    return Role.ASSISTANT if message.nonblank("speaker").endswith("Wizard") else Role.USER


def _documents(message: Row) -> tuple[Document, ...]:
    sentence, title = _first_text(message, "checked_sentence"), _first_text(message, "checked_passage")
    if not sentence or sentence == NO_PASSAGE:
        return ()
    return (Document(id="e1", text=sentence, title=None if title == NO_PASSAGE else title or None),)


def _first_text(message: Row, name: str) -> str:
    found = message.content.get(name)
    if isinstance(found, Mapping):
        found = next(iter(found.values()), "")
    return found if isinstance(found, str) else ""
