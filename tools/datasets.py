"""The table of the data sets that can be evaluated, from the registry."""

from __future__ import annotations

from collections.abc import Iterator

from tools.markers import put_between
from vista_lab.datasets.opening import first_of
from vista_lab.datasets.registry import DataSet, all_datasets

START, END = "<!-- datasets: written by `make docs` -->", "<!-- /datasets -->"


def with_datasets(page: str) -> str:
    """The page with the table between its two markers."""
    return put_between(page, START, END, table())


def table() -> str:
    """A row for each data set."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "| name | data set | split | looked for | licence | files | its rows, and the paper's |"
    yield "|---|---|---|---|---|---|---|"
    for dataset in all_datasets().values():
        cells = (
            f"`{dataset.name}`",
            dataset.title,
            _split(dataset),
            str(dataset.task),
            dataset.licence,
            _files(dataset),
            dataset.sample,
        )
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _split(dataset: DataSet) -> str:
    return f"{dataset.split}, *test*" if dataset.test else dataset.split


def _files(dataset: DataSet) -> str:
    return first_of([f"`{name}`" for name in dataset.files])
