"""Where rows come from: a publisher's data set in a user's folder, or a log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vista_guard.errors import ConfigError
from vista_guard.evaluation.datasets import Columns, LogFormat, read_log
from vista_guard.evaluation.datasets.published.files import fingerprint
from vista_guard.evaluation.datasets.published.opening import OpenedDataSet, open_dataset
from vista_guard.evaluation.datasets.published.registry import find
from vista_guard.evaluation.datasets.source import SUFFIXES
from vista_guard.evaluation.runners.loop import ClaimsMode
from vista_guard.evaluation.runners.plan import Source
from vista_guard.evaluation.systems.fitting import fit


def of_dataset(name: str, folder: Path | None) -> Source:
    """A data set by its name.

    Args:
        name: as `vista-guard datasets` lists it.
        folder: where its files are, or below.

    Raises:
        ConfigError: no folder is given.
        InputError: there is no such data set, or a file of it is missing: says which, and where to get it.
    """
    opened = _opened(name, folder)
    dataset = opened.dataset
    return Source(
        name=dataset.name,
        read=opened.entries,
        files=opened.fingerprints,
        split=dataset.split,
        task=dataset.task,
        test=dataset.test,
        sample=dataset.sample,
    )


def fitted_on(
    name: str, folder: Path | None, *, system: str, measured: Source, claims: ClaimsMode
) -> Mapping[str, str]:
    """Options of a system, fitted on a data set that is not measured.

    Args:
        name: of the set that is fitted on.
        folder: where its files are, or below.
        system: `majority` or `overlap`.
        measured: what is going to be evaluated.
        claims: whether labels of claims count, or of turns.

    Raises:
        ConfigError: no folder is given, or this must not be fitted on that: see `systems.fitting.fit`.
        InputError: there is no such data set, or a file of it is missing.
    """
    opened = _opened(name, folder)
    return fit(system, opened.dataset, opened.entries(), measured=measured, claims=claims.value)


def of_log(path: Path, log_format: str | None = None, columns: str | None = None) -> Source:
    """A log.

    Args:
        path: its file, or a folder of files.
        log_format: the format's name; found out when None.
        columns: which column of a table holds what, as `Columns.parse` reads it.

    Raises:
        ConfigError: there is no such format, or no such map.
        InputError: the file cannot be read.
    """
    known = [one.value for one in LogFormat]
    if log_format is not None and log_format not in known:
        raise ConfigError(f"--format is {log_format!r}; the formats are auto, {', '.join(known)}")
    chosen = None if log_format is None else LogFormat(log_format)
    table = None if columns is None else Columns.parse(columns)
    files = {str(file.relative_to(path.parent)): fingerprint(file) for file in _files(path)}
    return Source(name=path.resolve().name, read=lambda: read_log(path, chosen, table), files=files)


def _opened(name: str, folder: Path | None) -> OpenedDataSet:
    dataset = find(name)
    if folder is None:
        raise ConfigError(f"data set {name} is read from your files: give their folder with --data or VISTA_GUARD_DATA")
    return open_dataset(dataset, folder)


def _files(path: Path) -> list[Path]:
    """The log's files, as the reader finds them."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and SUFFIXES & set(file.suffixes))
