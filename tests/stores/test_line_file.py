"""A file of lines in use by two threads: one reads earlier lines while the other one adds some."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from threading import Thread

from pydantic import BaseModel

from vista_guard.stores.line_file import LineFile, LineKind


class Numbered(BaseModel):
    """A line."""

    number: int
    text: str = ""


class Any:
    """Whatever made the file, it is resumed."""

    def claim(self, path: Path, *, empty: bool) -> None:
        """Says nothing."""


KIND = LineKind(Numbered, noun="line", group=lambda line: "all", key=lambda line: line.number, again=str)


def test_lines_are_read_and_added_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with closing(LineFile.open(path, KIND, Any())) as lines:
        for number in range(200):
            lines.append(Numbered(number=number, text="x" * number))
    with closing(LineFile.open(path, KIND, Any())) as lines:
        read: list[list[int]] = []
        reader = Thread(target=lambda: read.extend([line.number for line in lines.of_group("all")] for _ in range(20)))
        reader.start()
        for number in range(200, 1200):
            lines.append(Numbered(number=number, text="y" * (number % 50)))
        reader.join()
        assert read == [list(range(200))] * 20
    with closing(LineFile.open(path, KIND, Any())) as lines:
        assert [line.number for line in lines.of_group("all")] == list(range(1200))
