"""What a user has of the data sets: which are whole, how many turns they hold, what is skipped, their fingerprints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets.published.dataset import DataSet
from vista_guard.evaluation.datasets.published.opening import Counts, DataFolder, OpenedDataSet, counted, open_dataset


@dataclass(frozen=True)
class Survey:
    """A data set in a folder. Without a folder nothing was looked for; with an error the rest is not known."""

    dataset: DataSet
    opened: OpenedDataSet | None = None
    counts: Counts | None = None
    missing: tuple[str, ...] = ()
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """All that is known, as JSON types."""
        return {**_known(self.dataset), **self._files(), **_found(self.counts), "error": self.error}

    def _files(self) -> dict[str, Any]:
        opened, origins = self.opened, self.dataset.origins
        files = [
            {
                "name": name,
                "path": str(opened.paths[name]) if opened else None,
                "sha256": opened.fingerprints[name] if opened else None,
                "origin": origins.get(name),
            }
            for name in self.dataset.files
        ]
        return {"files": files, "missing": list(self.missing)}


def survey(dataset: DataSet, folder: DataFolder | None) -> Survey:
    """Reads the whole data set, where the folder has it; an error in it is part of the answer."""
    if folder is None:
        return Survey(dataset)
    missing: list[str] = []
    try:
        missing = folder.missing(dataset)
        opened = open_dataset(dataset, folder)
        return Survey(dataset, opened, counted(opened.entries()))
    except InputError as exc:
        return Survey(dataset, missing=tuple(missing), error=str(exc))


def _known(dataset: DataSet) -> dict[str, Any]:
    fields = ("name", "title", "source", "licence", "split", "test", "task", "sample")
    return {name: getattr(dataset, name) for name in fields}


def _found(counts: Counts | None) -> dict[str, Any]:
    if counts is None:
        return {}
    numbers = ("conversations", "turns", "positive", "open", "claims")
    examples = [{"source": one.source, "error": one.error} for one in counts.examples]
    return {
        **{name: getattr(counts, name) for name in numbers},
        "skipped": dict(counts.skipped.most_common()),
        "examples": examples,
    }
