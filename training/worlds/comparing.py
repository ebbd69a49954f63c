"""Claims over several cells: comparisons, superlatives, and values by way of another entity."""

from __future__ import annotations

import random
from dataclasses import replace

from training.worlds.case import Case
from training.worlds.claims import columns, plain, two_rows
from training.worlds.domains import (
    Part,
)
from training.worlds.grammar import sentence
from training.worlds.values import ORDERED, difference, pick, words
from training.worlds.world import World, sample


def _ordered(part: Part, rng: random.Random, least: int = 2) -> tuple[World, int] | None:
    """A world with a column that can be compared both ways."""
    for _ in range(40):
        world = sample(part, rng, ORDERED)
        usable = [c for c in columns(world, ORDERED) if world.attributes[c].more and world.attributes[c].less]
        if usable and len(world.entities) >= least:
            return world, pick(rng, usable)
    return None


def comparison(part: Part, rng: random.Random) -> Case | None:
    """More or less than another entity, sometimes with the difference."""
    found = _ordered(part, rng)
    if not found:
        return None
    world, column = found
    rows = two_rows(world, column, rng)
    if not rows:
        return None
    other = world.swap(column, *rows)
    by, gap = rng.randrange(100), rng.random() < 0.2
    i, j = rows if rng.random() < 0.5 else rows[::-1]
    claim = compared(world, i, j, column, by, gap)
    a, b = (i, j) if rng.random() < 0.5 else (j, i)
    return Case(world, other, claim, compared(other, a, b, column, by, gap))


def compared(world: World, i: int, j: int, column: int, by: int, gap: bool) -> str:
    """The true comparison of two cells, from the first one's side."""
    a, b, attribute = world.value(i, column), world.value(j, column), world.attributes[column]
    options = attribute.more if a.amount > b.amount else attribute.less
    phrase = options[by % len(options)]
    apart = difference(a, b) if gap else None
    phrase = " ".join(phrase.replace("{d}", f"{apart} " if apart else "").split())
    subject, other = world.entities[i].name, world.entities[j].name
    if "{e}" in phrase:
        return sentence(phrase.replace("{e}", subject).replace("{f}", other))
    return sentence(f"{subject} {phrase} {other}")


def superlative(part: Part, rng: random.Random) -> Case | None:
    """The most and the least of all entities."""
    for _ in range(30):
        found = _ordered(part, rng, least=3)
        if not found:
            return None
        world, column = found
        attribute = world.attributes[column]
        ranked = sorted(range(len(world.entities)), key=lambda r: world.value(r, column).amount)
        amounts = [world.value(r, column).amount for r in ranked]
        if not (attribute.most and attribute.least) or amounts[0] == amounts[1] or amounts[-1] == amounts[-2]:
            continue
        top = rng.random() < 0.5
        i, j = (ranked[-1], pick(rng, ranked[:-1])) if top else (ranked[0], pick(rng, ranked[1:]))
        other = world.swap(column, i, j)
        phrase = pick(rng, attribute.most if top else attribute.least)
        return Case(world, other, _extreme(world, i, phrase, rng), _extreme(world, j, phrase, rng))
    return None


def _extreme(world: World, row: int, phrase: str, rng: random.Random) -> str:
    nouns, count = world.domain.nouns, words(len(world.entities))
    scope = pick(rng, ("", "", f" of the {count} {nouns}", f" of all {nouns} listed", f" among the {nouns}"))
    return sentence(f"{world.entities[row].name} {phrase}{scope}")


def detour(part: Part, rng: random.Random) -> Case | None:
    """A value by way of another entity: ``B costs 5 euros more than A``, ``B costs as much as A``."""
    for _ in range(20):
        found = _ordered(part, rng, least=2)
        if not found:
            return None
        world, column = found
        rows = two_rows(world, column, rng)
        if not rows or len(world.entities) > 4:
            continue
        i, j = rows
        told = any("{d}" in phrase for phrase in world.attributes[column].more)
        if told and difference(world.value(i, column), world.value(j, column)):
            return _by_gap(world, i, j, column, rng)
    return None


def _by_gap(world: World, i: int, j: int, column: int, rng: random.Random) -> Case | None:
    """Row i is told by its distance from row j, upwards or downwards; the claim gives its value."""
    here, there = world.value(i, column), world.value(j, column)
    gap = abs(here.amount - there.amount)
    other = replace(here, amount=there.amount * 2 - here.amount)
    if other.amount <= 0 or (here.kind == "time" and not 300 <= other.amount < 1440) or gap == 0 or here.kind == "date":
        return None
    attribute, by = world.attributes[column], rng.randrange(100)
    texts = []
    for value in (here, other):
        options = [p for p in (attribute.more if value.amount > there.amount else attribute.less) if "{d}" in p]
        if not options:
            return None
        phrase = " ".join(options[by % len(options)].replace("{d}", f"{difference(value, there)} ").split())
        texts.append(f"{world.entities[i].name} {phrase} {world.entities[j].name}")
    first = replace(world, hidden=((i, column, texts[0]),))
    second = replace(world.put(i, column, other), hidden=((i, column, texts[1]),))
    return Case(first, second, plain(world, i, column, rng), plain(world, i, column, rng, other))
