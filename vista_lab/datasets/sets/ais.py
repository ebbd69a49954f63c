"""AIS (Rashkin et al. 2023): models' answers in Wizard of Wikipedia and QReCC, and whether their source carries them.

The annotations are a CSV: `ex-idx`, `doc-url`, `model-name`, `output`, and by majority of five `INT` (the answer can be
understood), `INT & AIS` (and all of it is attributable to the source), `Flagged` (the task is malformed). What was said before,
and the source, are in files of the other data sets, found by `ex-idx` (conversation:turn) and `doc-url`. How those files are read
is written from their publishers' descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from vista_guard.errors import InputError
from vista_lab.datasets.files import Entry, Row, answer, documents, entries, json_rows, labelled, table_rows, whole
from vista_lab.datasets.sets.qrecc import Questions, passages
from vista_lab.datasets.sets.wizard import grounds_of
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold

COLUMNS = ("ex-idx", "doc-url", "model-name", "output", "INT", "INT & AIS", "Flagged")
BINARY = {"0": False, "1": True}
ATTRIBUTABLE = TurnGold("attributable", False)
NOT_ATTRIBUTABLE = TurnGold("not attributable", True)
NOT_INTERPRETABLE = TurnGold("not interpretable", None)
"""Attribution was judged of answers only that could be understood."""


def read_wow(paths: Sequence[Path]) -> Iterator[Entry]:
    """The annotated answers in Wizard of Wikipedia; the last turn of each has gold.

    Args:
        paths: `ann_wow.csv`, and Wizard of Wikipedia's `test_random_split.json`.

    Raises:
        InputError: a file as a whole cannot be read.
    """
    annotations, wizard = paths
    dialogues = list(whole(json_rows(wizard)))

    def conversation(row: Row) -> Iterator[LoggedConversation]:
        place, turn = _places(row)
        gold = _gold(row)
        if place >= len(dialogues):
            raise InputError(f"names conversation {place}; {wizard} has {len(dialogues)}")
        history, document = grounds_of(dialogues[place], turn)
        yield labelled(row, _identity("wow", row), (*history, answer(row.nonblank("output"), document)), gold)

    yield from entries(table_rows(annotations, COLUMNS), conversation)


def read_qrecc(paths: Sequence[Path]) -> Iterator[Entry]:
    """The annotated answers in QReCC; the last turn of each has gold.

    Args:
        paths: `ann_qrecc.csv`, `qrecc_test.json`, and passages: JSON lines of `id` and `contents`.

    Raises:
        InputError: a file as a whole cannot be read.
    """
    annotations, questions, collection = paths
    known = Questions.read(questions)
    rows = list(table_rows(annotations, COLUMNS))
    wanted = {str(row.content["doc-url"]) for row in rows if not isinstance(row, BrokenEntry)}
    texts = passages(collection, wanted)

    def conversation(row: Row) -> Iterator[LoggedConversation]:
        url, gold = row.nonblank("doc-url"), _gold(row)
        if url not in texts:
            raise InputError(f"cites the passage {url[:200]}, which {collection} lacks")
        turns = (*known.history(*_places(row)), answer(row.nonblank("output"), documents([texts[url]])))
        yield labelled(row, _identity("qrecc", row), turns, gold)

    yield from entries(rows, conversation)


def _gold(row: Row) -> TurnGold:
    if row.label("Flagged", BINARY):
        raise InputError("was flagged as malformed by the annotators, who did not judge it")
    understood, carried = row.label("INT", BINARY), row.label("INT & AIS", BINARY)
    if not understood:
        return NOT_INTERPRETABLE
    return ATTRIBUTABLE if carried else NOT_ATTRIBUTABLE


def _places(row: Row) -> tuple[int, int]:
    found = row.nonblank("ex-idx").split(":")
    if len(found) != 2 or not all(part.isdigit() for part in found):
        raise InputError(f"ex-idx is {':'.join(found)[:80]!r}; expected conversation:turn, as in 150:1")
    return int(found[0]), int(found[1])


def _identity(source: str, row: Row) -> str:
    return f"ais-{source}-{row.nonblank('ex-idx')}-{row.nonblank('model-name')}"
