"""The figures that the paper (VISTA: Verification In Sequential Turn-based Assessment) prints: TOML files by table number.

Figures are decimals with the printed digits, so that rounding can be told from a difference.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from vista_guard.types import Label
from vista_lab.metrics.labels import Confusion

MODELS = ("GPT-5", "GPT-4o", "DeepSeek", "Llama-70B", "Llama-8B", "Qwen-32B", "Qwen-8B", "Mistral-7B")
DATA_SETS = ("AIS", "BEGIN", "FaithDial", "FADE")
"""In the order of Table 2."""

SYSTEMS = {
    "vista": "VISTA",
    "vista+ctx": "VISTA+ctx",
    "no-ac": "No Accumulated Claims",
    "no-ac+ctx": "−AC",
    "no-history": "No Dialogue History",
    "zero-shot": "Zero-Shot",
    "factscore": "FActScore",
    "llm-judge": "LLM-as-Judge",
}
"""The paper's names of systems, by ours."""


@cache
def table(name: str) -> Mapping[str, Any]:
    """One file, by its name without the ending: `table02`, `table08_11`."""
    file = files("vista_lab.papers") / "tables" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)


def agrees(printed: Decimal, found: float) -> bool:
    """True when a figure rounds to the printed one: at most half a unit of its last digit away.

    Examples:
        >>> agrees(Decimal("66.7"), 100 * 2 / 3)
        True
    """
    unit = Decimal(1).scaleb(int(printed.as_tuple().exponent))
    return abs(Decimal(found) - printed) <= unit / 2 + Decimal("1e-9")


def whole_number(percent: Decimal, of: int) -> int | None:
    """The count out of `of` that rounds to a printed percentage; None if there is none."""
    nearest = round(percent * of / 100)
    return nearest if agrees(percent, 100 * nearest / of) else None


@dataclass(frozen=True)
class Difference:
    """A row of Tables 8 to 11: `first` less `second`, in percent, and the items that one of them alone has right."""

    number: int
    data_set: str
    model: str
    first: str
    second: str
    difference: Decimal
    p: Decimal
    stars: str
    only_first: int
    only_second: int

    @property
    def row(self) -> str:
        return f"{self.model}, {SYSTEMS[self.first]} – {SYSTEMS[self.second]}"


def differences() -> Iterator[Difference]:
    """The 96 rows of Tables 8 to 11."""
    for data_set, part in table("table08_11").items():
        if data_set != "title":
            for model, rows in part["rows"].items():
                for row in rows:
                    yield Difference(part["number"], data_set, model, *row)


def accuracies() -> Iterator[tuple[str, str, str, Decimal, str]]:
    """The 96 cells of Table 2: data set, model, system, percent, superscript."""
    printed = table("table02")
    for data_set, rows in printed["accuracy"].items():
        for model, values in rows.items():
            marks = printed["better"][data_set][model]
            for system, value, mark in zip(printed["systems"], values, marks, strict=True):
                yield data_set, model, system, value, mark


def confusion(model: str) -> Confusion:
    """A model's claims by human and by model label (Tables 12 to 19); None is the column NONE."""
    labels: Sequence[str] = table("table12_19")["labels"]
    rows = table("table12_19")[model]["rows"]
    matrix: Confusion = Counter()
    for human, counts in zip(labels, rows, strict=False):
        for judged, count in zip(labels, counts, strict=False):
            if count:
                matrix[Label(human), None if judged == "NONE" else Label(judged)] = count
    return matrix
