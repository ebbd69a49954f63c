"""Parts and wholes: totals, halves and quarters, majorities, of two groups whose figures trade places."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from training.worlds.case import REFUTE, TextCase
from training.worlds.domains import (
    Part,
    cut,
    lines,
    sections,
    split,
)
from training.worlds.grammar import filled
from training.worlds.values import pick, words

_SHARES = (
    ("half", 1, 2), ("a quarter", 1, 4), ("a third", 1, 3), ("three quarters", 3, 4), ("two thirds", 2, 3), ("one in five", 1, 5),
    ("four out of five", 4, 5), ("one in ten", 1, 10), ("25 percent", 1, 4), ("20 percent", 1, 5), ("75 percent", 3, 4),
)  # fmt: skip


@dataclass(frozen=True)
class Counted:
    """What is counted in groups: two outcomes with their subject, and the groups."""

    first: str
    second: str
    noun: str
    groups: tuple[str, ...]


@cache
def counted(part: Part) -> tuple[Counted, ...]:
    """The countable things of one part."""
    rows = (split(row, "|") for row in sections("amounts")["kinds"])
    return cut([Counted(a, b, noun, split(groups, ";")) for a, b, noun, groups in rows], part)


def _figures(kind: str, rng: random.Random) -> tuple[str, tuple[int, int], tuple[int, int]] | None:
    """A share and two pairs of figures that it tells apart."""
    if kind == "share":
        (share, top, whole), (_, other_top, other_whole) = rng.sample(_SHARES, 2)
        if top * other_whole == other_top * whole:
            return None
        many, more = rng.randint(2, 15), rng.randint(2, 15)
        return share, (top * many, (whole - top) * many), (other_top * more, (other_whole - other_top) * more)
    low, high = rng.randint(3, 30), rng.randint(31, 90)
    if kind == "total":
        return "", (low, high), (rng.randint(3, 40), rng.randint(10, 80))
    more, fewer = (high, low), (low, high)
    return ("", fewer, more) if kind == "minority" else ("", more, fewer)


def put(
    template: str, thing: Counted, group: str, figures: tuple[int, int], share: str = "", spell: bool = False
) -> str:
    """A sentence on one group."""
    total = words(sum(figures)) if spell else str(sum(figures))
    verb = thing.first.removeprefix(thing.noun).strip()
    slots = {"{g}": group, "{G}": group, "{a}": str(figures[0]), "{b}": str(figures[1]), "{A}": thing.first, "{B}": thing.second,
             "{t}": total, "{n}": thing.noun, "{v}": verb, "{s}": share, "{S}": share}  # fmt: skip
    return filled(template, slots)


def amount(part: Part, rng: random.Random) -> TextCase | None:
    """Totals, shares and majorities."""
    kind = pick(rng, ("total", "share", "majority", "minority"))
    thing = pick(rng, counted(part))
    groups, found = rng.sample(thing.groups, 2), _figures(kind, rng)
    if found is None or (sum(found[1]) == sum(found[2]) and kind == "total"):
        return None
    share, here, there = found
    tells = [t for t in lines("amounts", "tells", part) if kind != "total" or "{t}" not in t]
    if not tells:
        return None
    frames, seed = [pick(rng, tells) for _ in range(2)], rng.randrange(1 << 30)
    texts = []
    for pair in ((here, there), (there, here)):
        told = [put(f, thing, g, figures) for f, g, figures in zip(frames, groups, pair, strict=True)]
        texts.append(" ".join(random.Random(seed).sample(told, 2)))
    said, spell = pick(rng, lines("amounts", kind, part)), rng.random() < 0.4
    figures = (here, there) if kind == "total" else (here, here)
    claims = [
        put(said, thing, g, f, share, spell)
        for g, f in zip((groups[0], groups[0 if kind == "total" else 1]), figures, strict=True)
    ]
    return TextCase(texts[0], texts[1], claims[0], claims[1], REFUTE)
