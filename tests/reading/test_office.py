"""Office files, tables and records read as people read them; hostile ones end with a reason."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import date
from io import BytesIO
from pathlib import Path

import pytest
from docx import Document as WordDocument
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

from tests.pace import lines_run
from vista_guard.errors import InputError
from vista_guard.reading.files import DocumentFile, FileReader, SkippedFile, read_document
from vista_guard.reading.office import with_rows
from vista_guard.types import Document


def written(save: Callable[[BytesIO], object]) -> bytes:
    stream = BytesIO()
    save(stream)
    return stream.getvalue()


def word() -> bytes:
    document = WordDocument()
    document.core_properties.title = "House rules"
    document.add_heading("Fees", level=1)
    document.add_heading("Children", level=2)
    document.add_paragraph("Entry costs  5 euros.")
    document.add_paragraph("Bring a pass", style="List Bullet")
    table = document.add_table(rows=0, cols=2)
    for row in (("Day", "Entry"), ("Sunday", "free")):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.add_paragraph("")
    return written(document.save)


def slides() -> bytes:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Opening hours"
    slide.placeholders[1].text_frame.text = "The hall opens at nine."
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for place, text in enumerate(("Day", "Opens", "Monday", "at noon")):
        table.cell(place // 2, place % 2).text = text
    slide.notes_slide.notes_text_frame.text = "Say that Monday differs."
    show.slides.add_slide(show.slide_layouts[6])
    return written(show.save)


def sheet() -> bytes:
    book = Workbook()
    first = book.worksheets[0]
    first.title = "Boats"
    for row in (("Name", "Built", "Seats"), ("Ada", date(1911, 5, 3), 48), (None, None, None), ("Bo", None, 12)):
        first.append(row)
    return written(book.save)


def read(name: str, raw: bytes) -> Document:
    document = read_document(DocumentFile(Path(name), name), raw)
    assert isinstance(document, Document)
    return document


def test_a_word_file_reads_with_headings_lists_and_tables() -> None:
    document = read("rules.docx", word())
    assert (document.title, document.metadata["format"]) == ("House rules", "docx")
    assert document.text == (
        "# Fees\n\n## Children\n\nEntry costs 5 euros.\n\n- Bring a pass\n\nDay: Sunday; Entry: free"
    )


def test_slides_read_with_titles_tables_and_notes_and_say_where_they_start() -> None:
    document = read("hours.pptx", slides())
    first = (
        "## Opening hours\n\nThe hall opens at nine.\n\nDay: Monday; Opens: at noon\n\nNotes: Say that Monday differs."
    )
    assert document.text == f"{first}\n\n## Slide 2"
    assert document.metadata["pages"] == [0, len(first) + 2]


def test_a_workbook_reads_row_by_row_under_its_columns() -> None:
    document = read("boats.xlsx", sheet())
    assert document.text == "## Boats\n\nName: Ada; Built: 1911-05-03; Seats: 48\nName: Bo; Seats: 12"


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [
        ("a.csv", "hall;opened\nWhale;1925\nTide;\n", "hall: Whale; opened: 1925\nhall: Tide"),
        ("b.csv", 'name,says\nAda,"one, two"\n', "name: Ada; says: one, two"),
        ("c.tsv", "hall\topened\nWhale\t1925\n", "hall: Whale; opened: 1925"),
        ("d.csv", "1,2\n3,4\n", "1 | 2\n3 | 4"),
        (
            "e.json",
            '{"title": "T", "fee": {"adult": 8, "child": null}, "days": ["Mon", 2]}',
            "title: T\nfee.adult: 8\ndays: Mon, 2",
        ),
        ("f.json", '[{"a": 1}, {"a": true}]', "a: 1\n\na: true"),
        ("g.jsonl", '{"a": "x"}\n\n{"a": [{"b": 1.50}]}\n', "a: x\n\na.b: 1.5"),
    ],
)
def test_tables_and_records_say_in_each_line_what_it_holds(name: str, raw: str, text: str) -> None:
    assert read(name, raw.encode()).text == text


def bomb() -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"word/part{number}.xml", b" " * 80_000_000)
    return stream.getvalue()


def entities() -> bytes:
    """A document whose XML would grow a thousandfold."""
    stream = BytesIO(word())
    grown = BytesIO()
    lol = b'<!DOCTYPE d [<!ENTITY a "ha">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 99) for n in range(9)
    )
    with zipfile.ZipFile(stream) as old, zipfile.ZipFile(grown, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "word/document.xml":
                start = content.index(b"<w:document")
                content = content[:start] + lol + b"]>" + content[start:].replace(b"Entry costs", b"&j;")
            new.writestr(name, content)
    return grown.getvalue()


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("bomb.docx", bomb()),
        ("cut.docx", word()[:3000]),
        ("none.xlsx", b"PK\x03\x04 nothing"),
        ("old.pptx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600),
        ("other.xlsx", word()),
        ("broken.json", b'{"a": '),
        ("deep.json", b"[" * 100_000 + b"]" * 100_000),
        ("levels.json", (b'{"a":' * 60) + b"1" + b"}" * 60),
        ("quote.csv", b'a,b\n"never ends,1\n'),
    ],
)
def test_what_is_damaged_or_hostile_is_named_and_the_next_file_is_read(name: str, raw: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(raw)
    (tmp_path / "good.json").write_text(json.dumps({"a": "b"}))
    with FileReader(seconds=60) as reader:
        with pytest.raises(InputError):
            reader.read(DocumentFile(tmp_path / name, name))
        found = reader.read(DocumentFile(tmp_path / "good.json", "good.json"))
    assert isinstance(found, Document)


def test_entities_of_an_office_file_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "lol.docx").write_bytes(entities())
    with FileReader(seconds=60) as reader:
        try:
            found = reader.read(DocumentFile(tmp_path / "lol.docx", "lol.docx"))
        except InputError:
            return
    assert isinstance(found, Document)
    assert "ha" * 99 not in found.text


def test_an_empty_office_file_is_skipped() -> None:
    found = read_document(DocumentFile(Path("empty.docx"), "empty.docx"), written(WordDocument().save))
    assert isinstance(found, SkippedFile)


PRICES = [["test", "price"], ["Iron", "21 euros"], ["Vitamin D", "34 euros, with advice"]]
ROWS = "test: Iron; price: 21 euros\ntest: Vitamin D; price: 34 euros, with advice"


def html_table() -> str:
    rows = ("".join(f"<{'td' if number else 'th'}>{cell}" for cell in row) for number, row in enumerate(PRICES))
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


@pytest.mark.parametrize(
    "text",
    [
        'test,price\nIron,21 euros\nVitamin D,"34 euros, with advice"',
        'test;price\r\nIron;21 euros\r\nVitamin D;"34 euros, with advice"\r\n',
        "\n".join("\t".join(row) for row in PRICES),
        html_table(),
        html_table().upper(),
        json.dumps([dict(zip(PRICES[0], row, strict=True)) for row in PRICES[1:]]),
        "\n".join(json.dumps(dict(zip(PRICES[0], row, strict=True))) for row in PRICES[1:]),
    ],
)
def test_a_text_that_is_a_table_is_read_as_its_rows(text: str) -> None:
    assert with_rows(text).strip().lower() == ROWS.lower()


def test_a_table_among_prose_becomes_rows_and_the_prose_stays() -> None:
    before, behind = "Our prices, as of May:", "All tests need an appointment, please call."
    text = f"{before}\n\nPrices\ntest;price\nIron;21 euros\n\n{behind}"
    assert with_rows(text) == f"{before}\n\nPrices\ntest: Iron; price: 21 euros\n\n{behind}"
    assert with_rows(f"{before}{html_table()}{behind}").split() == f"{before} {ROWS} {behind}".split()


@pytest.mark.parametrize(
    "text",
    [
        "First, we met.\nThen, we ate.\nLast, we sang.",
        "The pier is 310 m long; it opened in 1925.\nThe hall is older; it opened in 1850.",
        "[1] Smith, 2019\n[2] Jones, 2020",
        "{curly} braces\nand more",
        '["a", "b"]',
        "1,2\n3,4",
        "a,a\n1,2",
        "| test | price |\n|---|---|\n| Iron | 21 |",
        "name,price",
        "a,b\n1,2,3",
        '"open,quote\nnever,closed',
        '{"a": ' * 200 + "1" + "}" * 200,
        "<b>bold</b> and <table> alone",
    ],
)
def test_what_may_be_something_else_stays_as_it_is(text: str) -> None:
    assert with_rows(text) == text


def test_nested_records_are_read_as_those_of_a_file() -> None:
    assert with_rows('{"hall": "Whale", "fee": {"adult": 8}}') == "hall: Whale\nfee.adult: 8"


def test_sentences_in_a_list_of_json_stay_sentences() -> None:
    passages = ["Parcels to Malta take six days.", 'Collection costs 4 euros. Ask for "door" delivery, which']
    assert with_rows(json.dumps(passages)) == "\n\n".join(passages)
    found = {"query": "Malta", "chunks": [*passages, "tariff", "2026"]}
    assert with_rows(json.dumps(found)) == "\n".join(("query: Malta", "chunks: tariff, 2026", "chunks:", *passages))
    assert with_rows(json.dumps({"halls": ["Whale", "St. Anne", 7]})) == "halls: Whale, St. Anne, 7"


def test_texts_of_records_stand_below_their_other_fields() -> None:
    records = [{"topic": "Malta", "text": "They take six days."}, {"topic": "Norway", "text": "They take two days."}]
    told = "# topic: Malta\n\nThey take six days.\n\n# topic: Norway\n\nThey take two days."
    assert with_rows(json.dumps(records)) == told
    assert with_rows(json.dumps([{"text": "They take six days."}, {"n": 1}])) == "They take six days.\n\n# n: 1"


@pytest.mark.parametrize("unit", ["<table ", "</table", "<table></table>", "a,b\n", "\n ", "[{", '{"a":1}\n'])
def test_the_work_on_a_hostile_text_grows_with_its_length(unit: str) -> None:
    short, long = (lines_run(with_rows, (unit * length)[:length]) for length in (10_000, 40_000))
    assert long < 5 * short + 1000
