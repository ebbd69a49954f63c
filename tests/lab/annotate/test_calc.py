"""Sheets that went through LibreOffice Calc: bytes that it wrote, and the program itself where it is installed.

The files in `calc` are one sheet of `lamps`, opened in LibreOffice 7.4 with "detect special numbers", filled in cell by cell as a
person does, and saved in each form.
"""

from __future__ import annotations

import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from openpyxl import load_workbook
from openpyxl.utils import get_column_letter

from tests.lab.annotate.work import fill
from tests.lab.annotate.work import works as works_of
from tests.raising import raises
from vista_guard.errors import InputError
from vista_guard.stores.reviewed import Op
from vista_guard.types import Claim, Conversation, Document, Label, Role, Turn
from vista_lab.annotate.sheets import content, form_table, read_sheets
from vista_lab.annotate.study import Sampling, StudyData, draw
from vista_lab.logs.source import LoggedConversation
from vista_lab.metrics.agreement import AnnotatedClaim
from vista_lab.runs.plan import Source

SAVED = Path(__file__).parent / "calc"

CLAIMS = (
    "The lamp is lit.",
    "1925",
    "3/4",
    "1e5",
    "007",
    "1.10",
    "true",
    "May 5",
    "=1+1",
    "'=quoted",
    "-2.8",
    "@keeper",
    "'90s lamps",
    '"All" of it, quoted; it\tis',
    "One line\nand another 🪔 – ünï",
)
"""The first claim of a turn, and what a spreadsheet would take for something else than its words."""

WORK = (
    AnnotatedClaim(
        text="It is lit;\nat\t8, “so” 🪔.", op=Op.EDIT, label=Label.LACKING_EVIDENCE, source_claim_id="t1.c1"
    ),
    *(
        AnnotatedClaim(text=text, label=Label.VERIFIED, source_claim_id=f"t1.c{number}")
        for number, text in enumerate(CLAIMS[1:], 2)
    ),
    AnnotatedClaim(text="3/4", op=Op.ADD, label=Label.OUT_OF_SCOPE),
)
"""What was written: the first claim edited, `'3/4` typed into a row of its own, all others verifiable."""

NOTES = 't1.c1: said "so"\nand = it\nnew 1: 1925'


def lamps(folder: Path) -> StudyData:
    """A study of one turn with these claims, and ada's sheet."""
    claims = tuple(Claim(id=f"t1.c{number}", text=text) for number, text in enumerate(CLAIMS, 1))
    documents = (Document(id="d", text="3/4"),)
    turns = (
        Turn(role=Role.USER, text="1/2"),
        Turn(role=Role.ASSISTANT, text="TRUE", documents=documents, claims=claims),
    )
    talk = LoggedConversation(Conversation(turns=turns, id="lamps"), {})
    material = draw([Source("lamps", lambda: iter([talk]), {"lamps.json": "ab" * 32})], [], Sampling(("ada",)))
    table = form_table(material.study.form, material.items, material.study.about)
    for suffix in (".tsv", ".xlsx"):
        (folder / f"ada{suffix}").write_bytes(content(table, suffix))
    return material


def works(path: Path, material: StudyData) -> dict[str, tuple[tuple[AnnotatedClaim, ...], str]]:
    """What ada's sheet has of each turn; nothing is open."""
    (found,) = read_sheets([path], material.study.form, material.items)
    assert (found.annotator, found.open) == ("ada", 0)
    return works_of(found, material)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["Linux", "Windows"])
@pytest.mark.parametrize(
    "name",
    [
        "tabs.tsv",
        "commas.csv",
        "semicolons.csv",
        "quoted.csv",
        "utf-16.tsv",
        "sorted.csv",
        "columns.csv",
        "filtered.csv",
    ],
)
def test_what_calc_saved_is_read_as_it_was_written(tmp_path: Path, name: str, ends: bytes) -> None:
    content = (SAVED / name).read_bytes()
    if name == "utf-16.tsv":
        content = content.decode("utf-16").replace("\n", ends.decode()).encode("utf-16")
    else:
        content = content.replace(b"\n", ends)
    material = lamps(tmp_path)
    path = tmp_path / f"ada{Path(name).suffix}"
    path.write_bytes(content)
    assert works(path, material) == {"c001.t1": (WORK, NOTES)}


def test_cells_that_excel_leaves_out_at_the_end_of_rows_are_empty(tmp_path: Path) -> None:
    material = lamps(tmp_path)
    path = tmp_path / "ada.tsv"
    lines = [line.rstrip(b"\t") for line in (SAVED / "tabs.tsv").read_bytes().split(b"\n")]
    assert lines[-2] == b"c001.t1\tnew 3"
    path.write_bytes(b"\r\n".join(lines))
    assert works(path, material) == {"c001.t1": (WORK, NOTES)}


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04\x14\x00\x00\x08mimetype",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>\n<office:document',
        b"<!DOCTYPE html>\n\n<html>",
        b"%PDF-1.6\n%",
        b'ID;PCALCOOO32\nC;X1;Y1;K"id"',
        b'TABLE\n0,1\n"ada"\n',
    ],
    ids=["ods and xlsx", "xls", "fods", "html", "pdf", "slk", "dif"],
)
def test_a_spreadsheets_own_file_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    material = lamps(tmp_path)
    path = tmp_path / "ada.tsv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        works(path, material)
    assert str(path) in str(caught.value)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    material = lamps(tmp_path)
    path = tmp_path / "ada.tsv"
    path.write_bytes((SAVED / "columns.csv").read_bytes().replace(b"study,,", b"study,Label,", 1))
    with raises(InputError, "2", "columns", "label"):
        works(path, material)


def test_a_sheet_in_another_encoding_is_said_once(tmp_path: Path) -> None:
    material = lamps(tmp_path)
    path = tmp_path / "ada.csv"
    path.write_bytes((SAVED / "commas.csv").read_text("utf-8").encode("cp1252", "replace"))
    with pytest.raises(InputError) as caught:
        works(path, material)
    first, second, third = str(caught.value).splitlines()
    assert "2 cells are wrong" in first
    assert "row 3: column 'new_text': byte 0x93 at position 17 is not UTF-8; " in second
    assert third.endswith("row 17: column 'text': byte 0x96 at position 23 is not UTF-8")


def test_letters_that_an_encoding_lost_are_not_taken_for_an_edit(tmp_path: Path) -> None:
    material = lamps(tmp_path)
    path = tmp_path / "ada.csv"
    path.write_bytes((SAVED / "commas.csv").read_text("utf-8").replace("🪔", "??").encode("ascii", "replace"))
    with pytest.raises(InputError) as caught:
        works(path, material)
    (_, fault) = str(caught.value).splitlines()[:2]
    assert "row 17, column text is 'One line" in fault
    assert "question marks" in fault


def annotated(folder: Path) -> tuple[Path, StudyData]:
    """ada's workbook with `WORK` in it."""
    material = lamps(folder)
    edited = {"new_text": WORK[0].text, "label": "Lacking Evidence", "notes": 'said "so"\r\nand = it'}
    added = {"new_text": "3/4", "label": "Out-of-scope", "notes": "1925"}
    words = {"t1.c1": {"handling": "Edit", **edited}, "new 1": {"handling": "", **added}}
    return fill(folder / "ada.xlsx", {("c001.t1", claim): cells for claim, cells in words.items()}), material


def test_a_workbook_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path, material = annotated(tmp_path)
    assert works(path, material) == {"c001.t1": (WORK, NOTES)}


def test_a_workbook_guides_whoever_fills_it_in(tmp_path: Path) -> None:
    path, _ = annotated(tmp_path)
    book = load_workbook(path)
    sheet, page, lists = book.worksheets
    heads = {str(cell.value): get_column_letter(place) for place, cell in enumerate(sheet[1], 1)}
    cells = {name: sheet[f"{heads[name]}3"] for name in ("text", "new_text", "label", "handling")}
    assert {name: cell.protection.locked for name, cell in cells.items()} == {
        "text": True, "new_text": False, "label": False, "handling": False,
    }  # fmt: skip
    assert (sheet.protection.sheet, sheet.protection.password, lists.sheet_state) == (True, None, "hidden")
    assert {cell.data_type for row in sheet for cell in row if cell.value} == {"s"}
    menus = {rule.formula1: str(rule.sqref) for rule in sheet.data_validations.dataValidation if rule.type == "list"}
    offered = {
        tuple(cell.value for (cell,) in lists[str(place).removeprefix("choices!").replace("$", "")]): cells
        for place, cells in menus.items()
        if ":" in str(place)
    }
    labels = ("verifiable", "out of scope", "contradicted", "lacking evidence", "abstention")
    rows = f"{heads['label']}3:{heads['label']}{len(CLAIMS) + 2 + 3}"
    assert offered[labels] == rows
    assert ("confirm", "edit", "delete") in offered
    assert any("lacking evidence: A statement" in str(row[0].value) for row in page.iter_rows())


def test_what_a_spreadsheet_made_of_typed_values(tmp_path: Path) -> None:
    path, material = annotated(tmp_path)
    book = load_workbook(path)
    sheet = book.worksheets[0]
    place = next(cell.column for cell in sheet[1] if cell.value == "new_text")
    sheet.cell(len(CLAIMS) + 3, place).value = 1850
    book.save(path)
    assert works(path, material)["c001.t1"][0][-1].text == "1850"
    sheet.cell(len(CLAIMS) + 3, place).value = datetime(2026, 3, 4)
    book.save(path)
    with raises(InputError, len(CLAIMS) + 3, "new_text", "2026-03-04"):
        works(path, material)


@pytest.mark.skipif(
    shutil.which("soffice") is None, reason="LibreOffice is not installed (Debian: libreoffice-calc-nogui)"
)
def test_through_calc_itself(tmp_path: Path) -> None:
    path, material = annotated(tmp_path)
    profile = (tmp_path / "profile").as_uri()
    done = subprocess.run(
        ["soffice", f"-env:UserInstallation={profile}", "--headless", "--norestore", "--convert-to", "xlsx",
         "--outdir", str(tmp_path / "saved"), str(path)],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    saved = tmp_path / "saved" / "ada.xlsx"
    assert saved.is_file(), done.stdout + done.stderr
    assert works(saved, material) == {"c001.t1": (WORK, NOTES)}
