"""BEGIN (Dziri et al. 2022): responses of models to one message, judged by people against one piece of knowledge.

A TSV without quoting: model_name, data_source, knowledge, message, response, begin_label. What a `Generic` response is, the
publisher leaves open: it says nothing that could be attributed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from vista_guard.evaluation.datasets.published.dataset import Entry
from vista_guard.evaluation.datasets.published.files import Row, entries, table_rows
from vista_guard.evaluation.datasets.published.talk import answer, documents, ending, said
from vista_guard.evaluation.datasets.source import LoggedConversation, TurnGold

COLUMNS = ("knowledge", "message", "response", "begin_label")
FULLY, NOT_FULLY, GENERIC = "Fully attributable", "Not fully attributable", "Generic"
LABELS = {FULLY: TurnGold(FULLY, False), NOT_FULLY: TurnGold(NOT_FULLY, True), GENERIC: TurnGold(GENERIC, None)}


def read(paths: Sequence[Path]) -> Iterator[Entry]:
    """The rows of one file. The last turn of each is the response, and has gold.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    (path,) = paths
    yield from entries(table_rows(path, COLUMNS, "\t", csv.QUOTE_NONE), _conversation)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    response = answer(row.said("response"), documents([row.text("knowledge")]))
    gold = row.label("begin_label", LABELS)
    yield ending(row, f"{row.stem}-{row.number}", (*said([row.text("message")]), response), gold)
