"""Sheets that went through LibreOffice Calc: bytes that it wrote, and the program itself where it is installed.

The files in `calc` are one sheet of `lamps`, opened in LibreOffice 7.4 with "detect special numbers", filled in cell by cell as a
person does, and saved in each form.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.evaluation.study.people import fill
from vista_guard.errors import InputError
from vista_guard.evaluation.study.cells import SAVE
from vista_guard.evaluation.study.drawing import Wish, draw
from vista_guard.evaluation.study.filled import Filled, Work, read_sheets
from vista_guard.evaluation.study.forms import form
from vista_guard.evaluation.study.records import Material
from vista_guard.stores.reviews.records import AnnotatedClaim, Op
from vista_guard.types import Claim, Conversation, Document, Label, Role, Turn
from vista_lab.logs.source import LoggedConversation
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


def lamps(folder: Path) -> Material:
    """A study of one turn with these claims, and ada's sheet."""
    claims = tuple(Claim(id=f"t1.c{number}", text=text) for number, text in enumerate(CLAIMS, 1))
    documents = (Document(id="d", text="3/4"),)
    turns = (
        Turn(role=Role.USER, text="1/2"),
        Turn(role=Role.ASSISTANT, text="TRUE", documents=documents, claims=claims),
    )
    talk = LoggedConversation(Conversation(turns=turns, id="lamps"), {})
    material = draw([Source("lamps", lambda: iter([talk]), {"lamps.json": "ab" * 32})], [], Wish(("ada",)))
    (folder / "ada.tsv").write_bytes(form(material).encode("utf-8"))
    return material


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
    (found,) = read_sheets([path], material)
    assert found == Filled("ada", {"c001.t1": Work(WORK, NOTES)}, 0)


def test_cells_that_excel_leaves_out_at_the_end_of_rows_are_empty(tmp_path: Path) -> None:
    material = lamps(tmp_path)
    path = tmp_path / "ada.tsv"
    lines = [line.rstrip(b"\t") for line in (SAVED / "tabs.tsv").read_bytes().split(b"\n")]
    assert lines[-2] == b"c001.t1\tnew 3"
    path.write_bytes(b"\r\n".join(lines))
    (found,) = read_sheets([path], material)
    assert found == Filled("ada", {"c001.t1": Work(WORK, NOTES)}, 0)


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
        read_sheets([path], material)
    assert str(caught.value) == f"{path} is a spreadsheet's own file; {SAVE}"


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    material = lamps(tmp_path)
    path = tmp_path / "ada.tsv"
    path.write_bytes((SAVED / "columns.csv").read_bytes().replace(b"study,,", b"study,Label,", 1))
    with pytest.raises(InputError, match="has 2 columns 'label'; rename all but the one that counts"):
        read_sheets([path], material)


def test_a_sheet_in_another_encoding_is_said_once(tmp_path: Path) -> None:
    material = lamps(tmp_path)
    path = tmp_path / "ada.csv"
    path.write_bytes((SAVED / "commas.csv").read_text("utf-8").encode("cp1252", "replace"))
    with pytest.raises(InputError) as caught:
        read_sheets([path], material)
    first, second, third = str(caught.value).splitlines()
    assert "2 cells are wrong" in first
    assert second.endswith(f"row 3: column 'new_text': byte 0x93 at position 17 is not UTF-8; {SAVE}")
    assert third.endswith("row 17: column 'text': byte 0x96 at position 23 is not UTF-8")


def test_letters_that_an_encoding_lost_are_not_taken_for_an_edit(tmp_path: Path) -> None:
    material = lamps(tmp_path)
    path = tmp_path / "ada.csv"
    path.write_bytes((SAVED / "commas.csv").read_text("utf-8").replace("🪔", "??").encode("ascii", "replace"))
    with pytest.raises(InputError) as caught:
        read_sheets([path], material)
    (_, fault) = str(caught.value).splitlines()[:2]
    assert "row 17, column text is 'One line" in fault
    assert fault.endswith(f"letters became question marks, here and maybe elsewhere; {SAVE}")


LOADED = {"American": 1033, "German": 1031}
"""Languages of numbers and dates. Special numbers are detected: dates, times, percents."""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tmp_path_factory.mktemp("profile").as_uri()


@pytest.mark.skipif(
    shutil.which("soffice") is None, reason="LibreOffice is not installed (Debian: libreoffice-calc-nogui)"
)
@pytest.mark.parametrize("language", LOADED)
def test_through_calc_itself(tmp_path: Path, profile: str, language: str) -> None:
    material = lamps(tmp_path)
    edited = {"new_text": WORK[0].text, "label": "Lacking Evidence", "notes": 'said "so"\r\nand = it'}
    added = {"new_text": "'3/4", "label": "Out-of-scope", "notes": "1925"}
    words = {"t1.c1": {"handling": "Edit", **edited}, "new 1": {"handling": "", **added}}
    fill(tmp_path / "ada.tsv", {("c001.t1", claim): cells for claim, cells in words.items()})
    loading = f"--infilter=Text - txt - csv (StarCalc):9,34,76,1,,{LOADED[language]},false,true"
    saving = "csv:Text - txt - csv (StarCalc):59,34,76,1,,0,false,true,false"
    done = subprocess.run(
        ["soffice", f"-env:UserInstallation={profile}", "--headless", "--norestore", loading, "--convert-to", saving,
         "--outdir", str(tmp_path / "saved"), str(tmp_path / "ada.tsv")],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    saved = tmp_path / "saved" / "ada.csv"
    assert saved.is_file(), done.stdout + done.stderr
    assert b"c001.t1;t1.c4;;;;;'1e5;confirm;;verifiable;;" in saved.read_bytes()
    (found,) = read_sheets([saved], material)
    assert found == Filled("ada", {"c001.t1": Work(WORK, NOTES)}, 0)
