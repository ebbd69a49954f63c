"""Figures that the paper prints (VISTA: Verification In Sequential Turn-based Assessment), as rows and cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from vista_lab.papers import table
from vista_lab.tables.runs import SYSTEMS

MODELS = ("GPT-5", "GPT-4o", "DeepSeek", "Llama-70B", "Llama-8B", "Qwen-32B", "Qwen-8B", "Mistral-7B")


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
