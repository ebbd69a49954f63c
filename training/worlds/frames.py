"""Mention and assertion: what a document asks, denies, reports or supposes it does not say.

Each document asserts one sentence and only mentions another; in its twin the two have traded places, so both have the same words.
"""

from __future__ import annotations

import random

from training.worlds.case import OPEN, REFUTE, TextCase
from training.worlds.claims import two_rows
from training.worlds.domains import (
    Part,
    lines,
    pools,
    section,
)
from training.worlds.grammar import asked, clause, filled, sentence
from training.worlds.roles import people, relations, worded
from training.worlds.style import heading, others
from training.worlds.values import Value, pick
from training.worlds.world import Entity, World, sample, told

_KINDS = ("money", "count", "percent", "time", "year", "unit", "days", "weeks", "minutes", "choice", "flag")
Content = tuple[str, str]  # a clause and its question


def _facts(part: Part, rng: random.Random) -> tuple[World, tuple[int, int], tuple[int, int]] | None:
    """Two cells of one world that do not depend on each other."""
    for _ in range(20):
        world = sample(part, rng, _KINDS)
        usable = [c for c, a in enumerate(world.attributes) if a.kind in _KINDS and _askable(world, c)]
        if not usable:
            continue
        a, b = pick(rng, usable), pick(rng, usable)
        i, j = rng.sample(range(len(world.entities)), 2)
        return world, (i, a), (j, b)
    return None


def _askable(world: World, column: int) -> bool:
    attribute = world.attributes[column]
    sides = (attribute.says, attribute.denies) if attribute.kind == "flag" else (attribute.says,)
    return all(any(t.startswith("{e} ") for t in side) for side in sides)


def _cell(world: World, cell: tuple[int, int]) -> tuple[Value, Entity, tuple[str, ...]]:
    """A cell's value, its entity, and the templates that tell it."""
    row, column = cell
    value, attribute = world.value(row, column), world.attributes[column]
    side = attribute.denies if value.kind == "flag" and not value.amount else attribute.says
    return value, world.entities[row], side


def content(world: World, cell: tuple[int, int], rng: random.Random) -> Content:
    """A clause that gives a cell, with its yes-or-no question."""
    value, entity, side = _cell(world, cell)
    text = clause(told(pick(rng, [t for t in side if t.startswith("{e} ")]), entity, value, rng))
    return text, asked(entity.name, text) or f"Is it so that {text}?"


def framed(template: str, fact: Content, name: str, false: Content | None = None) -> str:
    """A frame around a clause."""
    slots = {"{s}": fact[0], "{S}": fact[0][:1].upper() + fact[0][1:], "{q}": fact[1], "{x}": name}
    if false:
        slots |= {"{f}": false[0], "{F}": false[0][:1].upper() + false[0][1:]}
    return filled(template, slots)


def _claim(world: World, cell: tuple[int, int], fact: Content, rng: random.Random) -> str:
    if rng.random() < 0.5:
        return sentence(fact[0])
    value, entity, side = _cell(world, cell)
    return sentence(told(pick(rng, side), entity, value, rng))


def mention(part: Part, rng: random.Random) -> TextCase | None:
    """One fact asserted, another only mentioned or denied; the claim is one of them."""
    found = _facts(part, rng)
    if not found:
        return None
    world, here, there = found
    one, two = content(world, here, rng), content(world, there, rng)
    claims = _claim(world, here, one, rng), _claim(world, there, two, rng)
    denied = rng.random() < 0.35
    return _square(part, rng, (one, two), claims, denied, world)


def _square(
    part: Part,
    rng: random.Random,
    facts: tuple[Content, Content],
    claims: tuple[str, str],
    denied: bool,
    world: World | None,
) -> TextCase:
    sure, unsure = (pick(rng, lines("frames", head, part)) for head in ("assert", "deny" if denied else "open"))
    names = rng.sample(section(pools()["she"] + pools()["he"], part), 9)
    first_names = [name for name in names if name not in " ".join(claims)] or ["The clerk"]
    bare, late, seed = rng.random() < 0.25, rng.random() < 0.5, rng.randrange(1 << 30)
    texts = []
    for true, rest in (facts, facts[::-1]):
        parts = [
            sentence(true[0]) if bare else framed(sure, true, first_names[0]),
            framed(unsure, rest, first_names[-1]),
        ]
        texts.append(_placed(parts[::-1] if late else parts, part, random.Random(seed), world))
    return TextCase(texts[0], texts[1], claims[0], claims[1], REFUTE if denied else OPEN)


def _placed(parts: list[str], part: Part, rng: random.Random, world: World | None) -> str:
    extra = others(world.domain, part, rng, 2) if world else []
    joint = "\n" if rng.random() < 0.25 else " "
    cut = int(rng.random() * (len(extra) + 1))
    return (heading(world.domain, rng) if world else "") + joint.join([*extra[:cut], *parts, *extra[cut:]])


def contrast(part: Part, rng: random.Random) -> TextCase | None:
    """``Myth: F. Fact: S.``: two rival versions of one fact, of which one is asserted."""
    for _ in range(20):
        found = _facts(part, rng)
        if not found:
            return None
        world, (row, column), _ = found
        rows = two_rows(world, column, rng)
        if not rows or row not in rows:
            continue
        other = world.put(row, column, world.cells[rows[0] if rows[1] == row else rows[1]][column])
        seed, frame = rng.randrange(1 << 30), pick(rng, lines("frames", "contrast", part))
        one, two = (content(w, (row, column), random.Random(seed)) for w in (world, other))
        name, near = pick(rng, section(pools()["she"], part)), rng.randrange(1 << 30)
        orders = (one, two), (two, one)
        texts = [_placed([framed(frame, a, name, b)], part, random.Random(near), world) for a, b in orders]
        claims = _claim(world, (row, column), one, rng), _claim(other, (row, column), two, rng)
        return TextCase(texts[0], texts[1], claims[0], claims[1], REFUTE)
    return None


def mentioned_roles(part: Part, rng: random.Random) -> TextCase:
    """Mention frames around acts between people."""
    relation = pick(rng, relations(part))
    a, b, c, d = people(relation, part, rng, 4)
    thing, other_thing = (pick(rng, relation.things) for _ in range(2))
    wordings = [pick(rng, relation.wordings) for _ in range(4)]
    acts = ((a, b, thing), (c, d, other_thing)) * 2
    facts = [worded(w, x, y, t) for w, (x, y, t) in zip(wordings, acts, strict=True)]
    one, two = ((clause(_low(f)), f"Is it so that {clause(_low(f))}?") for f in facts[:2])
    claims = (facts[0], facts[1]) if rng.random() < 0.5 else (facts[2], facts[3])
    return _square(part, rng, (one, two), claims, rng.random() < 0.35, None)


def _low(text: str) -> str:
    return text[:1].lower() + text[1:] if text.startswith(("The ", "It ", "A ", "An ", "Two ", "Three ")) else text
