"""Reads the rows of a generated set, divided as its exports are: training, validation, and a test part that is set aside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_guard.protocols import Verifier
from vista_lab.oasis.exports import extractor_row, is_usable, retriever_pairs
from vista_lab.oasis.passages import Cut, survey, windows
from vista_lab.oasis.records import Passage, Record, all_records
from vista_lab.oasis.splits import SetPart, Splitting, divide
from vista_lab.oasis.triplets import LABELS, settled, twinned, verifier_triplets
from vista_lab.training.rows import ExtractorRow, Part, PassageWindow, RetrieverRow, Split, VerifierRow

_PASSAGE = re.compile(r"^(.+)#(\d+)\+(\d+)(?:/.*)?$")


def read_split(
    folder: Path,
    part: Part,
    *,
    doubtful: bool = False,
    splitting: Splitting | None = None,
    neutrals: Verifier | None = None,
) -> Split[Any]:
    """Rows of a set: its training part, and its validation part to measure by.

    Args:
        folder: the set's folder.
        part: the part to train.
        doubtful: include pairs that a gate doubted.
        splitting: how the set is divided; as `oasis export` does by default.
        neutrals: chooses each claim's neutral passage, for a verifier's rows.

    Raises:
        InputError: the folder is no set, has too few pairs to divide, or its parts leak.
    """
    parts = divide(_records(folder, doubtful), splitting or Splitting())
    make = maker(part, neutrals, doubtful=doubtful)
    return Split(make(parts[SetPart.TRAIN]), make(parts[SetPart.VALIDATION]))


def read_held_out(folder: Path, part: Part, *, doubtful: bool = False, splitting: Splitting | None = None) -> list[Any]:
    """Rows of the set's test part, unseen in training; all rows of a set without one.

    Raises InputError: the folder is no set, or has no pair.
    """
    records = _records(folder, doubtful)
    make = maker(part, doubtful=doubtful)
    return list(make(divide(records, splitting or Splitting())[SetPart.TEST]) or make(records))


def _records(folder: Path, doubtful: bool) -> list[Record]:
    records = settled(list(all_records([folder])))
    if not any(is_usable(record, doubtful=doubtful) for record in records):
        raise InputError(f"{folder} has no accepted pair; vista-guard oasis stats says why")
    return records


def maker(
    part: Part, neutrals: Verifier | None = None, *, doubtful: bool = False
) -> Callable[[Sequence[Record]], Sequence[Any]]:
    """A function that makes a part's rows from records (sections 5.1 to 5.3)."""

    def make(records: Sequence[Record]) -> Sequence[Any]:
        usable = [record for record in records if is_usable(record, doubtful=doubtful)]
        if part == "extractor":
            return [_extractor(extractor_row(record)) for record in usable]
        if part == "retriever":
            return [_retriever(row) for row in retriever_pairs(usable)]
        return list(_verifier(usable, [record.passage for record in records], neutrals))

    return make


def _extractor(row: Mapping[str, Any]) -> ExtractorRow:
    return ExtractorRow(source_of(row["passage"]), row["text"], tuple(row["claims"]))


def _retriever(row: Mapping[str, Any]) -> RetrieverRow:
    return RetrieverRow(source_of(row["group"]), row["claim"], row["passage"], original=row["kind"] == "t")


def _verifier(
    records: Sequence[Record], passages: Sequence[Passage], neutrals: Verifier | None
) -> Iterator[VerifierRow]:
    for row in twinned(list(verifier_triplets(records, passages, neutrals)), passages):
        yield VerifierRow(source_of(row.twin), row.claim, row.passage, LABELS[row.label], row.twin)  # type: ignore[arg-type]


def source_of(name: str) -> PassageWindow:
    """The window in a passage's name, as `Passage.id` writes it; a suffix is ignored.

    Examples:
        >>> source_of("handbook/fees.md#12+5/F/3")
        PassageWindow(document='handbook/fees.md', first=12, end=17)
    """
    match = _PASSAGE.match(name)
    if match is None:
        raise InputError(f"{name!r} is no name of a passage, such as handbook/fees.md#12+5")
    return PassageWindow(match[1], int(match[2]), int(match[2]) + int(match[3]))


def windows_of(documents: Path, sentences: int = 5) -> dict[PassageWindow, str]:
    """All windows of a folder's documents: a search corpus as large as in use."""
    corpus = survey(documents, Cut(sentences=sentences, per_document=0))
    return {source_of(one.id): one.text for document, _ in corpus.read() for one in windows(document, corpus.cut)}
