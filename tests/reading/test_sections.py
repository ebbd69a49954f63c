"""Long texts in pieces: nothing is lost, and a cut between sections changes no piece."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vista_guard.reading.sections import PIECE_CHARS, pieces

SENTENCES = ["The hall opened in 1925.", "Dogs travel free.", "It costs 5 euros (or 3).", "Fees:", "- a list\n- of two"]


def paragraphs() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=90).map(" ".join)


def sections() -> st.SearchStrategy[str]:
    titles = st.sampled_from(["# Fees", "Opening hours", "## The ferry"])
    bodies = st.lists(paragraphs(), min_size=1, max_size=3).map("\n\n".join)
    return st.tuples(titles, bodies).map("\n\n".join)


@given(st.lists(sections(), min_size=1, max_size=4), st.data())
def test_a_text_cut_at_its_sections_has_the_same_pieces(parts: list[str], data: st.DataObject) -> None:
    whole = "\n\n".join(parts)
    cut = data.draw(st.integers(0, len(parts)))
    halves = ["\n\n".join(parts[:cut]), "\n\n".join(parts[cut:])]
    apart = [half[one.span.start : one.span.end] for half in halves for one in pieces(half)]
    assert [whole[one.span.start : one.span.end] for one in pieces(whole)] == apart


@given(st.lists(sections(), min_size=1, max_size=4))
def test_every_character_lies_in_one_piece(parts: list[str]) -> None:
    text = "\n\n".join(parts)
    found = list(pieces(text))
    kept = "".join(text[one.span.start : one.span.end] for one in found)
    assert "".join(kept.split()) == "".join(text.split())
    assert all(one.span.end <= other.span.start for one, other in pairwise(found))
    assert all(len(text[one.span.start : one.span.end]) <= PIECE_CHARS for one in found)


def test_a_piece_knows_its_section_and_the_piece_before_it() -> None:
    long = " ".join(f"The hall number {number} opened in 1925." for number in range(60))
    text = f"Intro without a title.\n\nThe halls\n\n{long}\n\nFees\n\nEntry is free."
    found = list(pieces(text))
    assert [one.heading for one in found] == ["", "The halls", "The halls", "Fees"]
    assert [one.follows for one in found] == [None, None, found[1].span, None]
    assert text[found[1].span.start :].startswith("The halls\n\nThe hall number 0")


def test_what_is_no_heading() -> None:
    for line in ("It opened in 1925.", "Fees:", "- first", "| a | b |", "x" * 90, "two\nlines"):
        assert [one.heading for one in pieces(f"{line}\n\nIt is free.")] == [""], line


def test_a_sentence_without_an_end_is_a_piece_and_nothing_is_none() -> None:
    assert [one.span.end for one in pieces("word " * 2_000)] == [9_999]
    assert list(pieces(" \n\n ")) == []
