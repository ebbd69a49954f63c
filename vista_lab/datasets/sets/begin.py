"""BEGIN (Dziri et al. 2022): responses of models to one message, judged by people against one piece of knowledge.

A TSV without quoting: model_name, data_source, knowledge, message, response, begin_label. `Generic` responses
have no gold: they say nothing that could be attributed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vista_lab.datasets.files import Row, answer, documents, labelled, reader, records, table_rows, turns_of
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold

COLUMNS = ("knowledge", "message", "response", "begin_label")
FULLY, NOT_FULLY, GENERIC = "Fully attributable", "Not fully attributable", "Generic"
LABELS = {FULLY: TurnGold(FULLY, False), NOT_FULLY: TurnGold(NOT_FULLY, True), GENERIC: TurnGold(GENERIC, None)}
_rows = partial(table_rows, columns=COLUMNS, delimiter="\t", quoting=csv.QUOTE_NONE)


@dataclass(frozen=True)
class Response:
    """A response with its knowledge and the message before it, which may be blank."""

    knowledge: str
    message: str
    text: str
    label: str


def responses(path: Path) -> Iterator[Response | BrokenEntry]:
    """The responses of one file as they stand."""
    return records(_rows(path), _response)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    response = _response(row)
    turns = (*turns_of([response.message]), answer(response.text, documents([response.knowledge])))
    yield labelled(row, f"{row.stem}-{row.number}", turns, LABELS[response.label])


def _response(row: Row) -> Response:
    label = row.label("begin_label", LABELS).label
    return Response(row.text("knowledge"), row.text("message"), row.nonblank("response"), label)


read = reader(_rows, _conversation)
"""The last turn of each row is the response, and has gold."""
