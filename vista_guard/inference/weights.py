"""The shipped weights: files of the package `vista-guard-weights`, in the version that this code was measured with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path

from vista_guard._aio import load_once
from vista_guard._extras import how_to_install_weights
from vista_guard.errors import ConfigError

VERSION = "1.4.0"
"""Version of the weights that this code needs; `pyproject.toml` requires the same."""


def _find_folder() -> Path:
    try:
        from vista_guard_weights import FOLDER
    except ImportError:
        # An import raises nothing: `weights_file` says what is missing. The place is where pip would have put it.
        return Path(__file__).parents[2] / "vista_guard_weights"
    return FOLDER


WEIGHTS = _find_folder()
"""Folder of the shipped files; `MODEL_CARD.md` in it says what they are."""


def weights_file(name: str, folder: Path = WEIGHTS) -> Path:
    """Path of a weights file.

    Shipped files are checked against the SHA-256 in `judge.json`, once per process, and with them what a graph keeps outside
    itself: `reader.embeddings` of `reader.onnx`. The first call for a file reads all of it.

    Raises:
        ConfigError: the file is missing. Of the shipped ones also: damaged, or their package is missing or of another version.
    """
    path = folder / name
    listed = _listed() if folder == WEIGHTS else {}
    if not path.is_file():
        raise ConfigError(f"weights file {path} is missing. {_remedy(folder)}")
    for part in listed:
        if Path(part).stem == path.stem:
            _check(part)
    return path


def damaged(path: Path, why: object) -> ConfigError:
    """The error of a weights file that cannot be loaded."""
    return ConfigError(f"weights file {path} cannot be loaded ({why}). {_remedy(path.parent)}")


@load_once
def _listed() -> Mapping[str, str]:
    """SHA-256 of the shipped files, by name.

    Raises:
        ConfigError: the package is missing, damaged or of another version.
    """
    path = WEIGHTS / "judge.json"
    if not path.is_file():
        raise ConfigError(f"the package vista-guard-weights is missing: there is no {path}. {_remedy()}")
    try:
        judge = json.loads(path.read_text(encoding="utf-8"))
        version, hashes = judge["version"], dict(judge["sha256"])
    except (ValueError, KeyError, TypeError) as exc:
        raise damaged(path, exc) from exc
    if version != VERSION:
        raise ConfigError(
            f"the package vista-guard-weights in {WEIGHTS} has version {version}; this code needs {VERSION}. {_remedy()}"
        )
    return hashes


@load_once
def _check(name: str) -> None:
    """Compares a shipped file with its SHA-256. ConfigError: it is another file, or missing."""
    path = WEIGHTS / name
    try:
        with path.open("rb") as file:
            found = file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise damaged(path, exc) from exc
    if found != (listed := _listed()[name]):
        raise damaged(path, f"its SHA-256 is {found}, and judge.json lists {listed}")


def _remedy(folder: Path = WEIGHTS) -> str:
    if folder == WEIGHTS:
        return f"Install the weights: {how_to_install_weights(VERSION)}"
    return "Give a folder with every file that the model card names"
