"""Tables in three forms, and names in them that would be something else there."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser

import pytest

from tests.raising import raises
from vista_lab.tables.writers import Cell, Heading, Sheet, comma_separated, file_name, markdown, page, percent, row

SHEET = Sheet(
    name="table-2",
    title="Accuracy & more",
    columns=(
        Heading("model", figures=False),
        Heading("VISTA", "AIS"),
        Heading("FActScore", "AIS"),
        Heading("n"),
    ),
    rows=(row("GPT-5", Cell("60.20", "†", bold=True), "59.20", "500"), row("a_b", None, "–1.5", 3)),
    notes=("On 50 % of it.",),
    rule_before=frozenset({1}),
)

HOSTILE = "<script>alert(1)</script> | `x` [a](b) \\input{x} 100% $y_1$ &amp;\n\x1b[2J\u202e{#^~}"


def hostile() -> Sheet:
    return Sheet("x", HOSTILE, (Heading(HOSTILE, HOSTILE),), (row(Cell(HOSTILE, HOSTILE)),), (HOSTILE,))


def test_markdown() -> None:
    assert markdown([SHEET]) == (
        "### Accuracy \\& more\n\n"
        "| model | AIS: VISTA | AIS: FActScore | n |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| GPT-5 | **60.20**<sup>†</sup> | 59.20 | 500 |\n"
        "| a\\_b | – | –1.5 | 3 |\n"
        "\n- On 50 % of it.\n"
    )


def test_comma_separated() -> None:
    assert comma_separated(SHEET) == ("model,AIS: VISTA,AIS: FActScore,n\nGPT-5,60.20 †,59.20,500\na_b,–,–1.5,3\n")


@pytest.mark.parametrize(
    ("text", "kept"),
    [("=1+1", "'=1+1"), ("@x", "'@x"), ("-2.8", "-2.8"), ("+1.5 **", "+1.5 **"), ("-1+cmd", "'-1+cmd"), ("a,b", "a,b")],
)
def test_no_cell_is_a_formula(text: str, kept: str) -> None:
    written = comma_separated(Sheet("x", "x", (Heading("a"),), (row(text),)))
    assert list(csv.reader(io.StringIO(written)))[1] == [kept]


class Reader(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_page_holds_text_as_text() -> None:
    reader = Reader()
    reader.feed(page([SHEET, hostile()], HOSTILE, [(HOSTILE, 'x"onerror="1')]))
    assert not {"script", "a"} & set(reader.tags)
    assert reader.tags.count("table") == 2
    assert any("<script>alert(1)</script>" in text for text in reader.texts)
    assert not any("\x1b" in text or "\u202e" in text for text in reader.texts)


def test_nothing_hostile_stays_in_markdown() -> None:
    text = markdown([hostile()])
    assert r"\<script\>alert(1)\</script\> \| \`x\` \[a\](b)" in text
    assert "\x1b" not in text
    # A line break in a name would end the row, and the table with it.
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 3


def test_rows_go_below_others_under_a_line() -> None:
    longer = SHEET.below([row("paper", "1", "2", "3")])
    assert (len(longer.rows), longer.rule_before) == (3, frozenset({1, 2}))
    assert SHEET.below([]) is SHEET
    with raises(ValueError, "table-2", "4", "1"):
        SHEET.below([row("x")])


def test_small_things() -> None:
    assert (percent(0.12345), percent(None), percent(float("nan")), percent(1, 1)) == ("12.35", "–", "–", "100.0")
    assert (file_name("Table 2", "AIS/x"), file_name("…")) == ("table-2-ais-x", "table")
