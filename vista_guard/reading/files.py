"""Files as documents: finds them in a folder and extracts their readable text, whatever their format."""

from __future__ import annotations

import codecs
import logging
import os
import pickle
import queue
import re
import signal
import stat
import sys
import threading
import tomllib
import unicodedata
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pydantic import JsonValue, ValidationError

from vista_guard._child import has_ended, start_python
from vista_guard._extras import require
from vista_guard._mappings import read_mapping
from vista_guard.errors import ConfigError, InputError, first_problem
from vista_guard.reading.html import (
    INVISIBLE,
    FileText,
    declared_encoding,
    first_title,
    join_pages,
    one_line,
    read_html,
)
from vista_guard.reading.office import LIBRARIES, PLAIN, read_office
from vista_guard.reading.visible import storable
from vista_guard.types import Document, Persona

if TYPE_CHECKING:
    from subprocess import Popen


_FRONT_MATTER = re.compile(r"(---|\+\+\+)[^\S\n]*\n(.*?)^(?:\1|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


def read_markdown(source: str) -> FileText:
    """Reads Markdown as its page shows it: no front matter, links as their words, tables as in `read_html`."""
    from markdown_it import MarkdownIt

    title, body = _without_front_matter(source)
    page = read_html(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(body))
    return FileText(first_title(title, page.title), page.text)


def read_pdf(raw: bytes) -> FileText:
    """Reads the text of every page, joining the lines of a sentence where that is certain.

    Raises:
        ImportError: pypdf is missing.
        InputError: encrypted, damaged, or without text.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # it would write its doubts to stderr
    try:
        reader = PdfReader(BytesIO(raw))
        opened = not reader.is_encrypted or bool(reader.decrypt(""))
        texts = [_pdf_page(page.extract_text()) for page in reader.pages] if opened else []
        title = first_title(reader.metadata.title) if opened and reader.metadata else None
    except DependencyError as exc:
        raise InputError("is encrypted with AES; save it without encryption, or: pip install cryptography") from exc
    except Exception as exc:  # besides its own errors pypdf lets through whatever a damaged file leads to
        raise InputError(f"is damaged, or no PDF: {exc}") from exc
    if not opened:
        raise InputError("is encrypted; save it without a password")
    if not any(texts):
        raise InputError("holds no text, only images: make it searchable first, for example with ocrmypdf")
    return join_pages(title, texts)


def _without_front_matter(source: str) -> tuple[str | None, str]:
    match = _FRONT_MATTER.match(source)
    if match is None:
        return None, source
    import yaml

    parse: Callable[[str], Any] = yaml.safe_load if match[1] == "---" else tomllib.loads
    try:
        content = parse(match[2])
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError):
        return None, source
    if not isinstance(content, Mapping):  # a line of dashes opens the text
        return None, source
    title = content.get("title")
    return (one_line(title) if isinstance(title, str) else None) or None, source[match.end() :]


def _pdf_page(text: str) -> str:
    text = text.replace("\x00", "").translate(INVISIBLE).translate(_LIGATURES)
    text = re.sub(r"[^\S\n]*\n[^\S\n]*", "\n", text)
    text = re.sub(r"(?<=[^\W\d_])-\n(?=([^\W\d_]))", lambda cut: "" if cut[1].islower() else cut[0], text)
    return _join_lines(text.split("\n")).strip()


def _join_lines(lines: Sequence[str]) -> str:
    """Joins lines that a sentence runs through, where that is certain."""
    width = max(map(len, lines), default=0)
    pieces, sentence, item = [lines[0]], lines[0], 0
    for number, (before, line) in enumerate(pairwise(lines), 1):
        # "17. " opens an item where a list begins with it or goes on; else 17 may end a sentence.
        mark = _MARK.match(line)
        is_item = mark is not None and int(mark[1]) in (1, item + 1)
        if mark is not None and is_item:
            item = int(mark[1])
        joint = None
        if before and line and not is_item and not before.rstrip(_CLOSING).endswith(_ENDS):
            joint = _joint(sentence, before, lines[number : number + _LINES], width)
        pieces += [joint if joint is not None else "\n", line]
        sentence = _SENTENCE_END.split(line if joint is None else f"{sentence}{joint}{line}")[-1][:_LONG]
    return "".join(pieces)


_MARK = re.compile(r"(\d{1,9})[.)]\s")
_FIGURE = re.compile(r"[^\w\s]{0,3}\s?\d")
"""Begins a line: a figure behind a sign, a currency, a bracket or a quotation mark, if any."""
_SENTENCE_END = re.compile(r"[.!?]\s")
_ENDS, _CLOSING, _OPEN = tuple(".!?:;"), "\"'”’)]»", tuple(",(/&–—$€£¥§")
_FULL = 0.9
"""Part of the longest line that a full line has, counted with the next word, for which it had no room."""
_LINES, _LONG = 20, 1_000
"""Lines of a sentence, and its characters, that are looked at."""


def _joint(sentence: str, before: str, lines: Sequence[str], width: int) -> str | None:
    """The text that joins a line to the next ones if one sentence runs through them; None where that is not certain.

    `sentence` is what is known of it, up to the end of the line `before`.
    """
    line = lines[0]
    if before[-1] in "-–" and before[-2:-1].isdigit() and line[0].isdigit():  # 10-⏎12 bar
        return ""
    if line[0].islower() or (before[-1].isdigit() and line[0] in "%‰°€£¥"):
        return " "
    return " " if _FIGURE.match(line) and _runs_on(sentence, before, lines, width) else None


def _runs_on(sentence: str, before: str, lines: Sequence[str], width: int) -> bool:
    """True if a sentence runs on into a line that a figure opens: no row of a table, no item, no line below a heading."""
    if before.endswith(_OPEN):
        return True
    words, following = sentence.split(), lines[0].split()
    is_value = len(following) == 1 and following[0][-1] not in (*_ENDS, ",", ")")
    if len(words) < 3 or words[0][0].isdigit() or is_value:
        return False
    is_full = len(before) + 1 + len(following[0]) > _FULL * width and len(words) > 5
    return is_full or (before.split()[-1].islower() and _is_ended(lines))


def _is_ended(lines: Sequence[str]) -> bool:
    """True if the sentence of the first line ends in it, or in a later one that it runs on into."""
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line.rstrip(_CLOSING).endswith(_ENDS):
            return True
        if not (after[:1].islower() or _FIGURE.match(after)):
            return False
    return False


MAX_BYTES = 50_000_000
"""Largest file to read."""

_READER = "3"
"""Version of the readers: raise it when they extract other text, so that unchanged files are read again."""

_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
_HTML = (".html", ".htm", ".xhtml")
FORMATS = "text, Markdown, HTML, PDF, DOCX, PPTX, XLSX, CSV, TSV or JSON"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_MEDIA = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/pdf": ".pdf",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
}
"""File suffix of each media type."""
_CONTROLS = bytes([*range(1, 8), *range(14, 27)])
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class WebPage:
    """A fetched page: its final address, media type and content."""

    url: str
    kind: str
    content: bytes


@dataclass(frozen=True)
class DocumentFile:
    """A file to read. `id` is its path below `folder`, the folder that was searched, with `/` on every system.

    A file given by itself has no folder, and its name is its id. A web page's id is its address, and its content comes
    along.
    """

    path: Path
    id: str
    folder: Path | None = None
    page: WebPage | None = None

    @property
    def place(self) -> str:
        """The path or address to show."""
        return str(self.path) if self.page is None else self.id


@dataclass(frozen=True)
class SkippedFile:
    """A file or folder that was left out, and why. `broken` means that reading failed."""

    path: Path
    reason: str
    broken: bool = False
    place: str = ""
    """The file or address to show; the path when empty."""

    def __str__(self) -> str:
        return f"{self.place or self.path}: {self.reason}"


def find_files(place: Path, *, follow_links: bool = False) -> Iterator[DocumentFile | SkippedFile]:
    """Finds the files of a folder and its subfolders, by name. A single file's id is its file name.

    Links to files are followed inside the folder, with `follow_links` also out of it; links to folders are not.

    Raises:
        InputError: there is no such file or folder.
    """
    if not place.exists():
        raise InputError(f"{place} does not exist; give a file or a folder")
    if not place.is_dir():
        yield DocumentFile(place, _name(place.name))
        return
    inside = None if follow_links else Path(os.path.realpath(place))
    folders: list[Path | SkippedFile | DocumentFile] = [place]  # a stack: folders may lie deeper than calls can
    while folders:
        entry = folders.pop()
        if isinstance(entry, Path):
            folders += reversed(_children(entry, place, inside))
        else:
            yield entry


def load(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Reads the file's bytes.

    Raises:
        InputError: missing, unreadable, no regular file, or too big.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening some devices does something
            raise InputError("is no regular file, such as a pipe, a socket or a device")
        # Opening a pipe that took the file's place meanwhile must not wait for its writer.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            raw = file.read(max_bytes + 1)
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}") from exc
    if len(raw or b"") > max_bytes:
        raise InputError(f"has more than {max_bytes:,} bytes; split it, or raise --max-mb")
    return raw or b""


class FileReader:
    """Reads files in a separate process, killed when a file takes too much processor time or too much memory.

        with FileReader() as reader:
            document = reader.read(DocumentFile(Path("terms.md"), "terms.md"))

    Args:
        max_bytes: largest file to read.
        seconds: most processor time for a file, so that a busy machine loses none. On Windows, which does not count it for us,
            the longest time.
        patience: longest time for a file in seconds, for a process that only waits, as for a lost network disk.
    """

    def __init__(self, *, max_bytes: int = MAX_BYTES, seconds: float = 10.0, patience: float | None = None) -> None:
        self._max_bytes, self._seconds = max_bytes, seconds
        self._patience = patience if patience is not None else seconds * (_PATIENCE if _COUNTS_TIME else 1)
        self._process: Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[object] = queue.SimpleQueue()

    def read(self, file: DocumentFile, known: object = None) -> Document | SkippedFile | None:
        """Reads a file; None when its fingerprint is `known`.

        Raises:
            ConfigError, InputError: as `load` and `read_document`; or it took too long.
        """
        if self._process is None:
            self._start()
        try:
            self._send((file, known))
            answer = self._answers.get(timeout=self._patience)
        except queue.Empty:
            self.close()
            raise InputError(
                f"was not read in {self._patience:g} s, as on a disk that does not answer; copy it elsewhere, or raise "
                "--max-seconds"
            ) from None
        except OSError:
            answer = _ENDED
        if answer is _ENDED:
            raise InputError(self._why_ended())
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]  # from our own process

    def close(self) -> None:
        """Ends the process; a reader that is garbage-collected does so too."""
        if self._process is not None:
            self._end()
            self._process = None

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _why_ended(self) -> str:
        process = self._process
        self.close()
        if process is not None and _COUNTS_TIME and process.returncode == -signal.SIGPROF:
            return f"took more than {self._seconds:g} s of processor time to read; split it, or raise --max-seconds"
        return "ended the process that read it, by the memory it took or a fault of its library"

    def _start(self) -> None:
        self._process = start_python(__name__, "answer_files")
        self._end = weakref.finalize(self, _end, self._process)
        self._answers = queue.SimpleQueue()
        threading.Thread(target=_receive, args=(self._process.stdout, self._answers), daemon=True).start()
        try:
            self._send((self._max_bytes, self._seconds))
            started = self._answers.get(timeout=_STARTING_S) is None
        except (OSError, queue.Empty):
            started = False
        if not started:
            self.close()
            raise InputError(f"cannot be read: the process that reads files did not start in {_STARTING_S:g} s")

    def _send(self, call: object) -> None:
        calls = self._process.stdin  # type: ignore[union-attr]
        pickle.dump(call, calls)  # type: ignore[arg-type]
        calls.flush()  # type: ignore[union-attr]


_ENDED = object()


def _end(process: Popen[bytes]) -> None:
    if not has_ended(process, 0):
        process.kill()
    has_ended(process, 1)  # one stuck in the kernel, as on a lost network disk, is abandoned
    with suppress(OSError):  # closing flushes what it never read
        process.stdin.close()  # type: ignore[union-attr]


def _receive(answers: IO[bytes], inbox: queue.SimpleQueue[object]) -> None:
    """Forwards the process's answers; `_ENDED` last."""
    with answers, suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            inbox.put(pickle.load(answers))
    inbox.put(_ENDED)


_STARTING_S = 120.0
_COUNTS_TIME = sys.platform != "win32"
_PATIENCE = 12.0
"""How many times its processor time a file may take: on a machine with eight other tasks a core it takes nine."""
_MEMORY = 4_000_000_000
"""Bytes of address space for reading a file: a page that unpacks to more is a bomb."""


def answer_files() -> None:
    """Reads files until the parent process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that uses this one
    if sys.platform != "win32":
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    calls, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps libraries' prints out of the answers
    with suppress(EOFError, OSError):
        max_bytes, seconds = pickle.load(calls)
        pickle.dump(None, answers)
        answers.flush()
        while True:
            file, known = pickle.load(calls)
            with _processor_time(seconds):
                outcome = _outcome(file, known, max_bytes)
            pickle.dump(outcome, answers)
            answers.flush()


@contextmanager
def _processor_time(seconds: float) -> Iterator[None]:
    """Has the system end this process when the block takes longer."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, 0)


def _outcome(file: DocumentFile, known: object, max_bytes: int) -> Document | SkippedFile | Exception | None:
    try:
        raw = load(file.path, max_bytes) if file.page is None else file.page.content
        return None if known is not None and known == fingerprint(raw) else read_document(file, raw)
    except (ConfigError, InputError) as exc:
        return exc
    except Exception as exc:  # libraries raise whatever a hostile file leads to: RecursionError, MemoryError, KeyError
        return InputError(f"cannot be read: {type(exc).__name__}; it is damaged, or made to break its reader")


def fingerprint(raw: bytes) -> str:
    """Hashes the content and the reader's version to 64 hex digits."""
    return sha256(_READER.encode() + raw).hexdigest()


def read_document(file: DocumentFile, raw: bytes) -> Document | SkippedFile:
    """Reads the file as a document, titled by itself or by its file name.

    Its metadata has `format`, `path`, `folder` if it was found in one, `fingerprint`, and for a PDF `pages`: where in the text
    each page starts. Paths are absolute.

    Raises:
        ConfigError: the library that reads it is missing.
        InputError: encrypted, damaged, or text in another encoding; the message completes "FILE ...".
    """
    form = _format(file, raw)
    if form is None:
        return SkippedFile(file.path, f"a binary file; expected {FORMATS}", place=file.place)
    if library := {"pdf": "pypdf", **LIBRARIES}.get(form):
        require(f"{file.place} is a {form.upper()} file, which", library, extra="documents")
    read = _read(form, raw)
    if not read.text.strip():
        return SkippedFile(file.path, "empty", place=file.place)
    url = file.page and storable(file.page.url)
    where = {"url": url} if url else {"path": storable(str(file.path.parent.resolve() / file.path.name))}
    metadata: dict[str, JsonValue] = {"format": form, **where, "fingerprint": fingerprint(raw)}
    if file.folder is not None:
        metadata["folder"] = storable(str(file.folder.resolve()))
    if read.pages:
        metadata["pages"] = list(read.pages)
    title = storable(read.title or file.path.name)[:300]
    return Document(id=file.id, text=read.text, title=title, url=url, metadata=metadata)


def _children(folder: Path, root: Path, inside: Path | None) -> list[Path | SkippedFile | DocumentFile]:
    """The folders and files in a folder, by name, and what is left out of it."""
    try:
        with os.scandir(folder) as entries:
            children = sorted(entries, key=lambda entry: entry.name)
    except OSError as exc:
        return [SkippedFile(folder, f"cannot be listed: {exc.strerror}", broken=True)]
    return [_child(child, root, inside) for child in children]


def _child(child: os.DirEntry[str], root: Path, inside: Path | None) -> Path | SkippedFile | DocumentFile:
    path = Path(child.path)
    if child.name.startswith("."):
        return SkippedFile(path, "hidden")
    if child.is_dir(follow_symlinks=False):
        return path
    if child.is_symlink():
        with suppress(OSError):  # one that nobody may follow is reported when it is read
            if path.is_dir():
                return SkippedFile(path, "a link to a folder")
        if inside is not None and not Path(os.path.realpath(path)).is_relative_to(inside):
            return SkippedFile(path, "a link out of the folder; --follow-links follows it")
    elif not child.is_file():
        return SkippedFile(path, "not a file")
    # A link that leads nowhere is reported when it is read.
    return DocumentFile(path, _name(path.relative_to(root).as_posix()), root)


def _name(path: str) -> str:
    """Normalises a path: macOS spells accents as characters of their own."""
    return unicodedata.normalize("NFC", storable(path))


def _format(file: DocumentFile, raw: bytes) -> str | None:
    suffix, start = file.path.suffix.lower(), raw[:1024]
    if file.page is not None:
        suffix = _MEDIA.get(file.page.kind, suffix)
    if suffix == ".pdf" or raw.startswith(b"%PDF-"):
        return "pdf"
    if suffix[1:] in LIBRARIES:
        return suffix[1:]
    if not raw.startswith(_WIDE_MARKS) and (b"\x00" in raw or raw[:8192].translate(None, _CONTROLS) != raw[:8192]):
        return None
    if suffix in _HTML or start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    return "markdown" if suffix in _MARKDOWN else suffix[1:] if suffix in PLAIN else "text"


def _read(form: str, raw: bytes) -> FileText:
    if form == "pdf":
        return read_pdf(raw)
    if form in LIBRARIES:
        return read_office(form, raw)
    if form == "html":
        return read_html(_decode(raw, declared_encoding(raw)))
    text = _decode(raw, None).replace("\r\n", "\n").replace("\r", "\n")
    if form == "markdown":
        return read_markdown(text)
    return PLAIN[f".{form}"](text) if f".{form}" in PLAIN else FileText(None, text)


def _decode(raw: bytes, declared: str | None) -> str:
    if raw.startswith(_WIDE_MARKS):
        return _decode_strictly(raw, "utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        if declared is not None:
            return _decode_strictly(raw, declared)
        raise InputError(f"is not UTF-8 at byte {exc.start} (0x{raw[exc.start]:02x}); save it as UTF-8") from exc


def _decode_strictly(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except (UnicodeDecodeError, LookupError) as exc:
        raise InputError(f"declares the encoding {encoding}, but is not: {exc}; save it as UTF-8") from exc


def read_persona(path: str | Path) -> Persona:
    """Reads a YAML file with `name` and a list of `facts`.

    Raises:
        ConfigError: the file is missing, is not YAML, or lacks a field.
    """
    try:
        content = read_mapping(Path(path))
    except (OSError, ValueError) as exc:
        raise ConfigError(f"persona file {path} cannot be read: {exc}. Give a YAML file with name and facts") from exc
    try:
        return Persona.model_validate(content)
    except ValidationError as exc:
        raise ConfigError(f"persona file {path}: {first_problem(exc)}. It needs name and a list of facts") from exc
