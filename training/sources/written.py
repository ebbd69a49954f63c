"""Claims in other words, written for this project: twins on one text, and claims on documents in two versions.

Two forms: ``train/written`` of the data folder (JSON Lines), and plain text, ``training/written/*.txt.gz``::

    # g.001                       an invented document, its text up to ``---``;
    first line of version A       a line ``===`` begins a second version of it
    ===
    first line of version B
    ---
    o S C A claim                 kind, label under A, label under B, claim
    @0.013                        a passage of another set, by its id in ``train/written/passages.jsonl.gz``
    p S A claim                   kind, label, claim; two lines are a twin, exactly one of them S
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from training.pairs import KindPair
from training.sources.parts import Part, json_rows, stretch, tenth
from vista_guard.errors import InputError
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS

PASSAGES, CLAIMS = "train/written/passages.jsonl.gz", "train/written/claims.jsonl.gz"
FILES = (PASSAGES, CLAIMS)
FOLDER = Path(__file__).parents[1] / "written"
KINDS = "apnqcrokmushtx"
_LABELS = {"S": SUPPORTED_CLASS, "C": CONTRADICTED_CLASS, "N": NOT_ENOUGH_CLASS}
_CLAIM = re.compile(rf"([{KINDS}]) ([SCN])(?: ([SCN]))? (\S.*)")
_WORDS = 190
"""Of a text that is read whole."""


@dataclass(frozen=True)
class Claim:
    """A claim with the label that each version of its text gives it, and the line it stands on."""

    kind: str
    labels: tuple[str, ...]
    text: str
    line: int


@dataclass
class Document:
    """A text, in one version or two, and its claims; a passage of another set has no text of its own."""

    id: str
    line: int
    invented: bool
    versions: list[str] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)


def written(data: Path, part: Part) -> Iterator[KindPair]:
    """Both forms; both versions of a document fall into the same part."""
    texts = {row["id"]: row["text"] for row in json_rows(data / PASSAGES)}
    for row in json_rows(data / CLAIMS):
        if tenth(row["id"].rstrip("AB"), part):
            yield _pair(texts[row["id"]], row["claim"], row["label"], row["kind"], row["twin"])
    for path in sorted(FOLDER.glob("*.txt.gz")):
        yield from pairs_of(read(path), texts, part)


def pairs_of(documents: Iterable[Document], texts: Mapping[str, str], part: Part) -> Iterator[KindPair]:
    """The labelled pairs of documents in plain text; ``texts`` has the passages of other sets by id."""
    for document in documents:
        if not tenth(document.id.rstrip("AB"), part):
            continue
        versions = document.versions or [texts[document.id]]
        for number, claim in enumerate(document.claims):
            place = number if len(versions) == 2 else number // 2
            for text, label in zip(versions, claim.labels, strict=True):
                yield _pair(text, claim.text, label, claim.kind, f"{document.id}.{place}")


def _pair(text: str, claim: str, label: str, kind: str, twin: str) -> KindPair:
    return KindPair(
        stretch(text, claim, _WORDS), claim, (_LABELS[label],), "written", f"written_{kind}", f"written-{twin}"
    )


def read(path: Path) -> list[Document]:
    """The documents of one file; what does not parse, or is no twin, raises with file and line."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    documents = _Reader(path).read(text.splitlines())
    for document in documents:
        if len(document.versions) != 2:
            _check_twins(path, document)
    return documents


class _Reader:
    """Where the reading of a file stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.documents: list[Document] = []
        self.text: list[str] | None = None  # the lines of the version that is open
        self.seen: set[str] = set()

    def read(self, lines: Iterable[str]) -> list[Document]:
        number = 0
        for number, line in enumerate(lines, 1):
            self._text_line(line, number) if self.text is not None else self._line(line, number)
        if self.text is not None:
            raise self.error(number, f"the text of {self.documents[-1].id} does not end; a line --- must follow it")
        return self.documents

    def error(self, line: int, problem: str) -> InputError:
        return InputError(f"{self.path}, line {line}: {problem}")

    def _line(self, line: str, number: int) -> None:
        if line.startswith(("# ", "@")):
            self._open(line, number)
        elif line.strip():
            self._claim(line, number)

    def _open(self, line: str, number: int) -> None:
        document = Document(line.lstrip("#@").strip(), number, line.startswith("#"))
        if document.id in self.seen and document.invented:
            raise self.error(number, f"id {document.id} stands twice in this file")
        self.seen.add(document.id)
        self.documents.append(document)
        self.text = [] if document.invented else None

    def _text_line(self, line: str, number: int) -> None:
        document, kept = self.documents[-1], self.text or []
        if line.strip() not in ("===", "---"):
            self.text = [*kept, line]
            return
        version = "\n".join(kept).strip()
        if len(version.split()) < 20 or len(document.versions) == 2:
            raise self.error(number, f"{document.id}: a version is too short, or a third one")
        document.versions.append(version)
        self.text = [] if line.strip() == "===" else None

    def _claim(self, line: str, number: int) -> None:
        found = _CLAIM.fullmatch(line)
        if not found or not self.documents:
            raise self.error(number, f"no claim, no '# id' and no '@id': {line[:80]!r}")
        kind, first, second, text = found.groups()
        labels = (first, second) if second else (first,)
        wanted = len(self.documents[-1].versions) or 1
        if len(labels) != wanted:
            raise self.error(number, f"{len(labels)} labels where the text has {wanted} versions: {line[:80]!r}")
        self.documents[-1].claims.append(Claim(kind, labels, text, number))


def _check_twins(path: Path, document: Document) -> None:
    for one, other in zip(document.claims[::2], [*document.claims[1::2], None], strict=False):
        if other is None or (one.labels == ("S",)) == (other.labels == ("S",)):
            raise InputError(f"{path}, line {one.line}: a twin has two claims, exactly one of them S")
