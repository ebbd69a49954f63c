"""SummEdits (Laban et al. 2023): summaries of long documents, and the same with one edit, checked by people.

A JSON list for each domain: `id`, `doc`, `summary`, `label` (1: consistent with the document), the `original_summary` that it was
edited from and `edit_types`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vista_guard.types import Document
from vista_lab.datasets.files import Row, answer, json_rows, labelled, reader, records
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold

CONSISTENT, INCONSISTENT = "consistent", "inconsistent"
LABELS = {"1": TurnGold(CONSISTENT, False), "0": TurnGold(INCONSISTENT, True)}


@dataclass(frozen=True)
class EditedSummary:
    """A summary and its document."""

    identity: str
    document: str
    text: str
    consistent: bool
    original: str
    """The consistent summary that it was edited from; itself, where the file does not say."""
    edits: tuple[str, ...]


def file_name(domain: str) -> str:
    """The publisher's name of a domain's file."""
    return f"summedits_{domain}.json"


def summaries(path: Path) -> Iterator[EditedSummary | BrokenEntry]:
    """The summaries with what they were edited from."""
    yield from records(json_rows(path), _summary)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    turn = answer(row.nonblank("summary"), [Document(id="document", text=row.nonblank("doc"))])
    yield labelled(row, f"{row.stem}-{row.name('id')}", [turn], row.label("label", LABELS))


def _summary(row: Row) -> EditedSummary:
    text = row.nonblank("summary")
    return EditedSummary(
        identity=row.name("id"),
        document=row.nonblank("doc"),
        text=text,
        consistent=row.label("label", LABELS).label == CONSISTENT,
        original=row.text("original_summary") if "original_summary" in row.content else text,
        edits=tuple(row.texts("edit_types")) if "edit_types" in row.content else (),
    )


read = reader(json_rows, _conversation)
