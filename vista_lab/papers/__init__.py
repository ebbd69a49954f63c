"""Figures that papers print, as data (`tables/*.toml`): decimals with the printed digits, so that rounding shows."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> Mapping[str, Any]:
    """One file, by its name without the ending: `table02`, `table08_11`."""
    file = files("vista_lab.papers") / "tables" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)


def part(paper: str, name: str) -> Mapping[str, Any]:
    """A part of a paper's file: `part("dad", "table01")`.

    Examples:
        >>> part("dad", "table04")["rows"]["FELM"]
        ['response', '–', 184, 'Google']
    """
    found: Mapping[str, Any] = table(paper)[name]
    return found
