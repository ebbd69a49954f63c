"""A data set's files in a user's folder: found as publishers pack them, named where they are missing, counted, fingerprinted."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets.published.dataset import DataSet, Entry
from vista_guard.evaluation.datasets.published.files import fingerprint
from vista_guard.evaluation.datasets.source import BrokenEntry, LoggedConversation

DATA_VARIABLE = "VISTA_GUARD_DATA"
"""The environment's name of a user's folder."""
SHOWN = 5
"""Rows that could not be read which are kept one by one; the others are only counted."""
DEEPEST = 6
"""Folders below the user's that are looked into."""
_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|\b\d[\d.,]*\b|\b0x\w+")


@dataclass(frozen=True)
class OpenedDataSet:
    """A data set whose files are all there. `paths` are in the order of `dataset.files`, by the publisher's names."""

    dataset: DataSet
    paths: Mapping[str, Path]

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        """The sha256 of each file's bytes, unzipped, by the publisher's name."""
        return {name: fingerprint(path) for name, path in self.paths.items()}

    def entries(self) -> Iterator[Entry]:
        """The conversations, and in their places the rows that could not be read.

        Raises:
            InputError: a file as a whole cannot be read, or no row of it is a conversation.
        """
        first, some = None, False
        for entry in self.dataset.read(tuple(self.paths.values())):
            if isinstance(entry, BrokenEntry):
                first = first or entry
            else:
                some = True
            yield entry
        if not some:
            where = ", ".join(map(str, self.paths.values()))
            why = f"; the first row that cannot be read: {first.source} {first.error}" if first else ""
            raise InputError(f"data set {self.dataset.name} holds no conversation in {where}{why}")


@dataclass
class Counts:
    """What was found in a data set. Turns are those with gold or with labelled claims: those that can be scored."""

    conversations: int = 0
    turns: int = 0
    positive: int = 0
    """Turns that are looked for."""
    open: int = 0
    """Turns of which the publisher leaves that open."""
    claims: int = 0
    """Claims with a label."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Rows that could not be read, by reason; what is particular to a row stands as `…` in it."""
    examples: list[BrokenEntry] = field(default_factory=list)
    """The first of them."""

    def add(self, entry: Entry) -> None:
        """Counts one entry."""
        if isinstance(entry, BrokenEntry):
            self.skipped[reason(entry.error)] += 1
            if len(self.examples) < SHOWN:
                self.examples.append(entry)
            return
        self.conversations += 1
        self.turns += len(scored_turns(entry))
        self.positive += sum(gold.positive is True for gold in entry.gold.values())
        self.open += sum(gold.positive is None for gold in entry.gold.values())
        self.claims += len(entry.labels)


def counted(entries: Iterable[Entry]) -> Counts:
    """All entries, counted."""
    counts = Counts()
    for entry in entries:
        counts.add(entry)
    return counts


def scored_turns(entry: LoggedConversation) -> set[int]:
    """Places of the turns that something is known of: with gold, or with claims that have labels."""
    turns = enumerate(entry.conversation.turns)
    labelled = {place for place, turn in turns if any(claim.id in entry.labels for claim in turn.claims or ())}
    return labelled | set(entry.gold)


def reason(error: str) -> str:
    """An error without what is particular to its row, so that equal ones can be counted."""
    return _PARTICULARS.sub("…", error)[:200]


@dataclass(frozen=True)
class DataFolder:
    """A user's folder of publishers' files. What lies in it is looked up once, however many data sets are looked for.

    Raises:
        InputError: when it is made, the folder is not there.
    """

    path: Path

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            raise InputError(f"the data folder {self.path} is not there; give one with --data or {DATA_VARIABLE}")

    @cached_property
    def files(self) -> Mapping[str, Sequence[Path]]:
        """All files down to `DEEPEST` folders, by their names in lower case and without `.gz`. Hidden folders are left out."""
        found: dict[str, list[Path]] = {}
        seen: set[str] = set()
        for place, folders, names in os.walk(self.path, followlinks=True):
            here = Path(place)
            depth, real = len(here.relative_to(self.path).parts), os.path.realpath(place)
            # A link to a folder above it would have no end.
            folders[:] = sorted(one for one in folders if not one.startswith(".")) if depth < DEEPEST else []
            if real in seen:
                folders.clear()
                continue
            seen.add(real)
            for name in sorted(names):
                found.setdefault(_plain(name), []).append(here / name)
        return found

    def find(self, name: str) -> Path | None:
        """A data set's file by the publisher's name, wherever it lies; None when it is not there.

        Raises:
            InputError: different files fit, equally deep.
        """
        exact = [path for path in (self.path / name, self.path / f"{name}.gz") if path.is_file()]
        if exact:
            return exact[0]
        wanted = PurePosixPath(name.lower())
        near = [path for path in self.files.get(wanted.name, ()) if self._fits(wanted, path)]
        nearest = [path for path in near if len(path.parts) == min(len(one.parts) for one in near)]
        if len(nearest) > 1 and len({fingerprint(path) for path in nearest}) > 1:
            told = ", ".join(map(str, nearest))
            raise InputError(f"{name} is there more than once: {told}; leave one of them in {self.path}")
        return nearest[0] if nearest else None

    def missing(self, dataset: DataSet) -> list[str]:
        """The publisher's names of the data set's files that are not here."""
        return [name for name in dataset.files if self.find(name) is None]

    def _fits(self, wanted: PurePosixPath, path: Path) -> bool:
        """Whether the folders that the name asks for are among the file's, in that order, by how they begin."""
        folders = iter((self.path.resolve().name, *path.relative_to(self.path).parts[:-1]))
        return all(any(have.lower().startswith(part) for have in folders) for part in wanted.parts[:-1])


def open_dataset(dataset: DataSet, folder: Path | DataFolder) -> OpenedDataSet:
    """The data set with its files, as they lie in the folder or below it.

    A file is found at its own path (`faithdial/test.json`), and below folders of any names, as long as those that its path
    names are among them in that order (`FaithDial-main/data/test.json`), in any case of letters; the folder's own name counts.
    Each may be gzipped.

    Example:
        >>> opened = open_dataset(find("begin-dev-wow"), Path("data"))  # doctest: +SKIP

    Raises:
        InputError: the folder cannot be read, a file is missing (says which, and where to get it), or found more than once.
    """
    folder = folder if isinstance(folder, DataFolder) else DataFolder(folder)
    found = {name: folder.find(name) for name in dataset.files}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise InputError(
            f"data set {dataset.name} is not whole in {folder.path}: {'; '.join(_wanted(dataset, missing))}"
        )
    return OpenedDataSet(dataset, {name: path for name, path in found.items() if path is not None})


def _wanted(dataset: DataSet, missing: Iterable[str]) -> Iterator[str]:
    for name in missing:
        origin = dataset.origins.get(name, dataset.source)
        yield f"{name} is missing, to be had from {origin.replace('hf:', 'huggingface.co/datasets/')}"


def _plain(name: str) -> str:
    return name.lower().removesuffix(".gz")
