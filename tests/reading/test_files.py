"""Files as documents: what is found in a folder, and what each format reads as."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.raising import raises
from vista_guard._extras import how_to_install
from vista_guard.errors import InputError
from vista_guard.reading.files import DocumentFile, SkippedFile, find_files, fingerprint, load, read_document
from vista_guard.types import Document


def pdf(*pages: str, title: str | None = None, password: str | None = None) -> bytes:
    """A PDF with these lines of text on its pages."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject({NameObject(f"/{key}"): NameObject(f"/{value}") for key, value in FONT.items()})
    for text in pages:
        page = writer.add_blank_page(600, 800)
        content = DecodedStreamObject()
        lines = "".join(f"({line}) Tj 0 -14 Td " for line in text.split("\n"))
        content.set_data(f"BT /F1 12 Tf 50 700 Td {lines}ET".encode("cp1252"))
        page[NameObject("/Contents")] = writer._add_object(content)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if title is not None:
        writer.add_metadata({"/Title": title})
    if password is not None:
        writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    made = BytesIO()
    writer.write(made)
    assert len(PdfReader(BytesIO(made.getvalue())).pages if password is None else pages) == len(pages)
    return made.getvalue()


FONT = {"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica", "Encoding": "WinAnsiEncoding"}


def read(name: str, raw: bytes | str) -> Document | SkippedFile:
    content = raw.encode() if isinstance(raw, str) else raw
    return read_document(DocumentFile(Path("shelf") / name, name), content)


def made(name: str, raw: bytes | str) -> tuple[str | None, str]:
    document = read(name, raw)
    assert isinstance(document, Document)
    return document.title, document.text


def test_a_folder_is_walked_by_name_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    for name in ("b.md", "a/deep/c.txt", "a/z.txt", ".git/config", ".hidden.md", "Größe.txt"):
        (shelf / name).parent.mkdir(parents=True, exist_ok=True)
        (shelf / name).touch()
    (shelf / "folder-link").symlink_to(shelf / "a")
    (shelf / "file-link.txt").symlink_to(shelf / "b.md")
    os.mkfifo(shelf / "pipe")
    assert list(find_files(shelf)) == [
        SkippedFile(shelf / ".git", "hidden"),
        SkippedFile(shelf / ".hidden.md", "hidden"),
        DocumentFile(shelf / "Größe.txt", "Größe.txt", shelf),
        DocumentFile(shelf / "a" / "deep" / "c.txt", "a/deep/c.txt", shelf),
        DocumentFile(shelf / "a" / "z.txt", "a/z.txt", shelf),
        DocumentFile(shelf / "b.md", "b.md", shelf),
        DocumentFile(shelf / "file-link.txt", "file-link.txt", shelf),
        SkippedFile(shelf / "folder-link", "a link to a folder"),
        SkippedFile(shelf / "pipe", "not a file"),
    ]
    assert list(find_files(shelf / ".hidden.md")) == [DocumentFile(shelf / ".hidden.md", ".hidden.md")]
    with raises(InputError, "nowhere"):
        list(find_files(tmp_path / "nowhere"))


def test_one_name_has_one_id_however_its_accents_are_spelled(tmp_path: Path) -> None:
    (tmp_path / "Gro\u0308ße.txt").touch()
    assert [entry.id for entry in find_files(tmp_path) if isinstance(entry, DocumentFile)] == ["Gr\u00f6ße.txt"]


def test_text_is_taken_as_it_is(tmp_path: Path) -> None:
    document = read("notes/pier.txt", "\ufeffThe pier opened in 1889.\r\n\r\nIt is 310 m long.\n")
    assert document == Document(
        id="notes/pier.txt",
        title="pier.txt",
        text="The pier opened in 1889.\n\nIt is 310 m long.\n",
        metadata={
            "format": "text",
            "path": str(Path("shelf/notes/pier.txt").absolute()),
            "fingerprint": fingerprint(b"\xef\xbb\xbfThe pier opened in 1889.\r\n\r\nIt is 310 m long.\n"),
        },
    )
    assert made("wide.txt", "Der Pier.".encode("utf-16")) == ("wide.txt", "Der Pier.")
    assert made("no-suffix", "Plain words.") == ("no-suffix", "Plain words.")


def test_markdown_reads_as_its_page_would() -> None:
    source = """---
title: Guide to the pier
tags: [sea]
---
# The *old* pier

It opened
in **1889**, see [the plan](https://example.org/plan "Plan") and `deck.txt`.

- iron deck
- 310 metres long
  - measured twice

1. Buy a ticket.

| Day | Entry |
|-----|------:|
| Sunday | free |
| Monday | 4 euros |

> Closed in storms. <!-- check this -->
"""
    text = """# The old pier

It opened in 1889, see the plan and deck.txt.

- iron deck
- 310 metres long

- measured twice

- Buy a ticket.

Day: Sunday; Entry: free
Day: Monday; Entry: 4 euros

Closed in storms."""
    assert made("guide.md", source) == ("Guide to the pier", text)


@pytest.mark.parametrize(
    ("source", "title", "text"),
    [
        ("# Halls\n\nTwo.", "Halls", "# Halls\n\nTwo."),
        ("Halls\n=====\nTwo.", "Halls", "# Halls\n\nTwo."),
        ("## Second level\n\nTwo.", "Second level", "## Second level\n\nTwo."),
        ('+++\ntitle = "Toml"\n+++\nTwo.', "Toml", "Two."),
        ("---\nnot: [closed\n---\nTwo.", "not: [closed", "## not: [closed\n\nTwo."),
        ("---\n\nA rule opens it.\n\n---\n\nTwo.", "page.md", "A rule opens it.\n\nTwo."),
        ("---\ntitle: 1889\n---\nTwo.", "page.md", "Two."),
        ("---\ndraft: true\n---\nTwo --- dashes\n\n---\nThree.", "page.md", "Two --- dashes\n\nThree."),
        ("Snake_case stays, 2 * 3 * 4 too, and a < b.", "page.md", "Snake_case stays, 2 * 3 * 4 too, and a < b."),
        ("```sh\nrun  --fast\n```", "page.md", "run --fast"),
    ],
)
def test_titles_and_front_matter_of_markdown(source: str, title: str, text: str) -> None:
    assert made("page.md", source) == (title, text)


def test_html_reads_as_its_page_would() -> None:
    page = """<!DOCTYPE html><html><head><title>Tide
      museum</title><style>p { color: red }</style><script>track("The hall opened in 1700.")</script></head>
    <body><nav><a href="/">Home</a></nav><div role="navigation">Menu</div>
    <h1>Whale hall</h1><p>It opened in <b>19</b>25 &amp; has
    <a href="x">nine&nbsp;skeletons</a>.<br>Entry is free.</p>
    <div hidden>Old text</div><div style="display: none">Older text</div><svg><text>Icon</text></svg>
    <ul><li>one<li><p>two</p></ul>
    <table><caption>Halls</caption><tr><th>Hall<th>Opened<tr><td>Whale<td>1925<tr><td>Tide<td><i>19</i>50</table>
    <table><tr><th>Height</th><td>3 m</td></tr><tr><th>Weight</th><td>9 t</td></tr></table>
    <table><tr><td>left</td><td>middle</td><td></td></tr></table>
    <noscript>Enable it</noscript><footer>Open daily.</footer></body></html>"""
    text = """# Whale hall

It opened in 1925 & has nine skeletons.
Entry is free.

- one
- two

Halls
Hall: Whale; Opened: 1925
Hall: Tide; Opened: 1950

Height: 3 m
Weight: 9 t

left | middle

Open daily."""
    assert made("hall.html", page) == ("Tide museum", text)


def test_tables_that_only_lay_out_keep_their_paragraphs() -> None:
    inner = "<table><tr><th>Hall</th><th>Opened</th></tr><tr><td>Whale</td><td>1925</td></tr></table>"
    page = f"<table><tr><td><p>One.</p><p>Two.</p></td><td>{inner}</td></tr></table><table><tr><td>Three.</td></tr></table>"
    assert made("old.htm", page) == ("old.htm", "One.\n\nTwo.\n\nHall: Whale; Opened: 1925\n\nThree.")


def test_html_without_a_suffix_and_without_a_title() -> None:
    assert made("index", "\n<!doctype HTML><h2>Hall</h2><p>Old.") == ("Hall", "## Hall\n\nOld.")


def test_html_may_declare_its_encoding() -> None:
    page = '<html><head><meta charset="ISO-8859-1"></head><p>Caf\xe9 \x80</p>'.encode("latin-1")
    assert made("cafe.html", page) == ("cafe.html", "Café €")
    with pytest.raises(InputError):
        read("cafe.html", page.replace(b"ISO-8859-1", b"klingon"))


def test_deep_nesting_is_read() -> None:
    assert made("deep.html", "<div>" * 5000 + "Deep." + "</div>" * 5000) == ("deep.html", "Deep.")


def test_a_pdf_keeps_where_its_pages_start() -> None:
    first = "The whale hall opened in 1925 and shows the skele-\nton of a whale.\nEntry"
    document = read("hall.pdf", pdf(first, "", "The deck is made of iron.", title="Tide museum"))
    assert isinstance(document, Document)
    start = "The whale hall opened in 1925 and shows the skeleton of a whale.\nEntry"
    assert (document.title, document.text) == ("Tide museum", f"{start}\n\n\n\nThe deck is made of iron.")
    assert document.metadata["pages"] == [0, len(start) + 2, len(start) + 4]


NO_TITLES = (
    "",
    "untitled",
    "Untitled Document",
    "Untitled-3",
    "(anonymous)",
    "[Title]",
    "<unspecified>",
    "Document1",
    "No title",
    "New page",
    "PowerPoint Presentation",
    "Word Document",
    "Microsoft Word - Terms of use",
    "Microsoft PowerPoint - deck_v3.pptx",
    "plan.doc",
    "Plan of the pier, final.docx",
    "C:\\Users\\ada\\AppData\\Local\\Temp\\3F2A.tmp",
    "/tmp/tmpx7f_q2.html",
    "file:///home/ada/plan.odt",
    "~WRL0001.tmp",
    "tmp8d1c44",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "9b74c9897bac770f",
    "---",
)
TITLES = (
    "Tide museum",
    "1984",
    "Terms (2024)",
    "Introduction to Node.js",
    "Untitled works of Ada Brandt",
    "The unknown soldier",
    "Word order in German",
    "Report no. 12",
    "AC/DC converters v1.2",
    "Decade",
    "Presentation of the 2024 budget",
    "Wegweiser Küste",
)


def html_of(title: str) -> bytes:
    return f"<title>{escape(title)}</title><h1>Halls</h1><p>Iron.</p>".encode()


def docx_of(title: str) -> bytes:
    from docx import Document as Docx

    document = Docx()
    document.core_properties.title = title
    document.add_heading("Halls", 1)
    document.add_paragraph("Iron.")
    return saved(document)


def pptx_of(title: str) -> bytes:
    from pptx import Presentation

    presentation = Presentation()
    presentation.core_properties.title = title
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Halls"
    return saved(presentation)


def xlsx_of(title: str) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.properties.title = title
    book.active.append(["Hall", "Iron"])  # type: ignore[union-attr]  # a new book has a sheet
    return saved(book)


def saved(made: Any) -> bytes:
    raw = BytesIO()
    made.save(raw)
    return raw.getvalue()


MAKERS: dict[str, tuple[Callable[[str], bytes], str]] = {
    "pdf": (lambda title: pdf("Iron.", title=title), "a.pdf"),
    "html": (html_of, "Halls"),
    "docx": (docx_of, "Halls"),
    "pptx": (pptx_of, "Halls"),
    "xlsx": (xlsx_of, "a.xlsx"),
}
"""Builders of a file of each format with a title in its metadata, and the title that it has otherwise."""


@pytest.mark.parametrize("form", MAKERS)
def test_what_a_program_writes_for_want_of_a_title_is_none(form: str) -> None:
    make, otherwise = MAKERS[form]
    assert {title: made(f"a.{form}", make(title))[0] for title in NO_TITLES} == dict.fromkeys(NO_TITLES, otherwise)
    assert {title: made(f"a.{form}", make(title))[0] for title in TITLES} == {title: title for title in TITLES}


def test_a_pdf_without_metadata_has_its_file_name() -> None:
    assert made("a.pdf", pdf("Iron."))[0] == "a.pdf"


BROKEN = {
    "a unit": "The safety valve opens at|17 bar and closes at 12 bar.",
    "a year": "The boiler hall was built in|1925 by the yard.",
    "two breaks": "The valve opens at|17 bar and closes at|12 bar.",
    "a currency": "The fee of the guided tour is|€17 for adults.",
    "a sign": "It may be used down to|-20 °C and no further.",
    "a bracket": "The pump was tested twice|(12 May and 3 June) by the yard.",
    "the end of the sentence": "The hall is open between 9 and|17. The tower is closed.",
    "a decimal": "The display weighs about|3.5 kg with its cable.",
    "an ordinal": "The pier was opened on the|5th of May 1889.",
    "behind a comma": "Open daily from 9 to 12,|14 to 17 on weekdays only.",
    "a range": "The pressure lies between 10-|17 bar in the morning.",
    "a figure at the end": "The tank of the boat holds 17|litres of fuel.",
    "a per cent sign": "The hull of the ship is 40|% iron.",
    "a full line": "All the rooms of the upper deck together have no more than|17 beds and the ones below it have 80",
}
KEPT = {
    "a row": "Whale hall|1925|Tide hall|1950",
    "a row with a unit": "Rooms|12 beds|14 chairs",
    "items": "Contents of the box|2 screws|1 manual|The box is heavy.",
    "a numbered list": "Do this before you start|1. Open the valve.|2. Close it.",
    "a list that goes on": "1. Open the valve|2. Close it|3. Wait",
    "hours below a heading": "Opening hours|9 to 17 on weekdays.",
    "a new sentence": "The hall is closed.|17 rooms are open.",
    "a section": "The pump stops here.|2.1 Safety",
    "behind a colon": "The box holds:|2 screws and a manual.",
    "prices": "Adults 8 euros|5 euros for children and students",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_line_that_a_figure_opens_belongs_to_its_sentence(name: str) -> None:
    text = BROKEN[name].replace("|", "\n")
    whole = BROKEN[name].replace("-|", "-").replace("|", " ")
    assert made("a.pdf", pdf(text))[1] == whole


@pytest.mark.parametrize("name", KEPT)
def test_a_line_that_a_figure_opens_stays_a_row_an_item_or_a_sentence(name: str) -> None:
    text = KEPT[name].replace("|", "\n")
    assert made("a.pdf", pdf(text))[1] == text


def test_a_pdf_that_only_its_owner_may_change_is_read() -> None:
    assert made("a.pdf", pdf("Iron.", password="")) == ("a.pdf", "Iron.")


@pytest.mark.parametrize(
    ("name", "raw", "error"),
    [
        ("a.txt", b"caf\xe9", ("UTF-8", "3", "0xe9")),
        ("a.html", b"<p>caf\xe9", ("UTF-8", "6", "0xe9")),
        ("a.txt", b"\xff\xfea", ("utf-16",)),
        ("a.pdf", pdf("Iron.", password="secret"), ()),
        ("a.pdf", pdf("", ""), ()),
        ("a.pdf", b"", ("PDF",)),
        ("a.pdf", b"Plain words.", ("PDF",)),
        ("a.pdf", pdf("Iron.")[:300], ("PDF",)),
    ],
)
def test_what_cannot_be_read_says_why(name: str, raw: bytes, error: tuple[str, ...]) -> None:
    with raises(InputError, *error):
        read(name, raw)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a"])
def test_binary_and_empty_files_are_skipped(name: str) -> None:
    path = Path("shelf") / name
    binary = "a binary file; expected text, Markdown, HTML, PDF, DOCX, PPTX, XLSX, CSV, TSV or JSON"
    place = str(path)
    assert read(name, b"\x89PNG\r\n\x1a\n") == SkippedFile(path, binary, place=place)
    assert read(name, b"words" * 4000 + b"\x00") == SkippedFile(path, binary, place=place)
    assert read(name, b"") == read(name, b" \n\t") == SkippedFile(path, "empty", place=place)


def test_loading_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"12345")
    assert load(path, 5) == b"12345"
    with raises(InputError, "4", "bytes", "--max-mb"):
        load(path, 4)
    with pytest.raises(InputError):
        load(tmp_path / "b.txt")


def test_a_pdf_without_its_library_is_named_with_what_installs_it() -> None:
    # A process of its own, where the import fails as it does when the library is not installed.
    script = """
import sys
from pathlib import Path
sys.modules["pypdf"] = None
from vista_guard.reading.files import DocumentFile, read_document
from vista_guard.errors import ConfigError
try:
    read_document(DocumentFile(Path("shelf/a.pdf"), "a.pdf"), b"%PDF-")
except ConfigError as exc:
    print(exc)
for name, raw in (("a.md", b"*Words.*"), ("a.html", b"<p>Words."), ("a.txt", b"Words.")):
    print(read_document(DocumentFile(Path(name), name), raw).text)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    said = f"{Path('shelf/a.pdf')} is a PDF file, which needs pypdf: {how_to_install('documents')}"
    assert (done.stdout.splitlines(), done.stderr) == ([said, "Words.", "Words.", "Words."], "")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>One<p>Two</p></i> &amp; more", "One\n\nTwo\n\n& more"),
        ("<div>Open <table><tr><td>A<td>B</div>After", "Open\n\nA | B\n\nAfter"),
        ("<b><script>if (a < b) said('</p>')</script>Words</b>", "Words"),
        ("<pre>run\n  fast</pre> a\n b<br/>c<hr>d", "run\nfast\n\na b\nc\nd"),
        ("<![CDATA[Kept]]> <!-- not --> <?php no ?>", "Kept"),
        ("Caf&eacute; &#8364; &nosuch; <span aria-hidden=true>x</span><br hidden>y", "Café € &nosuch; y"),
        ("<ruby>漢<rt>kan</rt></ruby><svg><title>Icon</title></svg>", "漢"),
    ],
)
def test_html_that_is_not_well_formed_is_read_as_far_as_it_goes(page: str, text: str) -> None:
    assert made("page.html", page)[1] == text


def test_declarations_are_read_over() -> None:
    assert made("a.html", "<p>One</p><![if[x]]><![foo[x]]> 1 < 2")[1] == "One\n\n1 < 2"


def test_the_process_that_reads_files_does_not_run_the_main_script(tmp_path: Path) -> None:
    (tmp_path / "terms.md").write_text("# Terms\n\nOrders ship in two days.\n")
    script = tmp_path / "bot.py"  # without `if __name__ == "__main__"`, as a notebook or a Streamlit page has it
    script.write_text(
        "from pathlib import Path\n"
        "from vista_guard.reading.files import DocumentFile, FileReader\n"
        "print('main')\n"
        "with FileReader() as reader:\n"
        "    print(reader.read(DocumentFile(Path('terms.md'), 'terms.md')).title)\n"
    )
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["main", "Terms"], "")
