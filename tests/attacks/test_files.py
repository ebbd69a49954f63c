"""Hostile files: whatever lies in a folder, every other file of it is read, and none takes more of the processor than it may."""

from __future__ import annotations

import gzip
import os
import random
import signal
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from tests.pace import lines_run
from tests.raising import raises
from tests.reading.test_files import pdf
from vista_guard.errors import InputError
from vista_guard.reading.files import DocumentFile, FileReader, SkippedFile, find_files
from vista_guard.reading.html import read_html
from vista_guard.types import Document

SECONDS = 10.0
"""Processor seconds that a file may take."""

GOOD = "The old pier was opened in 1889."
MB = 1_000_000


def _bomb(unpacked: int) -> bytes:
    """A PDF whose one page unpacks to so many bytes of text operators."""
    page = zlib.compress(b"BT /F1 12 Tf (a) Tj ET\n" * (unpacked // 23))
    return _pdf_of(b"<</Length %d/Filter/FlateDecode>>\nstream\n" % len(page) + page + b"\nendstream")


def _pdf_of(contents: bytes, *, kids: bytes = b"[3 0 R]", page: bytes = b"/Contents 4 0 R") -> bytes:
    bodies = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids%s>>" % kids,
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]%s>>" % page,
        contents,
    )
    made, places = b"%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(made)
    return made + b"xref\n0 5\n0000000000 65535 f \n%strailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        start,
    )


def _zip(size: int) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"0" * size)
    return made.getvalue()


def _junk(size: int) -> bytes:
    return random.Random(7).randbytes(size)


_WHOLE = pdf("Words.", "More words.")

CONTENTS: dict[str, Callable[[], bytes | str]] = {
    "unended tags.html": lambda: "<a " * 300_000,
    "unended tags with attributes.html": lambda: '<a b="c" ' * 100_000,
    "open quotes.html": lambda: "<a b=\"<a b='" * 80_000,
    "odd quotes.html": lambda: '<a "' * 200_001 + ">",
    "equals signs.html": lambda: "<a" + " =" * 400_000 + ">",
    "slashes.html": lambda: "<a" + "/" * MB,
    "unended comments.html": lambda: "<!--" * 250_000,
    "nearly comments.html": lambda: "<!-- --" * 150_000,
    "unended sections.html": lambda: "<![CDATA[" * 100_000,
    "unended declarations.html": lambda: "<!doctype " * 100_000,
    "marked sections.html": lambda: "<![if" * 200_000,
    "unended instructions.html": lambda: "<?x " * 250_000,
    "unended scripts.html": lambda: "<script>" * 120_000,
    "half scripts.html": lambda: "<script></scrip" * 70_000,
    "unended ends.html": lambda: "</a " * 250_000,
    "brackets.html": lambda: "<" * MB,
    "ampersands.html": lambda: "&" * MB,
    "references.html": lambda: "&#x" * 300_000 + "&#99999999999;" * 20_000,
    "deep divisions.html": lambda: "<div>" * 200_000,
    "deep tables.html": lambda: "<table><tr><td>x<td>y" * 50_000,
    "deep tables of one column.html": lambda: "<table><tr><td>x" * 60_000,
    "closed deep tables.html": lambda: "<table><tr><td>x<td>" * 30_000 + "</table>" * 30_000,
    "deep lists.html": lambda: "<ul><li>" * 100_000,
    "ends of nothing.html": lambda: "<div>" * 50_000 + "</p>" * 50_000,
    "many cells.html": lambda: "<table><tr>" + "<td>x" * 200_000,
    "blank items.html": lambda: "<li>\n" * 150_000,
    "charsets.html": lambda: "<meta " * 170_000 + "\x80",
    "declared.html": lambda: b"<?xml " + b"encoding='" * 90_000 + b"\xff",
    "empty lines.txt": lambda: "\n" * 20 * MB,
    "no line.txt": lambda: "word " * MB,
    "no word.txt": lambda: "x" * 5 * MB,
    "null bytes.txt": lambda: b"\x00" * 20 * MB,
    "no text.txt": lambda: _junk(MB),
    "half characters.txt": lambda: "\ud83d".encode("utf-16-le", "surrogatepass") * MB,
    "not utf-16.txt": lambda: b"\xff\xfe" + b"\x00\xd8" * MB,
    "too big.txt": lambda: b"word " * 11 * MB,
    "brackets.md": lambda: "[" * 200_000,
    "links.md": lambda: "[a](" * 100_000,
    "stars.md": lambda: "*a **b " * 100_000,
    "quotes.md": lambda: ">" * 200_000 + "a",
    "lists.md": lambda: "".join("  " * depth + "- a\n" for depth in range(2_000)),
    "ticks.md": lambda: "".join("`" * length + " " for length in range(1_500)),
    "tags.md": lambda: "<a " * 100_000,
    "tables.md": lambda: "|a" * 50_000 + "\n" + "|-" * 50_000 + "\n" + "|\n" * 1_000,
    "deep front matter.md": lambda: "---\na: " + "[" * 100_000 + "\n---\ntext",
    "aliases.md": lambda: (
        "---\na0: &a0 x\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 10}]\n" for n in range(1, 30)) + "---\ntext"
    ),
    "long front matter.md": lambda: "---\n" + "a: b\n" * 400_000 + "---\ntext",
    "deep toml.md": lambda: "+++\na = " + "[" * 100_000 + "\n+++\ntext",
    "cut.pdf": lambda: _WHOLE[: len(_WHOLE) // 2],
    "junk.pdf": lambda: b"%PDF-1.7\n" + _junk(200_000),
    "empty.pdf": lambda: b"",
    "header.pdf": lambda: b"%PDF-1.4\n" * 100_000,
    "bomb.pdf": lambda: _bomb(400 * MB),
    "pages in themselves.pdf": lambda: _pdf_of(b"<<>>", kids=b"[2 0 R]"),
    "deep arrays.pdf": lambda: _pdf_of(b"[" * 200_000),
    "length.pdf": lambda: _pdf_of(b"<</Length 99999999999>>\nstream\nx\nendstream"),
    "locked.pdf": lambda: pdf("Secret.", password="owner"),
    "bomb.zip": lambda: _zip(100 * MB),
    "page.html.gz": lambda: gzip.compress(b"<p>" * MB),
}


def _special(folder: Path, outside: Path) -> Iterator[socket.socket]:
    """Makes what is no regular file."""
    os.mkfifo(folder / "pipe.txt")
    os.mkfifo(folder / "pipe.pdf")
    (folder / "link to a pipe.txt").symlink_to("pipe.txt")
    (folder / "link out.txt").symlink_to(outside / "secret.txt")
    (folder / "link up.txt").symlink_to("../outside/secret.txt")
    (folder / "link to zeros.txt").symlink_to("/dev/zero")
    (folder / "link to the terminal.txt").symlink_to("/dev/tty")
    (folder / "link to memory.txt").symlink_to("/proc/self/mem")
    (folder / "link to itself.txt").symlink_to("link to itself.txt")
    (folder / "link to nothing.txt").symlink_to("nothing.txt")
    (folder / "ring a.txt").symlink_to("ring b.txt")
    (folder / "ring b.txt").symlink_to("ring a.txt")
    (folder / "link to the folder").symlink_to(".")
    (folder / "link to the root").symlink_to("/")
    (folder / "folder.txt").mkdir()
    (folder / os.fsdecode(b"bad \xff name.txt")).write_bytes(b"\xff\xfe\xfd")
    deep = folder
    for _ in range(150):
        deep /= "deeper"
        deep.mkdir()
    (deep / "deep.txt").write_text(GOOD)
    if os.geteuid() == 0:
        os.mknod(folder / "device.txt", 0o020600, os.makedev(1, 5))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket.txt"))
        yield listener


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder, outside = tmp_path / "shelf", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("A SECRET of the harbour.")
    monkeypatch.chdir(folder)  # a socket's path is short
    for name in ("aaa.txt", "mmm.md", "zzz.html"):
        (folder / name).write_text(GOOD)
    (folder / "good.pdf").write_bytes(pdf(GOOD))
    yield from (folder for _ in _special(folder, outside))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_regular_file_is_left_out_and_no_link_leads_out(shelf: Path) -> None:
    with FileReader(seconds=SECONDS) as reader:
        read = {entry.path.name: _read(reader, entry) for entry in find_files(shelf)}
        outside = {entry.path.name: _read(reader, entry) for entry in find_files(shelf, follow_links=True)}
    texts = {name: one.text for name, one in read.items() if isinstance(one, Document)}
    assert texts == dict.fromkeys(("aaa.txt", "mmm.md", "zzz.html", "good.pdf", "deep.txt"), GOOD)
    assert "SECRET" not in str(read)
    assert all("link out of the folder" in str(read[f"link {where}.txt"]) for where in ("out", "up", "to zeros"))
    secret = outside["link out.txt"]
    assert isinstance(secret, Document)
    assert secret.text == "A SECRET of the harbour."
    assert "no regular file" in str(outside["link to zeros.txt"])


@pytest.fixture
def reader() -> Iterator[FileReader]:
    """One for each file, so that the processor time of its processes is that file's."""
    with FileReader(seconds=SECONDS) as one:
        yield one


@pytest.mark.parametrize("name", CONTENTS)
def test_no_file_takes_longer_than_it_may_and_the_next_is_read(name: str, reader: FileReader, tmp_path: Path) -> None:
    content = CONTENTS[name]()
    hostile, good = tmp_path / name, tmp_path / "good.txt"
    hostile.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    good.write_text(GOOD)
    assert isinstance(_read(reader, DocumentFile(good, "good.txt")), Document)  # the process runs
    before = _children_seconds()
    _read(reader, DocumentFile(hostile, name))
    assert _children_seconds() - before < 2 * SECONDS + 3  # of processes that were ended
    read = _read(reader, DocumentFile(good, "good.txt"))
    assert isinstance(read, Document)
    assert read.text == GOOD


def _children_seconds() -> float:
    """Processor time of the children that have ended."""
    return os.times().children_user + os.times().children_system


BUSY = "<p>word " * 800_000
"""Takes seconds of the processor."""


@pytest.fixture
def paused() -> Iterator[Callable[[FileReader, float], None]]:
    """Stops a reader's process for a while, as a machine does that is busy with other things."""
    threads = list[threading.Timer]()

    def pause(reader: FileReader, seconds: float) -> None:
        assert reader._process is not None
        child = reader._process.pid
        os.kill(child, signal.SIGSTOP)
        threads.append(threading.Timer(seconds, os.kill, (child, signal.SIGCONT)))
        threads[-1].start()

    yield pause
    for thread in threads:
        thread.cancel()
        thread.join()


def test_a_machine_that_is_busy_with_other_things_loses_no_file(
    tmp_path: Path, paused: Callable[[FileReader, float], None]
) -> None:
    (tmp_path / "good.pdf").write_bytes(pdf(GOOD))
    with FileReader(seconds=5.0) as reader:
        reader._start()
        paused(reader, 6.0)
        read = _read(reader, DocumentFile(tmp_path / "good.pdf", "good.pdf"))
    assert isinstance(read, Document), read
    assert read.text == GOOD


def test_processor_time_has_a_limit_and_waiting_has_another(
    tmp_path: Path, paused: Callable[[FileReader, float], None]
) -> None:
    (tmp_path / "busy.html").write_text(BUSY)
    (tmp_path / "good.txt").write_text(GOOD)
    with FileReader(seconds=0.5, patience=300) as reader, raises(InputError, "0.5"):
        reader.read(DocumentFile(tmp_path / "busy.html", "busy.html"))
    with FileReader(patience=0.3) as reader:
        reader._start()
        paused(reader, 300.0)
        with raises(InputError, "0.3"):
            reader.read(DocumentFile(tmp_path / "good.txt", "good.txt"))


@pytest.mark.parametrize("name", [name for name in CONTENTS if name.endswith(".html")])
def test_the_work_on_html_grows_with_its_length(name: str) -> None:
    content = CONTENTS[name]()
    page = content if isinstance(content, str) else content.decode("latin-1")
    read_html(page)  # an expression that backtracks would take hours
    assert lines_run(read_html, page[: len(page) // 4]) < 5 * lines_run(read_html, page[: len(page) // 16]) + 1000


def _read(reader: FileReader, entry: DocumentFile | SkippedFile) -> Document | SkippedFile | InputError | None:
    if isinstance(entry, SkippedFile):
        return entry
    try:
        return reader.read(entry)
    except InputError as exc:
        return exc
