"""Data sets of the literature, read from their publishers' own files."""

from __future__ import annotations

from vista_guard.evaluation.datasets.published.dataset import DataSet, Entry, Task
from vista_guard.evaluation.datasets.published.opening import Counts, DataFolder, OpenedDataSet, counted, open_dataset
from vista_guard.evaluation.datasets.published.registry import all_datasets, find

__all__ = [
    "Counts",
    "DataFolder",
    "DataSet",
    "Entry",
    "OpenedDataSet",
    "Task",
    "all_datasets",
    "counted",
    "find",
    "open_dataset",
]
