"""Claims that join facts: two of one entity, one of two entities each, and what two entities have in common."""

from __future__ import annotations

import random

from training.worlds.case import Case
from training.worlds.claims import VALUED, columns, two_rows
from training.worlds.domains import Part
from training.worlds.grammar import clause, sentence, singular_phrase
from training.worlds.values import pick, written
from training.worlds.world import World, sample, say, told


def joined(part: Part, rng: random.Random) -> Case | None:
    """Two facts in one claim, one of which another entity's value makes wrong."""
    for _ in range(20):
        world = sample(part, rng)
        usable = columns(world, (*VALUED, "flag"))
        if len(usable) < 2:
            continue
        a, b = rng.sample(usable, 2)
        rows = two_rows(world, a, rng)
        if rows:
            i, j = rows
            other = world.swap(a, i, j)
            return Case(world, other, _both(world, i, a, b, rng), _both(other, i, a, b, rng))
    return None


def _both(world: World, row: int, a: int, b: int, rng: random.Random) -> str:
    entity = world.entities[row]
    first, second = (a, b) if rng.random() < 0.5 else (b, a)
    text = say(world, row, second, rng)
    if text.startswith(f"{entity.name} "):
        text = entity.pronoun + text[len(entity.name) :]
    link = pick(rng, (" and ", ", and ", "; "))
    return sentence(f"{clause(say(world, row, first, rng))}{link}{text}")


def two_entities(part: Part, rng: random.Random) -> Case | None:
    """One claim with the values of two entities: ``A costs 12 and B 15``, right or the wrong way round."""
    for _ in range(20):
        world = sample(part, rng, VALUED)
        column = pick(rng, columns(world, VALUED))
        fitting = [t for t in world.attributes[column].says if t.startswith("{e} ")]
        rows = two_rows(world, column, rng)
        if rows and fitting:
            other = world.swap(column, *rows)
            template = pick(rng, fitting)
            return Case(
                world,
                other,
                _pairwise(world, rows, column, template, rng),
                _pairwise(other, rows, column, template, rng),
            )
    return None


def _pairwise(world: World, rows: tuple[int, int], column: int, template: str, rng: random.Random) -> str:
    i, j = rows if rng.random() < 0.5 else rows[::-1]
    first, second = (clause(told(template, world.entities[r], world.value(r, column), rng)) for r in (i, j))
    roll = rng.random()
    if roll < 0.35:
        return sentence(f"{first}, {world.entities[j].name} {written(world.value(j, column))[0]}")
    return sentence(f"{first}{pick(rng, (' and ', ', while ', ', but ', ', whereas '))}{second}")


def alike(part: Part, rng: random.Random) -> Case | None:
    """Two entities with the same value beside a third with another."""
    for _ in range(20):
        world = sample(part, rng, VALUED)
        usable = [c for c in columns(world, VALUED) if world.attributes[c].plural]
        if len(world.entities) < 3 or not usable:
            continue
        column = pick(rng, usable)
        i, j, k = rng.sample(range(len(world.entities)), 3)
        world = world.put(j, column, world.cells[i][column])
        if world.cells[k][column] == world.cells[i][column]:
            continue
        other = world.swap(column, j, k)
        return Case(world, other, _same(world, i, j, column, rng), _same(other, i, k, column, rng))
    return None


def _same(world: World, i: int, j: int, column: int, rng: random.Random) -> str:
    a, b = (world.entities[r].name for r in ((i, j) if rng.random() < 0.5 else (j, i)))
    phrase = pick(rng, world.attributes[column].plural).replace("{v}", written(world.value(i, column))[0])
    single = singular_phrase(phrase) if world.domain.pronoun != "they" else phrase
    options = (
        f"both {a} and {b} {phrase}",
        f"{a} and {b} both {phrase}",
        f"like {a}, {b} {single}",
        f"{a} {single}, just like {b}",
        f"{a} and {b} are alike in that they {phrase}",
        f"what holds for {a} holds for {b} as well: they {phrase}",
    )
    return sentence(pick(rng, options))
