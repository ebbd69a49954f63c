"""Answers of decomposers that split, rewrite and list: whatever a model may say instead is no answer, and never a guess."""

from __future__ import annotations

import pytest

from vista_guard.errors import UnreadableError
from vista_guard.judges.model.answers.parsing import read_lines, read_parts, read_rewritten

SENTENCE = "The ferry opened in 1925."


@pytest.mark.parametrize(
    "answer",
    [
        f'{{"reason": "names", "sentence": "{SENTENCE}"}}',
        f'Sure:\n```json\n{{"Sentence": "{SENTENCE}"}}\n```',
        f'<think>{{"sentence": "It sank."}}</think>{{"sentence": "{SENTENCE}"}}',
        f'{{"sentence": "{SENTENCE}"}}\n{{"sentence": "{SENTENCE}"}}',
    ],
)
def test_a_rewritten_sentence(answer: str) -> None:
    assert read_rewritten(answer) == SENTENCE


@pytest.mark.parametrize("answer", ['{"sentence": ""}', '{"sentence": " - "}', '{"sentence": "None"}'])
def test_no_sentence_is_left(answer: str) -> None:
    assert read_rewritten(answer) == ""


@pytest.mark.parametrize(
    "answer",
    [
        "",
        SENTENCE,
        '{"reason": "an opinion"}',
        '{"sentence": ["It opened.", "It sank."]}',
        '{"sentence": "It opened."} {"sentence": "It sank."}',
        '{"sentence": "It opened.", "sentence": "It sank."}',
        '{"sentence": "It op',
        '<think>{"sentence": "It opened."}</think>',
    ],
)
def test_two_sentences_or_none_that_can_be_read_are_no_answer(answer: str) -> None:
    with pytest.raises(UnreadableError):
        read_rewritten(answer)


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ('{"claims": ["It opened.", "It sank."]}', ["It opened.", "It sank."]),
        ("1. It opened.\n2. It sank.", ["It opened.", "It sank."]),
        ('{"claims": ["It opened."]}', []),
        ('{"claims": ["It opened.", "It opened."]}', []),
        ('{"claims": []}', []),
    ],
)
def test_two_parts_or_none(answer: str, parts: list[str]) -> None:
    assert read_parts(answer) == parts


@pytest.mark.parametrize("answer", ["", "{}", '{"claims": ["a b", "c d", "e f"]}', '{"claims": ["It opened.", 7]}'])
def test_three_parts_are_no_answer(answer: str) -> None:
    with pytest.raises(UnreadableError):
        read_parts(answer)


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("It opened in 1925.\n\nIt sank.", ["It opened in 1925.", "It sank."]),
        ("- It opened.\n* It sank.\n3. It is blue.\nNote: all of it.", ["It opened.", "It sank.", "It is blue."]),
        ("1925 was its first year.\n40 cars fit.", ["1925 was its first year.", "40 cars fit."]),
        ("It opened.\nIt opened.", ["It opened."]),
        ("<think>It sank.</think>It opened.</s>", ["It opened."]),
        ("No verifiable claim.", []),
        ("It opened.\nNo verifiable claim.", []),  # its makers drop all of it; a guard then judges the sentence
    ],
)
def test_one_claim_a_line(answer: str, claims: list[str]) -> None:
    assert read_lines(answer) == claims


@pytest.mark.parametrize("answer", ["", " \n", "---", "Note: nothing.", "<think>It opened."])
def test_no_line_is_no_answer(answer: str) -> None:
    with pytest.raises(UnreadableError):
        read_lines(answer)
