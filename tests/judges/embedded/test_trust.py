"""Whose word counts more."""

from __future__ import annotations

from vista_guard.judges.embedded.relevance import Piece
from vista_guard.judges.embedded.trust import undisputed
from vista_guard.types import Passage, SourceKind


def piece(source: SourceKind = SourceKind.DOCUMENT, *, around: bool = False) -> Piece:
    passage = Passage(source=source, source_id="hall", text="The hall is red.")
    return Piece(passage, passage.text, passage, refutes=not around, around=around)


def test_neighbours_confirm_nothing_that_a_sentence_of_a_document_denies() -> None:
    alone, window = (piece(), 0.6), (piece(around=True), 0.9)
    assert undisputed([alone, window], [(piece(), 0.8)]) == [alone]


def test_neighbours_count_where_only_what_was_said_before_denies() -> None:
    found = [(piece(around=True), 0.9)]
    assert undisputed(found, [(piece(SourceKind.KNOWLEDGE), 0.8)]) == found
    assert undisputed(found, []) == found
