"""Fetching a data set's files: those at a stable address, and those on the Hugging Face hub. Nothing is fetched unasked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from vista_guard._extras import require
from vista_guard.errors import InputError
from vista_guard.evaluation.datasets.published.dataset import DataSet
from vista_guard.evaluation.datasets.published.opening import DataFolder

HUB = "hf:"
TIMEOUT = 60.0
"""Seconds without an answer, after which a server is given up."""
LFS = b"version https://git-lfs"
"""What stands in a file of which a repository only keeps a pointer."""


def download(dataset: DataSet, folder: Path, said: Callable[[str], None] = lambda line: None) -> list[Path]:
    """The files that the folder lacks, each at its own path below it. A file that broke off is not left behind.

    Args:
        dataset: whose files.
        folder: made when it is not there.
        said: is told a line for each file before it is fetched.

    Returns:
        What was written; empty when all was there.

    Raises:
        ConfigError: a file is on the hub, and the extra `hub` is missing.
        InputError: a file has no address that it could be fetched from, the network or the folder refuses, or what came is no
            file. Says which, and where to get it by hand.
    """
    lacking = DataFolder(folder).missing(dataset) if folder.exists() else dataset.files
    wanted = {name: folder / name for name in lacking}
    by_hand = [name for name in wanted if not can_be_fetched(dataset, name)]
    if by_hand:
        told = "; ".join(f"{name}: {dataset.origins.get(name, dataset.source)}" for name in by_hand)
        raise InputError(f"data set {dataset.name} cannot be downloaded whole, get these by hand into {folder}: {told}")
    for name, path in wanted.items():
        said(f"fetching {dataset.origins[name]}")
        _fetch(dataset, name, path)
    return list(wanted.values())


def can_be_fetched(dataset: DataSet, name: str) -> bool:
    """Whether a file of the data set has an address, rather than words for people."""
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
                raise OSError("the repository gives a pointer of Git LFS in its place")
        part.replace(path)
    except (OSError, HTTPException, ValueError) as exc:
        why = " ".join(str(exc).split())[:200] or type(exc).__name__
        raise InputError(
            f"{name} of data set {dataset.name} could not be fetched from {origin} ({why}). "
            f"Where there is a network, get it, and put it at {path}"
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
        raise OSError(f"the server answers {exc.code} {exc.reason}") from exc
    if length is not None and path.stat().st_size != int(length):
        raise OSError(f"it broke off after {path.stat().st_size:,} of {int(length):,} bytes")


def _from_hub(origin: str, path: Path) -> None:
    require("downloading a data set from the Hugging Face hub", "huggingface_hub", extra="hub")
    from huggingface_hub import constants, hf_hub_download

    owner, name, file = origin.removeprefix(HUB).split("/", 2)
    try:
        found = hf_hub_download(
            f"{owner}/{name}",
            file,
            repo_type="dataset",
            cache_dir=constants.HF_HUB_CACHE,
            endpoint=os.environ.get("HF_ENDPOINT") or None,
        )
    except Exception as exc:  # the hub's own errors, and those of whatever HTTP client it was built on
        raise OSError(_told(exc)) from exc
    shutil.copyfile(found, path)


def _told(exc: BaseException) -> str:
    """What lies at the bottom of an error: the hub's own words speak of its cache where the network is what failed."""
    while exc.__cause__ is not None:
        exc = exc.__cause__
    return f"{type(exc).__name__}: {exc}"
