"""Answers of decomposers: lists in any dress, stop phrases, and what is no answer."""

from __future__ import annotations

import pytest

from vista_guard.errors import UnreadableError
from vista_guard.judges.model.answers.parsing import NO_CLAIM, NO_CONTEXT, Output, read_output, thoughts

TWO = ("The hall seats 90.", "It opened in 1925.")


@pytest.mark.parametrize(
    "text",
    [
        '<think>Two.</think><output>["The hall seats 90.", "It opened in 1925."]</output>',
        "<think>Two.</think>\n<output>['The hall seats 90.', 'It opened in 1925.']</output>",
        '<output>\n```json\n["The hall seats 90.", "It opened in 1925."]\n```\n</output>',
        "<output>\n1. The hall seats 90.\n2. It opened in 1925.\n</output>",
        "<output>\n- The hall seats 90.\n- It opened in 1925.\n</output>",
        '<OUTPUT>("The hall seats 90.", "It opened in 1925.")</OUTPUT>',
        '{"claims": [{"claim": "The hall seats 90."}, {"claim": "It opened in 1925."}]}',
        'Two.</think><output>["The hall seats 90.", "It opened in 1925.", "", "The hall seats 90."]',
        '<think><output>["No."]</output></think><output>["The hall seats 90.", "It opened in 1925."]</output>',
        '<output>["No."]</output> wait <output>["The hall seats 90.", "It opened in 1925."]</output>',
    ],
)
def test_a_list_in_any_dress(text: str) -> None:
    assert read_output(text) == Output(TWO)


def test_quotes_that_are_not_escaped() -> None:
    said = "<output>['Ford's mother sang.', 'She won \"Gold\" in 1925.']</output>"
    assert read_output(said).claims == ("Ford's mother sang.", 'She won "Gold" in 1925.')


@pytest.mark.parametrize("phrase", [NO_CLAIM, NO_CONTEXT])
@pytest.mark.parametrize("form", ["{}", '"{}."', '["{}"]', "\n{}\n", "**{}**"])
def test_stop_phrases(phrase: str, form: str) -> None:
    text = f"<think>Hm. <output>[1]</output></think><output>{form.format(phrase)}</output>"
    assert read_output(text) == Output(stopped=phrase)


@pytest.mark.parametrize("text", ["<output>[]</output>", '<output>["", " "]</output>', '<output>["..."]</output>'])
def test_an_empty_list(text: str) -> None:
    assert read_output(text) == Output()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I'm sorry, I cannot help with that.",
        "<think>never closed <output>[]</output>",
        "<output>[claim1, claim2]</output>",
        '<output>["a", 3]</output>',
        '<output>["a", {"label": "VERIFIED"}]</output>',
        '<output>["The hall", "It op',
        '<output>{"claims": "none"}</output>',
        f"<output>{'[' * 50_000}</output>",
        f"<output>{'1. word ' * 7_000}</output>",
    ],
)
def test_what_is_no_answer(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_output(text)


def test_thoughts_are_what_stands_before_the_output() -> None:
    assert thoughts("<think>\nSTEP 1: One.\n</think>\n<output>[]</output>") == "STEP 1: One."
    assert thoughts("nothing") == ""
