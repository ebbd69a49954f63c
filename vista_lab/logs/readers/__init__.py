"""Readers of logs: a module for each format, with a `FORMAT`. The module's name is the format's, with `_` for `-`."""

from __future__ import annotations

from pkgutil import iter_modules


def names() -> list[str]:
    """The names of all formats; imports no reader."""
    return [module.name.replace("_", "-") for module in iter_modules(__path__)]
