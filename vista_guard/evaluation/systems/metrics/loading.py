"""Finds a metric by its name: a class of the library, or anything that a user's own module holds."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from vista_guard._extras import how_to_install, require
from vista_guard.errors import ConfigError

_UNTRACKED: Mapping[str, tuple[str, str]] = {
    "deepeval": ("DEEPEVAL_TELEMETRY_OPT_OUT", "YES"),
    "ragas": ("RAGAS_DO_NOT_TRACK", "true"),
}
"""What keeps a library from telling its makers of each score. A user who set it otherwise is obeyed."""


def load_library(library: str) -> str:
    """Imports the library, which tells nobody of it, and returns its version.

    Raises:
        ConfigError: it is not installed, or cannot be imported; says what installs it.
    """
    require(f"a {library} metric", library, extra=library)
    os.environ.setdefault(*_UNTRACKED[library])
    try:
        import_module(library)
    except ImportError as exc:
        raise ConfigError(f"{library} cannot be imported: {exc}. Try: {how_to_install(library)}") from exc
    return version(library)


def load_metric(library: str, name: str) -> object:
    """The metric that is meant.

    Args:
        library: `deepeval` or `ragas`, imported before.
        name: a class of `LIBRARY.metrics`, or `MODULE:NAME` for a metric, its class, or a function that makes one.

    Raises:
        ConfigError: there is none, or it cannot be made without arguments.
    """
    module, _, attribute = name.rpartition(":")
    if module and "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # A user's module lies where the command is run.
    try:
        found: object = import_module(module or f"{library}.metrics")
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as exc:
        raise ConfigError(
            f"there is no {library} metric {name!r}: {exc}. Name a class of {library}.metrics, or MODULE:NAME for a metric "
            "of your own"
        ) from exc
    if not isinstance(found, type) and _is_metric(found):
        return found
    try:
        made: object = found()  # type: ignore[operator]  # a class, or a function of the user's
    except Exception as exc:
        raise ConfigError(
            f"the {library} metric {name!r} cannot be made without arguments: {type(exc).__name__}: {exc}. Write a module that "
            f"makes it, and name it {library}:MODULE:NAME"
        ) from exc
    return made


def _is_metric(found: object) -> bool:
    return any(hasattr(found, name) for name in ("a_measure", "single_turn_ascore", "multi_turn_ascore", "ascore"))
