"""BEGIN (Dziri et al. 2022): responses of models to one message, judged by people against one piece of knowledge.

A TSV without quoting: model_name, data_source, knowledge, message, response, begin_label. What a `Generic` response is, the
publisher leaves open: it says nothing that could be attributed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_lab.datasets.files import Entry, Row, answer, documents, entries, labelled, records, table_rows, turns_of
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold

COLUMNS = ("knowledge", "message", "response", "begin_label")
FULLY, NOT_FULLY, GENERIC = "Fully attributable", "Not fully attributable", "Generic"
LABELS = {FULLY: TurnGold(FULLY, False), NOT_FULLY: TurnGold(NOT_FULLY, True), GENERIC: TurnGold(GENERIC, None)}


@dataclass(frozen=True)
class Response:
    """A response with its knowledge and the message before it, which may be blank."""

    knowledge: str
    message: str
    text: str
    label: str


def read(paths: Sequence[Path]) -> Iterator[Entry]:
    """The rows of one file. The last turn of each is the response, and has gold.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    (path,) = paths
    yield from entries(table_rows(path, COLUMNS, "\t", csv.QUOTE_NONE), _conversation)


def responses(path: Path) -> Iterator[Response | BrokenEntry]:
    """The responses of one file as they stand."""
    yield from records(table_rows(path, COLUMNS, "\t", csv.QUOTE_NONE), _response)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    found = _response(row)
    turns = (*turns_of([found.message]), answer(found.text, documents([found.knowledge])))
    yield labelled(row, f"{row.stem}-{row.number}", turns, LABELS[found.label])


def _response(row: Row) -> Response:
    label = row.label("begin_label", LABELS).label
    return Response(row.text("knowledge"), row.text("message"), row.nonblank("response"), label)
