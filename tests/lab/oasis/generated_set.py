"""A generated set by hand, and annotators who mark its sheets: what is wrong in it is known."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection
from pathlib import Path

from openpyxl import load_workbook

from vista_lab.oasis.records import GeneratedPair, Passage, Record
from vista_lab.runs.made import RECORDS, State

CLAIMS = 4
"""Claims of each passage."""

Marker = Callable[[str, str, str], str]
"""An annotator's marks: by the passage's id, the identifier in the row, and the column's head."""


def record(number: int, state: State = State.ACCEPTED, *, passages: int = 2) -> Record:
    """A passage about a mill; `passages` of them are of one document."""
    name, year = f"mill {number}", 1700 + number % 300
    claims = (
        f"The {name} was built in {year}.",
        f"The {name} grinds rye.",
        f"The {name} has {2 + number % 7} sails.",
        f"=The {name} stands on a hill.",
    )
    factual = f"Rye is ground in the {name}, on a hill, since {year}; it has {2 + number % 7} sails."
    pair = GeneratedPair(
        claims=claims,
        altered=1,
        falsified=f"The {name} presses oil.",
        factual=factual,
        unfactual=factual.replace("Rye is ground", "Oil is pressed"),
    )
    passage = Passage(
        document=f"mills/{number // passages}.md", first=5 * (number % passages), sentences=5, text=" ".join(claims)
    )
    return Record(passage=passage, made_by="by hand", state=state, pair=pair)


def write_set(folder: Path, count: int, rejected: int = 0) -> list[Record]:
    """A set of so many accepted records, and more that were rejected."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [record(number) for number in range(count)]
    records += [record(count + number, State.REJECTED) for number in range(rejected)]
    (folder / RECORDS).write_text("".join(f"{one.model_dump_json()}\n" for one in records), encoding="utf-8")
    return records


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a sheet as tab-separated values."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline=""), delimiter="\t"))


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0].keys(), delimiter="\t", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(file.getvalue().encode("utf-8"))


ITEM_ROWS = ("original_text", "paraphrase", "unfactual_text")


def mark_tsv(path: Path, marker: Marker) -> None:
    """Fills in a sheet in the paper's columns; rows of items stay empty."""
    rows = rows_of(path)
    for row in rows:
        name = row.get("Identifier", "pair")
        if name not in ITEM_ROWS:
            for head in ("Annotation", "Semantics Preserved", "Paraphrased"):
                if head in row:
                    row[head] = marker(row["id"], name, head)
    write_rows(path, rows)


def mark_xlsx(path: Path, marker: Marker) -> None:
    """Fills in a workbook."""
    book = load_workbook(path)
    sheet = book.worksheets[0]
    heads = {str(cell.value): place for place, cell in enumerate(sheet[1], 1)}
    for row in sheet.iter_rows(min_row=2):
        name = str(row[heads["claim"] - 1].value or "") if "claim" in heads else "pair"
        for head in ("mark", "semantics", "paraphrased"):
            if head in heads and name:
                sheet.cell(row[0].row or 0, heads[head]).value = marker(str(row[0].value), name, head) or None
    book.save(path)


def all_right(_item: str, _row: str, _head: str) -> str:
    """An annotator who finds nothing."""
    return "v"


def wrong_rows(rows: Collection[tuple[str, str]]) -> Marker:
    """An annotator who calls these rows wrong."""
    return lambda item, row, _head: "x" if (item, row) in rows else "v"
