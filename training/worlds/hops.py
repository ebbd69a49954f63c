"""Two facts that only answer together, side by side or in two passages: ``x - y`` and ``y - v`` give ``x - v``."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from training.worlds.case import WRONG, TextCase
from training.worlds.domains import (
    Part,
    cut,
    pools,
    section,
    sections,
    split,
)
from training.worlds.grammar import filled
from training.worlds.values import pick

_BREAKS = (" ", " ", "\n", "\n\n", "\n---\n", "\n\n[2] ")


@dataclass(frozen=True)
class Chain:
    """Two links and the claims over both; the pools of what is linked."""

    pools: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    claims: tuple[str, ...]


@cache
def chains(part: Part) -> tuple[Chain, ...]:
    """The chains with the templates of one part; the last chain is for development."""
    found = []
    for head, rows in sections("hops").items():
        spec = tuple(field.split(":", 1)[1].strip() for field in head.split("||"))
        found.append(Chain(spec, *(split(row, "|") for row in rows[:3])))
    return tuple(found[-1:] if part == "development" else found[:-1])


def drawn(spec: str, part: Part, rng: random.Random, count: int) -> list[str]:
    """Different members of a pool: listed ones, or names."""
    if not spec.startswith("@"):
        return rng.sample(cut(split(spec, ";"), part) if part == "train" else spec.split("; "), count)
    lists = [rng.sample(section(pools()[key], part), count) for key in spec[1:].split("+")]
    return [" ".join(words) for words in zip(*lists, strict=True)]


def hop(part: Part, rng: random.Random) -> TextCase:
    """Two chains in one document; the first or the second links trade their ends."""
    chain = pick(rng, chains(part))
    xs, ys, vs = (drawn(spec, part, rng, 2) for spec in chain.pools)
    one, two = [pick(rng, chain.first) for _ in range(2)], [pick(rng, chain.second) for _ in range(2)]
    gap, apart, seed = pick(rng, _BREAKS), rng.random() < 0.6, rng.randrange(1 << 30)
    swap_first = rng.random() < 0.5

    def text(turned: bool) -> str:
        middle = ys[::-1] if turned and swap_first else ys
        ends = vs[::-1] if turned and not swap_first else vs
        firsts = [filled(t, {"{x}": x, "{y}": y}) for t, x, y in zip(one, xs, middle, strict=True)]
        seconds = [filled(t, {"{y}": y, "{v}": v}) for t, y, v in zip(two, ys, ends, strict=True)]
        return _laid(firsts, seconds, gap, apart, random.Random(seed))

    said = pick(rng, chain.claims)
    claims = [filled(said, {"{x}": xs[0], "{v}": v}) for v in vs]
    return TextCase(text(False), text(True), claims[0], claims[1], WRONG)


def _laid(firsts: list[str], seconds: list[str], gap: str, apart: bool, rng: random.Random) -> str:
    if not apart:
        return " ".join(rng.sample([*firsts, *seconds], 4))
    blocks = [" ".join(rng.sample(group, 2)) for group in (firsts, seconds)]
    if rng.random() < 0.4:
        blocks.reverse()
    return ("[1] " if "[2]" in gap else "") + gap.join(blocks)
