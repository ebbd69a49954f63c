"""A data set's files in a user's folder: found as publishers pack them, named where missing, counted and fingerprinted.

Files are fetched, from stable addresses or the Hugging Face hub, only when asked.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from vista_guard._extras import require
from vista_guard.errors import InputError
from vista_lab.datasets.files import DataSet, Entry, fingerprint
from vista_lab.logs.source import BrokenEntry, LoggedConversation

DATA_VARIABLE = "VISTA_GUARD_DATA"
"""Environment variable of the user's data folder."""
SHOWN = 5
"""Unreadable rows that are kept as examples; the others are only counted."""
NAMED_FILES = 3
"""Files of a set that are named before the others are counted."""
DEEPEST = 6
"""Folders below the user's that are looked into."""
_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|\b\d[\d.,]*\b|\b0x\w+")


def first_of(names: Sequence[str], separator: str = ", ") -> str:
    """The first names; the others are counted.

    Examples:
        >>> first_of(["a", "b", "c", "d", "e"])
        'a, b, c and 2 more'
    """
    more = len(names) - NAMED_FILES
    shown = separator.join(names[:NAMED_FILES])
    return f"{shown} and {more} more" if more > 0 else shown


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
        """The conversations, and unreadable rows in their places.

        Raises InputError if a file as a whole cannot be read, or no row of it is a conversation.
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
            raise InputError(f"data set {self.dataset.name} has no conversation in {where}{why}")


@dataclass
class Counts:
    """The size of a data set. Only turns with gold or labelled claims count: those that can be scored."""

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


def count_entries(entries: Iterable[Entry]) -> Counts:
    """All entries, counted."""
    counts = Counts()
    for entry in entries:
        counts.add(entry)
    return counts


def scored_turns(entry: LoggedConversation) -> set[int]:
    """Indices of the turns with gold or labelled claims."""
    turns = enumerate(entry.conversation.turns)
    labelled = {place for place, turn in turns if any(claim.id in entry.labels for claim in turn.claims or ())}
    return labelled | set(entry.gold)


def reason(error: str) -> str:
    """An error without what is particular to its row, so that equal ones can be counted."""
    return _PARTICULARS.sub("…", error)[:200]


@dataclass(frozen=True)
class DataFolder:
    """A user's folder of publishers' files, scanned once for all data sets. Raises InputError: the folder does not exist."""

    path: Path

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            raise InputError(f"data folder {self.path} does not exist; give one with --data or {DATA_VARIABLE}")

    @cached_property
    def files(self) -> Mapping[str, Sequence[Path]]:
        """All files down to `DEEPEST` folders, by their names in lower case and without `.gz`. Hidden folders are left out."""
        by_name: dict[str, list[Path]] = {}
        seen: set[str] = set()
        for place, folders, names in os.walk(self.path, followlinks=True):
            here = Path(place)
            depth, real = len(here.relative_to(self.path).parts), os.path.realpath(place)
            # A link to a folder above it would have no end.
            folders[:] = sorted(folder for folder in folders if not folder.startswith(".")) if depth < DEEPEST else []
            if real in seen:
                folders.clear()
                continue
            seen.add(real)
            for name in sorted(names):
                by_name.setdefault(name.lower().removesuffix(".gz"), []).append(here / name)
        return by_name

    def find(self, name: str) -> Path | None:
        """A data set's file by the publisher's name, wherever it lies; None when it is not there.

        Raises InputError if different files fit, equally deep.
        """
        exact = [path for path in (self.path / name, self.path / f"{name}.gz") if path.is_file()]
        if exact:
            return exact[0]
        wanted = PurePosixPath(name.lower())
        near = [path for path in self.files.get(wanted.name, ()) if self._is_below(wanted.parts[:-1], path)]
        nearest = [path for path in near if len(path.parts) == min(len(one.parts) for one in near)]
        if len(nearest) > 1 and len({fingerprint(path) for path in nearest}) > 1:
            places = ", ".join(map(str, nearest))
            raise InputError(f"{self.path} has {name} more than once: {places}; keep one of them")
        return nearest[0] if nearest else None

    def missing(self, dataset: DataSet) -> list[str]:
        """The publisher's names of the data set's files that are not here."""
        return [name for name in dataset.files if self.find(name) is None]

    def _is_below(self, wanted: Sequence[str], path: Path) -> bool:
        """True when the wanted folders prefix some of the file's folders, in that order."""
        folders = iter((self.path.resolve().name, *path.relative_to(self.path).parts[:-1]))
        return all(any(have.lower().startswith(part) for have in folders) for part in wanted)


def open_dataset(dataset: DataSet, folder: Path | DataFolder) -> OpenedDataSet:
    """The data set with its files, as they lie in the folder or below it.

    A file is found at its own path (`faithdial/test.json`), and below folders of any names, as long as those that its path
    names are among them in that order (`FaithDial-main/data/test.json`), in any case of letters; the folder's own name counts.
    Each may be gzipped.

    Examples:
        >>> from vista_lab.datasets.registry import find
        >>> open_dataset(find("fade"), Path("no-such-folder"))
        Traceback (most recent call last):
        vista_guard.errors.InputError: data folder no-such-folder does not exist; give one with --data or VISTA_GUARD_DATA

    Raises:
        InputError: the folder cannot be read, a file is missing (says which, and where to get it), or found more than once.
    """
    folder = folder if isinstance(folder, DataFolder) else DataFolder(folder)
    paths: dict[str, Path] = {}
    missing = []
    for name in dataset.files:
        if (path := folder.find(name)) is not None:
            paths[name] = path
            continue
        origin = dataset.origins.get(name, dataset.source).replace("hf:", "huggingface.co/datasets/")
        missing.append(f"{name} is missing, to be had from {origin}")
    if missing:
        raise InputError(f"data set {dataset.name} is incomplete in {folder.path}: {first_of(missing, '; ')}")
    return OpenedDataSet(dataset, paths)


HUB = "hf:"
TIMEOUT = 60.0
"""Seconds without an answer after which a download fails."""
LFS = b"version https://git-lfs"
"""The start of a Git LFS pointer, which stands in the place of a file."""


def download(dataset: DataSet, folder: Path, said: Callable[[str], None] = lambda line: None) -> list[Path]:
    """Downloads the files that the folder lacks, each to its own path below it. Partial files are removed.

    Args:
        dataset: whose files.
        folder: created if it does not exist.
        said: receives a line for each file before it is fetched.

    Returns:
        The files written; empty if none was missing.

    Raises:
        ConfigError: a file is on the hub, and the extra `hub` is missing.
        InputError: a file has no address that it could be fetched from, the network or the folder refuses, or what came is no
            file. Says which, and where to get it by hand.
    """
    lacking = DataFolder(folder).missing(dataset) if folder.exists() else dataset.files
    targets = {name: folder / name for name in lacking}
    by_hand = [name for name in targets if not can_be_fetched(dataset, name)]
    if by_hand:
        lines = "; ".join(f"{name}: {dataset.origins.get(name, dataset.source)}" for name in by_hand)
        raise InputError(
            f"data set {dataset.name} cannot be downloaded completely; put these files into {folder} yourself: {lines}"
        )
    for name, path in targets.items():
        said(f"fetching {dataset.origins[name]}")
        _fetch(dataset, name, path)
    return list(targets.values())


def can_be_fetched(dataset: DataSet, name: str) -> bool:
    """True when a file of the data set has an address rather than instructions."""
    origin = dataset.origins.get(name, "")
    return origin.startswith((HUB, "https://", "http://")) and " " not in origin


def _fetch(dataset: DataSet, name: str, path: Path) -> None:
    origin = dataset.origins[name]
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (_from_hub if origin.startswith(HUB) else _from_url)(origin, part)
        with part.open("rb") as file:
            if file.read(len(LFS)) == LFS:
                raise OSError("the repository returned a Git LFS pointer instead of the file")
        part.replace(path)
    except (OSError, HTTPException, ValueError) as exc:
        why = " ".join(str(exc).split())[:200] or type(exc).__name__
        how = f"Download it yourself and put it at {path}"
        raise InputError(
            f"{name} of data set {dataset.name} could not be fetched from {origin} ({why}). {how}"
        ) from exc
    finally:
        part.unlink(missing_ok=True)


def _from_url(url: str, path: Path) -> None:
    try:
        with (
            urlopen(Request(url, headers={"User-Agent": "vista-guard"}), timeout=TIMEOUT) as answer,
            path.open("wb") as file,
        ):
            shutil.copyfileobj(answer, file)
            length = answer.headers.get("Content-Length")
    except HTTPError as exc:
        exc.close()
        raise OSError(f"the server answered {exc.code} {exc.reason}") from exc
    if length is not None and path.stat().st_size != int(length):
        raise OSError(f"the connection closed after {path.stat().st_size:,} of {int(length):,} bytes")


def _from_hub(origin: str, path: Path) -> None:
    require("downloading a data set from the Hugging Face hub", "huggingface_hub", extra="hub")
    from huggingface_hub import constants, hf_hub_download

    owner, name, file = origin.removeprefix(HUB).split("/", 2)
    try:
        local = hf_hub_download(
            f"{owner}/{name}",
            file,
            repo_type="dataset",
            cache_dir=constants.HF_HUB_CACHE,
            endpoint=os.environ.get("HF_ENDPOINT") or None,
        )
    except Exception as exc:  # the hub's own errors, and those of whatever HTTP client it was built on
        raise OSError(_root_cause(exc)) from exc
    shutil.copyfile(local, path)


def _root_cause(exc: BaseException) -> str:
    while exc.__cause__ is not None:
        exc = exc.__cause__
    return f"{type(exc).__name__}: {exc}"


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
        dataset, opened, counts = self.dataset, self.opened, self.counts
        fields = ("name", "title", "source", "licence", "split", "test", "task", "sample")
        paths, digests = (opened.paths, opened.fingerprints) if opened else ({}, {})
        known = ((name, str(paths[name]) if name in paths else None, digests.get(name)) for name in dataset.files)
        files = [
            {"name": one, "path": path, "sha256": sha, "origin": dataset.origins.get(one)} for one, path, sha in known
        ]
        facts = {name: getattr(dataset, name) for name in fields} | {"parts": [*dataset.parts], "files": files}
        facts["missing"] = list(self.missing)
        if counts is not None:
            numbers = ("conversations", "turns", "positive", "open", "claims")
            facts |= {name: getattr(counts, name) for name in numbers}
            facts |= {"skipped": dict(counts.skipped.most_common()), "examples": [*map(asdict, counts.examples)]}
        return {**facts, "error": self.error}


def survey(dataset: DataSet, folder: DataFolder | None) -> Survey:
    """Reads the whole data set, where the folder has it; an error in it is part of the answer."""
    if folder is None:
        return Survey(dataset)
    missing: list[str] = []
    try:
        missing = folder.missing(dataset)
        opened = open_dataset(dataset, folder)
        return Survey(dataset, opened, count_entries(opened.entries()))
    except InputError as exc:
        return Survey(dataset, missing=tuple(missing), error=str(exc))
