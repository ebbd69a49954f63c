"""SummEdits (Laban et al. 2023): summaries of long documents, and the same with one edit, checked by people.

A JSON list for each domain: `id`, `doc`, `summary`, `label` (1: consistent with the document), the `original_summary` that it was
edited from and `edit_types`. `published/summedits.toml` describes another publisher's one file of all domains. Alone because
each published set has a module of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from vista_guard.types import Document
from vista_lab.datasets.files import Row, answer, json_rows, labelled, reader
from vista_lab.logs.source import LoggedConversation, TurnGold

LABELS = {"1": TurnGold("consistent", False), "0": TurnGold("inconsistent", True)}


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    turn = answer(row.nonblank("summary"), [Document(id="document", text=row.nonblank("doc"))])
    yield labelled(row, f"{row.stem}-{row.name('id')}", [turn], row.label("label", LABELS))


read = reader(json_rows, _conversation)
