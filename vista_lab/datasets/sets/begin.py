"""BEGIN (Dziri et al. 2022): responses of models to one message, judged by people against one piece of knowledge.

A TSV without quoting: model_name, data_source, knowledge, message, response, begin_label. `Generic` responses
have no gold: they say nothing that could be attributed. Alone because each published set has a module of its own.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from vista_lab.datasets.files import Row, Rows, answer, documents, labelled, reader, table_rows, turns_of
from vista_lab.logs.source import LoggedConversation, TurnGold

COLUMNS = ("knowledge", "message", "response", "begin_label")
FULLY, NOT_FULLY, GENERIC = "Fully attributable", "Not fully attributable", "Generic"
LABELS = {FULLY: TurnGold(FULLY, False), NOT_FULLY: TurnGold(NOT_FULLY, True), GENERIC: TurnGold(GENERIC, None)}


def rows(path: Path) -> Rows:
    """The rows of one file."""
    return table_rows(path, COLUMNS, "\t", csv.QUOTE_NONE)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    gold, grounds = row.label("begin_label", LABELS), documents([row.text("knowledge")])
    turns = (*turns_of([row.text("message")]), answer(row.nonblank("response"), grounds))
    yield labelled(row, f"{row.stem}-{row.number}", turns, gold)


read = reader(rows, _conversation)
"""The last turn of each row is the response, and has gold."""
