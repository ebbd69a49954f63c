"""FELM (Chen et al. 2023), world knowledge: ChatGPT's responses, in segments that people labelled true or false.

JSON lines: `index`, `prompt`, `response`, `segmented_response`, `labels` (a boolean for each segment). A response is supported
where all of its segments are true, as in DAD's Table 1: 99 of 184. One `response` is NaN: its segments
stand for it. Alone because each published set has a module of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from vista_guard.errors import InputError
from vista_guard.types import Role, Turn
from vista_lab.datasets.files import Row, answer, json_rows, labelled, reader
from vista_lab.logs.source import LoggedConversation, TurnGold

TRUE, FALSE = TurnGold("true", False), TurnGold("false", True)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    segments, labels = row.texts("segmented_response"), row.value("labels")
    if not isinstance(labels, list) or not all(isinstance(label, bool) for label in labels):
        raise InputError(f"labels is {str(labels)[:80]!r}; expected a list of true and false")
    if len(labels) != len(segments) or not labels:
        raise InputError(f"has {len(segments)} segments and {len(labels)} labels")
    text = row.nonblank("response") if isinstance(row.value("response"), str) else " ".join(segments)
    turns = (Turn(role=Role.USER, text=row.nonblank("prompt")), answer(text))
    yield labelled(row, f"{row.stem}-{row.name('index')}", turns, TRUE if all(labels) else FALSE)


read = reader(json_rows, _conversation)
