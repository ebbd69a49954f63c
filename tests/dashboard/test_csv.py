"""Tables of a page as spreadsheets open them."""

from __future__ import annotations

import csv
import io

import pytest

from vista_guard.dashboard.page import LONGEST_CELL, csv_text


@pytest.mark.parametrize("character", ["x", "ü", "🛟"])
def test_a_cell_is_no_longer_than_excel_takes(character: str) -> None:
    text = csv_text(["answer", "claim"], [[f"a{character * 50_000}", "It sank \ud83d."]])
    [_, [answer, claim]] = csv.reader(io.StringIO(text))
    assert LONGEST_CELL - 2 <= len(answer.encode("utf-16-le")) / 2 <= LONGEST_CELL
    assert answer.lstrip(f"a{character}") == "…"
    assert claim == "It sank ?."
