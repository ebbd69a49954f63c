"""FADE (Das et al. 2022): responses of OpenDialKG in which entities or relations were replaced, tagged by people word by word.

A CSV whose cells hold Python lists: `history`, `corrupted_response`, `hallucination_tags` (O, or B-, I-, L-, U-HALLUC),
`knowledge_base` with `render`, the triples as a text. A response without a tag is faithful: it was left as it was. The texts
are tokenised, which is undone as far as it can be; corrupted responses are in lower case.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial

from vista_guard.errors import InputError
from vista_lab.datasets.files import Row, answer, clean, documents, labelled, reader, table_rows, turns_of
from vista_lab.logs.source import LoggedConversation, TurnGold

COLUMNS = ("history", "corrupted_response", "hallucination_tags", "knowledge_base")
OUTSIDE = "O"
TAGS = frozenset((OUTSIDE, *(f"{place}-HALLUC" for place in "BILU")))
FAITHFUL, HALLUCINATED = TurnGold("faithful", False), TurnGold("hallucinated", True)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    knowledge = _literal(row, "knowledge_base")
    if not isinstance(knowledge, Mapping) or not isinstance(knowledge.get("render"), str):
        raise InputError(f"knowledge_base is {str(knowledge)[:80]!r}; expected a mapping with render")
    response = answer(clean(row.nonblank("corrupted_response")), documents([clean(knowledge["render"])]))
    history = turns_of([clean(text) for text in _texts(row, "history")])
    # The first column, the row's number in the whole of FADE, has no name.
    yield labelled(row, f"{row.stem}-{row.name('', 'index')}", (*history, response), _gold(row))


def _gold(row: Row) -> TurnGold:
    tags = set(_texts(row, "hallucination_tags"))
    if not tags or tags - TAGS:
        strange = ", ".join(sorted(tags - TAGS)) or "empty"
        raise InputError(f"hallucination_tags is {strange}; the tags are {', '.join(sorted(TAGS))}")
    return FAITHFUL if tags == {OUTSIDE} else HALLUCINATED


def _texts(row: Row, name: str) -> list[str]:
    value = _literal(row, name)
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"{name} is {str(value)[:80]!r}; expected a list of texts")
    return value


def _literal(row: Row, name: str) -> object:
    try:
        return ast.literal_eval(row.nonblank(name))
    except (ValueError, SyntaxError, RecursionError, MemoryError) as exc:
        raise InputError(
            f"{name} is {row.text(name)[:80]!r}; expected a list or a mapping as a Python literal"
        ) from exc


read = reader(partial(table_rows, columns=COLUMNS), _conversation)
"""Each response, whoever gave it, as the assistant's turn at the end of its history."""
