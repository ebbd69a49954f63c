"""Text for a terminal, a database and a spreadsheet."""

from __future__ import annotations

import pytest

from vista_guard.reading.visible import as_cell

SIGNS = "=+-@＝＋－＠﹢﹣⁺⁼"
BEFORE = ("", " ", "\t", "\n", "\r", "\r\n", "\u00a0", "\u3000", "\ufeff", "\u200b", "\u2028", "'")
CALLS = ("{sign}cmd|' /C calc'!A0", "{sign}2 +cmd|' /C calc'!A0", "{sign}2+3", "{sign}SUM(A1:A9)", "{sign}1 x")


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("before", BEFORE)
def test_no_cell_runs_as_a_formula(sign: str, before: str) -> None:
    assert [as_cell(before + call.format(sign=sign))[0] for call in CALLS] == ["'"] * len(CALLS)


@pytest.mark.parametrize(
    "text",
    [
        "-2",
        "+1.5",
        "-1,000.5",
        "-3%",
        "-3 %",
        "-2.8 **",
        "+1.5†",
        "-1e-05",
        "2 - 1",
        "a=b",
        "it's -2",
        "'tis 9",
        "",
        "– 2",
        "−2",
    ],
)
def test_a_number_and_plain_text_stay_as_they_are(text: str) -> None:
    assert as_cell(text) == text


@pytest.mark.parametrize("text", ["\tindented", "\nnext line", "\rreturn"])
def test_a_leading_tab_or_line_break_is_quoted(text: str) -> None:
    assert as_cell(text) == f"'{text}"
