"""Libraries that only some users need: what is said where one of them is missing."""

from __future__ import annotations

from importlib.util import find_spec

from vista_guard.errors import ConfigError


def require(what: str, *libraries: str, extra: str) -> None:
    """Passes when the libraries are there; loads none of them.

    Raises:
        ConfigError: one is not; says what needs it, and what installs it.
    """
    missing = [library for library in libraries if find_spec(library) is None]
    if missing:
        raise ConfigError(f"{what} needs {', '.join(missing)}: {how_to_install(extra)}")


def how_to_install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'vista-guard[{extra}]'"
