"""What is left of a text whose sentences were dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pace import lines_run
from vista_guard.reading.passages import sentence_spans
from vista_guard.turn.repair import without
from vista_guard.types import Span

CASES = {
    "A one. B two. C three.": ("B two.", "A one. C three."),
    "A one. B two.": ("B two.", "A one."),
    "B two. A one.": ("B two.", "A one."),
    "It has:\n\n- a cafe.\n- B two.\n- a shop.": ("B two.", "It has:\n\n- a cafe.\n- a shop."),
    "A one.\n\nIt has:\n\n- B two.\n\nC three.": ("B two.", "A one.\n\nC three."),
    "It has:\n1. B two.\n2. A shop.": ("B two.", "It has:\n2. A shop."),
    "A one.\n\nB two.\n\nC three.": ("B two.", "A one.\n\nC three."),
    "- **B two.**\n- A one.": ("B two.", "- A one."),
    "> B two.\n\nA one.": ("B two.", "A one."),
    "| B two. |\n\nA one.": ("B two.", "A one."),
    "A one.\n\n\nC three. B two.": ("B two.", "A one.\n\n\nC three."),
    "- A one. B two.\n  more.": ("B two.", "- A one.\n  more."),
    "x = [\n\n]\n\nB two.": ("B two.", "x = [\n\n]"),
    "> B two. A one.": ("> B two.", "> A one."),
    "- B two. A one.": ("- B two.", "- A one."),
    "- [x] B two. A one.": ("- [x] B two.", "- [x] A one."),
    "**B two. A one.**": ("**B two.", "**A one.**"),
    "**A one. B two.**": ("B two.**", "**A one.**"),
    "**A one. B two. C three.**": ("B two.", "**A one. C three.**"),
    "B **two. A** one.": ("B **two.", "**A** one."),
    "A one. **B two.** C three.": ("**B two.**", "A one. C three."),
    "| a | b |\n|---|---|\n| B two. |\n\nA one.": ("| B two. |", "A one."),
    "| a | b |\n|---|---|\n| B two. |\n| c | d |": ("| B two. |", "| a | b |\n|---|---|\n| c | d |"),
    "# A\n\nA one.\n\n## B\n\nB two.\n\n## C\n\nC three.": ("B two.", "# A\n\nA one.\n\n## C\n\nC three."),
    "A one.\n\n## B\n\n### b\n\nB two.": ("B two.", "A one."),
    "## B\n\n- B two.\n- A one.": ("B two.", "## B\n\n- A one."),
    "```\n# a\n# B two.\n```": ("B two.", "```\n# a\n```"),
    "- [x] B two.\n- A one.": ("B two.", "- A one."),
    "a | b\n--- | ---\nB two. |\n\nA one.": ("B two. |", "A one."),
    "No. B two.": ("B two.", "No."),
    "# B two. A one.\n\nIt goes.": ("# B two.", "# A one.\n\nIt goes."),
}


@pytest.mark.parametrize("text", CASES)
def test_nothing_empty_is_left_behind(text: str) -> None:
    gone, rest = CASES[text]
    start = text.index(gone)
    assert without(text, [Span(start=start, end=start + len(gone))]) == rest


def test_what_stands_before_a_lead_in_stays() -> None:
    text = "Entry is free. It has:\n- a garden\n"
    assert without(text, [Span(start=25, end=33)]) == "Entry is free."


@given(
    st.lists(st.sampled_from(["A one. ", "B two. ", "\n", "\n\n", "- ", "It has: ", "> ", "word "]), max_size=30),
    st.data(),
)
def test_every_other_sentence_stays_letter_for_letter(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    spans = sentence_spans(text)
    dropped = data.draw(st.lists(st.sampled_from(spans), unique=True)) if spans else []
    rest = without(text, dropped)
    for span in spans:
        said = text[span.start : span.end]
        if span not in dropped and not said.endswith(":") and set(said) - set("-> "):
            assert said in rest
    if not dropped:
        assert rest == text.strip()


@pytest.mark.parametrize("lines", ["A one.\n", "# A one.\n", "|a|\n|-|\n", "It has:\n- A one.\n"])
def test_the_work_grows_with_the_number_of_lines(lines: str) -> None:
    def work(number: int) -> int:
        text = lines * number
        spans = sentence_spans(text)
        return lines_run(without, text, spans) + lines_run(without, text, spans[::2])

    assert work(4000) < 5 * work(1000)
