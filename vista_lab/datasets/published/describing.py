"""The descriptions of published benchmarks, and the data sets that they stand for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError, model_validator

from vista_lab.datasets.files import DataSet, Entry
from vista_lab.datasets.published.reading import READERS, BenchmarkFiles, Described, Fields, Labels, ReaderName
from vista_lab.logs.source import LoggedConversation, Task

PART = ":"
"""Stands between a data set's name and one of its parts: `ragbench-test:covidqa`."""

UNTRIED = "written from the publisher's description, not tried on its files"

Measure = Literal[
    "accuracy", "balanced accuracy", "macro-F1", "P", "R", "F1", "AUROC", "span P", "span R", "span F1",
    "F1 factual", "F1 hallucinated", "Pearson", "Spearman",
]  # fmt: skip


class PublishedSet(Described):
    """A data set of the benchmark. What is not given is the benchmark's."""

    name: str
    split: str
    test: bool = False
    title: str = ""
    sample: str = ""
    files: Mapping[str, str] = {}
    fields: Fields | None = None
    retrieves: bool = False
    """True where turns bring no documents."""


class PrintedRow(Described):
    """A row that somebody printed: of which data set and system, where it stands, and its figures by column."""

    set: str
    system: str
    where: str
    values: Mapping[str, str] | tuple[str, ...]
    """By column, or one for each column; empty where nothing is printed."""

    def cells(self, columns: Sequence[str]) -> list[str | None]:
        """The figures in the order of these columns."""
        by_column = self.values if isinstance(self.values, Mapping) else dict(zip(columns, self.values, strict=True))
        return [by_column.get(column) or None for column in columns]


class Published(Described):
    """A benchmark as its TOML file describes it.

    `files` are templates of names with where each is to be had; `{split}`, `{part}`, the keys of a part and of `each` are filled
    in. `measures` are its table's columns, for each part and for the whole: a `mean` over parts, or over all turns `pooled`.
    """

    name: str
    title: str
    source: str
    licence: str
    sample: str
    task: Task
    reader: ReaderName = "rows"
    fields: Fields | None = None
    labels: Labels
    files: Mapping[str, str] = {}
    each: Mapping[str, tuple[str, ...]] = {}
    parts: Mapping[str, Mapping[str, str]] = {}
    sets: tuple[PublishedSet, ...]
    measures: tuple[Measure, ...]
    whole: Literal["pooled", "mean"] = "pooled"
    whole_name: str = "all"
    thresholds: str = ""
    """The data set on which the publishers fit a threshold for each part."""
    notes: tuple[str, ...] = ()
    printed: tuple[PrintedRow, ...] = ()

    @model_validator(mode="after")
    def _complete(self) -> Published:
        for member in self.sets:
            if self.reader == "rows" and not (member.fields or self.fields):
                raise ValueError(f"{member.name} has no fields")
            if not (member.files or self.files):
                raise ValueError(f"{member.name} has no files")
        names = {member.name for member in self.sets}
        for row in self.printed:
            by_name = isinstance(row.values, Mapping)
            known = set(row.values) <= set(self.columns) if by_name else len(row.values) == len(self.columns)
            if row.set not in names or not known:
                raise ValueError(f"the printed row {row.system!r} of {row.set} is of no such set, or has other columns")
        return self

    @property
    def columns(self) -> list[str]:
        """The names of the table's figures."""
        places = [*self.parts, self.whole_name] if self.parts else [""]
        return [f"{place} {measure}".strip() for place in places for measure in self.measures]


@dataclass(frozen=True)
class _File:
    name: str
    origin: str
    part: str


@cache
def published() -> tuple[Published, ...]:
    """All benchmarks, by name.

    Examples:
        >>> [about.name for about in published()][:3]
        ['delucionqa', 'faithbench', 'halueval']
    """
    folder = files("vista_lab.datasets.published")
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return tuple(_described(file.name.removesuffix(".toml"), file.read_text(encoding="utf-8")) for file in found)


def _described(name: str, text: str) -> Published:
    content: dict[str, Any] = tomllib.loads(text, parse_float=str)
    try:
        return Published(name=name, **content)
    except ValidationError as exc:
        raise ValueError(f"{name}.toml: {exc}") from exc


def find_published(data_set: str) -> tuple[Published, PublishedSet] | None:
    """The benchmark of a data set or of a part of it, with its description; None for other data sets.

    Examples:
        >>> about, member = find_published("ragbench-test:covidqa") or (None, None)
        >>> about.name
        'ragbench'
    """
    name = data_set.partition(PART)[0]
    return next(((about, member) for about in published() for member in about.sets if member.name == name), None)


def data_sets() -> Iterator[DataSet]:
    """Every data set of the benchmarks, each with its parts as data sets of their own."""
    for about in published():
        for member in about.sets:
            parts = {part: _data_set(about, member, part) for part in about.parts}
            yield _data_set(about, member, "", parts)


def _data_set(about: Published, member: PublishedSet, only: str, parts: Mapping[str, DataSet] | None = None) -> DataSet:
    found = _files(about, member, [only] if only else list(about.parts))
    return DataSet(
        name=f"{member.name}{PART}{only}" if only else member.name,
        title=member.title or about.title,
        source=about.source,
        licence=about.licence,
        split=member.split,
        files=tuple(file.name for file in found),
        read=_reader(about, member, found, only),
        task=about.task,
        test=member.test,
        sample=f"{member.sample or about.sample}; {UNTRIED}",
        origins={file.name: file.origin for file in found},
        retrieves=member.retrieves,
        parts=parts or {},
    )


def _files(about: Published, member: PublishedSet, parts: Sequence[str]) -> list[_File]:
    templates = member.files or about.files
    keys = {"part", *(key for values in about.parts.values() for key in values)}
    by_part = any(f"{{{key}}}" in template for template in templates for key in keys)
    found = []
    for part in parts if by_part else [""]:
        for template, origin in templates.items():
            used = [key for key in about.each if f"{{{key}}}" in template]
            for values in product(*(about.each[key] for key in used)):
                filled = {
                    "split": member.split,
                    "part": part,
                    **about.parts.get(part, {}),
                    **dict(zip(used, values, strict=True)),
                }
                found.append(_File(template.format_map(filled), origin.format_map(filled), part))
    return found


def _reader(about: Published, member: PublishedSet, found: Sequence[_File], only: str) -> Any:
    def read(paths: Sequence[Path]) -> Iterator[Entry]:
        placed = [(path, file.part) for path, file in zip(paths, found, strict=True)]
        reading = BenchmarkFiles(about.name, member.split, member.fields or about.fields, about.labels, placed)
        for entry in READERS[about.reader](reading):
            if not only or not isinstance(entry, LoggedConversation) or _part(entry) == only:
                yield entry

    return read


def _part(entry: LoggedConversation) -> str:
    return next((gold.part for gold in entry.gold.values()), "")
