"""Every data set that can be evaluated, by name."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_lab.datasets.files import DataSet, Entry, sample_balanced
from vista_lab.datasets.opening import Counts, DataFolder, OpenedDataSet, count_entries, open_dataset
from vista_lab.datasets.published.describing import PART
from vista_lab.datasets.published.describing import data_sets as published_sets
from vista_lab.datasets.sets import factscore
from vista_lab.logs.source import Task
from vista_lab.registry import additions, load

SETS = "vista_lab.datasets.sets"
"""Package of the data sets of no task."""

SEED = 13
"""Of the rows that are drawn for Tables 5, 20 and 21; the seed is ours."""

DISJOINT = "-disjoint"
"""Ends the name of a test set without the topics that the other model's training split has."""


@cache
def all_datasets() -> Mapping[str, DataSet]:
    """Every data set by its name, in alphabetical order.

    Examples:
        >>> all_datasets()["fade"].task.value
        'unverifiable'
    """
    every = (*_described(), *published_sets())
    return {dataset.name: dataset for dataset in sorted(every, key=lambda dataset: dataset.name)}


def find(name: str) -> DataSet:
    """The data set of a name; `NAME:PART` is one of its parts.

    Examples:
        >>> find("begin-dev-wow").licence
        'CC BY 4.0'
        >>> find("ragbench-test:covidqa").files
        ('ragbench/covidqa/test-00000-of-00001.parquet',)

    Raises:
        InputError: there is none; suggests similar names, or lists the parts.
    """
    known = all_datasets()
    whole, colon, part = name.partition(PART)
    if whole in known:
        parts = known[whole].parts
        if not colon:
            return known[whole]
        if part not in parts:
            has = f"its parts are {', '.join(parts)}" if parts else "it has no parts"
            raise InputError(f"data set {whole} has no part {part!r}; {has}")
        return parts[part]
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.0)
    raise InputError(f"data set {name!r} is unknown; did you mean {', '.join(near)}? vista-guard datasets lists all")


def _described() -> Iterator[DataSet]:
    """The data sets of the files `sets.toml`, this room's and the tasks'."""
    for package in (SETS, *(task.data_sets for task in additions() if task.data_sets)):
        described = tomllib.loads(files(package).joinpath("sets.toml").read_text(encoding="utf-8"))
        words = described.pop("words", {})
        for shared in described.values():
            for own in shared.pop("sets"):
                yield _data_set({**words, **shared, **own}, package)


def _data_set(given: Mapping[str, Any], package: str) -> DataSet:
    def filled(text: str) -> str:
        while "{" in text:
            text = text.format_map(given)
        return text

    fields: dict[str, Any] = {name: given[name] for name in ("test", "retrieves", "answered_by") if name in given}
    fields |= {name: filled(given[name]) for name in ("name", "title", "source", "licence", "split", "sample")}
    names, task = tuple(map(filled, given["files"])), Task(given.get("task", Task.UNVERIFIABLE))
    origins = {filled(name): filled(place) for name, place in given.get("origins", {}).items()}
    origins = {name: place for name, place in origins.items() if name in names}
    return DataSet(**fields, files=names, task=task, origins=origins, read=_reader(given, package))


def _reader(given: Mapping[str, Any], package: str) -> Callable[[Sequence[Path]], Iterator[Entry]]:
    if "atomicity" in given:
        return factscore.reader(given["split"], given["atomicity"])
    read: Callable[[Sequence[Path]], Iterator[Entry]] = load(f"{package}.{given['read']}")
    return sample_balanced(read, given["draw"], SEED) if "draw" in given else read


__all__ = [
    "Counts",
    "DataFolder",
    "DataSet",
    "Entry",
    "OpenedDataSet",
    "Task",
    "all_datasets",
    "count_entries",
    "find",
    "open_dataset",
]
