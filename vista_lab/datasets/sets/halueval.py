"""HaluEval, dialogue (Li et al. 2023): a right response of OpenDialKG and one that a model made up, to the same dialogue.

JSON lines: `knowledge`, `dialogue_history` (`[Human]: … [Assistant]: …` in one text), `right_response`, `hallucinated_response`.
Written from the publisher's description and its evaluation's code. Alone because each published set has a module of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vista_guard.errors import InputError
from vista_guard.types import Role, Turn
from vista_lab.datasets.files import Row, answer, documents, json_rows, labelled, reader
from vista_lab.logs.source import LoggedConversation, TurnGold

SPEAKERS = {"Human": Role.USER, "Assistant": Role.ASSISTANT}
SIDES = {"right_response": TurnGold("right", False), "hallucinated_response": TurnGold("hallucinated", True)}
_MARK = re.compile(r"\[(Human|Assistant)\]:")


def _conversations(row: Row) -> Iterator[LoggedConversation]:
    history, knowledge = _history(row.text("dialogue_history")), documents([row.nonblank("knowledge")])
    for side, gold in SIDES.items():
        identity = f"halueval-{row.number}-{gold.label}"
        yield labelled(row, identity, (*history, answer(row.nonblank(side), knowledge)), gold)


def _history(text: str) -> tuple[Turn, ...]:
    before, *parts = _MARK.split(text)
    if before.strip():
        raise InputError(f"dialogue_history begins with {before.strip()[:80]!r}; expected [Human]: or [Assistant]:")
    spoken = zip(parts[::2], parts[1::2], strict=True)
    return tuple(Turn(role=SPEAKERS[who], text=message.strip()) for who, message in spoken if message.strip())


read = reader(json_rows, _conversations)
