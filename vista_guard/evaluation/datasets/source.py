"""Log files on disk: JSON lists and JSON lines, plain or gzipped, as a stream of JSON values. Knows no format."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from vista_guard.errors import InputError
from vista_guard.types import Conversation, Label

GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class TurnGold:
    """What a data set says of one assistant turn.

    `label` is the publisher's own word ("Generic", "hallucinated"). `positive` says whether the turn is what the data set looks
    for: for most a turn that its documents do not carry (VISTA, Table 2), or one that contradicts what was said before
    (Table 5), or that abstains (Table 20). None where the publisher leaves it open.
    """

    label: str
    positive: bool | None


@dataclass(frozen=True)
class LoggedConversation:
    """A conversation of a log or of a data set.

    `labels` are a human's, by claim id; `gold` is the data set's word on whole turns, by the turn's index; `line` counts from 1,
    where a file has lines.
    """

    conversation: Conversation
    labels: Mapping[str, Label]
    line: int | None = None
    gold: Mapping[int, TurnGold] = field(default_factory=dict)


@dataclass(frozen=True)
class BrokenEntry:
    """A line or list item of a log that is no conversation. `source` names file and place."""

    source: str
    error: str


@dataclass(frozen=True)
class Value:
    """A JSON value as found: `place` is `line 3` or `conversation 3`."""

    content: object
    place: str
    line: int | None = None

    def named(self, *given: object) -> str:
        """The first id that is given, as a text; the place when none is."""
        return next((str(one) for one in given if one is not None and one != ""), self.place.replace(" ", "-"))


def values(path: Path) -> Iterator[Value | BrokenEntry]:
    """The items of a JSON list, or the lines of a JSON-lines file, which is never held whole.

    A broken line is answered with a `BrokenEntry` and the rest goes on; a broken list has no rest.

    Raises:
        InputError: the file is missing, a folder, empty, a damaged archive, or a list that is not JSON or not UTF-8.
    """
    if _is_list(path):
        for number, content in enumerate(_json_list(path), 1):
            yield Value(content, place=f"conversation {number}")
    else:
        yield from _json_lines(path)


def count(path: Path) -> int:
    """How many values the file holds, broken ones included; reads it once, parsing only lists."""
    if _is_list(path):
        return len(_json_list(path))
    with opened(path) as file:
        return sum(1 for line in file if line.strip())


def _json_lines(path: Path) -> Iterator[Value | BrokenEntry]:
    offset = 0
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            start, offset = offset, offset + len(line)
            if number == 1:
                line = line.removeprefix(BOM)
            if line.strip():
                yield _json_line(path, number, line, start)


def _json_line(path: Path, number: int, line: bytes, start: int) -> Value | BrokenEntry:
    place = f"line {number}"
    try:
        return Value(json.loads(line.decode("utf-8")), place=place, line=number)
    except UnicodeDecodeError as exc:
        error = f"byte {start + exc.start} (0x{line[exc.start]:02x}) is not UTF-8"
    except (ValueError, RecursionError) as exc:
        error = f"is not JSON: {exc}"
    return BrokenEntry(f"{path} {place}", error)


def _json_list(path: Path) -> list[object]:
    with opened(path) as file:
        raw = file.read()
    try:
        content = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        found = f"byte {exc.start} (0x{raw[exc.start]:02x})"
        raise InputError(f"log {path}: {found} is not UTF-8; save the file as UTF-8") from exc
    except (ValueError, RecursionError) as exc:
        raise InputError(f"log {path} starts like a JSON list but is not JSON: {exc}") from exc
    return cast("list[object]", content)


def _is_list(path: Path) -> bool:
    """Whether the first character is `[`.

    Raises:
        InputError: there is no first character, or the file is UTF-16.
    """
    with opened(path) as file:
        head = file.read(4096)
        if head.startswith(UTF16_BOMS):
            raise InputError(f"log {path}: byte 0 (0x{head[0]:02x}) starts UTF-16 text; save the file as UTF-8")
        head = head.removeprefix(BOM)
        while not head.strip():
            head = file.read(4096)
            if not head:
                raise InputError(f"log {path} is empty; expected a JSON list or one JSON object a line")
    return head.lstrip().startswith(b"[")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unzipped when it is a gzip archive by its first bytes, whatever its name."""
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            if not zipped:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw) as file:
                yield cast("BinaryIO", file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
        raise InputError(f"log {path} is a damaged or cut-off gzip archive: {exc}") from exc
    except OSError as exc:
        raise InputError(f"log {path} cannot be read: {exc.strerror or exc}") from exc
