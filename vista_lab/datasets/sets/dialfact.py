"""DialFact (Gupta et al. 2022): responses in dialogues, and whether evidence supports or refutes them.

JSON lines: `context` (what was said before), `response`, `evidence_list` of [page title, link, snippet, index, remark?],
`response_label`. The texts are tokenised as in the Penn Treebank, which is undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from vista_guard.errors import InputError
from vista_guard.types import Document
from vista_lab.datasets.files import Row, answer, clean, json_rows, labelled, reader, turns_of
from vista_lab.logs.source import LoggedConversation, TurnGold

SUPPORTS, REFUTES, NOT_ENOUGH_INFO = "SUPPORTS", "REFUTES", "NOT ENOUGH INFO"
LABELS = {label: TurnGold(label, label != SUPPORTS) for label in (SUPPORTS, REFUTES, NOT_ENOUGH_INFO)}


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    response = answer(clean(row.nonblank("response")), _evidence(row))
    history = turns_of([clean(text) for text in row.texts("context")])
    # Ids of the publisher's own repeat: one context has several responses, and a response is checked more than once.
    yield labelled(row, f"{row.stem}-{row.number}", (*history, response), row.label("response_label", LABELS))


def _evidence(row: Row) -> tuple[Document, ...]:
    pieces = row.typed("evidence_list", list, "a list of lists")
    return tuple(_snippet(number, piece) for number, piece in enumerate(pieces, 1))


def _snippet(number: int, piece: object) -> Document:
    cells = cast("list[object]", piece) if isinstance(piece, list) else []
    if len(cells) < 3 or not isinstance(cells[0], str) or not isinstance(cells[2], str):
        raise InputError(f"piece {number} of evidence_list is {str(piece)[:80]!r}; expected [title, link, snippet, …]")
    return Document(id=f"e{number}", title=clean(cells[0].replace("_", " ")), text=clean(cells[2]))


read = reader(json_rows, _conversation)
