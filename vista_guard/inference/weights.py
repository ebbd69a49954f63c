"""The shipped weights: files of two packages, in the version that this code was measured with.

`vista-guard-reader` has the careful reader, whose files' names begin with `reader`; `vista-guard-weights` has all others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path
from typing import Any

from vista_guard._aio import load_once
from vista_guard._extras import how_to_install_weights
from vista_guard.errors import ConfigError

VERSION = "1.10.0"
"""Version of both packages that this code needs; `pyproject.toml` requires the same."""


def _find_folders() -> tuple[Path, Path]:
    # An import raises nothing: `weights_file` says what is missing. The places are where pip would have put them.
    site = Path(__file__).parents[2]
    weights, reader = site / "vista_guard_weights", site / "vista_guard_reader"
    with suppress(ImportError):
        import vista_guard_weights

        weights = vista_guard_weights.FOLDER
    with suppress(ImportError):
        import vista_guard_reader

        reader = vista_guard_reader.FOLDER
    return weights, reader


WEIGHTS, READER = _find_folders()
"""Folders of the shipped files; `MODEL_CARD.md` in each says what they are. WEIGHTS stands for both where a folder is given."""


def weights_place(name: str, folder: Path = WEIGHTS) -> Path:
    """Path that a weights file has, or would have. A folder of one's own holds all of them together."""
    return (READER if folder == WEIGHTS and _is_readers(name) else folder) / name


def has_weights(name: str, folder: Path = WEIGHTS) -> bool:
    """True if the weights have such a file. The shipped ones have what `judge.json` lists, even if it was lost since.

    Raises:
        ConfigError: a package is missing, damaged or of another version.
    """
    return name in _listed() if folder == WEIGHTS else weights_place(name, folder).is_file()


def weights_file(name: str, folder: Path = WEIGHTS) -> Path:
    """Path of a weights file.

    Shipped files are checked against the SHA-256 in `judge.json`, once per process, and with them what a graph keeps outside
    itself: `reader.embeddings` of `reader.onnx`. The first call for a file reads all of it.

    Raises:
        ConfigError: the file is missing. Of the shipped ones also: damaged, or a package is missing or of another version.
    """
    path = weights_place(name, folder)
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
    """SHA-256 of the shipped files of both packages, by name.

    Raises:
        ConfigError: a package is missing, damaged or of another version.
    """
    path = WEIGHTS / "judge.json"
    try:
        hashes = dict(_told("vista-guard-weights", path)["sha256"])
    except (ValueError, KeyError, TypeError) as exc:
        raise damaged(path, exc) from exc
    if any(map(_is_readers, hashes)):
        _told("vista-guard-reader", READER / "reader.json")
    return hashes


def _told(package: str, path: Path) -> Mapping[str, Any]:
    """The facts that a package's own file tells of it. ConfigError: the package is missing, damaged or of another version."""
    if not path.is_file():
        raise ConfigError(f"the package {package} is missing: there is no {path}. {_remedy()}")
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        version = told["version"]
    except (ValueError, KeyError, TypeError) as exc:
        raise damaged(path, exc) from exc
    if version != VERSION:
        raise ConfigError(
            f"the package {package} has version {version} in {path}; this code needs {VERSION}. {_remedy()}"
        )
    return dict(told)


@load_once
def _check(name: str) -> None:
    """Compares a shipped file with its SHA-256. ConfigError: it is another file, or missing."""
    path = weights_place(name)
    try:
        with path.open("rb") as file:
            found = file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise damaged(path, exc) from exc
    if found != (listed := _listed()[name]):
        raise damaged(path, f"its SHA-256 is {found}, and judge.json lists {listed}")


def _is_readers(name: str) -> bool:
    return name.startswith("reader")


def _remedy(folder: Path = WEIGHTS) -> str:
    if folder in (WEIGHTS, READER):
        return f"Install the weights: {how_to_install_weights(VERSION)}"
    return "Give a folder with every file that the model card names"
