"""Reading the sectioned text files: ``== name``, then lines, each for the train or the development part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from training.worlds.domains import TEXT, Part, section

T = TypeVar("T")


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """The lines of each section of one file, comments left out."""
    blocks = re.split(r"^== ", (TEXT / f"{name}.txt").read_text(encoding="utf-8"), flags=re.M)[1:]
    found = {}
    for block in blocks:
        head, *lines = block.splitlines()
        found[head.strip()] = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    return found


@cache
def lines(name: str, head: str, part: Part) -> tuple[str, ...]:
    """The lines of one section that belong to the part."""
    return section(sections(name)[head], part)


def cut(options: Sequence[T], part: Part) -> tuple[T, ...]:
    """The train or the development share of a list of things; a short one is shared."""
    size = max(2, len(options) // 5) if len(options) >= 5 else 0
    if not size:
        return tuple(options)
    return tuple(options[-size:] if part == "development" else options[:-size])
