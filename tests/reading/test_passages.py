"""Passages: exact spans, full cover, sensible cuts; and the sieve for long documents."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.reading.passages import nearest_passages, passages
from vista_guard.types import Document, Passage, SourceKind, Span

TEXTS = st.text(alphabet=st.sampled_from("ab é\u0301.!?。中文\n \t\u2003\U0001f98a\ud83d\"'"), max_size=400) | st.text(
    max_size=400
)


def document(text: str) -> Document:
    return Document(id="d", text=text, title="Harbour notes", url="https://example.org")


@given(text=TEXTS, max_chars=st.integers(1, 60), data=st.data())
def test_spans_are_exact_ordered_bounded_and_leave_nothing_out(text: str, max_chars: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, max_chars // 2))
    found = passages(document(text), max_chars=max_chars, overlap=overlap)
    spans = [passage.span for passage in found if passage.span is not None]
    assert [passage.text for passage in found] == [text[span.start : span.end] for span in spans]
    assert all(0 < span.end - span.start <= max_chars for span in spans)
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(spans))
    assert all(a.end - b.start <= overlap for a, b in pairwise(spans))
    covered = {index for span in spans for index in range(span.start, span.end)}
    assert {index for index, char in enumerate(text) if not char.isspace()} <= covered


def test_a_short_document_is_one_passage_with_its_title() -> None:
    assert passages(document("  The pier opened in 1911. It burned in 1950.\n")) == (
        Passage(
            source=SourceKind.DOCUMENT,
            source_id="d",
            text="The pier opened in 1911. It burned in 1950.",
            title="Harbour notes",
            span=Span(start=2, end=45),
        ),
    )


def test_a_blank_document_has_no_passage() -> None:
    assert passages(document("")) == passages(document(" \n\t ")) == ()


def texts(text: str, max_chars: int, overlap: int = 0) -> list[str]:
    return [passage.text for passage in passages(document(text), max_chars=max_chars, overlap=overlap)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two here.\n\nThree is there. Four.", ["One here. Two here.", "Three is there. Four."]),
        ("The keeper slept well. Then Dr. Ito came in.", ["The keeper slept well.", "Then Dr. Ito came in."]),
        ("港は静かだ。船が来た。猫も静かに来て眠った。", ["港は静かだ。船が来た。猫も静かに来て眠った。"]),
        ("a tide table\nfor the north", ["a tide table\nfor the north"]),
        ("x" * 50, ["x" * 30, "x" * 20]),
        ("long words only without any full stop", ["long words only without any", "full stop"]),
    ],
)
def test_cuts_at_the_best_boundary(text: str, expected: list[str]) -> None:
    assert texts(text, 30) == expected


def test_text_without_spaces_is_cut_after_its_own_full_stops() -> None:
    assert texts("港は静かだ。船が来た。猫も静かに来て眠った。", 14) == [
        "港は静かだ。船が来た。",
        "猫も静かに来て眠った。",
    ]


def test_neighbours_share_whole_sentences_or_else_whole_words() -> None:
    text = "The first keeper was Ana. She left. The second keeper was Bo. He stayed."
    assert texts(text, 40, 20) == [
        "The first keeper was Ana. She left.",
        "She left. The second keeper was Bo.",
        "keeper was Bo. He stayed.",
    ]


@pytest.mark.parametrize("overlap", [-1, 51])
def test_an_impossible_overlap_is_named(overlap: int) -> None:
    with raises(ConfigError, "100", "overlap", overlap):
        passages(document("text"), max_chars=100, overlap=overlap)


def library() -> tuple[Passage, ...]:
    facts = [f"Shelf {number} of the archive holds ordinary ledgers." for number in range(40)]
    facts[11] = "The lighthouse was painted red in 1931."
    facts[29] = "Its keeper, Oda Lind, published a book of poems."
    return tuple(
        passage for number, fact in enumerate(facts) for passage in passages(Document(id=f"{number}", text=fact))
    )


def test_each_sentence_finds_its_passage_and_the_order_stays() -> None:
    everything = library()
    query = "Oda Lind publishes poems about the archive. The lighthouse is red."
    assert nearest_passages(query, everything, 2) == (everything[11], everything[29])


def test_all_passages_when_they_fit_and_the_first_when_no_word_is_shared() -> None:
    everything = library()
    assert nearest_passages("anything", everything, 40) == everything
    assert nearest_passages("zzz. 完全に別。", everything, 3) == everything[:3]
    assert nearest_passages("", everything, 3) == everything[:3]
    assert nearest_passages("lighthouse", everything, 0) == ()


def test_scripts_without_spaces_are_compared_by_character() -> None:
    everything = tuple(
        passage
        for number, text in enumerate(["鉄道駅は古い。", "灯台は赤い。", "市場は広い。"])
        for passage in passages(Document(id=str(number), text=text))
    )
    assert nearest_passages("あの灯台の色は赤です。", everything, 1) == (everything[1],)


@given(st.integers(0, 45), TEXTS)
def test_the_sieve_keeps_exactly_what_is_asked_for(limit: int, query: str) -> None:
    everything = library()
    kept = nearest_passages(query, everything, limit)
    assert len(kept) == min(limit, len(everything))
    assert [everything.index(passage) for passage in kept] == sorted(everything.index(passage) for passage in kept)
