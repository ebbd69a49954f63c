"""Markdown, line by line: kinds, marks, fences and cells, each at its place."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pace import lines_run
from vista_guard.reading.markdown import (
    MarkdownKind,
    cells,
    lines_between,
    read_fences,
    read_inline,
    read_line,
    read_lines,
    title,
)

PIECES = [
    "a", "A one. ", "\n", "\n\n", " ", "    ", "\t", "- ", "* ", "• ", "1. ", "(2) ", "1850. ", "12.", "> ", ">! ", "# ",
    "####### ", "```", "~~~", "```python", "|", "| a | b |", "\n|---|---|\n", "\\|", "[x] ", ": ", "---", "\r", "\x00",
    "\u00a0", "\u2028", "\ud800", "<!-- ", "[a]: b",
]  # fmt: skip


def texts() -> st.SearchStrategy[str]:
    return st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map("".join))


@given(texts(), st.booleans())
@example("> - > - " * 20 + "deep", False)
def test_the_lines_cover_any_text(text: str, part: bool) -> None:
    lines = read_lines(text, part=part)
    assert [text[line.start : line.end] for line in lines] == text.split("\n")
    assert all(before.end + 1 == line.start for before, line in pairwise(lines))
    for line in lines:
        assert line.start <= line.body <= line.end
        marks, words = text[line.start : line.body], text[line.body : line.end]
        assert not any(character.isalpha() for character in marks) or marks.strip()[-1:] in tuple(".)]:") or line.item
        assert (line.kind is MarkdownKind.HEADING) == (line.level > 0)
        assert line.kind is not MarkdownKind.BLANK or not words.strip()
        assert line.kind is not MarkdownKind.CODE or not part


@given(texts())
def test_fences_hold_the_lines_of_code(text: str) -> None:
    fences = read_fences(text)
    assert all(one.end <= other.start for one, other in pairwise(fences))
    for fence in fences:
        assert text[fence.start : fence.start + 3] in ("```", "~~~")
        assert fence.start <= fence.body <= fence.body_end <= fence.end
    code = [line for line in read_lines(text) if line.kind is MarkdownKind.CODE]
    assert all(any(line.start <= fence.start <= line.end for line in code) for fence in fences)
    assert all(any(line.start < fence.end + 1 and fence.start <= line.end for fence in fences) for line in code)


@given(st.lists(st.sampled_from(["a", "", "1, 2", "a \\| b"]), min_size=1, max_size=6), st.booleans())
def test_a_rows_cells_are_at_their_places(parts: list[str], edges: bool) -> None:
    row = " | ".join(parts)
    text = f"> | {row} |" if edges else row
    line = read_line(text)
    found = [text[start:end] for start, end in cells(text, line)]
    assert found == parts or (not edges and (not parts[0] or not parts[-1]))


READ = {
    "# Fees ##": ("heading", "Fees ##"),
    "####### Fees": ("heading", "Fees"),
    "> ## Fees": ("heading", "Fees"),
    "#5 of the list": ("prose", "#5 of the list"),
    "- a hall": ("item", "a hall"),
    "•\u00a0a hall": ("item", "a hall"),
    "  (2) two": ("item", "two"),
    "iv) four": ("item", "four"),
    "> > 3. - [x] done": ("item", "done"),
    "1850. It opened.": ("prose", "1850. It opened."),
    "-5 degrees": ("prose", "-5 degrees"),
    ">! spoiler": ("prose", "spoiler"),
    ": a meaning": ("prose", "a meaning"),
    "    far in": ("prose", "far in"),
    "[label]: https://example.org": ("prose", "[label]: https://example.org"),
    "<div>markup</div>": ("prose", "<div>markup</div>"),
    "| a | b |": ("row", "| a | b |"),
    "- | a | b |": ("item", "| a | b |"),
    "|---|:--|": ("rule", "|---|:--|"),
    "> ": ("blank", ""),
    "-": ("item", ""),
    "```python": ("code", "```python"),
}


@pytest.mark.parametrize("text", READ)
def test_a_line_reads_as_its_marks_say(text: str) -> None:
    line = read_line(text)
    assert ("item" if line.item else line.kind.value, text[line.body :]) == READ[text]


def kinds(text: str, *, part: bool = False) -> list[str]:
    return [line.kind.value for line in read_lines(text, part=part)]


def test_what_stands_around_a_line_counts() -> None:
    assert kinds("Plan | Price\n--- | ---\nBasic | 5\nThe rest is prose.") == ["row", "rule", "row", "prose"]
    assert kinds("Title\n=====\nText\n---") == ["prose"] * 4  # an underline may belong to what was said before
    assert kinds("```\n# no heading\n```\n# One") == ["code", "code", "code", "heading"]
    assert kinds("> ```\n> x\nThe quote ended.") == ["code", "code", "prose"]
    assert kinds("- ```\n  x\n```\n\nText") == ["code", "code", "code", "blank", "prose"]
    assert [line.item for line in read_lines("It has:\n    - a hall\n        2. a pier\n12. a shop")] == [
        False,
        True,
        True,
        True,
    ]


def test_a_part_of_a_text_has_no_code() -> None:
    text = "x = 1\n```\n# Fees"
    assert kinds(text) == ["prose", "code", "code"]
    assert kinds(text, part=True) == ["prose", "prose", "heading"]


def test_a_fence_and_its_body() -> None:
    text = "1. ~~~~ python \n   x\n   ~~~\n   ~~~~\nand"
    (fence,) = read_fences(text)
    assert (text[fence.start : fence.end], fence.info) == ("~~~~ python \n   x\n   ~~~\n   ~~~~", "python")
    assert text[fence.body : fence.body_end] == "   x\n   ~~~\n"
    (open_fence,) = read_fences("```\nx\n\n")
    assert (open_fence.body, open_fence.body_end, open_fence.end) == (4, 7, 7)


def test_lines_of_a_range_keep_their_places() -> None:
    text = "before\n- one\n# two\nafter"
    assert [text[line.body : line.end] for line in lines_between(text, 7, 18)] == ["one", "two"]


@given(
    st.one_of(
        texts(),
        st.lists(st.sampled_from(["a", "`", "``", "[", "]", "](", ")", "\\", "*", " ", "\n", "\ud800"])).map("".join),
    )
)
def test_inline_marks_are_at_their_places(text: str) -> None:
    for one in read_inline(text):
        start, end = one.shown
        assert 0 <= one.start < start <= end <= one.end <= len(text)
        opening, closing = text[one.start : start], text[end : one.end]
        if one.kind == "code":
            assert opening == closing == "`" * len(opening)
        elif one.kind == "link":
            assert (opening, closing[:2], closing[-1]) == ("[", "](", ")")
        else:
            assert (opening, closing, end - start) == ("\\", "", 1)


INLINE = {
    "See [`a` b](c).": [("link", "`a` b"), ("code", "a")],
    "[The hall](https://x.org/a_(b)) opened": [("link", "The hall")],
    "[a](javascript:b)": [("link", "a")],
    "`` a ` b `` \\* \\a": [("code", " a ` b "), ("escape", "*")],
    "`a` [b] (c) `d": [("code", "a")],
}


@pytest.mark.parametrize("text", INLINE)
def test_what_is_shown_of_inline_marks(text: str) -> None:
    assert [(one.kind, text[slice(*one.shown)]) for one in read_inline(text)] == INLINE[text]


def test_a_heading_of_the_text_itself_has_a_title() -> None:
    text = "## Fees ##\n> ## Quoted\n- # Listed\nprose"
    assert [title(text, line) for line in read_lines(text)] == ["Fees", "", "", ""]


UNITS = [
    "[", "*", "|", "`", "> ", "- ", "1. ", "•", ">!", " ", "\n", "a\n", "- a\n", "> a\n", "# a\n", "```\n", "- ```\n", "|a|b\n",
    "a|b\n-|-\n", "[a](", "[a](b)", "\\", "\\a", "`a",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("read", [read_lines, read_inline])
def test_the_work_grows_with_the_length(unit: str, read: Callable[[str], object]) -> None:
    short, long = (lines_run(read, (unit * length)[:length]) for length in (4_000, 16_000))
    assert long < 5 * short + 1000
