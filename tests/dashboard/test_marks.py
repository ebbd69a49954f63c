"""Claims in place: a text is cut at each border, and nothing of it is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vista_guard.dashboard.elements.tree import TextPiece, pieces
from vista_guard.types import Span


def test_overlapping_claims_share_a_piece() -> None:
    cut = pieces("The tower 🕰 is old.", [(Span(start=0, end=11), "a"), (Span(start=4, end=19), "b")])
    assert cut == (TextPiece("The ", ("a",)), TextPiece("tower 🕰", ("a", "b")), TextPiece(" is old.", ("b",)))


def test_a_claim_inside_another() -> None:
    cut = pieces("abcdef", [(Span(start=0, end=6), 1), (Span(start=2, end=3), 2)])
    assert [(piece.text, piece.owners) for piece in cut] == [("ab", (1,)), ("c", (1, 2)), ("def", (1,))]


def test_ranges_beyond_the_text_and_empty_ones() -> None:
    assert pieces("abc", [(Span(start=2, end=99), 1), (Span(start=1, end=1), 2)]) == (
        TextPiece("a"),
        TextPiece("b"),
        TextPiece("c", (1,)),
    )
    assert pieces("", [(Span(start=0, end=4), 1)]) == ()


@given(st.text(max_size=40), st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=6))
def test_the_pieces_are_the_text(text: str, borders: list[tuple[int, int]]) -> None:
    ranges = [(Span(start=min(two), end=max(two)), number) for number, two in enumerate(borders)]
    cut = pieces(text, ranges)
    assert "".join(piece.text for piece in cut) == text
    place = 0
    for piece in cut:
        owners = tuple(n for span, n in ranges if span.start <= place and place + len(piece.text) <= span.end)
        assert piece.owners == owners
        place += len(piece.text)
