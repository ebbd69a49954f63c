"""A table as the writers take it: what stands in it, and nothing of how it looks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

_STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

NOTHING = "–"
"""Where there is no figure: none was measured, or there is nothing to take it of."""

LONGEST_PART = 60
"""Letters of a data set's, a system's or a judge's name in that of a file; disks take some 250 bytes in all."""


@dataclass(frozen=True)
class Cell:
    """One figure or name. `mark` stands above the line behind it."""

    text: str
    mark: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Column:
    """A column's head. Neighbours of one `group` stand under a common head. Columns of figures are set to the right."""

    head: str
    group: str = ""
    figures: bool = True

    @property
    def whole(self) -> str:
        """Both heads in one."""
        return f"{self.group}: {self.head}" if self.group else self.head


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Sheet:
    """A table. `name` is its file's name, lower-case words and dashes; `rule_before` are rows with a line above them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    rule_before: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        odd = next((row for row in self.rows if len(row) != len(self.columns)), None)
        if odd is not None:
            raise ValueError(f"{self.name} has {len(self.columns)} columns, and a row of {len(odd)} cells: {odd}")

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Common heads and how many columns each spans, in order; the empty one where there is none."""
        return [(group, len(list(columns))) for group, columns in groupby(column.group for column in self.columns)]

    def below(self, rows: Sequence[Row]) -> Sheet:
        """The same with more rows, under a line."""
        if not rows:
            return self
        return replace(self, rows=self.rows + tuple(rows), rule_before=self.rule_before | {len(self.rows)})


def row(*values: Cell | str | float | None) -> Row:
    """Cells of values: a number is written as it is, None as a dash."""
    return tuple(value if isinstance(value, Cell) else Cell(_text(value)) for value in values)


def percent(value: float | None, digits: int = 2) -> str:
    """A share in [0, 1] as a percentage without its sign; a dash for None and for what is no number."""
    return NOTHING if value is None or value != value else f"{100 * value:.{digits}f}"


def one_line(text: str) -> str:
    """A text without line breaks, and with `�` for what would steer a terminal, or is no character in XML."""
    return _STEERS.sub("�", " ".join(text.split()))


def file_name(*parts: str) -> str:
    """A name for a file: what is no letter and no digit becomes one dash."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(part[:LONGEST_PART] for part in parts).lower()).strip("-") or "table"


def told_apart(names: Iterable[str]) -> list[str]:
    """Names for files, of which no two are the same: a second `own-json` is `own-json-2`."""
    found: dict[str, None] = {}
    for name in names:
        one, number = name, 1
        while one in found:
            number += 1
            one = f"{name}-{number}"
        found[one] = None
    return list(found)


def _text(value: str | float | None) -> str:
    return NOTHING if value is None else str(value)
